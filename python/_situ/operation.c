/* SPDX-License-Identifier: Apache-2.0
 * operation.c: Operation: a node of a graph. Each node has at most one object, created on demand.
 * */
#include <stdlib.h>

#include "message.h"
#include "situ_python.h"

situ_value operation_native(const struct operation_object *operation) {
  return situ_graph_node(operation->graph->graph, operation->node);
}

struct operation_object *operation_of(struct graph_object *graph, int node) {
  if (graph_reserve(graph, node)) return NULL;
  if (graph->operations[node]) return (struct operation_object *)graph->operations[node];
  struct operation_object *self = PyObject_GC_New(struct operation_object, &operation_type);
  if (!self) return NULL;
  self->graph = (struct graph_object *)Py_NewRef((PyObject *)graph);
  self->inputs = self->outputs = self->dict = self->weak = NULL;
  self->node = node;
  PyObject_GC_Track((PyObject *)self);
  graph->operations[node] = (PyObject *)self;
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

static int count(situ_value node, situ_value (*get)(situ_value, int)) {
  int n = 0;
  while (situ_value_valid(get(node, n))) n++;
  return n;
}

PyObject *operation_outputs(struct operation_object *self) {
  if (self->outputs) return self->outputs;
  const situ_value native = operation_native(self);
  const int n = native.output < 0 ? 0 : count(native, situ_value_output);
  PyObject *tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; i++) {
    const situ_value output = situ_value_output(native, i);
    PyObject *value = i ? value_create(self->graph, output) : value_of(self->graph, output);
    if (!value) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, value);
  }
  return self->outputs = tuple;
}

static PyObject *get_outputs(PyObject *self, void *closure) {
  (void)closure;
  PyObject *tuple = operation_outputs((struct operation_object *)self);
  return tuple ? PySequence_List(tuple) : NULL;
}

static PyObject *get_inputs(PyObject *object, void *closure) {
  (void)closure;
  struct operation_object *self = (struct operation_object *)object;
  if (self->inputs) return Py_NewRef(self->inputs);
  const situ_value native = operation_native(self);
  const int n = count(native, situ_value_input);
  PyObject *tuple = PyTuple_New(n);
  for (int i = 0; tuple && i < n; i++) {
    PyObject *value = value_of(self->graph, situ_value_input(native, i));
    if (!value) Py_CLEAR(tuple);
    if (tuple) PyTuple_SET_ITEM(tuple, i, value);
  }
  self->inputs = tuple;
  return Py_XNewRef(tuple);
}

static PyObject *get_controls(PyObject *object, void *closure) {
  (void)closure;
  struct operation_object *self = (struct operation_object *)object;
  const situ_value native = operation_native(self);
  const int n = count(native, situ_value_control);
  PyObject *list = PyList_New(n);
  for (int i = 0; list && i < n; i++) {
    const int node = situ_value_control(native, i).node;
    PyObject *operation = Py_XNewRef((PyObject *)operation_of(self->graph, node));
    if (!operation) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, operation);
  }
  return list;
}

static PyObject *get_name(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(situ_value_name(operation_native((struct operation_object *)self)));
}

static PyObject *get_type(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(situ_value_op(operation_native((struct operation_object *)self)));
}

/* As set by _set_device, else as in the native graph. */
static PyObject *get_device(PyObject *self, void *closure) {
  (void)closure;
  PyObject *dict = ((struct operation_object *)self)->dict;
  PyObject *error = dict ? PyDict_GetItemString(dict, "_device_text") : NULL;
  if (error) return Py_NewRef(error);
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

/* _save(as_json): returns the NodeDef. */
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

/* _fill_node_def(message): fills an empty NodeDef. */
static PyObject *fill_node_def(PyObject *self, PyObject *message) {
  if (!PyObject_TypeCheck(message, &message_type))
    return PyErr_Format(PyExc_TypeError, "expected a message, got %R", message);
  const situ_status status =
      situ_node_to_message(operation_native((struct operation_object *)self), MESSAGE_OF(message));
  return status ? errors_raise(status, NULL) : Py_NewRef(message);
}

static PyObject *set_device(PyObject *self, PyObject *device) {
  const char *text = convert_text(device);
  if (!text) return NULL;
  const situ_status status =
      situ_device_set(operation_native((struct operation_object *)self), text);
  if (status) return errors_raise_building(status);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"_fill_node_def", fill_node_def, METH_O, "Fills a NodeDef and returns it."},
    {"_save", save, METH_O, "Returns the NodeDef in text or JSON format."},
    {"_ask_device", set_device, METH_O, "Sets the requested device."},
    {NULL, NULL, 0, NULL}};

static PyObject *repr(PyObject *self) {
  const situ_value native = operation_native((struct operation_object *)self);
  return PyUnicode_FromFormat("<tf.Operation '%s' type=%s>", situ_value_name(native),
                              situ_value_op(native));
}

static PyObject *str(PyObject *self) { return PyObject_CallOneArg(hooks.node_def, self); }

static PyObject *get_origin(PyObject *self, void *closure) {
  (void)closure;
  struct operation_object *operation = (struct operation_object *)self;
  return origin_of(operation->graph, operation->node);
}

static PyGetSetDef attributes[] = {
    {"name", get_name, NULL, "The name.", NULL},
    {"type", get_type, NULL, "The op: \"MatMul\".", NULL},
    {"device", get_device, NULL, "The requested device.", NULL},
    {"graph", get_graph, NULL, "The graph.", NULL},
    {"inputs", get_inputs, NULL, "The input tensors.", NULL},
    {"outputs", get_outputs, NULL, "The output tensors.", NULL},
    {"control_inputs", get_controls, NULL, "The control inputs.", NULL},
    {"_id", get_node, NULL, "The index in the graph.", NULL},
    {"_origin", get_origin, NULL, "The (file, line, function) of the frames that created it.",
     NULL},
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
