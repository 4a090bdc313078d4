/* SPDX-License-Identifier: Apache-2.0
 * tape.c: Tape: the implementation of tf.GradientTape, and the stack of active tapes. */
#include "tape.h"
#include "interruptible.h"

#include <situ/cluster.h>

enum { MOST_TAPES = 32 };

struct tape_object {
  PyObject_HEAD situ_tape *tape;
  PyObject *variables; /* dict: variable -> list of its watched tensors */
  PyObject *dict, *weak;
  char persistent, watches, on, used;
  int first; /* the number of operations of the graph that was built when recording began */
};

/* The active tapes are stack[base] to stack[top - 1]; those below are paused. */
_Thread_local int tape_count; /* top - base */
static _Thread_local struct tape_object *stack[MOST_TAPES];
static _Thread_local int base, top;

int tape_record(const situ_call *call, situ_tensor *const *outputs, int n_outputs) {
  for (int i = base; i < top; i++) {
    const situ_status status = situ_tape_record(stack[i]->tape, call, outputs, n_outputs);
    if (status) return errors_raise(status, NULL), -1;
  }
  return 0;
}

/* ---- Construction ---- */

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  static char *names[] = {"persistent", "watch_accessed_variables", NULL};
  int persistent = 0, watches = 1;
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|pp:GradientTape", names, &persistent, &watches))
    return NULL;
  situ_eager *eager = context_eager();
  struct tape_object *self = eager ? (struct tape_object *)type->tp_alloc(type, 0) : NULL;
  if (!self) return NULL;
  self->persistent = (char)persistent;
  self->watches = (char)watches;
  const situ_status status = situ_tape_create(eager, &self->tape);
  if (!status) return (PyObject *)self;
  Py_DECREF(self);
  return errors_raise(status, NULL);
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct tape_object *self = (struct tape_object *)object;
  Py_VISIT(self->variables);
  Py_VISIT(self->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct tape_object *self = (struct tape_object *)object;
  Py_CLEAR(self->variables);
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  struct tape_object *self = (struct tape_object *)object;
  PyObject_GC_UnTrack(object);
  if (self->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  situ_tape_release(self->tape);
  Py_TYPE(object)->tp_free(object);
}

/* ---- Start and stop ---- */

static int find_on(const struct tape_object *self) {
  int at = top - 1;
  while (at >= 0 && stack[at] != self) at--;
  return at;
}

static int push(struct tape_object *self) {
  if (self->on)
    return PyErr_SetString(PyExc_ValueError,
                           "Tape is still recording, This can happen if you try to re-enter an "
                           "already-active tape."),
           -1;
  if (top == MOST_TAPES) return PyErr_SetString(PyExc_RuntimeError, "too many tapes"), -1;
  const struct graph_object *graph = context_graph();
  if (graph) self->first = situ_graph_count(graph->graph);
  stack[top++] = (struct tape_object *)Py_NewRef((PyObject *)self);
  tape_count = top - base;
  self->on = 1;
  return 0;
}

static void pop(struct tape_object *self) {
  const int at = find_on(self);
  self->on = 0;
  if (at < 0) return;
  for (int i = at; i + 1 < top; i++) stack[i] = stack[i + 1];
  top--;
  if (at < base) base--;
  tape_count = top - base;
  Py_DECREF(self);
}

static PyObject *enter(PyObject *self, PyObject *none) {
  (void)none;
  return push((struct tape_object *)self) ? NULL : Py_NewRef(self);
}

static PyObject *leave(PyObject *object, PyObject *const *args, Py_ssize_t n) {
  (void)args, (void)n;
  struct tape_object *self = (struct tape_object *)object;
  if (self->on) pop(self);
  Py_RETURN_NONE;
}

static PyObject *forget(PyObject *object, PyObject *none) {
  (void)none;
  struct tape_object *self = (struct tape_object *)object;
  situ_tape_reset(self->tape);
  Py_CLEAR(self->variables);
  self->used = 0;
  Py_RETURN_NONE;
}

/* ---- Watching ---- */

static int watch(struct tape_object *self, PyObject *tensor) {
  if (!IS_TENSOR(tensor)) return PyErr_SetString(PyExc_TypeError, "not an eager tensor"), -1;
  const situ_status status = situ_tape_watch(self->tape, TENSOR_OF(tensor));
  return status ? errors_raise(status, NULL), -1 : 0;
}

static PyObject *watch_tensor(PyObject *self, PyObject *tensor) {
  if (watch((struct tape_object *)self, tensor)) return NULL;
  Py_RETURN_NONE;
}

/* watch(tensor): handles tensors; the package handles everything else. */
static PyObject *watch_any(PyObject *self, PyObject *tensor) {
  if (IS_TENSOR(tensor)) return watch_tensor(self, tensor);
  return PyObject_CallMethod(self, "_watch_others", "(O)", tensor);
}

static int watch_value(struct tape_object *self, PyObject *variable, PyObject *tensor) {
  if (!self->variables && !(self->variables = PyDict_New())) return -1;
  PyObject *list = PyDict_GetItemWithError(self->variables, variable);
  if (!list) {
    if (PyErr_Occurred() || !(list = PyList_New(0))) return -1;
    const int failed = PyDict_SetItem(self->variables, variable, list);
    Py_DECREF(list);
    if (failed) return -1;
  }
  const Py_ssize_t n = PyList_GET_SIZE(list);
  if (n && PyList_GET_ITEM(list, n - 1) == tensor) return 0;
  return watch(self, tensor) || PyList_Append(list, tensor) ? -1 : 0;
}

static PyObject *watch_variable(PyObject *self, PyObject *args) {
  PyObject *variable, *tensor;
  if (!PyArg_ParseTuple(args, "OO", &variable, &tensor)) return NULL;
  if (watch_value((struct tape_object *)self, variable, tensor)) return NULL;
  Py_RETURN_NONE;
}

/* tape_variable(variable, tensor): records that a variable with this value was read. */
static PyObject *record_variable(PyObject *self, PyObject *const *args, Py_ssize_t n) {
  (void)self;
  if (n != 2) return PyErr_Format(PyExc_TypeError, "tape_variable(variable, tensor)");
  for (int i = base; i < top; i++)
    if (stack[i]->watches && watch_value(stack[i], args[0], args[1])) return NULL;
  Py_RETURN_NONE;
}

/* tape_pause(): pauses all tapes until tape_resume with its result. */
static PyObject *pause_all(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  const int before = base;
  base = top;
  tape_count = 0;
  return PyLong_FromLong(before);
}

static PyObject *resume_all(PyObject *self, PyObject *before) {
  (void)self;
  const long first = PyLong_AsLong(before);
  base = first < 0 || first > top ? top : (int)first;
  tape_count = top - base;
  Py_RETURN_NONE;
}

/* tape_stack(): returns the active tapes of this thread, the outermost first. */
static PyObject *list_tapes(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  PyObject *list = PyList_New(tape_count);
  for (int i = 0; list && i < tape_count; i++)
    PyList_SET_ITEM(list, i, Py_NewRef((PyObject *)stack[base + i]));
  return list;
}

/* tape_inherit(tapes): replaces the tapes of this thread by those of the thread that started it.
 * The caller ensures that only one of them runs at a time. */
static PyObject *inherit_tapes(PyObject *self, PyObject *tapes) {
  (void)self;
  if (!PyList_Check(tapes) || PyList_GET_SIZE(tapes) > MOST_TAPES)
    return PyErr_Format(PyExc_TypeError, "tape_inherit: expected a list of tapes");
  while (top > 0) Py_DECREF((PyObject *)stack[--top]);
  base = 0;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(tapes); i++)
    stack[top++] = (struct tape_object *)Py_NewRef(PyList_GET_ITEM(tapes, i));
  tape_count = top;
  Py_RETURN_NONE;
}

