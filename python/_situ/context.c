/* SPDX-License-Identifier: Apache-2.0
 * context.c: the current context of ops: the graph of this thread, the default graph of the
 * process, or eager execution. */
#include <string.h>

#include "situ_python.h"

struct hooks hooks;

static _Thread_local struct {
  PyObject *graph; /* owned; NULL: none entered */
  char device[256];
  int is_eager; /* outside of graphs, ops of this thread run eagerly, whatever the program's style
                 */
} here;
static PyObject *process_graph; /* the default graph in graph mode; created by the package */
static int is_eager = 1;
static situ_eager *eager;
static int is_logging;

bool context_is_eager(void) { return is_eager || here.is_eager; }

struct graph_object *context_graph(void) {
  if (here.graph) return (struct graph_object *)here.graph;
  return context_is_eager() ? NULL : (struct graph_object *)process_graph;
}

const char *context_device(void) { return here.device; }

void context_flush_stdout(void) {
  PyObject *out = PySys_GetObject("stdout");
  PyObject *done = out ? PyObject_CallMethod(out, "flush", NULL) : NULL;
  if (!done) PyErr_Clear();
  Py_XDECREF(done);
}

bool context_logs(void) { return is_logging; }

void context_flush(void) {
  if (is_logging) context_flush_stdout();
}

situ_eager *context_eager(void) {
  if (eager) return eager;
  situ_config config = {0};
  struct config_store store;
  PyObject *options = hooks.eager_config ? PyObject_CallNoArgs(hooks.eager_config) : NULL;
  if (!options && PyErr_Occurred()) return NULL;
  if (options && options != Py_None && config_read(options, &config, &store)) {
    Py_DECREF(options);
    return NULL;
  }
  const situ_status status = situ_eager_create(&config, &eager);
  Py_XDECREF(options);
  if (status) errors_raise(status, NULL);
  return eager;
}

situ_eager *context_fast_path(void) {
  return here.graph || *here.device || !context_is_eager() || is_logging ? NULL : eager;
}

static PyObject *current_graph(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  struct graph_object *graph = context_graph();
  return Py_NewRef(graph ? (PyObject *)graph : Py_None);
}

/* Enters a graph (None: leaves all); returns the previous one. */
static PyObject *swap_graph(PyObject *self, PyObject *graph) {
  (void)self;
  PyObject *before = here.graph;
  here.graph = graph == Py_None ? NULL : Py_NewRef(graph);
  return before ? before : Py_NewRef(Py_None);
}

static PyObject *current_device(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyUnicode_FromString(here.device);
}

static PyObject *swap_device(PyObject *self, PyObject *device) {
  (void)self;
  const char *text = convert_text(device);
  if (!text) return NULL;
  if (strlen(text) >= sizeof here.device)
    return PyErr_Format(PyExc_ValueError, "The name of a device is too long: %R", device);
  PyObject *before = PyUnicode_FromString(here.device);
  memcpy(here.device, text, strlen(text) + 1);
  return before;
}

static PyObject *set_default_graph(PyObject *self, PyObject *graph) {
  (void)self;
  Py_XSETREF(process_graph, Py_NewRef(graph));
  Py_RETURN_NONE;
}

static PyObject *get_default_graph(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  if (here.graph) return Py_NewRef(here.graph);
  return Py_NewRef(process_graph ? process_graph : Py_None);
}

static PyObject *set_eager(PyObject *self, PyObject *on) {
  (void)self;
  is_eager = PyObject_IsTrue(on);
  Py_RETURN_NONE;
}

/* Sets whether ops of this thread outside of graphs run eagerly in a program of graph style;
 * returns the previous value. */
static PyObject *swap_eager(PyObject *self, PyObject *on) {
  (void)self;
  const int before = here.is_eager;
  here.is_eager = PyObject_IsTrue(on);
  return PyBool_FromLong(before);
}

static PyObject *executing_eagerly(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyBool_FromLong(!context_graph());
}

static PyObject *is_started(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  return PyBool_FromLong(eager != NULL);
}

static PyObject *start(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  if (!context_eager()) return NULL;
  Py_RETURN_NONE;
}

static PyObject *set_log(PyObject *self, PyObject *on) {
  (void)self;
  is_logging = PyObject_IsTrue(on);
  if (eager) situ_eager_set_log_placement(eager, is_logging);
  Py_RETURN_NONE;
}

/* log_call(op, tensor, device): logs an operation on the variable that holds the tensor. */
static PyObject *log_call(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *tensor;
  const char *op, *device;
  if (!PyArg_ParseTuple(args, "sO!s", &op, &tensor_type, &tensor, &device)) return NULL;
  if (!context_eager()) return NULL;
  const situ_status status =
      situ_eager_log_op(eager, op, situ_tensor_type(TENSOR_OF(tensor)), device);
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *set_soft(PyObject *self, PyObject *on) {
  (void)self;
  if (eager) situ_eager_set_soft_placement(eager, PyObject_IsTrue(on));
  Py_RETURN_NONE;
}

static PyObject *forget_calls(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  situ_eager_clear_cache(eager);
  Py_RETURN_NONE;
}

static PyObject *copy_to(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *tensor;
  const char *device;
  if (!PyArg_ParseTuple(args, "O!s", &tensor_type, &tensor, &device)) return NULL;
  if (!context_eager()) return NULL;
  situ_tensor *out = NULL;
  const situ_status status = situ_eager_copy(eager, TENSOR_OF(tensor), device, &out);
  return status ? errors_raise(status, NULL) : tensor_wrap(out);
}

static PyObject *reset(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  situ_eager_release(eager);
  eager = NULL;
  Py_RETURN_NONE;
}

PyMethodDef context_methods[] = {
    {"current_graph", current_graph, METH_NOARGS, "Returns the current graph; None: eager."},
    {"get_default_graph", get_default_graph, METH_NOARGS,
     "Returns the default graph of this thread or process."},
    {"swap_graph", swap_graph, METH_O, "Enters a graph; returns the previous one."},
    {"current_device", current_device, METH_NOARGS,
     "Returns the device of the eager device scope."},
    {"swap_device", swap_device, METH_O, "Enters a device scope; returns the previous device."},
    {"set_default_graph", set_default_graph, METH_O, "Sets the default graph of the process."},
    {"set_eager", set_eager, METH_O, "Sets whether ops outside of graphs run eagerly."},
    {"swap_eager", swap_eager, METH_O,
     "Sets whether ops of this thread outside of graphs run eagerly; returns the previous value."},
    {"executing_eagerly", executing_eagerly, METH_NOARGS, "Returns whether ops run eagerly."},
    {"is_started", is_started, METH_NOARGS, "Returns whether an eager op has run."},
    {"start", start, METH_NOARGS, "Initializes the eager context."},
    {"set_log", set_log, METH_O, "Enables or disables placement logging of eager ops."},
    {"log_call", log_call, METH_VARARGS, "Logs an operation on a variable."},
    {"set_soft", set_soft, METH_O, "Enables or disables soft placement of eager ops."},
    {"copy_to", copy_to, METH_VARARGS, "Copies a tensor to a device."},
    {"forget_calls", forget_calls, METH_NOARGS, "Drops compiled eager calls."},
    {"reset", reset, METH_NOARGS, "Drops the eager context, which releases the devices."},
    {NULL, NULL, 0, NULL}};
