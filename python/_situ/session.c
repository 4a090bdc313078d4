/* SPDX-License-Identifier: Apache-2.0
 * session.c: Session: runs a graph with fetches of any structure and feeds without a copy; releases
 * the GIL. */
#include <string.h>

#include "situ_python.h"
#include "interruptible.h"

struct session_object {
  PyObject_HEAD situ_session *session;
  struct graph_object *graph;
  PyObject *dict, *weak;
  bool closed, log, is_part;
  long long timeout_ms; /* default timeout of runs; 0: none */
};

enum { INLINE = 16 };

/* The flattened fetches of a run. */
struct fetches {
  situ_value inline_buffer[INLINE], *values;
  int count, capacity;
};

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  return type->tp_alloc(type, 0);
}

/* _open(graph, options) */
static PyObject *open_session(PyObject *object, PyObject *args) {
  struct session_object *self = (struct session_object *)object;
  PyObject *graph, *options;
  situ_config config;
  struct config_store store;
  if (!PyArg_ParseTuple(args, "O!O!", &graph_type, &graph, &PyDict_Type, &options)) return NULL;
  if (config_read(options, &config, &store)) return NULL;
  Py_XSETREF(self->graph, (struct graph_object *)Py_NewRef(graph));
  self->log = config.log_device_placement;
  if (self->log) context_flush_stdout();
  const situ_status status = situ_session_create(self->graph->graph, &config, &self->session);
  if (self->log) fflush(stdout);
  if (status) return errors_raise(status, self->graph);
  Py_RETURN_NONE;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  Py_VISIT(((struct session_object *)object)->graph);
  Py_VISIT(((struct session_object *)object)->dict);
  return 0;
}

static int clear(PyObject *object) {
  struct session_object *self = (struct session_object *)object;
  situ_session *session = self->session;
  self->session = NULL;
  Py_BEGIN_ALLOW_THREADS; /* threads of its iterators may need the GIL to end */
  situ_session_release(session);
  Py_END_ALLOW_THREADS;
  Py_CLEAR(self->graph);
  Py_CLEAR(self->dict);
  return 0;
}

static void dealloc(PyObject *object) {
  PyObject_GC_UnTrack(object);
  if (((struct session_object *)object)->weak) PyObject_ClearWeakRefs(object);
  clear(object);
  Py_TYPE(object)->tp_free(object);
}

static int add_value(struct fetches *fetches, situ_value value) {
  if (fetches->count == fetches->capacity) {
    const int capacity = fetches->capacity * 2;
    situ_value *larger = PyMem_Malloc(sizeof *larger * (size_t)capacity);
    if (!larger) return PyErr_NoMemory(), -1;
    memcpy(larger, fetches->values, sizeof *larger * (size_t)fetches->count);
    if (fetches->values != fetches->inline_buffer) PyMem_Free(fetches->values);
    fetches->values = larger;
    fetches->capacity = capacity;
  }
  fetches->values[fetches->count++] = value;
  return 0;
}

static int foreign(PyObject *fetch, const char *what) {
  PyErr_Format(PyExc_ValueError,
               "Fetch argument %R cannot be interpreted as a %s. (%S is not an element of this "
               "graph.)",
               fetch, what, fetch);
  return -1;
}

/* Composite fetches: `_situ_parts_` is a list of tensors, and `_situ_value_(values, session)`
 * creates the result (a summary, for example). */
static PyObject *parts_name;

static bool is_composite(PyObject *fetch) {
  if (!parts_name) parts_name = PyUnicode_InternFromString("_situ_parts_");
  return parts_name && !PyUnicode_Check(fetch) && PyObject_HasAttr(fetch, parts_name);
}

static int collect(struct session_object *self, PyObject *fetch, struct fetches *out);

/* Collects fetches that the graph resolves: names, variables, ... */
static int collect_other(struct session_object *self, PyObject *fetch, struct fetches *out) {
  PyObject *element = PyObject_CallMethod((PyObject *)self->graph, "_fetched", "O", fetch);
  const int failed = element ? collect(self, element, out) : -1;
  Py_XDECREF(element);
  return failed;
}

static int collect_parts(struct session_object *self, PyObject *parts, struct fetches *out) {
  PyObject *tuple = parts ? structure_tuple(parts, "expected a list of fetches") : NULL;
  int failed = tuple ? 0 : -1;
  for (Py_ssize_t i = 0; !failed && i < PyTuple_GET_SIZE(tuple); i++)
    failed = collect(self, PyTuple_GET_ITEM(tuple, i), out);
  Py_XDECREF(tuple);
  return failed;
}

