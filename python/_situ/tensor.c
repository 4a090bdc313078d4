/* SPDX-License-Identifier: Apache-2.0
 * tensor.c: Tensor, the base class of all tensors, and EagerTensor. */
#include <stdlib.h>
#include <string.h>

#include "situ_python.h"

enum { N_FREE = 64 };
static struct tensor_object *free_list[N_FREE];
static int n_free;

PyObject *tensor_wrap(situ_tensor *tensor) {
  struct tensor_object *self;
  if (n_free) {
    self = free_list[--n_free];
    (void)PyObject_Init((PyObject *)self, &tensor_type);
  } else {
    self = PyObject_New(struct tensor_object, &tensor_type);
  }
  if (!self) {
    situ_tensor_release(tensor);
    return NULL;
  }
  self->tensor = tensor;
  self->shape = NULL;
  self->weak = NULL;
  self->dict = NULL;
  self->cpu = 0;
  return (PyObject *)self;
}

/* All CPU devices share host memory: the Python object stores which one a tensor belongs to. */
PyObject *tensor_wrap_on_scope_device(situ_tensor *tensor) {
  const char *cpu = strstr(context_device(), "/device:CPU:");
  PyObject *self = tensor_wrap(tensor);
  if (self && cpu && situ_tensor_data(tensor)) {
    int number = 0;
    const situ_status status = situ_devices_find(context_device(), &number);
    situ_status_release(status);
    if (!status) ((struct tensor_object *)self)->cpu = atoi(cpu + strlen("/device:CPU:"));
  }
  return self;
}

static void dealloc(PyObject *object) {
  struct tensor_object *self = (struct tensor_object *)object;
  if (self->weak) PyObject_ClearWeakRefs(object);
  if (self->tensor && situ_tensor_type(self->tensor) == SITU_RESOURCE) {
    Py_BEGIN_ALLOW_THREADS; /* threads of a resource may need the GIL to end */
    situ_tensor_release(self->tensor);
    Py_END_ALLOW_THREADS;
  } else {
    situ_tensor_release(self->tensor);
  }
  Py_XDECREF(self->shape);
  Py_CLEAR(self->dict);
  if (n_free < N_FREE)
    free_list[n_free++] = self;
  else
    PyObject_Free(self);
}

PyObject *tensor_from_object(PyObject *value) {
  if (PyFloat_Check(value) || PyLong_Check(value) || PyList_Check(value) || PyTuple_Check(value) ||
      PyUnicode_Check(value) || PyBytes_Check(value))
    return NULL;
  PyObject *method = PyObject_GetAttrString(value, "_situ_tensor_");
  if (!method) {
    PyErr_Clear();
    return NULL;
  }
  PyObject *tensor = PyObject_CallNoArgs(method);
  Py_DECREF(method);
  return tensor;
}

/* Returns the names of all devices, or NULL. */
static PyObject *device_names(void) {
  PyObject *names = PyUnicode_FromString("");
  int count = 0;
  situ_status status = situ_devices_count(&count);
  for (int i = 0; names && !status && i < count; i++) {
    situ_device known;
    status = situ_devices_get(i, &known);
    if (!status) Py_SETREF(names, PyUnicode_FromFormat("%U%s%s", names, i ? ", " : "", known.name));
  }
  situ_status_release(status);
  return names;
}

/* Raises TensorFlow's error; a note (Python 3.11 or newer) lists the devices that there are. */
static PyObject *raise_unknown_device(const char *device) {
  PyObject *names = device_names();
  if (!names) return NULL;
  PyErr_Format(PyExc_RuntimeError, "Error copying tensor to device: %s. %s unknown device.", device,
               device);
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  PyObject *note = PyUnicode_FromFormat("Known devices: %U", names);
  if (note && PyObject_HasAttrString(error, "add_note"))
    Py_XDECREF(PyObject_CallMethod(error, "add_note", "O", note));
  PyErr_Clear();
  Py_XDECREF(note);
  Py_DECREF(names);
  PyErr_Restore(type, error, trace);
  return NULL;
}

/* Copies a constant to the device of the scope. The messages are TensorFlow's. */
static PyObject *place(situ_tensor *tensor) {
  const char *device = context_device();
  situ_eager *eager = context_eager();
  if (!eager) {
    situ_tensor_release(tensor);
    return NULL;
  }
  const bool stays = situ_tensor_type(tensor) == SITU_STRING && !strstr(device, "/device:CPU:");
  if (!*device || stays) return tensor_wrap(tensor);
  situ_tensor *moved = NULL;
  const situ_status status = situ_eager_copy(eager, tensor, device, &moved);
  if (!status) {
    situ_tensor_release(tensor);
    return tensor_wrap_on_scope_device(moved);
  }
  if (situ_status_code(status) != SITU_NOT_FOUND &&
      situ_status_code(status) != SITU_INVALID_ARGUMENT) {
    situ_tensor_release(tensor);
    return errors_raise(status, NULL);
  }
  situ_status_release(status);
  PyObject *options = hooks.eager_config ? PyObject_CallNoArgs(hooks.eager_config) : NULL;
  PyObject *soft = options ? PyDict_GetItemString(options, "allow_soft_placement") : NULL;
  const bool is_soft = soft && PyObject_IsTrue(soft) == 1;
  Py_XDECREF(options);
  if (is_soft) return tensor_wrap(tensor);
  situ_tensor_release(tensor);
  return raise_unknown_device(device);
}

