/* SPDX-License-Identifier: Apache-2.0
 * ops.c: a Python function for every op, generated from its definition. */
#include <string.h>

#include "call.h"

static PyObject **functions;

/* Returns the graph of the call: that of its first tensor, unless the current graph captures
 * tensors. */
static struct graph_object *graph_of(const struct call *call) {
  struct graph_object *here = context_graph();
  if (here && here->captures) return here;
  for (int i = 0; i < call->n_flat; i++)
    if (IS_VALUE(call->flat[i])) return ((struct value_object *)call->flat[i])->graph;
  return here;
}

/* Adds the call to a graph or runs it. Tensors of a traced function are only valid within it. */
static PyObject *emit_or_run(struct call *call) {
  struct graph_object *graph = graph_of(call);
  for (int i = 0; i < call->n_flat; i++) {
    if (!IS_VALUE(call->flat[i])) continue;
    struct graph_object *own = ((struct value_object *)call->flat[i])->graph;
    if (own->sealed && own != context_graph())
      return PyErr_Format(PyExc_TypeError,
                          "%R is out of scope and cannot be used here. Use return values, explicit "
                          "Python locals or TensorFlow collections to access it.\nIt is a tensor "
                          "of a function that was traced, and has no value outside of a call.",
                          call->flat[i]);
  }
  return graph ? call_emit(call, graph) : call_eager(call);
}

static PyObject *words_of(PyObject *const *args, PyObject *names) {
  PyObject *kwargs = PyDict_New();
  for (Py_ssize_t i = 0; kwargs && names && i < PyTuple_GET_SIZE(names); i++)
    if (PyDict_SetItem(kwargs, PyTuple_GET_ITEM(names, i), args[i])) Py_CLEAR(kwargs);
  return kwargs;
}

/* Retries a failed call with the package, which handles arguments such as ragged tensors; it
 * returns NotImplemented otherwise. */
static PyObject *retry_in_package(PyObject *self, PyObject *const *args, Py_ssize_t n,
                                  PyObject *names) {
  PyObject *other = hooks.composite ? PyDict_GetItemString(hooks.composite, "otherwise") : NULL;
  if (!other ||
      !(PyErr_ExceptionMatches(PyExc_TypeError) || PyErr_ExceptionMatches(PyExc_ValueError)))
    return NULL;
  PyObject *type, *value, *trace, *result = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyObject *tuple = PyTuple_New(n), *kwargs = words_of(args + n, names);
  for (Py_ssize_t i = 0; tuple && i < n; i++) PyTuple_SET_ITEM(tuple, i, Py_NewRef(args[i]));
  if (tuple && kwargs) result = PyObject_CallFunctionObjArgs(other, self, tuple, kwargs, NULL);
  Py_XDECREF(tuple);
  Py_XDECREF(kwargs);
  if (result == Py_NotImplemented) {
    Py_CLEAR(result);
    PyErr_Restore(type, value, trace);
    return NULL;
  }
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  return result;
}

static PyObject *run(PyObject *self, PyObject *const *args, size_t n, PyObject *names) {
  struct call call;
  PyObject *result = NULL;
  if (!names &&
      call_fast_path((struct function_object *)self, NULL, args, PyVectorcall_NARGS(n), &result))
    return result;
  if (!call_bind(&call, (struct function_object *)self, args, PyVectorcall_NARGS(n), names)) {
    result = emit_or_run(&call);
  }
  call_clear(&call);
  return result ? result : retry_in_package(self, args, PyVectorcall_NARGS(n), names);
}

PyObject *ops_function(int number) {
  if (!functions) functions = PyMem_Calloc((size_t)situ_ops_count(), sizeof *functions);
  if (!functions) return PyErr_NoMemory();
  if (functions[number]) return functions[number];
  situ_op op;
  const situ_status status = situ_ops_get(number, &op);
  if (status) return errors_raise(status, NULL);
  struct function_object *self = PyObject_New(struct function_object, &function_type);
  if (!self) return NULL;
  self->vectorcall = run;
  self->number = number;
  self->name = PyUnicode_InternFromString(op.name);
  self->defaults = NULL;
  if (!op_signature_init(&op, &self->signature)) return NULL;
  return functions[number] = (PyObject *)self;
}