static PyObject *count_tapes(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyLong_FromLong(tape_count);
}

/* ---- Custom gradients ---- */

static PyObject *wrap_list(situ_tensor *const *tensors, int n) {
  PyObject *list = PyList_New(n);
  for (int i = 0; list && i < n; i++) {
    PyObject *item = tensors[i] ? tensor_wrap(situ_tensor_retain(tensors[i])) : Py_NewRef(Py_None);
    if (!item) Py_CLEAR(list);
    if (list) PyList_SET_ITEM(list, i, item);
  }
  return list;
}

static situ_status failed(void) {
  return situ_status_create(SITU_UNKNOWN, "the gradient of a function raised an exception");
}

static situ_status call_function(PyObject *function, situ_tensor *const *dys, int n_dys,
                                 situ_tensor **dxs, int n_dxs) {
  PyObject *list = wrap_list(dys, n_dys);
  PyObject *result = list ? PyObject_CallOneArg(function, list) : NULL;
  PyObject *items = result ? PySequence_Fast(result, "gradients are a list") : NULL;
  bool good = items && PySequence_Fast_GET_SIZE(items) == n_dxs;
  for (int i = 0; good && i < n_dxs; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(items, i);
    if (IS_TENSOR(item)) dxs[i] = situ_tensor_retain(TENSOR_OF(item));
    good = item == Py_None || IS_TENSOR(item);
  }
  if (!good && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "expected a gradient for each of %d inputs", n_dxs);
  Py_XDECREF(items);
  Py_XDECREF(result);
  Py_XDECREF(list);
  return good ? NULL : failed();
}

