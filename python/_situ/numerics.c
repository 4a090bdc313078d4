/* SPDX-License-Identifier: Apache-2.0
 * numerics.c: numeric checks: the setting, and the source locations for error messages. */
#include <string.h>

#include "situ_python.h"

/* Returns the file of a frame (borrowed), or NULL if it belongs to the package. */
static const char *outer_file(PyFrameObject *frame) {
  PyCodeObject *code = PyFrame_GetCode(frame);
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  const char *folder = hooks.folder ? PyUnicode_AsUTF8(hooks.folder) : NULL;
  Py_DECREF(code); /* the frame owns it */
  if (!file || !folder) PyErr_Clear();
  const bool inner = !file || *file == '<' || (folder && !strncmp(file, folder, strlen(folder)));
  return inner ? NULL : file;
}

void numerics_set_origin(struct graph_object *graph) {
  origin_record(graph);
  if (!situ_numerics_get_check()) return;
  char place[1024] = "";
  PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
  while (frame && !*place) {
    const char *file = outer_file(frame);
    if (file) snprintf(place, sizeof place, "%s:%d", file, PyFrame_GetLineNumber(frame));
    PyFrameObject *back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
  }
  Py_XDECREF(frame);
  situ_graph_set_origin(graph->graph, *place ? place : NULL);
}

static PyObject *check(PyObject *self, PyObject *on) {
  (void)self;
  const int wanted = PyObject_IsTrue(on);
  if (wanted < 0) return NULL;
  situ_numerics_set_check(wanted);
  Py_RETURN_NONE;
}

PyMethodDef numerics_methods[] = {
    {"check_numerics", check, METH_O, "Enables or disables numeric checks."},
    {NULL, NULL, 0, NULL}};
