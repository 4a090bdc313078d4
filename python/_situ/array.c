/* SPDX-License-Identifier: Apache-2.0
 * array.c: converts tensors to NumPy arrays. NumPy is imported on first use. */
#include <stdlib.h>

#include "situ_python.h"

static PyObject *numpy_empty, *numpy_array, *numpy_types[N_TYPES];

static int prepare(void) {
  if (numpy_empty) return 0;
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (!numpy) return -1;
  numpy_array = PyObject_GetAttrString(numpy, "array");
  PyObject *dtype = PyObject_GetAttrString(numpy, "dtype");
#define NUMPY_TYPE(name, number, bytes, word, text)                                          \
  if (dtype && number != SITU_RESOURCE && number != SITU_VARIANT && number != SITU_BFLOAT16) \
    numpy_types[number] = PyObject_CallFunction(dtype, "s", text);
  SITU_TYPES(NUMPY_TYPE)
#undef NUMPY_TYPE
  numpy_types[SITU_BFLOAT16] = Py_NewRef(numpy_types[SITU_UINT16]); /* its bits */
  Py_XDECREF(dtype);
  numpy_empty = PyObject_GetAttrString(numpy, "empty");
  Py_DECREF(numpy);
  return PyErr_Occurred() ? -1 : 0;
}

/* Creates an object array of bytes. */
static PyObject *string_array(const situ_tensor *tensor) {
  const int64_t count = situ_shape_count(situ_tensor_shape(tensor));
  PyObject *list = PyList_New(count), *shape = types_tuple(situ_tensor_shape(tensor));
  for (int64_t i = 0; list && i < count; i++) {
    const situ_string text = situ_tensor_string(tensor, i);
    PyObject *item = PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.length);
    if (!item) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, item);
  }
  PyObject *flat = list && shape
                       ? PyObject_CallFunction(numpy_array, "OO", list, numpy_types[SITU_STRING])
                       : NULL;
  PyObject *result = flat ? PyObject_CallMethod(flat, "reshape", "(O)", shape) : NULL;
  Py_XDECREF(list);
  Py_XDECREF(shape);
  Py_XDECREF(flat);
  return result;
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

/* Converts an array of the bits of bfloat16 to ml_dtypes.bfloat16, or without ml_dtypes to float32;
 * consumes the reference. */
static PyObject *from_bfloat16_bits(PyObject *bits) {
  PyObject *module = PyImport_ImportModule("ml_dtypes");
  PyObject *result = NULL;
  if (module) {
    PyObject *dtype = PyObject_GetAttrString(module, "bfloat16");
    result = dtype ? PyObject_CallMethod(bits, "view", "O", dtype) : NULL;
    Py_XDECREF(dtype);
    Py_DECREF(module);
  } else if (PyErr_ExceptionMatches(PyExc_ImportError)) {
    PyErr_Clear();
    PyObject *wide = PyObject_CallMethod(bits, "astype", "s", "uint32");
    PyObject *sixteen = PyLong_FromLong(16);
    PyObject *shifted = wide && sixteen ? PyNumber_Lshift(wide, sixteen) : NULL;
    PyObject *same = shifted ? PyObject_CallMethod(shifted, "astype", "s", "uint32") : NULL;
    result = same ? PyObject_CallMethod(same, "view", "s", "float32") : NULL;
    Py_XDECREF(wide);
    Py_XDECREF(sixteen);
    Py_XDECREF(shifted);
    Py_XDECREF(same);
  }
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
  if (type == SITU_STRING) {
    array = string_array(tensor);
  } else {
    PyObject *tuple = types_tuple(shape);
    PyObject *args[2] = {tuple, numpy_types[type]};
    array = tuple ? PyObject_Vectorcall(numpy_empty, args, 2, NULL) : NULL;
    Py_XDECREF(tuple);
    if (array && read_into(tensor, array)) Py_CLEAR(array);
    if (array && type == SITU_BFLOAT16) array = from_bfloat16_bits(array);
  }
  if (!array || shape.rank > 0) return array;
  PyObject *empty = PyTuple_New(0); /* a scalar: array[()] */
  PyObject *scalar = empty ? PyObject_GetItem(array, empty) : NULL;
  Py_XDECREF(empty);
  Py_DECREF(array);
  return scalar;
}
