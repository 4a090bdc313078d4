/* SPDX-License-Identifier: Apache-2.0
 * store.c: stores of variables shared by sessions, as capsules. */
#include "situ_python.h"

static const char name[] = "situ_store";

situ_store *store_native(PyObject *capsule) { return PyCapsule_GetPointer(capsule, name); }

static void destroy(PyObject *capsule) {
  situ_store *store = store_native(capsule);
  Py_BEGIN_ALLOW_THREADS; /* threads of its iterators may need the GIL to end */
  situ_store_release(store);
  Py_END_ALLOW_THREADS;
}

static PyObject *create(PyObject *self, PyObject *none) {
  (void)self, (void)none;
  situ_store *store = NULL;
  const situ_status status = situ_store_create(&store);
  if (status) return errors_raise(status, NULL);
  return PyCapsule_New(store, name, destroy);
}

/* store_reset(store, container or None) */
static PyObject *reset(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule;
  const char *container;
  if (!PyArg_ParseTuple(args, "Oz", &capsule, &container)) return NULL;
  situ_store *store = store_native(capsule);
  if (!store) return NULL;
  Py_BEGIN_ALLOW_THREADS;
  situ_store_reset(store, container);
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

PyMethodDef store_methods[] = {
    {"store_create", create, METH_NOARGS, "Creates an empty store."},
    {"store_reset", reset, METH_VARARGS, "Drops the variables and resources of a store."},
    {0}};
