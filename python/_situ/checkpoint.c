/* SPDX-License-Identifier: Apache-2.0
 * checkpoint.c: writes checkpoints and safetensors files, replaces files, CRC-32C. */
#include <situ/checkpoint.h>

#include "situ_python.h"

/* The arguments of a writer, in C. */
struct arrays {
  situ_array *arrays;
  Py_buffer *buffers; /* of the arrays */
  int count;          /* arrays with a buffer */
  situ_metadata *metadata;
  int n_metadata;
};

static int read_shape(PyObject *tuple, situ_shape *out) {
  const Py_ssize_t rank = PyTuple_Size(tuple);
  if (rank < 0) return -1;
  if (rank > SITU_MAX_RANK) {
    PyErr_Format(PyExc_ValueError, "a tensor of a checkpoint has %zd dimensions; %d are supported",
                 rank, SITU_MAX_RANK);
    return -1;
  }
  *out = (situ_shape){.rank = (int)rank};
  for (Py_ssize_t d = 0; d < rank; d++) out->dim[d] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, d));
  return PyErr_Occurred() ? -1 : 0;
}

/* Reads (name, NumPy type, shape, buffer). */
static int read_array(PyObject *item, situ_array *out, Py_buffer *buffer) {
  PyObject *shape;
  if (!PyArg_ParseTuple(item, "ssO!y*", &out->name, &out->type, &PyTuple_Type, &shape, buffer))
    return -1;
  out->data = buffer->buf;
  out->bytes = (size_t)buffer->len;
  if (!read_shape(shape, &out->shape)) return 0;
  PyBuffer_Release(buffer);
  return -1;
}

static int read_arrays(PyObject *list, struct arrays *out) {
  const Py_ssize_t n = PyList_GET_SIZE(list);
  out->arrays = PyMem_Calloc((size_t)n + 1, sizeof *out->arrays);
  out->buffers = PyMem_Calloc((size_t)n + 1, sizeof *out->buffers);
  if (!out->arrays || !out->buffers) {
    PyErr_NoMemory();
    return -1;
  }
  for (; out->count < n; out->count++)
    if (read_array(PyList_GET_ITEM(list, out->count), &out->arrays[out->count],
                   &out->buffers[out->count]))
      return -1;
  return 0;
}

static int read_metadata(PyObject *dict, struct arrays *out) {
  PyObject *key, *value;
  Py_ssize_t at = 0;
  out->metadata = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof *out->metadata);
  if (!out->metadata) {
    PyErr_NoMemory();
    return -1;
  }
  while (PyDict_Next(dict, &at, &key, &value)) {
    situ_metadata *pair = &out->metadata[out->n_metadata++];
    pair->key = convert_text(key);
    pair->value = convert_text(value);
    if (!pair->key || !pair->value) return -1;
  }
  return 0;
}

static void free_arrays(struct arrays *arrays) {
  for (int i = 0; i < arrays->count; i++) PyBuffer_Release(&arrays->buffers[i]);
  PyMem_Free(arrays->arrays);
  PyMem_Free(arrays->buffers);
  PyMem_Free(arrays->metadata);
}

typedef situ_status writer(const char *, situ_array *, int, const situ_metadata *, int);

/* Calls a writer with (path, list of arrays, dict of metadata). */
static PyObject *write_arrays(PyObject *args, writer *write) {
  PyObject *path, *list, *dict;
  if (!PyArg_ParseTuple(args, "O&O!O!", PyUnicode_FSConverter, &path, &PyList_Type, &list,
                        &PyDict_Type, &dict))
    return NULL;
  struct arrays arrays = {0};
  situ_status status = NULL;
  const bool good = !read_arrays(list, &arrays) && !read_metadata(dict, &arrays);
  if (good) {
    Py_BEGIN_ALLOW_THREADS;
    status = write(PyBytes_AS_STRING(path), arrays.arrays, arrays.count, arrays.metadata,
                   arrays.n_metadata);
    Py_END_ALLOW_THREADS;
  }
  free_arrays(&arrays);
  Py_DECREF(path);
  if (status) return errors_raise(status, NULL);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static PyObject *write_safetensors(PyObject *self, PyObject *args) {
  (void)self;
  return write_arrays(args, situ_safetensors_write);
}

static PyObject *write_checkpoint(PyObject *self, PyObject *args) {
  (void)self;
  return write_arrays(args, situ_checkpoint_write_arrays);
}

/* replace_file(path, data) */
static PyObject *replace_file(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *path;
  Py_buffer data;
  if (!PyArg_ParseTuple(args, "O&y*", PyUnicode_FSConverter, &path, &data)) return NULL;
  situ_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = situ_file_replace(PyBytes_AS_STRING(path), data.buf, (size_t)data.len);
  Py_END_ALLOW_THREADS;
  PyBuffer_Release(&data);
  Py_DECREF(path);
  if (status) return errors_raise(status, NULL);
  Py_RETURN_NONE;
}

static PyObject *crc32c(PyObject *self, PyObject *object) {
  (void)self;
  Py_buffer buffer;
  if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE)) return NULL;
  const uint32_t sum = situ_crc32c(buffer.buf, (size_t)buffer.len);
  PyBuffer_Release(&buffer);
  return PyLong_FromUnsignedLong(sum);
}