int ops_number(const char *name) {
  situ_op op;
  for (int i = 0; i < situ_ops_count(); i++) {
    const situ_status status = situ_ops_get(i, &op);
    situ_status_release(status);
    if (!status && !strcmp(op.name, name)) return i;
  }
  return -1;
}

PyObject *ops_call(PyObject *function, const char *name, PyObject *const *args, Py_ssize_t n) {
  struct call call;
  PyObject *result = NULL;
  if (call_fast_path((struct function_object *)function, name, args, n, &result)) return result;
  if (!call_bind(&call, (struct function_object *)function, args, n, NULL)) {
    call.name = name;
    result = emit_or_run(&call);
  }
  call_clear(&call);
  return result;
}

/* "(a, b, transpose_a=False, name=None)" */
static PyObject *get_signature(PyObject *self, void *closure) {
  (void)closure;
  const struct op_signature *signature = &((struct function_object *)self)->signature;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < signature->n_params; i++) {
    const struct op_attr *attr =
        i < signature->n_inputs ? NULL : &signature->attrs[signature->param_attr[i]];
    PyObject *own = attr ? attr->key : signature->inputs[i].key;
    PyObject *alias = attr ? attr->alias : signature->input_alias[i];
    const char *text = attr                            ? attr->spec->default_value
                       : signature->inputs[i].all_axes ? "none"
                                                       : NULL;
    PyObject *triple = Py_BuildValue("(OOz)", alias ? alias : own, own, text);
    if (!triple || PyList_Append(list, triple)) Py_CLEAR(list);
    Py_XDECREF(triple);
  }
  return list;
}

static PyObject *port_of(const situ_op *op, const situ_op_port *port) {
  const char *count = port->number_attr < 0 ? NULL : op->attrs[port->number_attr].name;
  return Py_BuildValue("{ssssszsOsOsO}", "name", port->name, "type", port->type_name, "count",
                       count, "list", port->is_list ? Py_True : Py_False, "reference",
                       port->is_ref && !port->is_handle ? Py_True : Py_False, "handle",
                       port->is_handle ? Py_True : Py_False);
}

/* The inputs, or the outputs if `closure` is set. */
static PyObject *get_ports(PyObject *self, void *closure) {
  situ_op op;
  const situ_status status = situ_ops_get(((struct function_object *)self)->number, &op);
  if (status) return errors_raise(status, NULL);
  const int count = closure ? op.n_outputs : op.n_inputs;
  PyObject *list = PyList_New(count);
  for (int i = 0; list && i < count; i++) {
    PyObject *port = port_of(&op, closure ? &op.outputs[i] : &op.inputs[i]);
    if (!port) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, port);
  }
  return list;
}

static PyObject *get_attrs(PyObject *self, void *closure) {
  (void)closure;
  const struct op_signature *signature = &((struct function_object *)self)->signature;
  PyObject *dict = PyDict_New();
  for (int i = 0; dict && i < signature->n_attrs; i++) {
    PyObject *type = PyUnicode_FromString(signature->attrs[i].spec->type);
    if (!type || PyDict_SetItem(dict, signature->attrs[i].key, type)) Py_CLEAR(dict);
    Py_XDECREF(type);
  }
  return dict;
}

/* Returns the strings of the op definition. */
static PyObject *get_definition(PyObject *self, void *closure) {
  (void)closure;
  situ_op op;
  const situ_status status = situ_ops_get(((struct function_object *)self)->number, &op);
  if (status) return errors_raise(status, NULL);
  return Py_BuildValue("{sssssssssNsN}", "name", op.name, "python", op.python, "devices",
                       op.devices, "doc", op.doc, "stateful", PyBool_FromLong(op.is_stateful),
                       "effect", PyBool_FromLong(op.has_effect));
}

