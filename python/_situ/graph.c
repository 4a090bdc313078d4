/* SPDX-License-Identifier: Apache-2.0
 * graph.c: Graph: the native graph with its names and operations. The package adds scopes and
 * collections. */
#include <errno.h>
#include <string.h>

#include <situ/cluster.h>
#include <situ/static_value.h>

#include "message.h"
#include "situ_python.h"

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  struct graph_object *self = (struct graph_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->graph = situ_graph_create();
  if (self->graph) return (PyObject *)self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct graph_object *self = (struct graph_object *)object;
  for (int i = 0; i < self->capacity; i++) {
    Py_VISIT(self->values[i]);
    Py_VISIT(self->operations[i]);
  }
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct graph_object *self = (struct graph_object *)object;
  for (int i = 0; i < self->capacity; i++) {
    Py_CLEAR(self->values[i]);
    Py_CLEAR(self->operations[i]);
  }
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  struct graph_object *self = (struct graph_object *)object;
  PyObject_GC_UnTrack(object);
  if (self->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  PyMem_Free(self->values);
  PyMem_Free(self->operations);
  origin_free(self);
  situ_graph_release(self->graph);
  Py_TYPE(object)->tp_free(object);
}

static int grow(PyObject ***array, int from, int to) {
  PyObject **larger = PyMem_Realloc(*array, sizeof *larger * (size_t)to);
  if (!larger) return PyErr_NoMemory(), -1;
  memset(larger + from, 0, sizeof *larger * (size_t)(to - from));
  *array = larger;
  return 0;
}

int graph_reserve(struct graph_object *graph, int node) {
  if (node < graph->capacity) return 0;
  const int capacity = 2 * node + 64;
  if (grow(&graph->values, graph->capacity, capacity) ||
      grow(&graph->operations, graph->capacity, capacity))
    return -1;
  graph->capacity = capacity;
  return 0;
}

PyObject *graph_unique(struct graph_object *graph, const char *scope, const char *name) {
  const size_t length = strlen(name);
  if (length && name[length - 1] == '/') /* a scope name: used verbatim */
    return PyUnicode_FromStringAndSize(name, (Py_ssize_t)length - 1);
  const char *unique = situ_name_reserve(graph->graph, scope, name);
  if (!unique && errno == ENOMEM) return PyErr_NoMemory();
  if (!unique)
    return PyErr_Format(PyExc_ValueError, "'%s%s' is not a valid node name", scope, name);
  return PyUnicode_FromString(unique);
}

int graph_check_open(const struct graph_object *graph) {
  if (!graph->finalized) return 0;
  PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified.");
  return -1;
}

int graph_enter_device(struct graph_object *graph, const char *op, PyObject *name,
                       PyObject *inputs) {
  if (graph_check_open(graph)) return -1;
  if (!graph->functions) return 0;
  PyObject *device = PyObject_CallFunction(hooks.device_function, "OsOO", graph, op, name,
                                           inputs ? inputs : Py_None);
  const char *text = device ? convert_text(device) : NULL;
  if (text) situ_device_push_exact(graph->graph, text);
  Py_XDECREF(device);
  return text ? 0 : -1;
}

void graph_leave_device(struct graph_object *graph) {
  if (graph->functions) situ_device_pop(graph->graph);
}

PyObject *graph_constant(struct graph_object *graph, situ_tensor *tensor, const char *name) {
  PyObject *unique = graph_unique(graph, "", name);
  if (!unique) return NULL;
  if (graph_enter_device(graph, "Const", unique, NULL)) {
    Py_DECREF(unique);
    return NULL;
  }
  situ_tensor *host = situ_tensor_retain(tensor);
  if (!situ_tensor_data(tensor) && situ_tensor_bytes(tensor)) { /* on a device */
    situ_tensor *copy = NULL;
    situ_eager *eager = context_eager();
    const situ_status status = eager ? situ_eager_copy(eager, tensor, "/cpu:0", &copy) : NULL;
    if (status) situ_status_release(status);
    situ_tensor_release(host);
    host = copy;
  }
  char text[512]; /* "name/": verbatim */
  snprintf(text, sizeof text, "%s/", PyUnicode_AsUTF8(unique));
  situ_graph_lock(graph->graph); /* keeps other threads from seeing the error before it is taken */
  const situ_value value = situ_constant_tensor(graph->graph, text, host);
  graph_leave_device(graph);
  const bool added = situ_value_valid(value);
  const situ_status status = added ? NULL : situ_graph_take_error(graph->graph);
  situ_graph_unlock(graph->graph);
  situ_tensor_release(host);
  Py_DECREF(unique);
  return added ? value_of(graph, value) : errors_raise_building(status);
}

static PyObject *check_type(PyObject *value, situ_type type) {
  const situ_type have = ((struct value_object *)value)->type;
  if (type == SITU_NO_TYPE || have == type) return Py_NewRef(value);
  return PyErr_Format(PyExc_ValueError,
                      "Tensor conversion requested dtype %s for Tensor with dtype %s: '%S'",
                      types_name(type), types_name(have), value);
}

PyObject *graph_tensor(struct graph_object *graph, PyObject *value, situ_type type,
                       const char *name) {
  if (IS_VALUE(value)) return check_type(value, type);
  if (IS_TENSOR(value)) {
    PyObject *captured = PyObject_CallMethod((PyObject *)graph, "_capture", "Os", value, name);
    return captured;
  }
  PyObject *tensor_value = tensor_from_object(value);
  if (tensor_value || PyErr_Occurred()) {
    PyObject *result = tensor_value ? graph_tensor(graph, tensor_value, type, name) : NULL;
    Py_XDECREF(tensor_value);
    return result;
  }
  if ((PyList_Check(value) || PyTuple_Check(value)) && convert_holds_tensor(value)) {
    PyObject *dtype = types_dtype(type);
    PyObject *packed = PyObject_CallFunction(hooks.pack, "OOs", value, dtype, name);
    Py_DECREF(dtype);
    return packed;
  }
  situ_tensor *tensor = convert_value(value, type);
  if (!tensor) return NULL;
  PyObject *result = graph_constant(graph, tensor, name);
  situ_tensor_release(tensor);
  return result;
}

static PyObject *unique_name(PyObject *self, PyObject *args) {
  const char *scope, *name;
  if (!PyArg_ParseTuple(args, "ss", &scope, &name)) return NULL;
  return graph_unique((struct graph_object *)self, scope, name);
}

/* _constant(value, dtype, name): the name is copied unique, but not scoped. */
static PyObject *constant(PyObject *self, PyObject *args) {
  PyObject *value, *dtype;
  const char *name;
  situ_type type;
  if (!PyArg_ParseTuple(args, "OOs", &value, &dtype, &name)) return NULL;
  if (types_number(dtype, &type)) return NULL;
  numerics_set_origin((struct graph_object *)self);
  if (IS_TENSOR(value)) return graph_constant((struct graph_object *)self, TENSOR_OF(value), name);
  return graph_tensor((struct graph_object *)self, value, type, name);
}

static PyObject *push_device(PyObject *self, PyObject *device) {
  const char *text = device == Py_None ? NULL : convert_text(device);
  if (device != Py_None && !text) return NULL;
  situ_device_push(((struct graph_object *)self)->graph, text);
  Py_RETURN_NONE;
}

static PyObject *pop_device(PyObject *self, PyObject *none) {
  (void)none;
  situ_device_pop(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

static PyObject *push_control(PyObject *self, PyObject *operations) {
  PyObject *list = PySequence_Fast(operations, "a list of operations");
  if (!list) return NULL;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(list);
  situ_value *values = PyMem_Malloc(sizeof *values * (size_t)(n ? n : 1));
  if (!values) PyErr_NoMemory();
  for (Py_ssize_t i = 0; values && i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(list, i);
    if (Py_TYPE(item) != &operation_type) {
      PyErr_SetString(PyExc_TypeError, "expected a list of operations");
      break;
    }
    values[i] = operation_native((struct operation_object *)item);
  }
  const bool good = !PyErr_Occurred();
  if (good) situ_control_push(((struct graph_object *)self)->graph, values, (int)n);
  PyMem_Free(values);
  Py_DECREF(list);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyObject *pop_control(PyObject *self, PyObject *none) {
  (void)none;
  situ_control_pop(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

static PyObject *push_colocation(PyObject *self, PyObject *operation) {
  situ_colocate_push(((struct graph_object *)self)->graph,
                     operation_native((struct operation_object *)operation));
  Py_RETURN_NONE;
}

static PyObject *push_no_colocation(PyObject *self, PyObject *none) {
  (void)none;
  situ_colocate_push_none(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

static PyObject *name_colocation(PyObject *self, PyObject *name) {
  const char *text = name == Py_None ? NULL : convert_text(name);
  if (name != Py_None && !text) return NULL;
  situ_colocate_name(((struct graph_object *)self)->graph, text);
  Py_RETURN_NONE;
}

static PyObject *pop_colocation(PyObject *self, PyObject *none) {
  (void)none;
  situ_colocate_pop(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

static PyObject *use_thread_scopes(PyObject *self, PyObject *unused) {
  (void)unused;
  situ_graph_use_thread_scopes(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

/* Returns the operation with a name, or None. */
static PyObject *find(PyObject *self, PyObject *name) {
  struct graph_object *graph = (struct graph_object *)self;
  Py_ssize_t length = 0;
  const char *text = PyUnicode_AsUTF8AndSize(name, &length);
  if (!text) return NULL;
  if (strlen(text) != (size_t)length) Py_RETURN_NONE; /* no name contains a null character */
  const situ_value value = situ_graph_find(graph->graph, text);
  if (value.node < 0) Py_RETURN_NONE;
  return Py_XNewRef((PyObject *)operation_of(graph, value.node));
}

static PyObject *operations(PyObject *self, PyObject *none) {
  (void)none;
  struct graph_object *graph = (struct graph_object *)self;
  const int n = situ_graph_count(graph->graph);
  PyObject *list = PyList_New(n);
  for (int i = 0; list && i < n; i++) {
    PyObject *operation = Py_XNewRef((PyObject *)operation_of(graph, i));
    if (!operation) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, operation);
  }
  return list;
}

static PyObject *save(PyObject *self, PyObject *as_json) {
  char *text = NULL;
  size_t length = 0;
  FILE *stream = open_memstream(&text, &length);
  if (!stream) return PyErr_NoMemory();
  const situ_status status =
      situ_graph_save(((struct graph_object *)self)->graph, PyObject_IsTrue(as_json), stream);
  fclose(stream);
  PyObject *result =
      status ? errors_raise(status, NULL) : PyUnicode_FromStringAndSize(text, (Py_ssize_t)length);
  free(text);
  return result;
}

/* _fill_graph_def(message): fills an empty GraphDef. */
static PyObject *fill_graph_def(PyObject *self, PyObject *message) {
  if (!PyObject_TypeCheck(message, &message_type))
    return PyErr_Format(PyExc_TypeError, "expected a message, got %R", message);
  const situ_status status =
      situ_graph_to_message(((struct graph_object *)self)->graph, MESSAGE_OF(message));
  return status ? errors_raise(status, NULL) : Py_NewRef(message);
}

/* Reads a list of tensors; malloc'ed, NULL with an exception. */
static situ_value *read_values(PyObject *list) {
  const Py_ssize_t n = PyList_GET_SIZE(list);
  situ_value *values = PyMem_Malloc(sizeof *values * ((size_t)n + 1));
  if (!values) return (situ_value *)PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *value = PyList_GET_ITEM(list, i);
    if (!IS_VALUE(value)) {
      PyErr_Format(PyExc_TypeError, "%R is not a tensor of a graph", value);
      PyMem_Free(values);
      return NULL;
    }
    values[i] = value_native((struct value_object *)value);
  }
  return values;
}

/* _add_function(name, graph, inputs, outputs) */
static PyObject *add_function(PyObject *object, PyObject *args) {
  struct graph_object *self = (struct graph_object *)object;
  const char *name = NULL;
  PyObject *body = NULL, *in = NULL, *out = NULL;
  if (!PyArg_ParseTuple(args, "sO!O!O!", &name, &graph_type, &body, &PyList_Type, &in, &PyList_Type,
                        &out))
    return NULL;
  situ_value *inputs = read_values(in), *outputs = inputs ? read_values(out) : NULL;
  situ_status status = NULL;
  if (outputs) {
    situ_graph_lock(self->graph);
    situ_function_add(self->graph, name, ((struct graph_object *)body)->graph, inputs,
                      (int)PyList_GET_SIZE(in), outputs, (int)PyList_GET_SIZE(out));
    status = situ_graph_take_error(self->graph);
    situ_graph_unlock(self->graph);
  }
  PyMem_Free(inputs);
  PyMem_Free(outputs);
  if (status) return errors_raise_building(status);
  if (!outputs) return NULL;
  Py_RETURN_NONE;
}

/* _copy(operation of another graph, inputs) -> operation */
static PyObject *copy(PyObject *object, PyObject *args) {
  struct graph_object *self = (struct graph_object *)object;
  PyObject *operation = NULL, *list = NULL;
  if (!PyArg_ParseTuple(args, "O!O!", &operation_type, &operation, &PyList_Type, &list))
    return NULL;
  situ_value *inputs = read_values(list);
  if (!inputs) return NULL;
  situ_graph_lock(self->graph); /* as in emit.c */
  const situ_value copied =
      situ_emit_copy(self->graph, operation_native((struct operation_object *)operation), inputs,
                     (int)PyList_GET_SIZE(list));
  const situ_status status = copied.node < 0 ? situ_graph_take_error(self->graph) : NULL;
  situ_graph_unlock(self->graph);
  PyMem_Free(inputs);
  if (copied.node < 0) return errors_raise_building(status);
  return Py_XNewRef((PyObject *)operation_of(self, copied.node));
}

/* _known(tensor): returns the static value of a tensor as an eager tensor, or None. */
static PyObject *known_value(PyObject *self, PyObject *value) {
  (void)self;
  unsigned unknown = 0;
  situ_tensor *tensor =
      IS_VALUE(value) ? situ_value_static(value_native((struct value_object *)value), &unknown)
                      : NULL;
  if (!tensor || unknown) Py_RETURN_NONE;
  return tensor_wrap(situ_tensor_retain(tensor));
}

/* _known_partly(tensor): returns an eager tensor and a mask of its unknown elements, or None. */
static PyObject *known_partly(PyObject *self, PyObject *value) {
  (void)self;
  unsigned unknown = 0;
  situ_tensor *tensor =
      IS_VALUE(value) ? situ_value_static(value_native((struct value_object *)value), &unknown)
                      : NULL;
  if (!tensor) Py_RETURN_NONE;
  return Py_BuildValue("NI", tensor_wrap(situ_tensor_retain(tensor)), unknown);
}

static PyMethodDef methods[] = {
    {"_unique", unique_name, METH_VARARGS, "Returns a unique name."},
    {"_constant", constant, METH_VARARGS, "Adds a constant."},
    {"_push_device", push_device, METH_O, "Enters a device scope; None hides outer ones."},
    {"_pop_device", pop_device, METH_NOARGS, "Leaves a device scope."},
    {"_push_control", push_control, METH_O, "Enters a control dependency scope."},
    {"_pop_control", pop_control, METH_NOARGS, "Leaves a control dependency scope."},
    {"_push_colocation", push_colocation, METH_O, "Enters a colocation scope."},
    {"_push_no_colocation", push_no_colocation, METH_NOARGS,
     "Hides outer colocation and device scopes."},
    {"_name_colocation", name_colocation, METH_O, "Colocates operations outside of scopes."},
    {"_pop_colocation", pop_colocation, METH_NOARGS, "Leaves a colocation scope."},
    {"_use_thread_scopes", use_thread_scopes, METH_NOARGS, "Separates the scopes of threads."},
    {"_find", find, METH_O, "Returns the operation with a name, or None."},
    {"_add_function", add_function, METH_VARARGS, "Adds a function to the graph."},
    {"_copy", copy, METH_VARARGS, "Copies an operation of another graph."},
    {"_known", known_value, METH_O, "Returns the static value of a tensor, or None."},
    {"_known_partly", known_partly, METH_O, "Returns a static value and its unknown elements."},
    {"get_operations", operations, METH_NOARGS, "Returns all operations in creation order."},
    {"_save", save, METH_O, "Returns the GraphDef in text or JSON format."},
    {"_fill_graph_def", fill_graph_def, METH_O, "Fills a GraphDef and returns it."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"_functions", T_INT, offsetof(struct graph_object, functions), 0, "Device functions."},
    {"_captures", T_BOOL, offsetof(struct graph_object, captures), 0,
     "Whether it is inside another."},
    {"_orders_effects", T_BOOL, offsetof(struct graph_object, orders_effects), 0,
     "Whether operations with side effects run in the order of the program."},
    {"_sealed", T_BOOL, offsetof(struct graph_object, sealed), 0,
     "Whether its tensors cannot be used outside."},
    {"_finalized", T_BOOL, offsetof(struct graph_object, finalized), 0, "Whether it is closed."},
    {NULL, 0, 0, 0, NULL}};

static PyObject *get_scope(PyObject *self, void *closure) {
  (void)closure;
  return PyUnicode_FromString(situ_name_scope(((struct graph_object *)self)->graph));
}

/* Replaces the name scope of this thread. */
static int set_scope(PyObject *object, PyObject *scope, void *closure) {
  (void)closure;
  situ_graph *graph = ((struct graph_object *)object)->graph;
  const char *text = scope ? convert_text(scope) : NULL;
  if (!text) return -1;
  if (*situ_name_scope(graph)) situ_name_pop(graph);
  if (*text) situ_name_push(graph, text);
  return 0;
}

static PyObject *get_last_effect(PyObject *object, void *closure) {
  (void)closure;
  struct graph_object *self = (struct graph_object *)object;
  if (!self->last_effect) Py_RETURN_NONE;
  return Py_XNewRef((PyObject *)operation_of(self, self->last_effect - 1));
}

static int set_last_effect(PyObject *object, PyObject *operation, void *closure) {
  (void)closure;
  if (!operation || !PyObject_TypeCheck(operation, &operation_type)) {
    PyErr_SetString(PyExc_TypeError, "_last_effect must be an operation");
    return -1;
  }
  ((struct graph_object *)object)->last_effect = ((struct operation_object *)operation)->node + 1;
  return 0;
}

static PyObject *get_version(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(situ_graph_count(((struct graph_object *)self)->graph));
}

static PyGetSetDef attributes[] = {
    {"_last_effect", get_last_effect, set_last_effect,
     "The last operation with a side effect, which runs after all others; None: there is none.",
     NULL},
    {"version", get_version, NULL, "The number of operations; it grows when one is added.", NULL},
    {"_scope", get_scope, set_scope, "The scope of names.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject graph_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Graph",
    .tp_basicsize = sizeof(struct graph_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "A graph of operations.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct graph_object, dict),
    .tp_weaklistoffset = offsetof(struct graph_object, weak),
};