static situ_status call_python(void *context, situ_tensor *const *dys, int n_dys, situ_tensor **dxs,
                               int n_dxs) {
  const PyGILState_STATE state = PyGILState_Ensure();
  const situ_status status = call_function(context, dys, n_dys, dxs, n_dxs);
  PyGILState_Release(state);
  return status;
}

static void release_python(void *context) {
  const PyGILState_STATE state = PyGILState_Ensure();
  Py_DECREF((PyObject *)context);
  PyGILState_Release(state);
}

/* Releases the result of read_list; NULL is an empty list. */
static void release_list(situ_tensor **tensors, Py_ssize_t n) {
  for (Py_ssize_t i = 0; tensors && i < n; i++) situ_tensor_release(tensors[i]);
  PyMem_Free(tensors);
}

/* Reads a list of tensors with references, since Python code may change the list. The caller frees
 * them with release_list; -1 with an exception. */
static Py_ssize_t read_list(PyObject *list, situ_tensor ***out) {
  PyObject *items = PySequence_Fast(list, "expected a list of tensors");
  if (!items) return -1;
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
  PyObject *raise_type_error = NULL;
  *out = PyMem_Calloc((size_t)n + 1, sizeof **out);
  for (Py_ssize_t i = 0; *out && i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(items, i);
    if (IS_TENSOR(item))
      (*out)[i] = situ_tensor_retain(TENSOR_OF(item));
    else if (item != Py_None)
      raise_type_error = item;
  }
  if (raise_type_error) PyErr_Format(PyExc_TypeError, "not an eager tensor: %R", raise_type_error);
  if (!*out) PyErr_NoMemory();
  Py_DECREF(items);
  if (!PyErr_Occurred()) return n;
  release_list(*out, n);
  *out = NULL;
  return -1;
}

/* tape_function(inputs, outputs, gradient): records a custom gradient. */
static PyObject *record_function(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *inputs, *outputs, *function;
  situ_tensor **in = NULL, **out = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &inputs, &outputs, &function)) return NULL;
  const Py_ssize_t n_in = read_list(inputs, &in), n_out = n_in < 0 ? -1 : read_list(outputs, &out);
  situ_status status = NULL;
  for (int i = base; i < top && n_out >= 0 && !status; i++)
    status = situ_tape_record_function(stack[i]->tape, in, (int)n_in, out, (int)n_out, call_python,
                                       Py_NewRef(function), release_python);
  release_list(in, n_in);
  release_list(out, n_out);
  if (status) return errors_raise(status, NULL);
  if (n_out < 0) return NULL;
  Py_RETURN_NONE;
}

/* ---- Gradients ---- */

static int begin(struct tape_object *self) {
  if (self->used && !self->persistent) {
    PyErr_SetString(PyExc_RuntimeError,
                    "A non-persistent GradientTape can only be used to compute one set of "
                    "gradients (or jacobians)");
    return -1;
  }
  if (self->on && !self->persistent) pop(self);
  self->used = 1;
  return 0;
}

/* _begin(): checks that gradients may be computed, and stops the recording of a tape that is not
 * persistent. */
static PyObject *begin_gradients(PyObject *self, PyObject *none) {
  (void)none;
  if (begin((struct tape_object *)self)) return NULL;
  Py_RETURN_NONE;
}