static int collect(struct session_object *self, PyObject *fetch, struct fetches *out) {
  if (IS_VALUE(fetch)) {
    const struct value_object *value = (struct value_object *)fetch;
    if (value->graph != self->graph) return foreign(fetch, "Tensor");
    return add_value(out, value_native(value));
  }
  if (Py_TYPE(fetch) == &operation_type) {
    const struct operation_object *operation = (struct operation_object *)fetch;
    if (operation->graph != self->graph) return foreign(fetch, "Operation");
    situ_value native = operation_native(operation);
    native.output = SITU_ANY; /* runs the operation without a result */
    return add_value(out, native);
  }
  if (PyList_Check(fetch) || PyTuple_Check(fetch)) return collect_parts(self, fetch, out);
  if (PyDict_Check(fetch)) {
    PyObject *values = PyDict_Values(fetch);
    const int failed = collect_parts(self, values, out);
    Py_XDECREF(values);
    return failed;
  }
  if (is_composite(fetch)) {
    PyObject *parts = PyObject_GetAttr(fetch, parts_name);
    const int failed = parts ? collect(self, parts, out) : -1;
    Py_XDECREF(parts);
    return failed;
  }
  return collect_other(self, fetch, out);
}

/* The results that are not yet in the output structure. */
struct result_cursor {
  situ_tensor **next, **end;
  PyObject *session;
};

static PyObject *replace_by_array(PyObject *fetch, void *context);

static PyObject *rebuild_composite(PyObject *fetch, struct result_cursor *result_cursor) {
  PyObject *parts = PyObject_GetAttr(fetch, parts_name);
  PyObject *values = parts ? structure_map(parts, replace_by_array, result_cursor) : NULL;
  PyObject *result =
      values ? PyObject_CallMethod(fetch, "_situ_value_", "OO", values, result_cursor->session)
             : NULL;
  Py_XDECREF(parts);
  Py_XDECREF(values);
  return result;
}

/* Replaces a fetch by the array of the next result. */
static PyObject *replace_by_array(PyObject *fetch, void *context) {
  if (!IS_VALUE(fetch) && Py_TYPE(fetch) != &operation_type && is_composite(fetch))
    return rebuild_composite(fetch, context);
  struct result_cursor *result_cursor = context;
  if (result_cursor->next == result_cursor->end) /* modified by another thread or user code */
    return PyErr_Format(PyExc_RuntimeError, "The fetches changed while they were computed.");
  situ_tensor *tensor = *result_cursor->next++;
  if (!tensor) Py_RETURN_NONE;
  return array_from_tensor(tensor);
}

/* Checks that a tensor has the value of the Python integer that it was created from. */
static int check_integer(PyObject *key, PyObject *value, situ_tensor *tensor) {
  PyErr_Clear();
  PyObject *array = tensor ? array_from_tensor(tensor) : NULL;
  const int same = array ? PyObject_RichCompareBool(array, value, Py_EQ) : 0;
  Py_XDECREF(array);
  if (same > 0) return 0;
  PyErr_Clear();
  PyObject *dtype = PyObject_GetAttrString(key, "dtype");
  PyObject *kind = dtype ? PyObject_GetAttrString(dtype, "as_numpy_dtype") : NULL;
  if (kind)
    PyErr_Format(PyExc_TypeError,
                 "Type of feed value %S with type %S is not compatible with Tensor type %S. Try "
                 "explicitly setting the type of the feed tensor to a larger type (e.g. int64).",
                 value, Py_TYPE(value), kind);
  Py_XDECREF(dtype);
  Py_XDECREF(kind);
  return -1;
}

/* Converts a fed value; falls back to NumPy. */
static situ_tensor *feed_tensor(struct session_object *self, PyObject *key, PyObject *value) {
  const situ_type type = ((struct value_object *)key)->type;
  if (IS_TENSOR(value)) return situ_tensor_retain(TENSOR_OF(value));
  bool unfit = true;
  situ_tensor *tensor = NULL;
  if (PyObject_CheckBuffer(value) && !PyBytes_Check(value))
    tensor = buffer_value(value, type, true, &unfit);
  else if (value != Py_None && !PyObject_TypeCheck(value, &base_type))
    tensor = convert_value(value, type);
  if (!tensor) {
    PyErr_Clear();
    PyObject *array = PyObject_CallMethod((PyObject *)self->graph, "_feedable", "OO", key, value);
    tensor = array ? convert_value(array, type) : NULL;
    Py_XDECREF(array);
  }
  if (!PyLong_Check(value) || !check_integer(key, value, tensor)) return tensor;
  situ_tensor_release(tensor);
  return NULL;
}

