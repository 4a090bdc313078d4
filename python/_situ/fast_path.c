/* SPDX-License-Identifier: Apache-2.0
 * fast_path.c: FastPath: a callable that passes simple calls directly to an op and all others to a
 * Python function. */
#include "call.h"

struct fast_path_object {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *op, *python; /* python: the function for all other calls */
  PyObject *text;        /* the node name, or None: the name of the op */
  const char *name;      /* the same as a C string, or NULL */
  PyObject *weak;
  int rank;  /* the required rank of all tensors; SITU_ANY: any */
  bool real; /* tensors must be floating-point */
};

/* Whether an argument is a tensor of the required rank and type; sets its type, which must be that
 * of all. */
static bool fits(const struct fast_path_object *self, PyObject *value, situ_type *out) {
  situ_type type;
  int rank;
  if (IS_TENSOR(value)) {
    type = situ_tensor_type(TENSOR_OF(value));
    rank = situ_tensor_shape(TENSOR_OF(value)).rank;
  } else if (IS_VALUE(value)) {
    type = ((struct value_object *)value)->type;
    rank = ((struct value_object *)value)->shape.rank;
  } else {
    return false;
  }
  *out = type;
  return (self->rank == SITU_ANY || rank == self->rank) && (!self->real || types_is_real(type));
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t flags, PyObject *names) {
  const struct fast_path_object *self = (struct fast_path_object *)object;
  const Py_ssize_t n = PyVectorcall_NARGS(flags);
  bool straight = !names && n == ((struct function_object *)self->op)->signature.n_inputs;
  situ_type first = SITU_FLOAT, type = SITU_FLOAT;
  for (Py_ssize_t i = 0; i < n && straight; i++) {
    straight = fits(self, args[i], &type) && (i == 0 || type == first);
    if (i == 0) first = type;
  }
  if (!straight) return PyObject_Vectorcall(self->python, args, flags, names);
  return ops_call(self->op, self->name, args, n);
}

/* FastPath(op, function, name, rank, real) */
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *op, *python, *text;
  int rank, real;
  if (!PyArg_ParseTuple(args, "O!OOip", &function_type, &op, &python, &text, &rank, &real))
    return NULL;
  const char *name = text == Py_None ? NULL : convert_text(text);
  if (!name && text != Py_None) return NULL;
  struct fast_path_object *self = (struct fast_path_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->vectorcall = call;
  self->op = Py_NewRef(op);
  self->python = Py_NewRef(python);
  self->text = Py_NewRef(text);
  self->name = name;
  self->rank = rank;
  self->real = real;
  return (PyObject *)self;
}

/* Forwards attributes (__doc__, __name__, ...) to the function. */
static PyObject *get_attribute(PyObject *self, PyObject *name) {
  PyObject *own = PyObject_GenericGetAttr(self, name);
  if (own || !PyErr_ExceptionMatches(PyExc_AttributeError)) return own;
  PyErr_Clear();
  return PyObject_GetAttr(((struct fast_path_object *)self)->python, name);
}

static PyObject *get_text(PyObject *self, void *name) {
  return PyObject_GetAttrString(((struct fast_path_object *)self)->python, name);
}

/* __get__: not a method, like a built-in function. */
static PyObject *get_itself(PyObject *self, PyObject *instance, PyObject *owner) {
  (void)instance, (void)owner;
  return Py_NewRef(self);
}

static PyObject *repr(PyObject *self) {
  return PyObject_Repr(((struct fast_path_object *)self)->python);
}

static void dealloc(PyObject *object) {
  struct fast_path_object *self = (struct fast_path_object *)object;
  if (self->weak) PyObject_ClearWeakRefs(object);
  Py_XDECREF(self->op);
  Py_XDECREF(self->python);
  Py_XDECREF(self->text);
  Py_TYPE(object)->tp_free(object);
}

static PyMemberDef members[] = {
    {"__wrapped__", T_OBJECT, offsetof(struct fast_path_object, python), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"__doc__", get_text, NULL, NULL, (void *)(uintptr_t) "__doc__"},
    {"__module__", get_text, NULL, NULL, (void *)(uintptr_t) "__module__"},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject fast_path_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.function",
    .tp_basicsize = sizeof(struct fast_path_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(struct fast_path_object, vectorcall),
    .tp_weaklistoffset = offsetof(struct fast_path_object, weak),
    .tp_getattro = get_attribute,
    .tp_descr_get = get_itself,
    .tp_repr = repr,
    .tp_members = members,
    .tp_getset = attributes,
};
