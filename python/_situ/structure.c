/* SPDX-License-Identifier: Apache-2.0
 * structure.c: walks over nested structures.
 *
 * structure_map visits lists, tuples and dicts in their own order; results of sessions, functions
 * and iterators are built with it. flatten and pack are the core of situ/_src/framework/nest.py:
 * they follow a table of the types that are structures, and visit dicts by sorted keys. */
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
  PyObject *result = !PyTuple_CheckExact(structure) && PyObject_HasAttrString(structure, "_make")
                         ? PyObject_CallMethod(structure, "_make", "O", list)
                         : PyList_AsTuple(list);
  Py_DECREF(list);
  return result;
}

/* Returns an empty dict of the type of another one; a defaultdict keeps its default_factory. */
static PyObject *empty_like(PyObject *dict) {
  PyObject *factory =
      PyDict_CheckExact(dict) ? NULL : PyObject_GetAttrString(dict, "default_factory");
  PyErr_Clear();
  PyObject *type = (PyObject *)Py_TYPE(dict);
  PyObject *empty = factory ? PyObject_CallOneArg(type, factory) : PyObject_CallNoArgs(type);
  Py_XDECREF(factory);
  return empty;
}

static PyObject *map_dict(PyObject *structure, structure_leaf *leaf, void *context) {
  PyObject *items = PyDict_Items(structure); /* a copy: leaves may run code that changes the dict */
  PyObject *dict = items ? empty_like(structure) : NULL;
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

static PyObject *call_with_leaf(PyObject *item, void *function) {
  return PyObject_CallOneArg(function, item);
}

/* map_structure(function, structure): visits dicts in their own order. */
static PyObject *map_structure(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  (void)module;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "map_structure takes a function, a structure");
  return structure_map(args[1], call_with_leaf, args[0]);
}

/* Returns the container that a table has for the type of a value, None for leaves. */
static PyObject *container_of(PyObject *table, PyObject *value) {
  PyObject *type = (PyObject *)Py_TYPE(value);
  PyObject *found = PyDict_GetItemWithError(table, type);
  if (found) return Py_NewRef(found);
  return PyErr_Occurred() ? NULL : PyObject_GetItem(table, type); /* calls __missing__ */
}

static PyObject *sorted_keys(PyObject *dict) {
  PyObject *keys = PyDict_Keys(dict);
  if (keys && PyList_Sort(keys)) Py_CLEAR(keys);
  return keys;
}

/* Returns the values of a dict for a list of keys, as a tuple. */
static PyObject *values_at(PyObject *dict, PyObject *keys) {
  PyObject *values = keys ? PyTuple_New(PyList_GET_SIZE(keys)) : NULL;
  for (Py_ssize_t i = 0; values && i < PyList_GET_SIZE(keys); i++) {
    PyObject *value = PyObject_GetItem(dict, PyList_GET_ITEM(keys, i));
    if (value)
      PyTuple_SET_ITEM(values, i, value);
    else
      Py_CLEAR(values);
  }
  return values;
}

/* Returns the children of a structure as a tuple. Those of a dict are ordered by sorted keys, which
 * *keys receives. */
static PyObject *children(PyObject *container, PyObject *structure, PyObject **keys) {
  if (PyList_CheckExact(structure)) return PyList_AsTuple(structure);
  if (PyTuple_CheckExact(structure)) return Py_NewRef(structure);
  if (PyDict_CheckExact(structure)) return values_at(structure, *keys = sorted_keys(structure));
  PyObject *values = PyObject_CallMethod(container, "values", "(O)", structure);
  PyObject *tuple = values ? PySequence_Tuple(values) : NULL;
  Py_XDECREF(values);
  return tuple;
}

static int flatten_into(PyObject *table, PyObject *structure, PyObject *out) {
  PyObject *container = container_of(table, structure), *keys = NULL;
  if (!container || container == Py_None) {
    const int failed = container ? PyList_Append(out, structure) : -1;
    Py_XDECREF(container);
    return failed;
  }
  int failed = Py_EnterRecursiveCall(" in a nested structure");
  if (!failed) {
    PyObject *values = children(container, structure, &keys);
    failed = values ? 0 : -1;
    for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(values); i++)
      failed = flatten_into(table, PyTuple_GET_ITEM(values, i), out);
    Py_XDECREF(values);
    Py_LeaveRecursiveCall();
  }
  Py_XDECREF(keys);
  Py_DECREF(container);
  return failed;
}

