/* SPDX-License-Identifier: Apache-2.0
 * array.c: converts tensors to NumPy arrays. NumPy is imported on first use. */
#include <stdlib.h>

#include "interruptible.h"
#include "situ_python.h"

static PyObject *numpy_empty, *numpy_types[N_TYPES];

static int prepare(void) {
  if (numpy_empty) return 0;
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (!numpy) return -1;
  PyObject *dtype = PyObject_GetAttrString(numpy, "dtype");
#define NUMPY_TYPE(name, number, bytes, tf_name, text)                                         \
  if (dtype && number != SITU_RESOURCE && number != SITU_VARIANT && !types_is_storage(number)) \
    numpy_types[number] = PyObject_CallFunction(dtype, "s", text);
  SITU_TYPES(NUMPY_TYPE)
#undef NUMPY_TYPE
  numpy_types[SITU_BFLOAT16] = Py_NewRef(numpy_types[SITU_UINT16]); /* its bits */
  numpy_types[SITU_FLOAT8_E5M2] = Py_NewRef(numpy_types[SITU_UINT8]);
  numpy_types[SITU_FLOAT8_E4M3FN] = Py_NewRef(numpy_types[SITU_UINT8]);
  numpy_types[SITU_INT4] = Py_NewRef(numpy_types[SITU_INT8]);
  numpy_types[SITU_UINT4] = Py_NewRef(numpy_types[SITU_UINT8]);
  Py_XDECREF(dtype);
  numpy_empty = PyObject_GetAttrString(numpy, "empty");
  Py_DECREF(numpy);
  return PyErr_Occurred() ? -1 : 0;
}

/* Stores the strings of a tensor in an object array. */
static int store_strings(const situ_tensor *tensor, PyObject *array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE | PyBUF_FORMAT)) return -1;
  PyObject **items = view.buf;
  const int64_t count = view.len / (Py_ssize_t)sizeof *items;
  for (int64_t i = 0; i < count && !interruptible_pending(i); i++) {
    const situ_string text = situ_tensor_string(tensor, i);
    PyObject *item = PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.length);
    if (!item) break;
    Py_XSETREF(items[i], item);
  }
  PyBuffer_Release(&view);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_into(const situ_tensor *tensor, PyObject *array) {
  Py_buffer view;
  if (PyObject_GetBuffer(array, &view, PyBUF_WRITABLE)) return -1;
  const size_t bytes = situ_tensor_bytes(tensor);
  situ_status status = NULL;
  if (bytes > 1 << 16) {
    Py_BEGIN_ALLOW_THREADS;
    status = situ_tensor_read(tensor, view.buf, bytes);
    Py_END_ALLOW_THREADS;
  } else if (bytes) {
    status = situ_tensor_read(tensor, view.buf, bytes);
  }
  PyBuffer_Release(&view);
  if (status) errors_raise(status, NULL);
  return status ? -1 : 0;
}

/* Converts an array of the bits of bfloat16, float8 or int4 to the type of ml_dtypes, or without
 * ml_dtypes to a wider type; consumes the reference. */
static PyObject *from_bits(PyObject *bits, situ_type type) {
  PyObject *module = PyImport_ImportModule("ml_dtypes"), *result = NULL;
  if (module) {
    PyObject *dtype = PyObject_GetAttrString(module, types_name(type));
    result = dtype ? PyObject_CallMethod(bits, "view", "O", dtype) : NULL;
    Py_XDECREF(dtype);
  } else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    module = PyImport_ImportModule("situ._src.framework.storage_types");
    if (module) result = PyObject_CallMethod(module, "values_of", "Os", bits, types_name(type));
  }
  Py_XDECREF(module);
  Py_DECREF(bits);
  return result;
}

PyObject *array_from_tensor(situ_tensor *tensor) {
  if (prepare()) return NULL;
  const situ_type type = situ_tensor_type(tensor);
  const situ_shape shape = situ_tensor_shape(tensor);
  PyObject *array = NULL;
  if (type == SITU_RESOURCE || type == SITU_VARIANT) {
    PyErr_SetString(PyExc_TypeError, "A resource handle cannot be converted to a NumPy array.");
    return NULL;
  }
  PyObject *tuple = types_tuple(shape);
  PyObject *args[2] = {tuple, numpy_types[type]};
  array = tuple ? PyObject_Vectorcall(numpy_empty, args, 2, NULL) : NULL;
  Py_XDECREF(tuple);
  if (array && (type == SITU_STRING ? store_strings(tensor, array) : read_into(tensor, array)))
    Py_CLEAR(array);
  if (array && types_is_storage(type)) array = from_bits(array, type);
  if (!array || shape.rank > 0) return array;
  PyObject *empty = PyTuple_New(0); /* a scalar: array[()] */
  PyObject *scalar = empty ? PyObject_GetItem(array, empty) : NULL;
  Py_XDECREF(empty);
  Py_DECREF(array);
  return scalar;
}
