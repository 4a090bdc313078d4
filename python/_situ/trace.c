/* SPDX-License-Identifier: Apache-2.0
 * trace.c: Trace: a compiled tf.function: the graph of a Python function; results stay on their
 * devices. */
#include <string.h>

#include "trace.h"
#include "interruptible.h"

enum { INLINE = 16 };

/* Appends the values of a tuple of tensors or operations to the fetches. */
static void add_fetches(struct trace_object *self, PyObject *tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++) {
    PyObject *item = PyTuple_GET_ITEM(tuple, i);
    situ_value *native = &self->fetches[self->n_fetches++];
    if (IS_VALUE(item)) {
      *native = value_native((struct value_object *)item);
    } else {
      *native = operation_native((struct operation_object *)item);
      native->output = SITU_ANY;
    }
  }
}

static void add_feeds(struct trace_object *self, PyObject *tuple) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); i++)
    self->feeds[self->n_feeds++] =
        (situ_feed){.value = value_native((struct value_object *)PyTuple_GET_ITEM(tuple, i))};
}

/* Checks that all elements of the tuples have one of two types. */
static int check_items(PyObject *const *tuples, int n, PyTypeObject *type, PyTypeObject *other) {
  for (int i = 0; i < n; i++)
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuples[i]); k++) {
      const PyTypeObject *have = Py_TYPE(PyTuple_GET_ITEM(tuples[i], k));
      if (have == type || have == other) continue;
      PyErr_Format(PyExc_TypeError, "%R does not belong to the trace",
                   PyTuple_GET_ITEM(tuples[i], k));
      return -1;
    }
  return 0;
}

static int open_session(struct trace_object *self, PyObject *options) {
  situ_config config;
  struct config_store store;
  if (config_read(options, &config, &store)) return -1;
  config.is_function = true;
  const situ_status status = situ_session_create(self->graph->graph, &config, &self->session);
  if (status) errors_raise(status, self->graph);
  return status ? -1 : 0;
}

/* Lets new values of variables reuse the memory of the old ones. */
static void find_donations(struct trace_object *self) {
  const Py_ssize_t n_read = PyTuple_GET_SIZE(self->read), n = PyTuple_GET_SIZE(self->written);
  int *donate = self->donate + self->n_feeds - n_read;
  for (Py_ssize_t i = 0; i < n_read; i++)
    for (Py_ssize_t k = 0; k < n && !donate[i]; k++)
      if (PyTuple_GET_ITEM(self->read, i) == PyTuple_GET_ITEM(self->written, k))
        donate[i] = self->n_outputs + (int)k + 1;
}

/* Trace(graph, options, name, structure, inputs, captures, captured, reads, read, outputs, writes,
 * written, effects). Feeds are the arguments, captured tensors and variables that are read; fetches
 * are the results, new values of variables, and operations. */
