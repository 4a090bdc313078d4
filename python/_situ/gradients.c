/* SPDX-License-Identifier: Apache-2.0
 * gradients.c: gradients of a graph (situ/gradient.h). */
#include <situ/gradient.h>

#include "situ_python.h"

/* Reads a tuple of graph tensors; None is an invalid value. NULL with an exception. */
static situ_value *read_values(struct graph_object *graph, PyObject *tuple, int *count) {
  *count = (int)PyTuple_GET_SIZE(tuple);
  situ_value *values = PyMem_Calloc((size_t)*count + 1, sizeof *values);
  if (!values) return (situ_value *)PyErr_NoMemory();
  for (int i = 0; i < *count; i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    values[i] = (situ_value){graph->graph, -1, -1};
    if (IS_VALUE(item)) {
      values[i] = value_native((struct value_object *)item);
    } else if (item != Py_None) {
      PyErr_Format(PyExc_TypeError, "not a tensor of a graph: %R", item);
      PyMem_Free(values);
      return NULL;
    }
  }
  return values;
}

static PyObject *wrap(struct graph_object *graph, situ_value value) {
  if (value.node < 0) Py_RETURN_NONE;
  return value_of(graph, value);
}

static PyObject *wrap_all(struct graph_object *graph, const situ_value *values, int n) {
  PyObject *list = PyList_New(n);
  for (int i = 0; list && i < n; i++) {
    PyObject *item = wrap(graph, values[i]);
    if (!item) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, item);
  }
  return list;
}

/* Wraps gradients as tensors; sparse ones as tuples (values, indices, dense_shape). */
static PyObject *wrap_gradients(struct graph_object *graph, const situ_value *values,
                                const situ_indexed_slices *slices, int n) {
  PyObject *list = wrap_all(graph, values, n);
  for (int i = 0; list && i < n; i++) {
    if (slices[i].values.node < 0) continue;
    PyObject *v = wrap(graph, slices[i].values), *k = wrap(graph, slices[i].indices);
    PyObject *shape = wrap(graph, slices[i].dense_shape);
    PyObject *item = v && k && shape ? PyTuple_Pack(3, v, k, shape) : NULL;
    Py_XDECREF(v);
    Py_XDECREF(k);
    Py_XDECREF(shape);
    if (!item || PyList_SetItem(list, i, item)) Py_CLEAR(list);
  }
  return list;
}

/* Calls a Python gradient function: function(operation, dys) -> dxs. */
static situ_status call_python(void *context, situ_value node, const situ_value *dys, int n_dys,
                               situ_value *dxs, int n_dxs) {
  PyObject *pair = context;
  struct graph_object *graph = (struct graph_object *)PyTuple_GET_ITEM(pair, 0);
  PyObject *list = wrap_all(graph, dys, n_dys);
  struct operation_object *operation = operation_of(graph, node.node);
  PyObject *result = list && operation
                         ? PyObject_CallFunction(PyTuple_GET_ITEM(pair, 1), "OO", operation, list)
                         : NULL;
  PyObject *items = result ? PySequence_Fast(result, "gradients are a list") : NULL;
  bool good = items && PySequence_Fast_GET_SIZE(items) == n_dxs;
  for (int i = 0; good && i < n_dxs; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(items, i);
    if (IS_VALUE(item)) dxs[i] = value_native((struct value_object *)item);
    good = IS_VALUE(item) || item == Py_None;
  }
  if (!good && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "Num gradients %zd generated for op do not match num inputs %d",
                 items ? PySequence_Fast_GET_SIZE(items) : (Py_ssize_t)0, n_dxs);
  Py_XDECREF(items);
  Py_XDECREF(result);
  Py_XDECREF(list);
  return good ? NULL : situ_status_create(SITU_UNKNOWN, "the gradient of a node failed");
}

/* Reads an override: a function, or a pair of a function and the tensors whose gradients it
 * returns. */
static int read_override(struct graph_object *graph, PyObject *key, PyObject *what, PyObject *keep,
                         situ_gradient_override *out) {
  PyObject *function = PyTuple_Check(what) ? PyTuple_GET_ITEM(what, 0) : what;
  graph = ((struct operation_object *)key)->graph; /* possibly of a function body */
  PyObject *pair = PyTuple_Pack(2, graph, function);
  const int failed = !pair || PyList_Append(keep, pair);
  Py_XDECREF(pair); /* the list owns it */
  if (failed) return -1;
  *out = (situ_gradient_override){.node = operation_native((struct operation_object *)key),
                                  .function = call_python,
                                  .context = pair};
  if (!PyTuple_Check(what)) return 0;
  out->inputs = read_values(graph, PyTuple_GET_ITEM(what, 1), &out->n_inputs);
  return out->inputs ? 0 : -1;
}

