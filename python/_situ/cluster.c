/* SPDX-License-Identifier: Apache-2.0
 * cluster.c: the functions behind situ.mpi (situ/cluster.h). */
#include <situ/cluster.h>
#include <stdlib.h>

#include "situ_python.h"
#include "interruptible.h"

/* cluster_join(None) for mpirun, or cluster_join((rank, size, name)). */
static PyObject *join(PyObject *self, PyObject *arg) {
  (void)self;
  situ_cluster_config config = {0};
  if (arg != Py_None && !PyArg_ParseTuple(arg, "iis", &config.rank, &config.size, &config.name))
    return NULL;
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = situ_cluster_join(arg == Py_None ? NULL : &config);
  interruptible_leave(&call);
  if (status) return interruptible_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *leave(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  Py_BEGIN_ALLOW_THREADS;
  situ_cluster_leave();
  Py_END_ALLOW_THREADS;
  Py_RETURN_NONE;
}

/* cluster_place() -> (joined, rank, size, local rank, local size) */
static PyObject *get_place(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  return Py_BuildValue("Niiii", PyBool_FromLong(situ_cluster_joined()), situ_cluster_rank(),
                       situ_cluster_size(), situ_cluster_local_rank(), situ_cluster_local_size());
}

/* [(rank, machine, local rank, pid, host)] */
static PyObject *members(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  PyObject *list = PyList_New(0);
  for (int i = 0; list && i < situ_cluster_size(); i++) {
    situ_member member;
    const situ_status status = situ_cluster_member(i, &member);
    PyObject *item = NULL;
    if (status)
      errors_raise(status, NULL);
    else
      item = Py_BuildValue("iiiis", member.rank, member.machine, member.local_rank, member.pid,
                           member.host);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *barrier(PyObject *self, PyObject *none) {
  (void)self;
  (void)none;
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = situ_cluster_barrier();
  interruptible_leave(&call);
  if (status) return interruptible_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *gone(PyObject *self, PyObject *rank) {
  (void)self;
  const long number = PyLong_AsLong(rank);
  if (number == -1 && PyErr_Occurred()) return NULL;
  return PyBool_FromLong(situ_cluster_has_left((int)number));
}

static PyObject *set_epoch(PyObject *self, PyObject *number) {
  (void)self;
  const unsigned long long epoch = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  situ_cluster_set_epoch(epoch);
  Py_RETURN_NONE;
}

/* cluster_fail(rank, code, text) */
static PyObject *fail(PyObject *self, PyObject *args) {
  (void)self;
  int to, code;
  const char *text;
  if (!PyArg_ParseTuple(args, "iis", &to, &code, &text)) return NULL;
  const situ_status status = situ_cluster_send_error(to, (situ_code)code, text);
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *bytes_of(situ_tensor *tensor) {
  PyObject *bytes = PyBytes_FromStringAndSize(
      situ_tensor_data(tensor), (Py_ssize_t)situ_shape_count(situ_tensor_shape(tensor)));
  situ_tensor_release(tensor);
  return bytes;
}

/* Receives bytes by name; returns None if nothing has arrived. */
static PyObject *receive_as_bytes(PyObject *args,
                                  situ_status (*receive)(int, const char *, situ_tensor **)) {
  int from;
  const char *name;
  if (!PyArg_ParseTuple(args, "is", &from, &name)) return NULL;
  situ_tensor *tensor = NULL;
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = receive(from, name, &tensor);
  interruptible_leave(&call);
  if (status) return interruptible_raise(status, NULL);
  if (!tensor) Py_RETURN_NONE;
  return bytes_of(tensor);
}

/* cluster_poll(rank, name): non-blocking receive. */
static PyObject *poll_bytes(PyObject *self, PyObject *args) {
  (void)self;
  return receive_as_bytes(args, situ_cluster_try_receive);
}

/* cluster_receive(rank, name): blocking receive. */
static PyObject *receive_bytes(PyObject *self, PyObject *args) {
  (void)self;
  return receive_as_bytes(args, situ_cluster_receive);
}

/* cluster_send(bytes, rank, name) */
static PyObject *send_bytes(PyObject *self, PyObject *args) {
  (void)self;
  Py_buffer data;
  int to;
  const char *name;
  if (!PyArg_ParseTuple(args, "y*is", &data, &to, &name)) return NULL;
  situ_tensor *tensor = NULL;
  struct interruptible call = {0};
  interruptible_enter(&call);
  situ_status status = situ_tensor_create(SITU_UINT8, SITU_SHAPE(data.len), data.buf, &tensor);
  if (!status) status = situ_cluster_send(tensor, to, name);
  situ_tensor_release(tensor);
  interruptible_leave(&call);
  PyBuffer_Release(&data);
  if (status) return interruptible_raise(status, NULL);
  Py_RETURN_NONE;
}

/* cluster_gather(bytes) -> list of the bytes of all ranks */
static PyObject *gather_bytes(PyObject *self, PyObject *arg) {
  (void)self;
  char *data;
  Py_ssize_t length;
  if (PyBytes_AsStringAndSize(arg, &data, &length)) return NULL;
  const int n = situ_cluster_size();
  size_t *sizes = PyMem_Calloc((size_t)n, sizeof *sizes), at = 0;
  if (!sizes) return PyErr_NoMemory();
  void *all = NULL;
  struct interruptible call = {0};
  interruptible_enter(&call);
  const situ_status status = situ_cluster_all_gather(data, (size_t)length, &all, sizes);
  interruptible_leave(&call);
  PyObject *list = status ? interruptible_raise(status, NULL) : PyList_New(n);
  for (int i = 0; list && i < n; at += sizes[i++]) {
    PyObject *item = PyBytes_FromStringAndSize((char *)all + at, (Py_ssize_t)sizes[i]);
    if (item)
      PyList_SET_ITEM(list, i, item);
    else
      Py_CLEAR(list);
  }
  free(all);
  PyMem_Free(sizes);
  return list;
}

PyMethodDef cluster_methods[] = {
    {"cluster_join", join, METH_O, "Joins the processes that mpirun started, or others by name."},
    {"cluster_leave", leave, METH_NOARGS, "Leaves the cluster."},
    {"cluster_place", get_place, METH_NOARGS,
     "Returns (joined, rank, size, local rank, local size)."},
    {"cluster_members", members, METH_NOARGS,
     "Returns (rank, machine, local rank, pid, host) of each rank."},
    {"cluster_gone", gone, METH_O, "Returns whether a rank has left or died."},
    {"cluster_epoch", set_epoch, METH_O, "Sets the epoch of sends and receives."},
    {"cluster_fail", fail, METH_VARARGS, "Makes receives of a rank from this one fail."},
    {"cluster_poll", poll_bytes, METH_VARARGS,
     "Receives bytes without blocking; None if there are none."},
    {"cluster_send", send_bytes, METH_VARARGS, "Sends bytes to a rank by name."},
    {"cluster_receive", receive_bytes, METH_VARARGS, "Receives bytes from a rank by name."},
    {"cluster_gather", gather_bytes, METH_O, "Returns the bytes of all ranks."},
    {"cluster_barrier", barrier, METH_NOARGS, "Returns when all ranks have called it."},
    {NULL, NULL, 0, NULL}};
