/* SPDX-License-Identifier: Apache-2.0
 * value.c: Tensor of a graph: an output of an operation. */
#include <string.h>

#include "situ_python.h"

PyObject *value_create(struct graph_object *graph, situ_value native) {
  struct value_object *self = PyObject_GC_New(struct value_object, &value_type);
  if (!self) return NULL;
  self->graph = (struct graph_object *)Py_NewRef((PyObject *)graph);
  self->node = native.node;
  self->output = native.output;
  self->dict = self->weak = NULL;
  self->type = situ_value_type(native);
  self->shape = situ_value_shape(native);
  PyObject_GC_Track((PyObject *)self);
  return (PyObject *)self;
}

/* The graph owns the object of output 0, the operation those of other outputs. */
PyObject *value_of(struct graph_object *graph, situ_value native) {
  if (native.output > 0) {
    struct operation_object *operation = operation_of(graph, native.node);
    PyObject *outputs = operation ? operation_outputs(operation) : NULL;
    return outputs ? Py_NewRef(PyTuple_GET_ITEM(outputs, native.output)) : NULL;
  }
  if (graph_reserve(graph, native.node)) return NULL;
  PyObject **at = &graph->values[native.node];
  if (!*at) *at = value_create(graph, native);
  return Py_XNewRef(*at);
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct value_object *self = (struct value_object *)object;
  Py_VISIT(self->graph);
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct value_object *self = (struct value_object *)object;
  Py_CLEAR(self->graph);
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  if (((struct value_object *)object)->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  PyObject_GC_Del(object);
}

static PyObject *get_name(PyObject *object, void *closure) {
  (void)closure;
  const struct value_object *self = (struct value_object *)object;
  return PyUnicode_FromFormat("%s:%d", situ_value_name(value_native(self)), self->output);
}

static PyObject *get_op(PyObject *self, void *closure) {
  (void)closure;
  const struct value_object *value = (struct value_object *)self;
  return Py_XNewRef((PyObject *)operation_of(value->graph, value->node));
}

static PyObject *get_graph(PyObject *self, void *closure) {
  (void)closure;
  return Py_NewRef((PyObject *)((struct value_object *)self)->graph);
}

static PyObject *get_shape(PyObject *self, void *closure) {
  (void)closure;
  return types_tensor_shape(((struct value_object *)self)->shape);
}

static PyObject *get_dtype(PyObject *self, void *closure) {
  (void)closure;
  return types_dtype(((struct value_object *)self)->type);
}

static PyObject *get_device(PyObject *self, void *closure) {
  (void)closure;
  const struct value_object *value = (struct value_object *)self;
  struct operation_object *operation = operation_of(value->graph, value->node);
  return operation ? PyObject_GetAttrString((PyObject *)operation, "device") : NULL;
}

static PyObject *get_index(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(((struct value_object *)self)->output);
}

/* Stores the shape that set_shape in Python has validated. */
static PyObject *store_shape(PyObject *self, PyObject *shape) {
  struct value_object *value = (struct value_object *)self;
  if (types_shape(shape, &value->shape)) return NULL;
  const situ_status status = situ_value_set_shape(value_native(value), value->shape);
  if (status) return errors_raise_building(status);
  Py_RETURN_NONE;
}

static PyObject *subscript(PyObject *self, PyObject *key) {
  return PyObject_CallFunctionObjArgs(hooks.index, self, key, NULL);
}

/* Formats "(2, 3)" or "(?, 3)", in eager mode "(None, 3)". */
static const char *shape_word(const struct value_object *self, char text[256]) {
  const int rank = self->shape.rank;
  const char *unknown = context_is_eager() ? "None" : "?";
  size_t at = 1;
  strcpy(text, "(");
  for (int i = 0; i < rank; i++) {
    const long long size = (long long)self->shape.dim[i];
    const char *comma = i + 1 < rank ? ", " : rank == 1 ? "," : "";
    at += (size_t)(size < 0 ? snprintf(text + at, 256 - at, "%s%s", unknown, comma)
                            : snprintf(text + at, 256 - at, "%lld%s", size, comma));
  }
  snprintf(text + at, 256 - at, ")");
  return text;
}

static PyObject *str(PyObject *object) {
  struct value_object *self = (struct value_object *)object;
  char text[256];
  const situ_value native = value_native(self);
  const char *device = situ_value_device(native);
  const bool known = self->shape.rank >= 0;
  return PyUnicode_FromFormat("Tensor(\"%s:%d\"%s%s, dtype=%s%s%s)", situ_value_name(native),
                              self->output, known ? ", shape=" : "",
                              known ? shape_word(self, text) : "", types_name(self->type),
                              *device ? ", device=" : "", device);
}

static PyObject *repr(PyObject *object) {
  const struct value_object *self = (struct value_object *)object;
  char text[256];
  return PyUnicode_FromFormat(
      "<tf.Tensor '%s:%d' shape=%s dtype=%s>", situ_value_name(value_native(self)), self->output,
      self->shape.rank < 0 ? "<unknown>" : shape_word(self, text), types_name(self->type));
}

/* Only while a function is traced and the first dimension is known. */
static PyObject *iterate(PyObject *self) {
  const situ_shape shape = ((struct value_object *)self)->shape;
  PyObject *refused = PyObject_CallMethod(self, "_refuse_iteration", NULL);
  if (!refused) return NULL;
  Py_DECREF(refused);
  PyObject *list = PyList_New(0);
  for (int64_t i = 0; list && i < shape.dim[0]; i++) {
    PyObject *key = PyLong_FromLongLong(i), *part = key ? subscript(self, key) : NULL;
    if (!part || PyList_Append(list, part)) Py_CLEAR(list);
    Py_XDECREF(key);
    Py_XDECREF(part);
  }
  PyObject *iterator = list ? PyObject_GetIter(list) : NULL;
  Py_XDECREF(list);
  return iterator;
}

static Py_ssize_t length(PyObject *self) {
  Py_XDECREF(PyObject_CallMethod(self, "_refuse_length", NULL));
  return -1;
}

static PyMappingMethods mapping = {.mp_subscript = subscript, .mp_length = length};

static PyMethodDef methods[] = {{"_store_shape", store_shape, METH_O, "Sets the static shape."},
                                {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"name", get_name, NULL, "The name: operation and output index, \"x:0\".", NULL},
    {"op", get_op, NULL, "The operation.", NULL},
    {"graph", get_graph, NULL, "The graph.", NULL},
    {"shape", get_shape, NULL, "The static shape: a TensorShape.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"device", get_device, NULL, "The requested device.", NULL},
    {"value_index", get_index, NULL, "The number of the output.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static Py_hash_t hash(PyObject *self) { return (Py_hash_t)((uintptr_t)self >> 4); }

PyTypeObject value_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "Tensor",
    .tp_basicsize = sizeof(struct value_object),
    .tp_base = &base_type,
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "An output of an operation of a graph.",
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_repr = repr,
    .tp_str = str,
    .tp_hash = hash,
    .tp_richcompare = operators_compare,
    .tp_iter = iterate,
    .tp_as_mapping = &mapping,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct value_object, dict),
    .tp_weaklistoffset = offsetof(struct value_object, weak),
};