static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)kwargs;
  PyObject *graph, *options, *name, *structure, *feeds[3], *captured, *read, *fetches[3], *written;
  if (!PyArg_ParseTuple(args, "O!O!UOO!O!O!O!O!O!O!O!O!", &graph_type, &graph, &PyDict_Type,
                        &options, &name, &structure, &PyTuple_Type, &feeds[0], &PyTuple_Type,
                        &feeds[1], &PyTuple_Type, &captured, &PyTuple_Type, &feeds[2],
                        &PyTuple_Type, &read, &PyTuple_Type, &fetches[0], &PyTuple_Type,
                        &fetches[1], &PyTuple_Type, &written, &PyTuple_Type, &fetches[2]))
    return NULL;
  if (check_items(feeds, 3, &value_type, NULL) || check_items(&captured, 1, &tensor_type, NULL) ||
      check_items(fetches, 3, &value_type, &operation_type))
    return NULL;
  struct trace_object *self = (struct trace_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->graph = (struct graph_object *)Py_NewRef(graph);
  self->name = Py_NewRef(name);
  self->structure = Py_NewRef(structure);
  self->captured = Py_NewRef(captured);
  self->read = Py_NewRef(read);
  self->written = Py_NewRef(written);
  size_t n_feeds = 1, n_fetches = 1;
  for (int i = 0; i < 3; i++) {
    n_feeds += (size_t)PyTuple_GET_SIZE(feeds[i]);
    n_fetches += (size_t)PyTuple_GET_SIZE(fetches[i]);
  }
  self->feeds = PyMem_Calloc(n_feeds, sizeof *self->feeds);
  self->donate = PyMem_Calloc(n_feeds, sizeof *self->donate);
  self->fetches = PyMem_Calloc(n_fetches, sizeof *self->fetches);
  self->n_inputs = (int)PyTuple_GET_SIZE(feeds[0]);
  self->n_outputs = (int)PyTuple_GET_SIZE(fetches[0]);
  if (!self->feeds || !self->donate || !self->fetches) PyErr_NoMemory();
  for (int i = 0; i < 3 && !PyErr_Occurred(); i++) {
    add_feeds(self, feeds[i]);
    add_fetches(self, fetches[i]);
  }
  if (!PyErr_Occurred()) find_donations(self);
  if (PyErr_Occurred() || open_session(self, options)) Py_CLEAR(self);
  return (PyObject *)self;
}

static int traverse(PyObject *object, visitproc visit, void *arg) {
  struct trace_object *self = (struct trace_object *)object;
  Py_VISIT(self->graph);
  Py_VISIT(self->structure);
  Py_VISIT(self->captured);
  Py_VISIT(self->read);
  Py_VISIT(self->written);
  return 0;
}

static int clear(PyObject *object) {
  struct trace_object *self = (struct trace_object *)object;
  situ_session_release(self->session);
  self->session = NULL;
  Py_CLEAR(self->graph);
  Py_CLEAR(self->structure);
  Py_CLEAR(self->captured);
  Py_CLEAR(self->read);
  Py_CLEAR(self->written);
  return 0;
}

static void dealloc(PyObject *object) {
  struct trace_object *self = (struct trace_object *)object;
  PyObject_GC_UnTrack(object);
  clear(object);
  Py_CLEAR(self->name);
  PyMem_Free(self->feeds);
  PyMem_Free(self->donate);
  PyMem_Free(self->fetches);
  Py_TYPE(object)->tp_free(object);
}

/* The first `n` feeds of a run, kept alive by a reference to the tensor or the Python object. */
struct feed_refs {
  situ_feed *feeds;
  PyObject **owners;
  int n;
};

/* Feeds the value of a variable. If only the variable refers to it, the tensor gets no additional
 * reference, so that the run can reuse its memory. */
static int feed_variable(struct feed_refs *feed_refs, PyObject *variable) {
  PyObject *value = PyObject_GetAttrString(variable, "_value");
  if (!value || !IS_TENSOR(value)) {
    if (value) PyErr_SetString(PyExc_TypeError, "a variable has no value");
    Py_XDECREF(value);
    return -1;
  }
  feed_refs->feeds[feed_refs->n].tensor = TENSOR_OF(value);
  if (Py_REFCNT(value) == 2) {
    feed_refs->owners[feed_refs->n++] = value;
    return 0;
  }
  situ_tensor_retain(TENSOR_OF(value));
  feed_refs->owners[feed_refs->n++] = NULL;
  Py_DECREF(value);
  return 0;
}

static void release_refs(struct feed_refs *feed_refs) {
  for (int i = 0; i < feed_refs->n; i++) {
    if (!feed_refs->owners[i]) situ_tensor_release(feed_refs->feeds[i].tensor);
    Py_XDECREF(feed_refs->owners[i]);
  }
}