/* flatten(table, structure): a list of the leaves. */
static PyObject *flatten(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  (void)module;
  if (n != 2 || !PyDict_Check(args[0]))
    return PyErr_Format(PyExc_TypeError, "flatten takes a table and a structure");
  PyObject *out = PyList_New(0);
  if (out && flatten_into(args[0], args[1], out)) Py_CLEAR(out);
  return out;
}

/* The leaves that are not yet packed. */
struct leaves {
  PyObject *table, *list;
  Py_ssize_t next;
};

static PyObject *pack_next(PyObject *structure, struct leaves *leaves);

/* Returns a structure with new children, given in a list, whose reference it takes. */
static PyObject *rebuild(PyObject *container, PyObject *structure, PyObject *keys,
                         PyObject *parts) {
  if (PyList_CheckExact(structure)) return parts;
  PyObject *result = NULL;
  if (PyTuple_CheckExact(structure)) {
    result = PyList_AsTuple(parts);
  } else if (keys) {
    result = PyDict_Copy(structure); /* keeps the order of the keys */
    for (Py_ssize_t i = 0; result && i < PyList_GET_SIZE(keys); i++)
      if (PyDict_SetItem(result, PyList_GET_ITEM(keys, i), PyList_GET_ITEM(parts, i)))
        Py_CLEAR(result);
  } else {
    result = PyObject_CallMethod(container, "rebuild", "OO", structure, parts);
  }
  Py_DECREF(parts);
  return result;
}

static PyObject *pack_children(PyObject *values, struct leaves *leaves) {
  PyObject *parts = values ? PyList_New(PyTuple_GET_SIZE(values)) : NULL;
  for (Py_ssize_t i = 0; parts && i < PyTuple_GET_SIZE(values); i++) {
    PyObject *part = pack_next(PyTuple_GET_ITEM(values, i), leaves);
    if (part)
      PyList_SET_ITEM(parts, i, part);
    else
      Py_CLEAR(parts);
  }
  return parts;
}

static PyObject *pack_next(PyObject *structure, struct leaves *leaves) {
  PyObject *container = container_of(leaves->table, structure), *result = NULL, *keys = NULL;
  if (container == Py_None) {
    Py_DECREF(container);
    if (leaves->next < PyList_GET_SIZE(leaves->list))
      return Py_NewRef(PyList_GET_ITEM(leaves->list, leaves->next++));
    return PyErr_Format(PyExc_IndexError, "fewer values than leaves");
  }
  if (container && !Py_EnterRecursiveCall(" in a nested structure")) {
    PyObject *values = children(container, structure, &keys);
    PyObject *parts = pack_children(values, leaves);
    result = parts ? rebuild(container, structure, keys, parts) : NULL;
    Py_XDECREF(values);
    Py_LeaveRecursiveCall();
  }
  Py_XDECREF(keys);
  Py_XDECREF(container);
  return result;
}

/* pack(table, structure, leaves): the structure with other leaves; IndexError if their number is
 * wrong. */
static PyObject *pack(PyObject *module, PyObject *const *args, Py_ssize_t n) {
  (void)module;
  if (n != 3 || !PyDict_Check(args[0]) || !PyList_CheckExact(args[2]))
    return PyErr_Format(PyExc_TypeError, "pack takes a table, a structure and a list");
  struct leaves leaves = {args[0], args[2], 0};
  PyObject *result = pack_next(args[1], &leaves);
  if (!result || leaves.next == PyList_GET_SIZE(args[2])) return result;
  Py_DECREF(result);
  return PyErr_Format(PyExc_IndexError, "more values than leaves");
}

PyMethodDef structure_methods[] = {
    {"map_structure", (PyCFunction)(void (*)(void))map_structure, METH_FASTCALL,
     "Maps a function over the leaves of nested lists, tuples and dicts."},
    {"flatten", (PyCFunction)(void (*)(void))flatten, METH_FASTCALL, "The leaves of a structure."},
    {"pack", (PyCFunction)(void (*)(void))pack, METH_FASTCALL, "A structure with other leaves."},
    {NULL, NULL, 0, NULL}};
