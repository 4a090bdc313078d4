/* SPDX-License-Identifier: Apache-2.0
 * structure.c: maps functions over nested lists, tuples and dicts. */
#include "situ_python.h"

PyObject *structure_tuple(PyObject *sequence, const char *message) {
  PyObject *list = PySequence_Fast(sequence, message);
  if (!list || PyTuple_Check(list)) return list;
  PyObject *tuple = PyList_AsTuple(list);
  Py_DECREF(list);
  return tuple;
}

static PyObject *map_list(PyObject *structure, structure_leaf *leaf, void *context) {
  PyObject *parts = structure_tuple(structure, "expected a list or a tuple");
  const Py_ssize_t n = parts ? PyTuple_GET_SIZE(parts) : 0;
  PyObject *list = parts ? PyList_New(n) : NULL;
  for (Py_ssize_t i = 0; list && i < n; i++) {
    PyObject *part = structure_map(PyTuple_GET_ITEM(parts, i), leaf, context);
    if (!part) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, part);
  }
  Py_XDECREF(parts);
  if (!list || PyList_Check(structure)) return list;
  PyObject *result = PyObject_HasAttrString(structure, "_make")
                         ? PyObject_CallMethod((PyObject *)Py_TYPE(structure), "_make", "O", list)
                         : PyList_AsTuple(list);
  Py_DECREF(list);
  return result;
}

static PyObject *map_dict(PyObject *structure, structure_leaf *leaf, void *context) {
  PyObject *items = PyDict_Items(structure); /* a copy: leaves may run code that changes the dict */
  PyObject *dict = items ? PyObject_CallNoArgs((PyObject *)Py_TYPE(structure)) : NULL;
  for (Py_ssize_t i = 0; dict && i < PyList_GET_SIZE(items); i++) {
    PyObject *pair = PyList_GET_ITEM(items, i);
    PyObject *part = structure_map(PyTuple_GET_ITEM(pair, 1), leaf, context);
    if (!part || PyObject_SetItem(dict, PyTuple_GET_ITEM(pair, 0), part)) Py_CLEAR(dict);
    Py_XDECREF(part);
  }
  Py_XDECREF(items);
  return dict;
}

PyObject *structure_map(PyObject *structure, structure_leaf *leaf, void *context) {
  if (PyList_Check(structure) || PyTuple_Check(structure))
    return map_list(structure, leaf, context);
  if (PyDict_Check(structure)) return map_dict(structure, leaf, context);
  return leaf(structure, context);
}