static int check_shape(PyObject *key, const situ_tensor *tensor) {
  const situ_shape want = ((struct value_object *)key)->shape, have = situ_tensor_shape(tensor);
  bool fits = want.rank < 0 || want.rank == have.rank;
  for (int i = 0; fits && i < want.rank; i++) fits = want.dim[i] < 0 || want.dim[i] == have.dim[i];
  if (fits) return 0;
  PyObject *shape = types_tuple(have), *name = PyObject_GetAttrString(key, "name");
  PyObject *wanted = types_tensor_shape(want);
  if (shape && name && wanted)
    PyErr_Format(PyExc_ValueError,
                 "Cannot feed value of shape %S for Tensor '%U', which has shape '%S'", shape, name,
                 wanted);
  Py_XDECREF(shape);
  Py_XDECREF(name);
  Py_XDECREF(wanted);
  return -1;
}

/* The feeds of a run, with references: converting one may run user code that changes the dict. */
struct feed_items {
  PyObject *inline_buffer[2 * INLINE], **items; /* key, value, key, ... */
  Py_ssize_t count;                             /* number of pairs */
};

static int take_given(PyObject *dict, struct feed_items *out) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  const Py_ssize_t n = dict && PyDict_Check(dict) ? PyDict_GET_SIZE(dict) : 0;
  out->items = out->inline_buffer;
  out->count = 0;
  if (n > INLINE) out->items = PyMem_Malloc(2 * sizeof *out->items * (size_t)n);
  if (!out->items) return PyErr_NoMemory(), -1;
  while (n && PyDict_Next(dict, &at, &key, &value)) { /* PyDict_Next runs no user code */
    out->items[2 * out->count] = Py_NewRef(key);
    out->items[2 * out->count++ + 1] = Py_NewRef(value);
  }
  return 0;
}

static void drop_given(struct feed_items *feed_items) {
  for (Py_ssize_t i = 0; i < 2 * feed_items->count; i++) Py_DECREF(feed_items->items[i]);
  if (feed_items->items != feed_items->inline_buffer) PyMem_Free(feed_items->items);
}

static int read_feed(struct session_object *self, PyObject *key, PyObject *value, situ_feed *out) {
  PyObject *element = IS_VALUE(key)
                          ? Py_NewRef(key)
                          : PyObject_CallMethod((PyObject *)self->graph, "_fed", "O", key);
  if (!element) return -1;
  if (!IS_VALUE(element)) {
    PyErr_Format(PyExc_TypeError, "The value of %R cannot be fed.", key);
    Py_DECREF(element);
    return -1;
  }
  situ_tensor *tensor = feed_tensor(self, element, value);
  int failed = tensor ? check_shape(element, tensor) : -1;
  if (failed)
    situ_tensor_release(tensor);
  else
    *out = (situ_feed){value_native((struct value_object *)element), tensor};
  Py_DECREF(element);
  return failed;
}

/* `feeds` has capacity for all pairs. */
static int read_feeds(struct session_object *self, const struct feed_items *feed_items,
                      situ_feed *feeds, int *n) {
  for (Py_ssize_t i = 0; i < feed_items->count; i++) {
    if (read_feed(self, feed_items->items[2 * i], feed_items->items[2 * i + 1], &feeds[*n]))
      return -1;
    ++*n;
  }
  return 0;
}

static int check_run(const struct session_object *self, PyObject *feeds) {
  if (self->closed || !self->session)
    PyErr_SetString(PyExc_RuntimeError, "Attempted to use a closed Session.");
  else if (!self->is_part && !situ_graph_count(self->graph->graph))
    PyErr_SetString(PyExc_RuntimeError,
                    "The Session graph is empty. Add operations to the graph before calling "
                    "run().");
  else if (feeds && !PyDict_Check(feeds) && PyObject_IsTrue(feeds))
    PyErr_SetString(PyExc_TypeError, "feed_dict must be a dict");
  return PyErr_Occurred() ? -1 : 0;
}

