/* SPDX-License-Identifier: Apache-2.0
 * operation.c: Operation: a node of a graph. Each node has one such object, made when it is added
 * or first asked for. */
#include <stdlib.h>

#include "situ_python.h"

situ_value operation_native(const struct operation_object *operation) {
  return situ_graph_node(operation->graph->graph, operation->node);
}

struct operation_object *operation_of(struct graph_object *graph, int node, PyObject *inputs) {
  while (PyList_GET_SIZE(graph->operations) <= node)
    if (PyList_Append(graph->operations, Py_None)) return NULL;
  PyObject *have = PyList_GET_ITEM(graph->operations, node);
  if (have != Py_None) return (struct operation_object *)have;
  struct operation_object *self = PyObject_GC_New(struct operation_object, &operation_type);
  if (!self) return NULL;
  self->graph = (struct graph_object *)Py_NewRef((PyObject *)graph);
  self->inputs = Py_XNewRef(inputs);
  self->outputs = self->dict = self->weak = NULL;
  self->node = node;
  PyObject_GC_Track((PyObject *)self);
  PyList_SetItem(graph->operations, node, (PyObject *)self);
  return self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct operation_object *self = (struct operation_object *)object;
  Py_VISIT(self->graph);
  Py_VISIT(self->inputs);
  Py_VISIT(self->outputs);
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct operation_object *self = (struct operation_object *)object;
  Py_CLEAR(self->inputs);
  Py_CLEAR(self->outputs);
  Py_CLEAR(self->dict);
  Py_CLEAR(self->graph);
  return 0;
}

static void dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  if (((struct operation_object *)object)->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  PyObject_GC_Del(object);
}

static int count_outputs(situ_value first) {
  int n = 0;
  if (first.output < 0) return 0;
  while (situ_value_valid(situ_value_output(first, n))) n++;
  return n;
}

static PyObject *get_outputs(PyObject *object, void *closure) {
  (void)closure;
  struct operation_object *self = (struct operation_object *)object;
  if (!self->outputs) {
    const int n = count_outputs(operation_native(self));
    PyObject *tuple = PyTuple_New(n);
    for (int i = 0; tuple && i < n; i++) {
      PyObject *value = value_of(self, i);
      if (!value) Py_CLEAR(tuple);
      if (tuple) PyTuple_SET_ITEM(tuple, i, value);
    }
    self->outputs = tuple;
  }
  return self->outputs ? PySequence_List(self->outputs) : NULL;
}

/* The inputs of a node that was not made by a call from Python. */
static PyObject *find_inputs(struct operation_object *self) {
  const situ_value native = operation_native(self);
  int n = 0;
  while (situ_value_input(native, n).node >= 0) n++;
  PyObject *tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; i++) {
    const situ_value input = situ_value_input(native, i);
    struct operation_object *from = operation_of(self->graph, input.node, NULL);
    PyObject *value = from ? value_of(from, input.output) : NULL;
    if (!value) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, value);
  }
  return tuple;
}

static PyObject *get_inputs(PyObject *object, void *closure) {
  (void)closure;
  struct operation_object *self = (struct operation_object *)object;
  if (!self->inputs) self->inputs = find_inputs(self);
  return Py_XNewRef(self->inputs);
}

static PyObject *get_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(situ_value_name(operation_native((struct operation_object *)self)));
}

static PyObject *get_type(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(situ_value_op(operation_native((struct operation_object *)self)));
}

/* As _set_device was told, else as the engine has it. */
static PyObject *get_device(PyObject *self, void *closure) {
  (void)closure;
  PyObject *dict = ((struct operation_object *)self)->dict;
  PyObject *told = dict ? PyDict_GetItemString(dict, "_device_text") : NULL;
  if (told) return Py_NewRef(told);
  return PyUnicode_FromString(situ_value_device(operation_native((struct operation_object *)self)));
}

static PyObject *get_graph(PyObject *self, void *closure) {
  (void)closure;
  return Py_NewRef((PyObject *)((struct operation_object *)self)->graph);
}

static PyObject *get_node(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(((struct operation_object *)self)->node);
}

/* _save(as_json): the node as a part of a GraphDef. */
static PyObject *save(PyObject *self, PyObject *as_json) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (!stream) return PyErr_NoMemory();
  const situ_status status = situ_node_save(operation_native((struct operation_object *)self),
                                            PyObject_IsTrue(as_json) == 1, stream);
  fclose(stream);
  PyObject *result =
      status ? errors_raise(status, NULL) : PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
  free(text);
  return result;
}

static PyObject *set_device(PyObject *self, PyObject *device) {
  const char *text = PyUnicode_AsUTF8(device);
  if (!text) return NULL;
  const situ_status status =
      situ_device_set(operation_native((struct operation_object *)self), text);
  if (status) return errors_raise_building(status);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_save", save, METH_O, "The node as a part of a GraphDef: text, or JSON."},
    {"_ask_device", set_device, METH_O, "Asks for another device."},
    {NULL, NULL, 0, NULL}};

static PyObject *repr(PyObject *self) {
  const situ_value native = operation_native((struct operation_object *)self);
  return PyUnicode_FromFormat("<tf.Operation '%s' type=%s>", situ_value_name(native),
                              situ_value_op(native));
}

static PyObject *str(PyObject *self) { return PyObject_CallOneArg(hooks.node_def, self); }

static PyGetSetDef attributes[] = {
    {"name", get_name, NULL, "The name.", NULL},
    {"type", get_type, NULL, "The op: \"MatMul\".", NULL},
    {"device", get_device, NULL, "The device that was asked for.", NULL},
    {"graph", get_graph, NULL, "The graph.", NULL},
    {"inputs", get_inputs, NULL, "The tensors it reads.", NULL},
    {"outputs", get_outputs, NULL, "The tensors it makes.", NULL},
    {"_id", get_node, NULL, "Its number in the graph.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject operation_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.Operation",
    .tp_basicsize = sizeof(struct operation_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A node of a graph.",
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_repr = repr,
    .tp_str = str,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct operation_object, dict),
    .tp_weaklistoffset = offsetof(struct operation_object, weak),
};