/* Sets the tensors of all feeds. */
static int set_feeds(const struct trace_object *self, PyObject *const *inputs,
                     struct feed_refs *feed_refs) {
  memcpy(feed_refs->feeds, self->feeds, sizeof *feed_refs->feeds * (size_t)self->n_feeds);
  memset(feed_refs->owners, 0, sizeof *feed_refs->owners * (size_t)self->n_feeds);
  for (int i = 0; i < self->n_inputs; i++)
    feed_refs->feeds[feed_refs->n++].tensor = situ_tensor_retain(TENSOR_OF(inputs[i]));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->captured); i++)
    feed_refs->feeds[feed_refs->n++].tensor =
        situ_tensor_retain(TENSOR_OF(PyTuple_GET_ITEM(self->captured, i)));
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->read); i++)
    if (feed_variable(feed_refs, PyTuple_GET_ITEM(self->read, i))) return -1;
  return 0;
}

/* Raises TensorFlow's message, which names the function instead of the node. */
static PyObject *raise(const struct trace_object *self, situ_status status) {
  const char *text = situ_status_message(status);
  int length = (int)strlen(text);
  if (PyErr_Occurred()) { /* Ctrl-C */
    situ_status_release(status);
    return NULL;
  }
  while (length && strchr(" \n\t", text[length - 1])) length--;
  const situ_status error = situ_status_create(situ_status_code(status), "%.*s [Op:__inference_%s]",
                                               length, text, PyUnicode_AsUTF8(self->name));
  errors_raise_at(error, situ_status_node(status), self->graph);
  situ_status_release(status);
  return NULL;
}

struct results {
  situ_tensor **tensors;
  int count;
};

/* Replaces a leaf of the structure, an index, by that result; None stays. */
static PyObject *replace_by_result(PyObject *item, void *context) {
  const struct results *results = context;
  if (item == Py_None) Py_RETURN_NONE;
  const long index = PyLong_AsLong(item);
  if (index == -1 && PyErr_Occurred()) return NULL;
  if (index < 0 || index >= results->count || !results->tensors[index])
    return PyErr_Format(PyExc_RuntimeError, "The structure of the results of a function changed.");
  situ_tensor *tensor = results->tensors[index];
  results->tensors[index] = NULL;
  return tensor_wrap(tensor);
}

static int write_variables(const struct trace_object *self, situ_tensor **values) {
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(self->written); i++) {
    PyObject *value = tensor_wrap(values[i]);
    values[i] = NULL;
    PyObject *done =
        value ? PyObject_CallMethod(PyTuple_GET_ITEM(self->written, i), "_put", "O", value) : NULL;
    Py_XDECREF(value);
    Py_XDECREF(done);
    if (!done) return -1;
  }
  return 0;
}

static situ_status run_native(const struct trace_object *self, const situ_feed *feeds,
                              situ_tensor **results) {
  const struct run_options options = {.keep_on_device = true, .donate = self->donate};
  return interruptible_run_native(self->session, &options, feeds, self->n_feeds, self->fetches,
                                  self->n_fetches, results);
}

/* If the inputs are borrowed, copies results that are inputs. */
static situ_status copy_borrowed(const struct trace_object *self, const situ_feed *feeds,
                                 situ_tensor **result) {
  const void *data = *result ? situ_tensor_data(*result) : NULL;
  const situ_type type = *result ? situ_tensor_type(*result) : SITU_NO_TYPE;
  const bool is_plain = type != SITU_STRING && type != SITU_RESOURCE && type != SITU_VARIANT;
  for (int i = 0; i < self->n_inputs && data && is_plain; i++) {
    if (situ_tensor_data(feeds[i].tensor) != data) continue;
    situ_tensor *input = *result;
    const situ_status status = situ_tensor_create(type, situ_tensor_shape(input), data, result);
    if (status)
      *result = input;
    else
      situ_tensor_release(input);
    return status;
  }
  return NULL;
}

