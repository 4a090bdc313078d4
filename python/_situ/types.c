/* SPDX-License-Identifier: Apache-2.0
 * types.c: converts element types and shapes between Python and C. */
#include <string.h>

#include "situ_python.h"

/* Raises TypeError for a dtype of TensorFlow that the runtime does not have. */
static int need_supported(PyObject *dtype, situ_type type) {
  if (type == SITU_NO_TYPE || situ_type_size(type)) return 0;
  PyObject *name = PyObject_GetAttrString(dtype, "name");
  if (name) PyErr_Format(PyExc_TypeError, "%S is not supported by situ yet.", name);
  Py_XDECREF(name);
  return -1;
}

int types_number(PyObject *dtype, situ_type *out) {
  *out = SITU_NO_TYPE;
  if (!dtype || dtype == Py_None) return 0;
  for (int i = 1; i < N_TYPES; i++)
    if (hooks.dtypes[i] == dtype) {
      *out = (situ_type)i;
      return 0;
    }
  if (PyUnicode_Check(dtype)) {
    const char *text = PyUnicode_AsUTF8(dtype);
    if (!text) return -1;
    *out = situ_type_parse(text);
    if (*out != SITU_NO_TYPE) return 0;
  }
  PyObject *number = PyObject_GetAttrString(dtype, "as_datatype_enum"), *word = NULL;
  if (number) {
    *out = (situ_type)PyLong_AsLong(number);
    Py_DECREF(number);
    *out = (situ_type)((int)*out % 100); /* reference types */
    return PyErr_Occurred() ? -1 : need_supported(dtype, *out);
  }
  PyErr_Clear();
  word = PyObject_GetAttrString(dtype, PyType_Check(dtype) ? "__name__" : "name");
  const char *text = word && PyUnicode_Check(word) ? PyUnicode_AsUTF8(word) : NULL;
  if (text) *out = situ_type_parse(text);
  if (text && !strcmp(text, "int")) *out = SITU_INT32;
  if (text && !strcmp(text, "float")) *out = SITU_FLOAT;
  if (text && (!strcmp(text, "str") || !strcmp(text, "bytes"))) *out = SITU_STRING;
  Py_XDECREF(word);
  PyErr_Clear();
  if (*out != SITU_NO_TYPE) return 0;
  PyErr_Format(PyExc_TypeError, "Cannot convert value %R to a TensorFlow DType.", dtype);
  return -1;
}

PyObject *types_dtype(situ_type type) {
  PyObject *dtype = (int)type > 0 && (int)type < N_TYPES ? hooks.dtypes[type] : NULL;
  return Py_NewRef(dtype ? dtype : Py_None);
}

static int read_dimension(PyObject *item, int64_t *out) {
  *out = SITU_ANY;
  if (item == Py_None) return 0;
  PyObject *value = PyObject_GetAttrString(item, "value"); /* a Dimension */
  if (!value) {
    PyErr_Clear();
    value = Py_NewRef(item);
  }
  if (value != Py_None) {
    PyObject *number = PyNumber_Index(value);
    if (number) *out = PyLong_AsLongLong(number);
    Py_XDECREF(number);
  }
  Py_DECREF(value);
  return PyErr_Occurred() ? -1 : 0;
}

int types_shape(PyObject *shape, situ_shape *out) {
  *out = SITU_ANY_SHAPE;
  if (!shape || shape == Py_None) return 0;
  if (PyLong_Check(shape)) {
    *out = (situ_shape){1, {PyLong_AsLongLong(shape)}};
    return PyErr_Occurred() ? -1 : 0;
  }
  if (hooks.shape && PyObject_TypeCheck(shape, (PyTypeObject *)hooks.shape)) {
    PyObject *rank = PyObject_GetAttrString(shape, "rank");
    if (!rank) return -1;
    Py_DECREF(rank);
    if (rank == Py_None) return 0;
  }
  PyObject *list = structure_tuple(shape, "a shape is a list of dimensions");
  if (!list) return -1;
  int failed = 0;
  const Py_ssize_t rank = PyTuple_GET_SIZE(list);
  if (rank > SITU_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "Shapes have at most %d dimensions.", (int)SITU_MAX_RANK);
    failed = -1;
  }
  out->rank = failed ? 0 : (int)rank;
  for (Py_ssize_t i = 0; i < rank && !failed; i++)
    failed = read_dimension(PyTuple_GET_ITEM(list, i), &out->dim[i]);
  Py_DECREF(list);
  return failed;
}

PyObject *types_tuple(situ_shape shape) {
  if (shape.rank < 0) Py_RETURN_NONE;
  PyObject *tuple = PyTuple_New(shape.rank);
  for (int i = 0; tuple && i < shape.rank; i++) {
    PyObject *item =
        shape.dim[i] < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong((long long)shape.dim[i]);
    if (!item) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

PyObject *types_tensor_shape(situ_shape shape) {
  PyObject *tuple = types_tuple(shape);
  if (!tuple || !hooks.shape) return tuple;
  PyObject *result = PyObject_CallOneArg(hooks.shape, tuple);
  Py_DECREF(tuple);
  return result;
}

static PyObject *list_types(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  PyObject *list = PyList_New(0);
#define TYPE_ROW(name, number, bytes, tf_name, numpy)                                             \
  if (list) {                                                                                     \
    PyObject *row = Py_BuildValue("(siiss)", #name, (int)(number), (int)(bytes), tf_name, numpy); \
    if (!row || PyList_Append(list, row)) Py_CLEAR(list);                                         \
    Py_XDECREF(row);                                                                              \
  }
  SITU_TYPES(TYPE_ROW)
#undef TYPE_ROW
  return list;
}

PyMethodDef types_methods[] = {
    {"types", list_types, METH_NOARGS, "Returns the element types: name, number, bytes, names."},
    {NULL, NULL, 0, NULL}};