static void free_overrides(situ_gradient_override *all, int count) {
  for (int i = 0; i < count; i++) PyMem_Free((void *)(uintptr_t)all[i].inputs);
  PyMem_Free(all);
}

/* Reads a dict of operations with Python gradient functions. */
static situ_gradient_override *read_overrides(struct graph_object *graph, PyObject *dict,
                                              int *count, PyObject **keep) {
  situ_gradient_override *all = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *all);
  PyObject *key, *what;
  Py_ssize_t at = 0;
  *count = 0;
  *keep = PyList_New(0);
  if (!all || !*keep) return PyMem_Free(all), (situ_gradient_override *)PyErr_NoMemory();
  while (PyDict_Next(dict, &at, &key, &what)) { /* PyDict_Next runs no user code */
    if (Py_TYPE(key) == &operation_type &&
        !read_override(graph, key, what, *keep, &all[(*count)++]))
      continue;
    if (!PyErr_Occurred()) PyErr_SetString(PyExc_TypeError, "the keys must be operations");
    return free_overrides(all, *count), NULL;
  }
  return all;
}

static PyObject *fail(situ_status status) {
  if (PyErr_Occurred()) return situ_status_release(status), NULL;
  return errors_raise_gradient(status) ? NULL : errors_raise_building(status);
}

/* gradients(graph, ys, xs, grad_ys, stop, scope, by_scope, zero, gate, overrides) -> list */
static PyObject *gradients(PyObject *self, PyObject *args) {
  (void)self;
  struct graph_object *graph;
  PyObject *tuples[4], *dict, *keep = NULL, *result = NULL;
  situ_value *values[4] = {NULL};
  int counts[4] = {0}, by_scope, zero, gate, n_overrides = 0;
  const char *scope;
  if (!PyArg_ParseTuple(args, "O!O!O!O!O!spppO!:gradients", &graph_type, &graph, &PyTuple_Type,
                        &tuples[0], &PyTuple_Type, &tuples[1], &PyTuple_Type, &tuples[2],
                        &PyTuple_Type, &tuples[3], &scope, &by_scope, &zero, &gate, &PyDict_Type,
                        &dict))
    return NULL;
  bool good = true;
  for (int i = 0; i < 4 && good; i++)
    good = (values[i] = read_values(graph, tuples[i], &counts[i]));
  situ_gradient_override *overrides =
      good ? read_overrides(graph, dict, &n_overrides, &keep) : NULL;
  situ_value *out = good ? PyMem_Calloc((size_t)counts[1] + 1, sizeof *out) : NULL;
  situ_indexed_slices *slices = out ? PyMem_Calloc((size_t)counts[1] + 1, sizeof *slices) : NULL;
  if (overrides && !slices) PyErr_NoMemory();
  if (overrides && slices) {
    numerics_set_origin(graph);
    const situ_gradient_options options = {.scope = scope,
                                           .no_colocation = by_scope,
                                           .zero_unconnected = zero,
                                           .gate_gradients = gate,
                                           .stop = values[3],
                                           .n_stop = counts[3],
                                           .overrides = overrides,
                                           .n_overrides = n_overrides,
                                           .slices = slices};
    const situ_status status = situ_gradients(graph->graph, values[0], counts[0], values[1],
                                              counts[1], values[2], &options, out);
    result = status ? fail(status) : wrap_gradients(graph, out, slices, counts[1]);
  }
  for (int i = 0; i < 4; i++) PyMem_Free(values[i]);
  if (overrides) free_overrides(overrides, n_overrides);
  PyMem_Free(out);
  PyMem_Free(slices);
  Py_XDECREF(keep);
  return result;
}

/* note_gradient(graph, variable, parts): see situ_gradient_register */
static PyObject *note_gradient(PyObject *self, PyObject *args) {
  (void)self;
  struct graph_object *graph;
  const char *variable;
  PyObject *parts;
  int count = 0;
  if (!PyArg_ParseTuple(args, "O!sO!:note_gradient", &graph_type, &graph, &variable, &PyTuple_Type,
                        &parts))
    return NULL;
  situ_value *values = read_values(graph, parts, &count);
  if (!values) return NULL;
  situ_gradient_register(graph->graph, variable, values, count);
  PyMem_Free(values);
  Py_RETURN_NONE;
}

PyMethodDef gradients_methods[] = {
    {"gradients", gradients, METH_VARARGS, "Adds gradients to a graph."},
    {"note_gradient", note_gradient, METH_VARARGS, "Registers the gradient of a variable."},
    {NULL, NULL, 0, NULL}};