static PyObject *wrong_type(PyObject *tensor, situ_type type) {
  return PyErr_Format(PyExc_ValueError,
                      "Tensor conversion requested dtype %s for Tensor with dtype %s: %R",
                      types_name(type), types_name(situ_tensor_type(TENSOR_OF(tensor))), tensor);
}

PyObject *tensor_of(PyObject *value, situ_type type) {
  if (IS_TENSOR(value)) {
    if (type != SITU_NO_TYPE && situ_tensor_type(TENSOR_OF(value)) != type)
      return wrong_type(value, type);
    return Py_NewRef(value);
  }
  if (IS_VALUE(value))
    return PyErr_Format(PyExc_TypeError, "%S is a tensor of a graph: it has no value here.", value);
  PyObject *tensor_value = tensor_from_object(value);
  if (tensor_value || PyErr_Occurred()) {
    PyObject *result = tensor_value ? tensor_of(tensor_value, type) : NULL;
    Py_XDECREF(tensor_value);
    return result;
  }
  if ((PyList_Check(value) || PyTuple_Check(value)) && convert_holds_tensor(value)) {
    PyObject *dtype = types_dtype(type);
    PyObject *packed = PyObject_CallFunction(hooks.pack, "OOO", value, dtype, Py_None);
    Py_DECREF(dtype);
    return packed;
  }
  situ_tensor *tensor = convert_value(value, type);
  return tensor ? place(tensor) : NULL;
}

static PyObject *numpy(PyObject *self, PyObject *none) {
  (void)none;
  return array_from_tensor(TENSOR_OF(self));
}

/* __array__(dtype=None, copy=None) */
static PyObject *array(PyObject *self, PyObject *const *args, Py_ssize_t n, PyObject *names) {
  (void)names;
  PyObject *result = array_from_tensor(TENSOR_OF(self));
  if (result && situ_tensor_shape(TENSOR_OF(self)).rank == 0) {
    PyObject *module = PyImport_ImportModule("numpy");
    Py_SETREF(result, module ? PyObject_CallMethod(module, "asarray", "(O)", result) : NULL);
    Py_XDECREF(module);
  }
  if (result && n > 0 && args[0] != Py_None)
    Py_SETREF(result, PyObject_CallMethod(result, "astype", "(O)", args[0]));
  return result;
}

static PyObject *get_shape(PyObject *object, void *closure) {
  (void)closure;
  struct tensor_object *self = (struct tensor_object *)object;
  if (!self->shape) self->shape = types_tensor_shape(situ_tensor_shape(self->tensor));
  return Py_XNewRef(self->shape);
}

static PyObject *get_dtype(PyObject *self, void *closure) {
  (void)closure;
  return types_dtype(situ_tensor_type(TENSOR_OF(self)));
}

static PyObject *get_device(PyObject *self, void *closure) {
  (void)closure;
  const int cpu = ((struct tensor_object *)self)->cpu;
  const char *name = situ_tensor_device(TENSOR_OF(self));
  const char *colon = strrchr(name, ':');
  if (!cpu || !colon) return PyUnicode_FromString(name);
  PyObject *prefix = PyUnicode_FromStringAndSize(name, colon - name);
  PyObject *whole = prefix ? PyUnicode_FromFormat("%U:%d", prefix, cpu) : NULL;
  Py_XDECREF(prefix);
  return whole;
}

static PyObject *get_ndim(PyObject *self, void *closure) {
  (void)closure;
  return PyLong_FromLong(situ_tensor_shape(TENSOR_OF(self)).rank);
}

static Py_ssize_t length(PyObject *self) {
  const situ_shape shape = situ_tensor_shape(TENSOR_OF(self));
  if (shape.rank > 0) return (Py_ssize_t)shape.dim[0];
  PyErr_SetString(PyExc_TypeError, "Scalar tensor has no `len()`");
  return -1;
}

static PyObject *subscript(PyObject *self, PyObject *key) {
  return PyObject_CallFunctionObjArgs(hooks.index, self, key, NULL);
}

static PyObject *item(PyObject *self, Py_ssize_t i) {
  const situ_shape shape = situ_tensor_shape(TENSOR_OF(self));
  if (shape.rank > 0 && i >= shape.dim[0]) {
    PyErr_SetString(PyExc_IndexError, "index out of range");
    return NULL;
  }
  PyObject *key = PyLong_FromSsize_t(i), *result = key ? subscript(self, key) : NULL;
  Py_XDECREF(key);
  return result;
}

static PyObject *repr(PyObject *self) { return PyObject_CallOneArg(hooks.repr, self); }
static PyObject *str(PyObject *self) { return PyObject_CallOneArg(hooks.str, self); }