static int run_native(struct session_object *self, const struct run_options *options,
                      const situ_feed *feeds, int n_feeds, const struct fetches *fetches,
                      situ_tensor **results) {
  if (self->log) context_flush_stdout();
  const int failed = interruptible_run(self->session, self->graph, options, feeds, n_feeds,
                                       fetches->values, fetches->count, results);
  if (self->log) fflush(stdout);
  return failed;
}

static PyObject *run_collected(struct session_object *self, PyObject *fetch,
                               const struct feed_items *feed_items, const struct fetches *fetches,
                               const struct run_options *options) {
  situ_feed inline_buffer[INLINE], *feeds = inline_buffer;
  situ_tensor *some[INLINE] = {NULL}, **results = some;
  if (feed_items->count > INLINE) feeds = PyMem_Malloc(sizeof *feeds * (size_t)feed_items->count);
  if (fetches->count > INLINE) results = PyMem_Calloc((size_t)fetches->count, sizeof *results);
  int n_feeds = 0;
  PyObject *result = NULL;
  if (!feeds || !results) {
    PyErr_NoMemory();
  } else if (!read_feeds(self, feed_items, feeds, &n_feeds)) {
    struct result_cursor result_cursor = {results, results + fetches->count, (PyObject *)self};
    if (check_run(self, NULL)) /* converting a feed may have closed the session */
      result = NULL;
    else if (!run_native(self, options, feeds, n_feeds, fetches, results))
      result = structure_map(fetch, replace_by_array, &result_cursor);
  }
  for (int i = 0; i < n_feeds; i++) situ_tensor_release(feeds[i].tensor);
  for (int i = 0; results && i < fetches->count; i++) situ_tensor_release(results[i]);
  if (feeds != inline_buffer) PyMem_Free(feeds);
  if (results != some) PyMem_Free(results);
  return result;
}

static bool holds_structure(const struct feed_items *feed_items) {
  bool holds = false;
  for (Py_ssize_t i = 0; i < feed_items->count && !holds; i++) {
    PyObject *key = feed_items->items[2 * i];
    holds = !IS_VALUE(key) && (PyTuple_Check(key) || is_composite(key));
  }
  return holds;
}

/* Flattens feeds whose keys are structures, such as LSTM states or sparse tensors. */
static int flat_feeds(const struct session_object *self, PyObject *dict, struct feed_items *out) {
  if (take_given(dict, out)) return -1;
  if (!holds_structure(out)) return 0;
  drop_given(out);
  PyObject *flat = PyObject_CallMethod((PyObject *)self->graph, "_flat_feeds", "O", dict);
  int failed = flat ? 0 : -1;
  if (flat && !PyDict_Check(flat))
    failed = (PyErr_SetString(PyExc_TypeError, "feed_dict must be a dict"), -1);
  if (!failed) failed = take_given(flat, out);
  Py_XDECREF(flat);
  return failed;
}

static PyObject *run_any(PyObject *object, PyObject *fetch, PyObject *feeds,
                         const struct run_options *options) {
  struct session_object *self = (struct session_object *)object;
  const struct run_options usual = {.timeout_ms = self->timeout_ms};
  struct feed_items feed_items;
  if (check_run(self, feeds) || flat_feeds(self, feeds, &feed_items)) return NULL;
  struct fetches fetches = {.capacity = INLINE};
  fetches.values = fetches.inline_buffer;
  PyObject *result = NULL;
  if (!collect(self, fetch, &fetches))
    result = run_collected(self, fetch, &feed_items, &fetches, options ? options : &usual);
  if (fetches.values != fetches.inline_buffer) PyMem_Free(fetches.values);
  drop_given(&feed_items);
  return result;
}

/* run(fetches, feed_dict=None, options=None, run_metadata=None) */
static PyObject *run(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  PyObject *feed_items[4] = {NULL};
  static const char *const keys[] = {"fetches", "feed_dict", "options", "run_metadata"};
  for (Py_ssize_t i = 0; i < n && i < 4; i++) feed_items[i] = args[i];
  for (Py_ssize_t i = 0; names && i < PyTuple_GET_SIZE(names); i++) {
    int k = 0;
    while (k < 4 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), keys[k])) k++;
    if (k == 4)
      return PyErr_Format(PyExc_TypeError, "run() got an unexpected keyword argument '%S'",
                          PyTuple_GET_ITEM(names, i));
    feed_items[k] = args[n + i];
  }
  if (!feed_items[0])
    return PyErr_Format(PyExc_TypeError, "run() missing required argument 'fetches'");
  for (int i = 2; i < 4; i++)
    if (feed_items[i] && feed_items[i] != Py_None)
      return PyObject_CallMethod(
          self, "_run_with", "OOOO", feed_items[0], feed_items[1] ? feed_items[1] : Py_None,
          feed_items[2] ? feed_items[2] : Py_None, feed_items[3] ? feed_items[3] : Py_None);
  return run_any(self, feed_items[0], feed_items[1], NULL);
}

