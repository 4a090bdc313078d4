/* SPDX-License-Identifier: Apache-2.0
 * dlpack.c: shares tensors in host memory with other libraries through DLPack. */
#include <stdlib.h>
#include <string.h>

#include "situ_python.h"

/* The structs of DLPack version 0. */
struct dl_device {
  int32_t type, id; /* type 1 is the CPU */
};
struct dl_type {
  uint8_t code, bits; /* codes: 0 int, 1 uint, 2 float, 6 bool */
  uint16_t lanes;
};
struct dl_tensor {
  void *data;
  struct dl_device device;
  int32_t ndim;
  struct dl_type dtype;
  int64_t *shape, *strides; /* strides in elements; NULL: row-major */
  uint64_t byte_offset;
};
struct dl_managed {
  struct dl_tensor tensor;
  void *context;
  void (*deleter)(struct dl_managed *self);
};

enum { DL_CPU = 1 };
static const char live[] = "dltensor", used[] = "used_dltensor";

/* The supported types with DLPack's code and bits. */
static const struct {
  situ_type type;
  struct dl_type dl;
} types[] = {
    {SITU_FLOAT, {2, 32, 1}},    {SITU_DOUBLE, {2, 64, 1}},    {SITU_HALF, {2, 16, 1}},
    {SITU_INT32, {0, 32, 1}},    {SITU_INT64, {0, 64, 1}},     {SITU_INT8, {0, 8, 1}},
    {SITU_UINT8, {1, 8, 1}},     {SITU_INT16, {0, 16, 1}},     {SITU_UINT16, {1, 16, 1}},
    {SITU_BOOL, {6, 8, 1}},      {SITU_UINT32, {1, 32, 1}},    {SITU_UINT64, {1, 64, 1}},
    {SITU_BFLOAT16, {4, 16, 1}}, {SITU_COMPLEX64, {5, 64, 1}}, {SITU_COMPLEX128, {5, 128, 1}}};
enum { N_DL_TYPES = sizeof types / sizeof *types };

/* ---- Export ---- */

struct exported {
  struct dl_managed managed;
  situ_tensor *tensor;
  int64_t shape[SITU_MAX_RANK], strides[SITU_MAX_RANK];
};

static void delete_exported(struct dl_managed *managed) {
  struct exported *self = managed->context;
  situ_tensor_release(self->tensor);
  free(self);
}

/* Destroys a capsule that was not consumed. */
static void drop(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, live)) return;
  struct dl_managed *managed = PyCapsule_GetPointer(capsule, live);
  if (managed->deleter) managed->deleter(managed);
}

static struct exported *describe(situ_tensor *tensor, struct dl_type dtype) {
  struct exported *self = calloc(1, sizeof *self);
  if (!self) return NULL;
  const situ_shape shape = situ_tensor_shape(tensor);
  int64_t stride = 1;
  for (int i = shape.rank - 1; i >= 0; i--) {
    self->shape[i] = shape.dim[i];
    self->strides[i] = stride;
    stride *= shape.dim[i];
  }
  self->tensor = situ_tensor_retain(tensor);
  self->managed =
      (struct dl_managed){.tensor = {.data = (void *)(uintptr_t)situ_tensor_data(tensor),
                                     .device = {DL_CPU, 0},
                                     .ndim = shape.rank,
                                     .dtype = dtype,
                                     .shape = self->shape,
                                     .strides = self->strides},
                          .context = self,
                          .deleter = delete_exported};
  return self;
}

static PyObject *export_tensor(situ_tensor *tensor) {
  int i = 0;
  while (i < N_DL_TYPES && types[i].type != situ_tensor_type(tensor)) i++;
  if (i == N_DL_TYPES)
    return PyErr_Format(PyExc_BufferError, "DLPack has no tensors of %s",
                        situ_type_name(situ_tensor_type(tensor)));
  if (!situ_tensor_data(tensor) && situ_tensor_bytes(tensor))
    return PyErr_Format(PyExc_BufferError,
                        "DLPack knows no device %s: copy the tensor to the CPU first (x.cpu())",
                        situ_tensor_device(tensor));
  struct exported *self = describe(tensor, types[i].dl);
  if (!self) return PyErr_NoMemory();
  PyObject *capsule = PyCapsule_New(&self->managed, live, drop);
  if (!capsule) delete_exported(&self->managed);
  return capsule;
}

/* ---- Import ---- */