/* The buffer protocol: read-only, for tensors in host memory. */
static int get_buffer(PyObject *self, Py_buffer *view, int flags) {
  static const char *const formats[N_TYPES] = {
      [SITU_FLOAT] = "f",      [SITU_DOUBLE] = "d",     [SITU_INT32] = "i",  [SITU_INT64] = "q",
      [SITU_UINT8] = "B",      [SITU_INT8] = "b",       [SITU_BOOL] = "?",   [SITU_HALF] = "e",
      [SITU_INT16] = "h",      [SITU_UINT16] = "H",     [SITU_UINT32] = "I", [SITU_UINT64] = "Q",
      [SITU_COMPLEX64] = "Zf", [SITU_COMPLEX128] = "Zd"};
  situ_tensor *tensor = TENSOR_OF(self);
  const void *data = situ_tensor_data(tensor);
  const char *format = formats[situ_tensor_type(tensor)];
  const situ_shape shape = situ_tensor_shape(tensor);
  view->obj = NULL;
  if (!data || !format || (flags & PyBUF_WRITABLE)) {
    PyErr_SetString(PyExc_BufferError, "only numbers in host memory can be shared, to be read");
    return -1;
  }
  Py_ssize_t *sizes = PyMem_Malloc(sizeof *sizes * 2 * (SITU_MAX_RANK + 1));
  if (!sizes) return PyErr_NoMemory(), -1;
  const Py_ssize_t bytes = (Py_ssize_t)situ_type_size(situ_tensor_type(tensor));
  Py_ssize_t stride = bytes;
  for (int i = shape.rank - 1; i >= 0; i--) {
    sizes[i] = (Py_ssize_t)shape.dim[i];
    sizes[SITU_MAX_RANK + i] = stride;
    stride *= sizes[i];
  }
  *view = (Py_buffer){.buf = (void *)(uintptr_t)data, .obj = Py_NewRef(self), .itemsize = bytes};
  view->len = (Py_ssize_t)situ_tensor_bytes(tensor);
  view->readonly = 1;
  view->ndim = shape.rank;
  view->format = flags & PyBUF_FORMAT ? (char *)(uintptr_t)format : NULL;
  view->shape = flags & PyBUF_ND ? sizes : NULL;
  view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? sizes + SITU_MAX_RANK : NULL;
  view->internal = sizes;
  return 0;
}

static void release_buffer(PyObject *self, Py_buffer *view) {
  (void)self;
  PyMem_Free(view->internal);
}

static PyBufferProcs buffer = {.bf_getbuffer = get_buffer, .bf_releasebuffer = release_buffer};
static PyMappingMethods mapping = {.mp_length = length, .mp_subscript = subscript};
static PySequenceMethods sequence = {.sq_length = length, .sq_item = item};

static PyMethodDef methods[] = {
    {"numpy", numpy, METH_NOARGS, "The elements as a NumPy array (a copy)."},
    {"__array__", (PyCFunction)(void (*)(void))array, METH_FASTCALL | METH_KEYWORDS,
     "For numpy.asarray."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef attributes[] = {
    {"shape", get_shape, NULL, "The shape: a TensorShape.", NULL},
    {"dtype", get_dtype, NULL, "The type of the elements.", NULL},
    {"device", get_device, NULL, "The full name of the device that holds the tensor.", NULL},
    {"ndim", get_ndim, NULL, "The number of dimensions.", NULL},
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};

/* The package adds the Python methods that graph and eager tensors share. */
PyTypeObject base_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.Tensor",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_doc = "A tensor: an eager one with a value, or the output of an operation of a graph.",
    .tp_as_number = &operators_number,
    .tp_richcompare = operators_compare,
};

/* Not hashable, since == compares elements. */
static Py_hash_t hash(PyObject *self) {
  (void)self;
  PyErr_SetString(PyExc_TypeError, "Tensor is unhashable. Instead, use tensor.ref() as the key.");
  return -1;
}

static PyObject *iterate(PyObject *self) {
  if (situ_tensor_shape(TENSOR_OF(self)).rank > 0) return PySeqIter_New(self);
  return PyErr_Format(PyExc_TypeError, "Cannot iterate over a scalar tensor.");
}

PyTypeObject tensor_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "situ.EagerTensor",
    .tp_basicsize = sizeof(struct tensor_object),
    .tp_base = &base_type,
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "A tensor with a value.",
    .tp_dealloc = dealloc,
    .tp_repr = repr,
    .tp_str = str,
    .tp_hash = hash,
    .tp_iter = iterate,
    .tp_richcompare = operators_compare,
    .tp_as_mapping = &mapping,
    .tp_as_sequence = &sequence,
    .tp_as_buffer = &buffer,
    .tp_methods = methods,
    .tp_getset = attributes,
    .tp_dictoffset = offsetof(struct tensor_object, dict),
    .tp_weaklistoffset = offsetof(struct tensor_object, weak),
};