/* _run_with_options(fetches, feeds, timeout_ms, trace or None, cancel=None): setting the first byte
 * of the bytearray `cancel` to 1 cancels the run. */
static PyObject *run_with_options(PyObject *self, PyObject *args) {
  PyObject *fetch, *feeds, *trace, *cancel = Py_None;
  long long timeout;
  if (!PyArg_ParseTuple(args, "OOLO|O", &fetch, &feeds, &timeout, &trace, &cancel)) return NULL;
  if (cancel != Py_None && !(PyByteArray_Check(cancel) && PyByteArray_GET_SIZE(cancel)))
    return PyErr_Format(PyExc_TypeError, "cancel is %R, not a bytearray", cancel);
  if (trace != Py_None && Py_TYPE(trace) != &recording_type)
    return PyErr_Format(PyExc_TypeError, "%R is not a trace", trace);
  const struct run_options options = {
      .timeout_ms = timeout,
      .trace = trace == Py_None ? NULL : recording_native(trace),
      .cancel = cancel == Py_None ? NULL : PyByteArray_AS_STRING(cancel)};
  return run_any(self, fetch, feeds, &options);
}

static PyObject *close_session(PyObject *object, PyObject *none) {
  (void)none;
  struct session_object *self = (struct session_object *)object;
  if (self->closed) Py_RETURN_NONE;
  self->closed = true;
  situ_status status = NULL;
  Py_BEGIN_ALLOW_THREADS; /* blocked runs of other threads end now */
  if (self->session) status = situ_session_close(self->session);
  Py_END_ALLOW_THREADS;
  if (status) return errors_raise(status, self->graph);
  Py_RETURN_NONE;
}

/* Returns the placement: [(name, op, requested, assigned, cause)]. */
static PyObject *placement(PyObject *object, PyObject *none) {
  (void)none;
  struct session_object *self = (struct session_object *)object;
  if (check_run(self, NULL)) return NULL;
  situ_plan *plan = NULL;
  const situ_status status = situ_plan_place(self->session, &plan);
  if (status) return errors_raise(status, self->graph);
  int count = 0;
  const situ_placement *placed = situ_plan_placements(plan, &count);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    PyObject *row = Py_BuildValue("(sssss)", placed[i].node, placed[i].op, placed[i].requested,
                                  placed[i].assigned, placed[i].cause);
    if (!row || PyList_Append(list, row)) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  situ_plan_release(plan);
  return list;
}

static PyMethodDef methods[] = {
    {"_open", open_session, METH_VARARGS, "Opens the session."},
    {"run", (PyCFunction)(void (*)(void))run, METH_FASTCALL | METH_KEYWORDS,
     "run(fetches, feed_dict=None, options=None, run_metadata=None)\n\nComputes tensors and runs "
     "operations; gives arrays in the structure of the fetches."},
    {"_run_with_options", run_with_options, METH_VARARGS,
     "Runs with trace, timeout and cancellation."},
    {"close", close_session, METH_NOARGS, "Closes the session and frees its device memory."},
    {"_placement", placement, METH_NOARGS, "Returns the placement of every operation."},
    {NULL, NULL, 0, NULL}};

static PyMemberDef members[] = {
    {"graph", T_OBJECT, offsetof(struct session_object, graph), READONLY, "The graph."},
    {"_timeout_ms", T_LONGLONG, offsetof(struct session_object, timeout_ms), 0, "Of each run."},
    {"_is_part", T_BOOL, offsetof(struct session_object, is_part), 0,
     "Whether the graph is a part of a partitioned one, which may be empty."},
    {"_closed", T_BOOL, offsetof(struct session_object, closed), READONLY, "Whether it is closed."},
    {NULL, 0, 0, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject session_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Session",
    .tp_basicsize = sizeof(struct session_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "Runs a graph.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
    .tp_members = members,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct session_object, dict),
    .tp_weaklistoffset = offsetof(struct session_object, weak),
};
