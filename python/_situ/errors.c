/* SPDX-License-Identifier: Apache-2.0
 * errors.c: converts a status to a Python exception. */
#include <string.h>

#include "situ_python.h"

/* Decodes the message; invalid UTF-8 (from a damaged file) is replaced. */
static PyObject *message_of(situ_status status) {
  const char *message = situ_status_message(status);
  return PyUnicode_DecodeUTF8(message, (Py_ssize_t)strlen(message), "backslashreplace");
}

PyObject *errors_raise(situ_status status, struct graph_object *graph) {
  return errors_raise_at(status, situ_status_node(status), graph);
}

PyObject *errors_raise_at(situ_status status, const char *node, struct graph_object *graph) {
  PyObject *message = message_of(status);
  if (message && !hooks.error) {
    PyErr_SetObject(PyExc_RuntimeError, message);
  } else if (message) {
    PyObject *error = PyObject_CallFunction(hooks.error, "iOzO", (int)situ_status_code(status),
                                            message, node, graph ? (PyObject *)graph : Py_None);
    if (error) {
      PyErr_SetObject((PyObject *)Py_TYPE(error), error);
      Py_DECREF(error);
    }
  }
  Py_XDECREF(message);
  situ_status_release(status);
  return NULL;
}

PyObject *errors_raise_building(situ_status status) {
  if (situ_status_code(status) != SITU_INVALID_ARGUMENT) return errors_raise(status, NULL);
  PyObject *message = message_of(status);
  if (message) PyErr_SetObject(PyExc_ValueError, message);
  Py_XDECREF(message);
  situ_status_release(status);
  return NULL;
}

bool errors_raise_gradient(situ_status status) {
  if (situ_status_code(status) != SITU_UNIMPLEMENTED) return false;
  const char *message = situ_status_message(status);
  PyObject *const missing = PyExc_LookupError, *const other = PyExc_NotImplementedError;
  PyErr_SetString(strstr(message, "No gradient defined") ? missing : other, message);
  situ_status_release(status);
  return true;
}
