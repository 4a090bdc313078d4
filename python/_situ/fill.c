/* SPDX-License-Identifier: Apache-2.0
 * fill.c: creates a tensor from the elements of nested lists. */
#include <stdlib.h>

#include "interruptible.h"
#include "situ_python.h"

/* The destination. Conversions may run user code that changes the lists, so elements are counted.
 * */
struct fill_state {
  situ_type type;
  const situ_shape *shape;
  char *at;
  int64_t left; /* elements left */
};

static void changed(void) {
  if (!PyErr_Occurred())
    PyErr_SetString(PyExc_ValueError, "The list changed while it was converted to a Tensor.");
}

static void store_text(PyObject *value, char *at) {
  Py_ssize_t length = 0;
  situ_string *text = (situ_string *)(void *)at;
  if (PyUnicode_Check(value)) {
    text->data = PyUnicode_AsUTF8AndSize(value, &length);
    text->length = (size_t)length;
  } else if (PyBytes_Check(value)) {
    text->data = PyBytes_AS_STRING(value);
    text->length = (size_t)PyBytes_GET_SIZE(value);
  } else {
    changed();
  }
}

static int64_t integer_of(PyObject *value, situ_type type) {
  if (type != SITU_UINT64) return PyLong_AsLongLong(value);
  PyObject *whole = PyNumber_Index(value);
  const int64_t number = whole ? (int64_t)PyLong_AsUnsignedLongLong(whole) : 0;
  Py_XDECREF(whole);
  return number;
}

static void store(PyObject *value, struct fill_state *to) {
  if (to->left-- <= 0) {
    changed();
    return;
  }
  if (to->type == SITU_STRING) {
    store_text(value, to->at);
    to->at += sizeof(situ_string);
    return;
  }
  if (types_is_complex(to->type)) {
    const Py_complex number = PyComplex_AsCComplex(value);
    buffer_store_complex(to->at, to->type, number.real, number.imag);
  } else if (types_is_real(to->type))
    buffer_store(to->at, to->type, PyFloat_AsDouble(value), 0);
  else
    buffer_store(to->at, to->type, 0,
                 to->type == SITU_BOOL ? PyObject_IsTrue(value) : integer_of(value, to->type));
  to->at += situ_type_size(to->type);
}

static void fill(PyObject *value, int depth, struct fill_state *to) {
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  const int64_t n = is_list && depth < to->shape->rank ? to->shape->dim[depth] : -1;
  if (is_list != (depth < to->shape->rank)) {
    changed();
    return;
  }
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred() && !interruptible_pending(i); i++) {
    if (PySequence_Fast_GET_SIZE(value) != n) {
      changed();
      return;
    }
    PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
    fill(item, depth + 1, to);
    Py_DECREF(item);
  }
  if (!is_list) store(value, to);
}

situ_tensor *fill_tensor(PyObject *value, const situ_shape *shape, situ_type type) {
  const size_t element = type == SITU_STRING ? sizeof(situ_string) : situ_type_size(type);
  const size_t bytes = (size_t)situ_shape_count(*shape) * element;
  char small[512], *data = bytes <= sizeof small ? small : malloc(bytes);
  if (!data) return (situ_tensor *)PyErr_NoMemory();
  struct fill_state to = {type, shape, data, situ_shape_count(*shape)};
  fill(value, 0, &to);
  if (to.left) changed();
  situ_tensor *tensor = NULL;
  if (!PyErr_Occurred()) {
    const situ_status status =
        type == SITU_STRING
            ? situ_tensor_create_strings(*shape, (const situ_string *)(void *)data, &tensor)
            : situ_tensor_create(type, *shape, data, &tensor);
    if (status) errors_raise(status, NULL);
  }
  if (data != small) free(data);
  return tensor;
}
