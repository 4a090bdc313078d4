/* SPDX-License-Identifier: Apache-2.0
 * errors.c: the exception of a status. */
#include "situ_python.h"

PyObject *errors_raise(situ_status status, struct graph_object *graph) {
  if (!hooks.error) {
    PyErr_SetString(PyExc_RuntimeError, situ_status_message(status));
  } else {
    const char *node = situ_status_node(status);
    PyObject *error = PyObject_CallFunction(hooks.error, "iszO", (int)situ_status_code(status),
                                            situ_status_message(status), node,
                                            graph ? (PyObject *)graph : Py_None);
    if (error) {
      PyErr_SetObject((PyObject *)Py_TYPE(error), error);
      Py_DECREF(error);
    }
  }
  situ_status_release(status);
  return NULL;
}

PyObject *errors_raise_building(situ_status status) {
  if (situ_status_code(status) == SITU_INVALID_ARGUMENT)
    PyErr_SetString(PyExc_ValueError, situ_status_message(status));
  else
    return errors_raise(status, NULL);
  situ_status_release(status);
  return NULL;
}
