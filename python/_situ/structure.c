/* SPDX-License-Identifier: Apache-2.0
 * structure.c: lists, tuples and dicts of things, with each thing replaced. */
#include "situ_python.h"

static PyObject *map_list(PyObject *structure, structure_leaf *leaf, void *context) {
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(structure);
  PyObject *list = PyList_New(n);
  for (Py_ssize_t i = 0; list && i < n; i++) {
    PyObject *part = structure_map(PySequence_Fast_GET_ITEM(structure, i), leaf, context);
    if (!part) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, part);
  }
  if (!list || PyList_Check(structure)) return list;
  PyObject *result = PyObject_HasAttrString(structure, "_make")
                         ? PyObject_CallMethod((PyObject *)Py_TYPE(structure), "_make", "O", list)
                         : PyList_AsTuple(list);
  Py_DECREF(list);
  return result;
}

static PyObject *map_dict(PyObject *structure, structure_leaf *leaf, void *context) {
  PyObject *dict = PyObject_CallNoArgs((PyObject *)Py_TYPE(structure)), *key, *value;
  Py_ssize_t place = 0;
  while (dict && PyDict_Next(structure, &place, &key, &value)) {
    PyObject *part = structure_map(value, leaf, context);
    if (!part || PyObject_SetItem(dict, key, part)) Py_CLEAR(dict);
    Py_XDECREF(part);
  }
  return dict;
}

PyObject *structure_map(PyObject *structure, structure_leaf *leaf, void *context) {
  if (PyList_Check(structure) || PyTuple_Check(structure))
    return map_list(structure, leaf, context);
  if (PyDict_Check(structure)) return map_dict(structure, leaf, context);
  return leaf(structure, context);
}