/* argument_doc(name): the sentence that documents an argument, or "". */
static PyObject *argument_doc(PyObject *self, PyObject *name) {
  char sentence[1024];
  const char *utf8 = convert_text(name);
  if (!utf8) return NULL;
  const situ_status status = situ_ops_argument_doc(((struct function_object *)self)->number, utf8,
                                                   sentence, sizeof sentence);
  return status ? errors_raise(status, NULL) : PyUnicode_FromString(sentence);
}

/* __get__: not a method, like a built-in function. */
static PyObject *get_itself(PyObject *self, PyObject *instance, PyObject *owner) {
  (void)instance, (void)owner;
  return Py_NewRef(self);
}

static PyObject *repr(PyObject *self) {
  return PyUnicode_FromFormat("<op %U>", ((struct function_object *)self)->name);
}

static PyMemberDef members[] = {
    {"number", T_INT, offsetof(struct function_object, number), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"definition", get_definition, NULL, "Name, Python names, devices and description of the op.",
     NULL},
    {"inputs", get_ports, NULL, "A dict per input: name, type, count, list, reference, handle.",
     NULL},
    {"outputs", get_ports, NULL, "A dict per output, as for inputs.", (void *)1},
    {"attrs", get_attrs, NULL, "{name: type} of the attributes, as in the op definition.", NULL},
    {"parameters", get_signature, NULL,
     "Name, name in the op definition, default (as written, or None).", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef methods[] = {
    {"argument_doc", argument_doc, METH_O, "The sentence that documents an argument, or ''."},
    {NULL, NULL, 0, NULL}};

PyTypeObject function_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.Op",
    .tp_basicsize = sizeof(struct function_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "An op as a function.",
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(struct function_object, vectorcall),
    .tp_repr = repr,
    .tp_members = members,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_descr_get = get_itself,
};

/* [(function, name, "python names")] */
static PyObject *list_ops(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < situ_ops_count(); i++) {
    situ_op op;
    const situ_status status = situ_ops_get(i, &op);
    PyObject *function = status ? errors_raise(status, NULL) : ops_function(i);
    PyObject *triple = function ? Py_BuildValue("(Oss)", function, op.name, op.python) : NULL;
    if (!triple || PyList_Append(list, triple)) Py_CLEAR(list);
    Py_XDECREF(triple);
  }
  return list;
}

/* constant(value, dtype, name): in the current graph, or eagerly. */
static PyObject *constant(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *value, *dtype = Py_None;
  const char *name = NULL;
  Py_ssize_t length = 0;
  situ_type type;
  if (!PyArg_ParseTuple(args, "O|Oz#", &value, &dtype, &name, &length)) return NULL;
  if (types_number(dtype, &type)) return NULL;
  struct graph_object *graph = context_graph();
  if (!graph && IS_VALUE(value)) return Py_NewRef(value);
  if (!graph) return tensor_of(value, type);
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  if (!name) name = is_list && convert_holds_tensor(value) ? "packed" : "Const";
  if (IS_VALUE(value)) return graph_tensor(graph, value, type, name);
  char text[512];
  const bool is_whole = *name && name[strlen(name) - 1] == '/';
  snprintf(text, sizeof text, "%s%s", is_whole ? "" : situ_name_scope(graph->graph), name);
  return graph_tensor(graph, value, type, text);
}

/* host(value, dtype): an eager tensor in host memory; does not initialize devices. */
static PyObject *host(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *value, *dtype = Py_None;
  situ_type type;
  if (!PyArg_ParseTuple(args, "O|O", &value, &dtype) || types_number(dtype, &type)) return NULL;
  if (IS_TENSOR(value)) return Py_NewRef(value);
  situ_tensor *tensor = convert_value(value, type);
  return tensor ? tensor_wrap(tensor) : NULL;
}

PyMethodDef ops_methods[] = {
    {"host", host, METH_VARARGS, "Converts a value to a tensor in host memory."},
    {"ops", list_ops, METH_NOARGS, "Returns (function, name, names under tf) of every op."},
    {"constant", constant, METH_VARARGS, "Creates a constant, in the graph or eagerly."},
    {NULL, NULL, 0, NULL}};