static const char capsule_name[] = "situ_safetensors";

static void close_safetensors(PyObject *capsule) {
  situ_safetensors_release(PyCapsule_GetPointer(capsule, capsule_name));
}

/* {name: (type, shape)} of the arrays of a file. */
static PyObject *list_arrays(const situ_safetensors *file) {
  PyObject *dict = PyDict_New();
  situ_array array;
  for (int i = 0; dict && situ_safetensors_array(file, i, &array); i++) {
    PyObject *entry = Py_BuildValue("sN", array.type, types_tuple(array.shape));
    if (!entry || PyDict_SetItemString(dict, array.name, entry)) Py_CLEAR(dict);
    Py_XDECREF(entry);
  }
  return dict;
}

static PyObject *list_metadata(const situ_safetensors *file) {
  PyObject *dict = PyDict_New();
  situ_metadata pair;
  for (int i = 0; dict && situ_safetensors_metadata(file, i, &pair); i++) {
    PyObject *value = PyUnicode_FromString(pair.value);
    if (!value || PyDict_SetItemString(dict, pair.key, value)) Py_CLEAR(dict);
    Py_XDECREF(value);
  }
  return dict;
}

/* open_safetensors(path) */
static PyObject *open_safetensors(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *path;
  situ_safetensors *file = NULL;
  if (!PyArg_ParseTuple(args, "O&", PyUnicode_FSConverter, &path)) return NULL;
  situ_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = situ_safetensors_open(PyBytes_AS_STRING(path), &file);
  Py_END_ALLOW_THREADS;
  Py_DECREF(path);
  if (status) return errors_raise(status, NULL);
  PyObject *capsule = PyCapsule_New(file, capsule_name, close_safetensors);
  if (!capsule) {
    situ_safetensors_release(file);
    return NULL;
  }
  return Py_BuildValue("NNN", capsule, list_arrays(file), list_metadata(file));
}

/* read_safetensors(file, name) */
static PyObject *read_safetensors(PyObject *self, PyObject *args) {
  (void)self;
  PyObject *capsule;
  const char *name;
  if (!PyArg_ParseTuple(args, "Os", &capsule, &name)) return NULL;
  const situ_safetensors *file = PyCapsule_GetPointer(capsule, capsule_name);
  if (!file) return NULL;
  situ_tensor *tensor = NULL;
  situ_status status;
  Py_BEGIN_ALLOW_THREADS;
  status = situ_safetensors_read(file, name, &tensor);
  Py_END_ALLOW_THREADS;
  if (status) return errors_raise(status, NULL);
  PyObject *array = array_from_tensor(tensor);
  situ_tensor_release(tensor);
  return array;
}

PyMethodDef checkpoint_methods[] = {
    {"open_safetensors", open_safetensors, METH_VARARGS,
     "Opens a safetensors file. Returns (file, {name: (type, shape)}, metadata)."},
    {"read_safetensors", read_safetensors, METH_VARARGS, "Returns an array of an open file."},
    {"write_safetensors", write_safetensors, METH_VARARGS,
     "Writes arrays, a list of (name, type, shape, data), and metadata to a safetensors file."},
    {"write_checkpoint", write_checkpoint, METH_VARARGS,
     "Writes arrays, a list of (name, type, shape, data), and metadata to a checkpoint."},
    {"replace_file", replace_file, METH_VARARGS, "Replaces the contents of a file atomically."},
    {"crc32c", crc32c, METH_O, "Returns the CRC-32C of bytes."},
    {NULL, NULL, 0, NULL}};