static PyObject *finish(const struct trace_object *self, situ_tensor **results) {
  struct results outputs = {results, self->n_outputs};
  if (write_variables(self, results + self->n_outputs)) return NULL;
  return structure_map(self->structure, replace_by_result, &outputs);
}

PyObject *trace_run(struct trace_object *self, PyObject *const *inputs, bool borrowed) {
  situ_feed inline_buffer[INLINE];
  PyObject *few_owners[INLINE];
  struct feed_refs feed_refs = {inline_buffer, few_owners, 0};
  situ_tensor *some[INLINE] = {NULL}, **results = some;
  if (self->n_feeds > INLINE) {
    feed_refs.feeds = PyMem_Malloc(sizeof *feed_refs.feeds * (size_t)self->n_feeds);
    feed_refs.owners = PyMem_Malloc(sizeof *feed_refs.owners * (size_t)self->n_feeds);
  }
  if (self->n_fetches > INLINE) results = PyMem_Calloc((size_t)self->n_fetches, sizeof *results);
  PyObject *result = NULL;
  Py_INCREF(self);
  if (!feed_refs.feeds || !feed_refs.owners || !results) {
    PyErr_NoMemory();
  } else if (!set_feeds(self, inputs, &feed_refs)) {
    context_flush(); /* the first run may log */
    situ_status status = run_native(self, feed_refs.feeds, results);
    for (int i = 0; i < self->n_fetches && borrowed && !status; i++)
      status = copy_borrowed(self, feed_refs.feeds, &results[i]);
    result = status ? raise(self, status) : finish(self, results);
  }
  release_refs(&feed_refs);
  for (int i = 0; results && i < self->n_fetches; i++) situ_tensor_release(results[i]);
  if (feed_refs.feeds != inline_buffer) PyMem_Free(feed_refs.feeds);
  if (feed_refs.owners != few_owners) PyMem_Free(feed_refs.owners);
  if (results != some) PyMem_Free(results);
  Py_DECREF(self);
  return result;
}

/* Converts an input to a tensor; arrays are borrowed for the run. */
static PyObject *borrow_input(PyObject *input) {
  if (IS_TENSOR(input)) return Py_NewRef(input);
  bool unfit = false;
  situ_tensor *tensor = buffer_value(input, SITU_NO_TYPE, true, &unfit);
  if (unfit) tensor = convert_value(input, SITU_NO_TYPE);
  return tensor ? tensor_wrap(tensor) : NULL;
}

/* run(inputs): tensors, or arrays that the results do not retain. */
static PyObject *run(PyObject *object, PyObject *inputs) {
  struct trace_object *self = (struct trace_object *)object;
  PyObject *given = structure_tuple(inputs, "a trace takes a list of inputs"), *result = NULL;
  if (!given) return NULL;
  const Py_ssize_t n = PyTuple_GET_SIZE(given);
  PyObject *tuple = PyTuple_New(n);
  bool borrowed = false;
  for (Py_ssize_t i = 0; tuple && i < n; i++) {
    PyObject *item = PyTuple_GET_ITEM(given, i), *tensor = borrow_input(item);
    borrowed = borrowed || tensor != item;
    if (tensor)
      PyTuple_SET_ITEM(tuple, i, tensor);
    else
      Py_CLEAR(tuple);
  }
  if (tuple && n != self->n_inputs)
    PyErr_Format(PyExc_TypeError, "%U takes %d tensors (%zd given)", self->name, self->n_inputs, n);
  else if (tuple)
    result = trace_run(self, ((PyTupleObject *)tuple)->ob_item, borrowed);
  Py_XDECREF(tuple);
  Py_DECREF(given);
  return result;
}

static PyMethodDef methods[] = {{"run", run, METH_O, "run(tensors): the results."},
                                {NULL, NULL, 0, NULL}};

PyTypeObject trace_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Trace",
    .tp_basicsize = sizeof(struct trace_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_doc = "The graph of a Python function, ready to be run.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_methods = methods,
};