static situ_status run(struct tape_object *self, situ_tensor **targets, int n_targets,
                       situ_tensor **sources, int n_sources, situ_tensor **gradients,
                       situ_tensor **results, situ_tensor **indices) {
  situ_tape *others[MOST_TAPES];
  for (int i = base; i < top; i++) others[i - base] = stack[i]->tape;
  const int n_others = tape_count;
  context_flush(); /* compiling a gradient may log */
  struct interruptible call = {0};
  const bool waits = situ_cluster_joined(); /* gradients of collective ops block */
  if (waits) interruptible_enter(&call);
  const situ_status status =
      situ_tape_gradient_slices(self->tape, targets, n_targets, sources, n_sources, gradients,
                                others, n_others, results, indices);
  if (waits) interruptible_leave(&call);
  if (!self->persistent) situ_tape_reset(self->tape);
  return status;
}

/* Wraps a sparse gradient: calls slices(values, indices, source), a function of the package. */
static PyObject *wrap_slices(PyObject *self, situ_tensor *values, situ_tensor *indices,
                             situ_tensor *source) {
  PyObject *v = tensor_wrap(situ_tensor_retain(values));
  PyObject *k = v ? tensor_wrap(situ_tensor_retain(indices)) : NULL;
  PyObject *like = k ? tensor_wrap(situ_tensor_retain(source)) : NULL;
  PyObject *made = like ? PyObject_CallMethod(self, "_slices", "OOO", v, k, like) : NULL;
  Py_XDECREF(v);
  Py_XDECREF(k);
  Py_XDECREF(like);
  return made;
}

/* Wraps gradients as a list; consumes the references. */
static PyObject *wrap_gradients(PyObject *self, situ_tensor **results, situ_tensor **indices,
                                situ_tensor **sources, int n) {
  PyObject *list = wrap_list(results, n);
  for (int i = 0; list && i < n; i++) {
    PyObject *rows = indices[i] ? wrap_slices(self, results[i], indices[i], sources[i]) : NULL;
    if (indices[i] && (!rows || PyList_SetItem(list, i, rows))) Py_CLEAR(list);
  }
  for (int i = 0; i < n; i++) {
    situ_tensor_release(results[i]);
    situ_tensor_release(indices[i]);
  }
  return list;
}

static PyObject *finish(situ_status status, PyObject *self, situ_tensor **results,
                        situ_tensor **indices, situ_tensor **sources, int n) {
  if (status && PyErr_Occurred()) return situ_status_release(status), NULL;
  if (status && errors_raise_gradient(status)) return NULL;
  if (status) return errors_raise(status, NULL);
  return wrap_gradients(self, results, indices, sources, n);
}

/* compute(targets, sources, gradients or None) -> list of eager tensors */
static PyObject *compute(PyObject *object, PyObject *args) {
  struct tape_object *self = (struct tape_object *)object;
  PyObject *targets, *sources, *gradients, *list = NULL;
  situ_tensor **t = NULL, **s = NULL, **g = NULL, **results = NULL;
  if (!PyArg_ParseTuple(args, "OOO", &targets, &sources, &gradients) || begin(self)) return NULL;
  const Py_ssize_t n_t = read_list(targets, &t), n_s = n_t < 0 ? -1 : read_list(sources, &s);
  const Py_ssize_t n_g = n_s < 0 || gradients == Py_None ? n_s : read_list(gradients, &g);
  if (n_g >= 0) results = PyMem_Calloc(2 * (size_t)n_s + 1, sizeof *results);
  if (n_g >= 0 && !results) PyErr_NoMemory();
  situ_tensor **indices = results ? results + n_s : NULL;
  if (results)
    list = finish(run(self, t, (int)n_t, s, (int)n_s, g, results, indices), object, results,
                  indices, s, (int)n_s);
  release_list(t, n_t);
  release_list(s, n_s);
  release_list(g, n_g);
  PyMem_Free(results);
  return list;
}

