/* SPDX-License-Identifier: Apache-2.0
 * recording.c: Recording: a trace of kernels and copies (situ/trace.h). */
#include <situ/checkpoint.h>
#include <stdio.h>
#include <stdlib.h>

#include "situ_python.h"

struct recording_object {
  PyObject_HEAD situ_trace *trace;
};

situ_trace *recording_native(PyObject *object) {
  return ((struct recording_object *)object)->trace;
}

static PyObject *create(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  (void)args, (void)kwargs;
  struct recording_object *self = (struct recording_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  const situ_status status = situ_trace_create(&self->trace);
  if (!status) return (PyObject *)self;
  Py_DECREF(self);
  return errors_raise(status, NULL);
}

static void dealloc(PyObject *object) {
  situ_trace_release(recording_native(object));
  Py_TYPE(object)->tp_free(object);
}

/* [(node, op, device, from, queue, bytes, start, end)], times in nanoseconds since 1970. */
static PyObject *records(PyObject *self, PyObject *none) {
  (void)none;
  int count = 0;
  const situ_trace_record *rows = situ_trace_records(recording_native(self), &count);
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < count; i++) {
    PyObject *signature = Py_BuildValue("(ssszikLL)", rows[i].node, rows[i].op, rows[i].device,
                                        rows[i].from, rows[i].queue, (unsigned long)rows[i].bytes,
                                        (long long)rows[i].start_ns, (long long)rows[i].end_ns);
    if (!signature || PyList_Append(list, signature)) Py_CLEAR(list);
    Py_XDECREF(signature);
  }
  return list;
}

static PyObject *write_file(PyObject *self, PyObject *path) {
  const char *name = convert_text(path);
  if (!name) return NULL;
  char *text = NULL;
  size_t length = 0;
  FILE *file = open_memstream(&text, &length);
  if (!file) return PyErr_NoMemory();
  situ_status status = situ_trace_write(recording_native(self), file);
  const bool has_memory = !fclose(file);
  if (!status && has_memory) status = situ_file_replace(name, text, length);
  free(text);
  if (status) return errors_raise(status, NULL);
  if (!has_memory) return PyErr_NoMemory();
  Py_RETURN_NONE;
}

static PyObject *everything(PyObject *self, PyObject *on) {
  situ_trace_set_global(PyObject_IsTrue(on) == 1 ? recording_native(self) : NULL);
  Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
    {"records", records, METH_NOARGS,
     "Returns (node, op, device, from, queue, bytes, start, end) tuples."},
    {"write", write_file, METH_O, "Writes a file for chrome://tracing."},
    {"everything", everything, METH_O, "Records all runs of the process, or stops it."},
    {NULL, NULL, 0, NULL}};

PyTypeObject recording_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "_situ.Recording",
    .tp_basicsize = sizeof(struct recording_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "What ran where and when.",
    .tp_new = create,
    .tp_dealloc = dealloc,
    .tp_methods = methods,
};
