/* SPDX-License-Identifier: Apache-2.0
 * graph.c: Graph: the native graph, its names and its operations. The package adds scopes and
 * collections. */
#include <ctype.h>
#include <string.h>

#include "situ_python.h"

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *words) {
  (void)args, (void)words;
  struct graph_object *self = (struct graph_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->graph = situ_graph_create();
  self->operations = PyList_New(0);
  self->names = PyDict_New();
  self->scope = PyUnicode_FromString("");
  if (self->graph && self->operations && self->names && self->scope) return (PyObject *)self;
  Py_DECREF(self);
  return PyErr_NoMemory();
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct graph_object *self = (struct graph_object *)object;
  Py_VISIT(self->operations);
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct graph_object *self = (struct graph_object *)object;
  Py_CLEAR(self->operations);
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  struct graph_object *self = (struct graph_object *)object;
  PyObject_GC_UnTrack(object);
  if (self->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  Py_CLEAR(self->names);
  Py_CLEAR(self->scope);
  situ_graph_release(self->graph);
  Py_TYPE(object)->tp_free(object);
}

static bool is_name(const char *name) {
  if (!isalnum((unsigned char)*name) && *name != '.' && *name != '_') return false;
  for (const char *c = name; *c; c++)
    if (!isalnum((unsigned char)*c) && !strchr("_.-/", *c)) return false;
  return true;
}

/* Counts a name; the result is how often it was asked for before, or -1. */
static long count_name(struct graph_object *graph, PyObject *name) {
  PyObject *have = PyDict_GetItemWithError(graph->names, name);
  if (!have && PyErr_Occurred()) return -1;
  const long before = have ? PyLong_AsLong(have) : 0;
  PyObject *after = PyLong_FromLong(before + 1);
  const int failed = !after || PyDict_SetItem(graph->names, name, after);
  Py_XDECREF(after);
  return failed ? -1 : before;
}

PyObject *graph_unique(struct graph_object *graph, const char *scope, const char *name) {
  const size_t length = strlen(name);
  if (length && name[length - 1] == '/') /* the name of a scope: exactly this one */
    return PyUnicode_FromStringAndSize(name, (Py_ssize_t)length - 1);
  PyObject *whole = PyUnicode_FromFormat("%s%s", scope, name);
  if (!whole) return NULL;
  if (!is_name(name) || (!*scope && *name == '_')) {
    PyErr_Format(PyExc_ValueError, "'%U' is not a valid node name", whole);
    Py_DECREF(whole);
    return NULL;
  }
  long n = count_name(graph, whole);
  PyObject *unique = Py_NewRef(whole);
  while (n > 0) {
    Py_SETREF(unique, PyUnicode_FromFormat("%U_%ld", whole, n));
    if (!unique) break;
    const int taken = PyDict_Contains(graph->names, unique);
    if (taken == 1) {
      n++;
      continue;
    }
    PyObject *next = PyLong_FromLong(n + 1);
    if (taken < 0 || !next || PyDict_SetItem(graph->names, whole, next)) n = -1;
    Py_XDECREF(next);
    if (n > 0 && count_name(graph, unique) < 0) n = -1;
    break;
  }
  Py_DECREF(whole);
  if (n < 0) Py_CLEAR(unique);
  return unique;
}

static int check_open(const struct graph_object *graph) {
  if (!graph->finalized) return 0;
  PyErr_SetString(PyExc_RuntimeError, "Graph is finalized and cannot be modified.");
  return -1;
}

/* The exception of a node that could not be added; the graph goes on without it. */
PyObject *graph_fail(struct graph_object *graph) {
  return errors_raise_building(situ_graph_take_error(graph->graph));
}

int graph_enter_device(struct graph_object *graph, const char *op, PyObject *name,
                       PyObject *inputs) {
  if (check_open(graph)) return -1;
  if (!graph->functions) return 0;
  PyObject *device = PyObject_CallFunction(hooks.device_function, "OsOO", graph, op, name,
                                           inputs ? inputs : Py_None);
  const char *text = device ? PyUnicode_AsUTF8(device) : NULL;
  if (text) {
    situ_device_push(graph->graph, NULL);
    situ_device_push(graph->graph, text);
  }
  Py_XDECREF(device);
  return text ? 0 : -1;
}

void graph_leave_device(struct graph_object *graph) {
  if (!graph->functions) return;
  situ_device_pop(graph->graph);
  situ_device_pop(graph->graph);
}

PyObject *graph_constant(struct graph_object *graph, situ_tensor *tensor, const char *name) {
  PyObject *unique = graph_unique(graph, "", name);
  if (!unique) return NULL;
  if (graph_enter_device(graph, "Const", unique, NULL)) {
    Py_DECREF(unique);
    return NULL;
  }
  situ_tensor *host = situ_tensor_retain(tensor);
  if (!situ_tensor_data(tensor) && situ_tensor_bytes(tensor)) { /* it is on a device */
    situ_tensor *copy = NULL;
    situ_eager *eager = context_eager();
    const situ_status status = eager ? situ_eager_copy(eager, tensor, "/cpu:0", &copy) : NULL;
    if (status) situ_status_release(status);
    situ_tensor_release(host);
    host = copy;
  }
  const situ_value value = situ_constant_tensor(graph->graph, PyUnicode_AsUTF8(unique), host);
  graph_leave_device(graph);
  situ_tensor_release(host);
  Py_DECREF(unique);
  if (!situ_value_valid(value)) return graph_fail(graph);
  struct operation_object *operation = operation_of(graph, value.node, NULL);
  if (!operation) return NULL;
  PyObject *result = value_of(operation, 0);
  if (result) operation->outputs = PyTuple_Pack(1, result);
  return result;
}

static PyObject *check_type(PyObject *value, situ_type type) {
  if (type == SITU_NO_TYPE || ((struct value_object *)value)->type == type) return Py_NewRef(value);
  PyObject *dtype = types_dtype(type), *want = PyObject_GetAttrString(dtype, "name");
  PyObject *mine = PyObject_GetAttrString(value, "dtype");
  PyObject *have = mine ? PyObject_GetAttrString(mine, "name") : NULL;
  if (want && have)
    PyErr_Format(PyExc_ValueError,
                 "Tensor conversion requested dtype %U for Tensor with dtype %U: '%S'", want, have,
                 value);
  Py_XDECREF(dtype);
  Py_XDECREF(want);
  Py_XDECREF(mine);
  Py_XDECREF(have);
  return NULL;
}

PyObject *graph_tensor(struct graph_object *graph, PyObject *value, situ_type type,
                       const char *name) {
  if (IS_VALUE(value)) return check_type(value, type);
  if (IS_TENSOR(value)) {
    PyObject *captured = PyObject_CallMethod((PyObject *)graph, "_capture", "Os", value, name);
    return captured;
  }
  PyObject *behind = tensor_behind(value);
  if (behind || PyErr_Occurred()) {
    PyObject *result = behind ? graph_tensor(graph, behind, type, name) : NULL;
    Py_XDECREF(behind);
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

/* _constant(value, dtype, name): the name is made unique, but not put into the scope. */
static PyObject *constant(PyObject *self, PyObject *args) {
  PyObject *value, *dtype;
  const char *name;
  situ_type type;
  if (!PyArg_ParseTuple(args, "OOs", &value, &dtype, &name)) return NULL;
  if (types_number(dtype, &type)) return NULL;
  if (IS_TENSOR(value)) return graph_constant((struct graph_object *)self, TENSOR_OF(value), name);
  return graph_tensor((struct graph_object *)self, value, type, name);
}

static PyObject *push_device(PyObject *self, PyObject *device) {
  const char *text = device == Py_None ? NULL : PyUnicode_AsUTF8(device);
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
  for (Py_ssize_t i = 0; values && i < n; i++)
    values[i] = operation_native((struct operation_object *)PySequence_Fast_GET_ITEM(list, i));
  if (values) situ_control_push(((struct graph_object *)self)->graph, values, (int)n);
  PyMem_Free(values);
  Py_DECREF(list);
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

static PyObject *pop_colocation(PyObject *self, PyObject *none) {
  (void)none;
  situ_colocate_pop(((struct graph_object *)self)->graph);
  Py_RETURN_NONE;
}

/* The operation of a name, or None. */
static PyObject *find(PyObject *self, PyObject *name) {
  struct graph_object *graph = (struct graph_object *)self;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  const situ_value value = situ_graph_find(graph->graph, text);
  if (value.node < 0) Py_RETURN_NONE;
  return Py_XNewRef((PyObject *)operation_of(graph, value.node, NULL));
}

static PyObject *operations(PyObject *self, PyObject *none) {
  (void)none;
  struct graph_object *graph = (struct graph_object *)self;
  const int n = situ_graph_count(graph->graph);
  for (int i = 0; i < n; i++)
    if (!operation_of(graph, i, NULL)) return NULL;
  return PySequence_List(graph->operations);
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

static PyMethodDef methods[] = {
    {"_unique", unique_name, METH_VARARGS, "A name that is not yet taken."},
    {"_constant", constant, METH_VARARGS, "The value of anything, as a constant."},
    {"_push_device", push_device, METH_O, "Enters a device; None hides those outside."},
    {"_pop_device", pop_device, METH_NOARGS, "Leaves a device."},
    {"_push_control", push_control, METH_O, "New operations run after these."},
    {"_pop_control", pop_control, METH_NOARGS, "Ends that."},
    {"_push_colocation", push_colocation, METH_O, "New operations go where this one does."},
    {"_pop_colocation", pop_colocation, METH_NOARGS, "Ends that."},
    {"_find", find, METH_O, "The operation of a name, or None."},
    {"get_operations", operations, METH_NOARGS, "All operations, in the order of creation."},
    {"_save", save, METH_O, "The graph as a GraphDef: text, or JSON."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"_scope", T_OBJECT, offsetof(struct graph_object, scope), 0, "The scope of names."},
    {"_functions", T_INT, offsetof(struct graph_object, functions), 0, "Device functions."},
    {"_finalized", T_BOOL, offsetof(struct graph_object, finalized), 0, "Whether it is closed."},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef attributes[] = {
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