/* gradient(target, sources): handles tensors; the package handles everything else. */
static PyObject *gradient(PyObject *object, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  enum { INLINE = 32 };
  struct tape_object *self = (struct tape_object *)object;
  situ_tensor *sources[INLINE], *results[INLINE], *indices[INLINE];
  PyObject *one[1] = {n > 1 ? args[1] : NULL}, **items = one;
  Py_ssize_t count = 1;
  bool plain = n == 2 && !names && IS_TENSOR(args[0]);
  if (plain && PyList_CheckExact(args[1])) {
    items = PySequence_Fast_ITEMS(args[1]);
    count = PyList_GET_SIZE(args[1]);
  }
  plain = plain && count <= INLINE;
  for (Py_ssize_t i = 0; plain && i < count; i++) {
    plain = IS_TENSOR(items[i]);
    if (plain) sources[i] = TENSOR_OF(items[i]);
  }
  if (!plain) {
    PyObject *method = PyObject_GetAttrString(object, "_gradient");
    PyObject *result = method ? PyObject_Vectorcall(method, args, (size_t)n, names) : NULL;
    Py_XDECREF(method);
    return result;
  }
  if (begin(self)) return NULL;
  situ_tensor *target = TENSOR_OF(args[0]);
  for (Py_ssize_t i = 0; i < count; i++) situ_tensor_retain(sources[i]); /* the list may change */
  PyObject *list = finish(run(self, &target, 1, sources, (int)count, NULL, results, indices),
                          object, results, indices, sources, (int)count);
  for (Py_ssize_t i = 0; i < count; i++) situ_tensor_release(sources[i]);
  if (!list || items != one) return list;
  PyObject *single = Py_NewRef(PyList_GET_ITEM(list, 0));
  Py_DECREF(list);
  return single;
}

static PyObject *get_variables(PyObject *object, void *closure) {
  (void)closure;
  struct tape_object *self = (struct tape_object *)object;
  return self->variables ? Py_NewRef(self->variables) : PyDict_New();
}

static PyMethodDef methods[] = {
    {"__enter__", enter, METH_NOARGS, "Starts recording."},
    {"__exit__", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, "Stops recording."},
    {"_push", enter, METH_NOARGS, "Starts recording."},
    {"_pop", (PyCFunction)(void (*)(void))leave, METH_FASTCALL, "Stops recording."},
    {"_forget", forget, METH_NOARGS, "Clears the tape."},
    {"watch", watch_any, METH_O, "Watches a tensor, or each tensor of a list."},
    {"_watch", watch_tensor, METH_O, "Watches a tensor."},
    {"_watch_variable", watch_variable, METH_VARARGS, "Watches a variable's value."},
    {"_begin", begin_gradients, METH_NOARGS, "Begins to compute gradients."},
    {"_compute", compute, METH_VARARGS, "Returns the gradients of tensors."},
    {"gradient", (PyCFunction)(void (*)(void))gradient, METH_FASTCALL | METH_KEYWORDS,
     "The gradient of a target with respect to sources."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"_persistent", T_BOOL, offsetof(struct tape_object, persistent), 0, NULL},
    {"_watches", T_BOOL, offsetof(struct tape_object, watches), READONLY, NULL},
    {"_used", T_BOOL, offsetof(struct tape_object, used), READONLY, NULL},
    {"_first_operation", T_INT, offsetof(struct tape_object, first), READONLY, NULL},
    {"_recording", T_BOOL, offsetof(struct tape_object, on), READONLY, NULL},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct tape_object, weak), READONLY, NULL},
    {"__dictoffset__", T_PYSSIZET, offsetof(struct tape_object, dict), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef getters[] = {
    {"_variables", get_variables, NULL, "Watched variables and their tensors.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject tape_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.Tape",
    .tp_basicsize = sizeof(struct tape_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE,
    .tp_doc = "Records eager ops for their gradients.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = getters,
    .tp_dictoffset = offsetof(struct tape_object, dict),
    .tp_weaklistoffset = offsetof(struct tape_object, weak),
};

PyMethodDef tape_methods[] = {
    {"tape_variable", (PyCFunction)(void (*)(void))record_variable, METH_FASTCALL,
     "A variable was read."},
    {"tape_function", record_function, METH_VARARGS, "Records a custom gradient."},
    {"tape_pause", pause_all, METH_NOARGS, "Pauses all tapes."},
    {"tape_resume", resume_all, METH_O, "Resumes the tapes of tape_pause."},
    {"tape_stack", list_tapes, METH_NOARGS, "Returns the active tapes of this thread."},
    {"tape_inherit", inherit_tapes, METH_O, "Replaces the tapes of this thread."},
    {"tape_count", count_tapes, METH_NOARGS, "Returns the number of active tapes."},
    {NULL, NULL, 0, NULL}};
