/* SPDX-License-Identifier: Apache-2.0
 * py_func.c: calls Python functions from PyFunc nodes. */
#include "situ_python.h"
#include "interruptible.h"

#include <string.h>

static PyObject *function; /* (token, list of arrays) -> list of arrays */

/* Returns the code of a tf.errors exception; SITU_OK for others. */
static situ_code code_of(PyObject *error) {
  PyObject *name = error ? PyObject_GetAttrString((PyObject *)Py_TYPE(error), "__module__") : NULL;
  const char *text = name && PyUnicode_Check(name) ? convert_text(name) : NULL;
  const bool ours = text && strstr(text, "errors");
  PyObject *number = ours ? PyObject_GetAttrString(error, "error_code") : NULL;
  const long code = number && PyLong_Check(number) ? PyLong_AsLong(number) : 0;
  Py_XDECREF(name);
  Py_XDECREF(number);
  PyErr_Clear();
  return code > 0 && code <= SITU_UNAUTHENTICATED ? (situ_code)code : SITU_OK;
}

/* Returns the traceback of an exception as text, with a leading line break; NULL if there is none.
 */
static PyObject *format_traceback(PyObject *type, PyObject *value, PyObject *trace) {
  PyObject *module = trace ? PyImport_ImportModule("traceback") : NULL;
  PyObject *lines =
      module ? PyObject_CallMethod(module, "format_exception", "OOO", type, value, trace) : NULL;
  PyObject *empty = lines ? PyUnicode_FromString("") : NULL;
  PyObject *text = empty ? PyUnicode_Join(empty, lines) : NULL;
  PyObject *result = text ? PyUnicode_FromFormat("\n%U", text) : NULL;
  Py_XDECREF(module);
  Py_XDECREF(lines);
  Py_XDECREF(empty);
  Py_XDECREF(text);
  PyErr_Clear();
  return result;
}

situ_status script_exception(void) {
  static const struct {
    PyObject **type;
    situ_code code;
  } codes[] = {{&PyExc_ValueError, SITU_INVALID_ARGUMENT},
               {&PyExc_TypeError, SITU_INVALID_ARGUMENT},
               {&PyExc_StopIteration, SITU_OUT_OF_RANGE},
               {&PyExc_MemoryError, SITU_RESOURCE_EXHAUSTED},
               {&PyExc_NotImplementedError, SITU_UNIMPLEMENTED}};
  PyObject *type = NULL, *value = NULL, *trace = NULL;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (type && !PyErr_GivenExceptionMatches(type, PyExc_Exception) && interruptible_is_active()) {
    PyErr_Restore(type, value, trace); /* Ctrl-C and sys.exit() end the program, not the run */
    return situ_status_create(SITU_CANCELLED, "A Python function was interrupted.");
  }
  situ_code code = SITU_UNKNOWN;
  for (size_t i = sizeof codes / sizeof *codes; i-- > 0;)
    if (type && PyErr_GivenExceptionMatches(type, *codes[i].type)) code = codes[i].code;
  PyObject *text = value ? PyObject_Str(value) : NULL;
  const char *message = text ? PyUnicode_AsUTF8(text) : NULL;
  const situ_code own = code_of(value);
  PyObject *trail = own ? NULL : format_traceback(type, value, trace);
  const char *lines = trail ? PyUnicode_AsUTF8(trail) : NULL;
  const situ_status status =
      own ? situ_status_create(own, "%s", message ? message : "")
          : situ_status_create(code, "%s: %s%s", type ? ((PyTypeObject *)type)->tp_name : "error",
                               message ? message : "", lines ? lines : "");
  Py_XDECREF(trail);
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(value);
  Py_XDECREF(trace);
  PyErr_Clear();
  return status;
}

static int give(PyObject *results, situ_tensor **outputs, int n) {
  PyObject *list = structure_tuple(results, "expected a list of arrays");
  if (!list) return -1;
  if (PyTuple_GET_SIZE(list) != n)
    PyErr_Format(PyExc_ValueError, "the function gave %zd values, not %d", PyTuple_GET_SIZE(list),
                 n);
  for (int i = 0; i < n && !PyErr_Occurred(); i++)
    outputs[i] = convert_value(PyTuple_GET_ITEM(list, i), SITU_NO_TYPE);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

static situ_status call(const char *token, situ_tensor *const *inputs, int n_inputs,
                        situ_tensor **outputs, int n_outputs) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyObject *list = PyList_New(n_inputs), *results = NULL;
  for (int i = 0; list && i < n_inputs; i++) {
    PyObject *array = array_from_tensor(inputs[i]);
    if (!array) {
      Py_CLEAR(list);
      break;
    }
    PyList_SET_ITEM(list, i, array);
  }
  if (list) results = PyObject_CallFunction(function, "sO", token, list);
  situ_status status = NULL;
  if (!results || give(results, outputs, n_outputs)) status = script_exception();
  Py_XDECREF(results);
  Py_XDECREF(list);
  PyGILState_Release(state);
  return status;
}

static PyObject *set_callback(PyObject *self, PyObject *callable) {
  (void)self;
  Py_INCREF(callable);
  Py_XSETREF(function, callable);
  situ_callback_set(call);
  Py_RETURN_NONE;
}

PyMethodDef script_methods[] = {
    {"set_callback", set_callback, METH_O, "Sets the callback of PyFunc nodes."}, {0}};