static void release(void *context) {
  struct dl_managed *managed = context;
  const PyGILState_STATE state = PyGILState_Ensure(); /* the deleter may be that of another Python
                                                         library */
  if (managed->deleter) managed->deleter(managed);
  PyGILState_Release(state);
}

/* Returns whether the elements are contiguous. */
static bool is_plain(const struct dl_tensor *tensor) {
  int64_t stride = 1;
  for (int i = tensor->ndim - 1; tensor->strides && i >= 0; i--) {
    if (tensor->shape[i] > 1 && tensor->strides[i] != stride) return false;
    stride *= tensor->shape[i];
  }
  return true;
}

/* Copies strided elements to `at`. */
static char *gather(const struct dl_tensor *tensor, int dimension, const char *from, size_t bytes,
                    char *at) {
  if (dimension == tensor->ndim) {
    memcpy(at, from, bytes);
    return at + bytes;
  }
  for (int64_t i = 0; i < tensor->shape[dimension]; i++)
    at = gather(tensor, dimension + 1, from + i * tensor->strides[dimension] * (int64_t)bytes,
                bytes, at);
  return at;
}

static situ_status copy_in(const struct dl_tensor *tensor, situ_type type, situ_shape shape,
                           const char *data, situ_tensor **out) {
  const size_t bytes = situ_type_size(type);
  char *rows = malloc((size_t)situ_shape_count(shape) * bytes + 1);
  if (!rows) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  gather(tensor, 0, data, bytes, rows);
  const situ_status status = situ_tensor_create(type, shape, rows, out);
  free(rows);
  return status;
}

/* Imports a tensor. *kept: the memory is shared, and the capsule consumed. */
static situ_status import_managed(struct dl_managed *managed, bool *kept, situ_tensor **out) {
  const struct dl_tensor *tensor = &managed->tensor;
  if (tensor->device.type != DL_CPU)
    return situ_status_create(SITU_INVALID_ARGUMENT, "from_dlpack: the tensor is not on the CPU.");
  int i = 0;
  while (i < N_DL_TYPES &&
         (types[i].dl.code != tensor->dtype.code || types[i].dl.bits != tensor->dtype.bits))
    i++;
  if (i == N_DL_TYPES || tensor->dtype.lanes != 1 || tensor->ndim > SITU_MAX_RANK)
    return situ_status_create(SITU_INVALID_ARGUMENT,
                              "from_dlpack: situ has no such tensors (code %d, %d bits, rank %d).",
                              tensor->dtype.code, tensor->dtype.bits, (int)tensor->ndim);
  situ_shape shape = {.rank = tensor->ndim};
  for (int d = 0; d < tensor->ndim; d++) shape.dim[d] = tensor->shape[d];
  char *data = (char *)tensor->data + tensor->byte_offset;
  if (!is_plain(tensor)) return copy_in(tensor, types[i].type, shape, data, out);
  *kept = true;
  return situ_tensor_wrap(types[i].type, shape, data, release, managed, out);
}

static PyObject *import_capsule(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, live))
    return PyErr_Format(PyExc_TypeError,
                        "from_dlpack: %R is not a DLPack capsule, or it was already used "
                        "already",
                        capsule);
  struct dl_managed *managed = PyCapsule_GetPointer(capsule, live);
  bool kept = false;
  situ_tensor *tensor = NULL;
  const situ_status status = import_managed(managed, &kept, &tensor);
  if (kept || !status) PyCapsule_SetName(capsule, used);
  if (!kept && !status && managed->deleter) managed->deleter(managed);
  return status ? errors_raise(status, NULL) : tensor_wrap(tensor);
}

static PyObject *from_dlpack(PyObject *self, PyObject *source) {
  (void)self;
  if (PyCapsule_CheckExact(source)) return import_capsule(source);
  PyObject *capsule = PyObject_CallMethod(source, "__dlpack__", NULL);
  PyObject *result = capsule ? import_capsule(capsule) : NULL;
  Py_XDECREF(capsule);
  return result;
}

static PyObject *to_dlpack(PyObject *self, PyObject *tensor) {
  (void)self;
  if (!IS_TENSOR(tensor))
    return PyErr_Format(PyExc_TypeError,
                        "The argument to `to_dlpack` must be a TF tensor, not Python object");
  return export_tensor(TENSOR_OF(tensor));
}

PyMethodDef dlpack_methods[] = {
    {"to_dlpack", to_dlpack, METH_O, "Exports a tensor as a DLPack capsule."},
    {"from_dlpack", from_dlpack, METH_O, "Imports a tensor from a DLPack capsule or array."},
    {NULL, NULL, 0, NULL}};
