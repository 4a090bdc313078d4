/* SPDX-License-Identifier: Apache-2.0
 * function.c: Function: fast dispatch of tf.function. Calls whose arguments match an earlier call
 * go directly to its trace; all others to the Python method `_call`. */
#include "tape.h"
#include "trace.h"

enum { N_KNOWN = 8, MAX_ARGUMENTS = 16 };

/* The kind of an argument: a tensor spec or a constant. */
struct argument {
  PyObject *constant; /* owned; NULL: a tensor */
  situ_type type;
  situ_shape shape;
};

struct known {
  struct trace_object *trace; /* owned; NULL: unused */
  int n;
  struct argument arguments[MAX_ARGUMENTS];
};

struct traced_object {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *dict, *weak;
  struct known *known[N_KNOWN]; /* most recently used first */
};

static bool same_shape(const situ_shape *a, situ_shape b) {
  bool same = a->rank == b.rank;
  for (int i = 0; same && i < b.rank; i++) same = a->dim[i] == b.dim[i];
  return same;
}

/* Returns whether a value is immutable and not a container. */
static bool is_plain(PyObject *value) {
  return value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
         PyFloat_CheckExact(value) || PyUnicode_CheckExact(value);
}

static bool fits(const struct argument *argument, PyObject *value) {
  if (IS_TENSOR(value)) {
    const situ_tensor *tensor = TENSOR_OF(value);
    return !argument->constant && argument->type == situ_tensor_type(tensor) &&
           same_shape(&argument->shape, situ_tensor_shape(tensor));
  }
  if (argument->constant == value) return true;
  if (!argument->constant || Py_TYPE(argument->constant) != Py_TYPE(value)) return false;
  return PyObject_RichCompareBool(argument->constant, value, Py_EQ) == 1;
}

static struct known *find(struct traced_object *self, PyObject *const *args, Py_ssize_t n) {
  for (int i = 0; i < N_KNOWN && self->known[i]; i++) {
    struct known *known = self->known[i];
    bool same = known->n == n;
    for (Py_ssize_t k = 0; k < n && same; k++) same = fits(&known->arguments[k], args[k]);
    if (!same) continue;
    self->known[i] = self->known[0];
    return self->known[0] = known;
  }
  return NULL;
}

static PyObject *call_package(PyObject *self, PyObject *const *args, Py_ssize_t n,
                              PyObject *names) {
  PyObject *method = PyObject_GetAttrString(self, "_call");
  PyObject *result = method ? PyObject_Vectorcall(method, args, (size_t)n, names) : NULL;
  Py_XDECREF(method);
  return result;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
  const Py_ssize_t n = PyVectorcall_NARGS(flags);
  struct known *known = names || tape_count || !context_fast_path()
                            ? NULL
                            : find((struct traced_object *)object, args, n);
  if (!known) return call_package(object, args, n, names);
  PyObject *inputs[MAX_ARGUMENTS];
  int n_inputs = 0;
  for (Py_ssize_t i = 0; i < n; i++)
    if (!known->arguments[i].constant) inputs[n_inputs++] = args[i];
  return trace_run(known->trace, inputs, false);
}

static void forget(struct known *known) {
  if (!known) return;
  for (int i = 0; i < known->n; i++) Py_XDECREF(known->arguments[i].constant);
  Py_XDECREF(known->trace);
  PyMem_Free(known);
}

/* _remember(args, trace): dispatches equal calls to this trace, if they are simple enough. */
static PyObject *remember(PyObject *object, PyObject *pair) {
  struct traced_object *self = (struct traced_object *)object;
  PyObject *args, *trace;
  if (!PyArg_ParseTuple(pair, "O!O!", &PyTuple_Type, &args, &trace_type, &trace)) return NULL;
  const Py_ssize_t n = PyTuple_GET_SIZE(args);
  int n_tensors = 0, n_plain = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    n_tensors += IS_TENSOR(PyTuple_GET_ITEM(args, i));
    n_plain += is_plain(PyTuple_GET_ITEM(args, i));
  }
  if (n > MAX_ARGUMENTS || n_tensors + n_plain != n ||
      n_tensors != ((struct trace_object *)trace)->n_inputs ||
      find(self, ((PyTupleObject *)args)->ob_item, n))
    Py_RETURN_FALSE;
  struct known *known = PyMem_Calloc(1, sizeof *known);
  if (!known) return PyErr_NoMemory();
  known->trace = (struct trace_object *)Py_NewRef(trace);
  known->n = (int)n;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *value = PyTuple_GET_ITEM(args, i);
    struct argument *argument = &known->arguments[i];
    if (IS_TENSOR(value)) {
      argument->type = situ_tensor_type(TENSOR_OF(value));
      argument->shape = situ_tensor_shape(TENSOR_OF(value));
    } else {
      argument->constant = Py_NewRef(value);
    }
  }
  struct known *last = self->known[N_KNOWN - 1];
  for (int i = N_KNOWN - 1; i > 0; i--) self->known[i] = self->known[i - 1];
  self->known[0] = known;
  forget(last);
  Py_RETURN_TRUE;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  struct traced_object *self = (struct traced_object *)type->tp_alloc(type, 0);
  if (self) self->vectorcall = call;
  return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct traced_object *self = (struct traced_object *)object;
  for (int i = 0; i < N_KNOWN && self->known[i]; i++) Py_VISIT(self->known[i]->trace);
  Py_VISIT(self->dict);
  return 0;
}

static void forget_all(struct traced_object *self) {
  for (int i = 0; i < N_KNOWN; i++) {
    struct known *known = self->known[i];
    self->known[i] = NULL;
    forget(known);
  }
}

/* _forget(): drops all traces, whose devices no longer exist. */
static PyObject *forget_calls(PyObject *self, PyObject *none) {
  (void)none;
  forget_all((struct traced_object *)self);
  Py_RETURN_NONE;
}

static int clear(PyObject *object) {
  struct traced_object *self = (struct traced_object *)object;
  forget_all(self);
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  if (((struct traced_object *)object)->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  Py_TYPE(object)->tp_free(object);
}

static PyMethodDef methods[] = {
    {"_forget", forget_calls, METH_NOARGS, "Drops all remembered traces."},
    {"_remember", remember, METH_VARARGS, "Dispatches equal calls to a trace."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject traced_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Function",
    .tp_basicsize = sizeof(struct traced_object),
    .tp_flags =
        Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "A Python function that runs as a graph.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(struct traced_object, vectorcall),
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct traced_object, dict),
    .tp_weaklistoffset = offsetof(struct traced_object, weak),
};
