/* SPDX-License-Identifier: Apache-2.0
 * call.c: binds the arguments of a call to the parameters of an op. */
#include "call.h"

#include <string.h>

/* Returns the name of the Python function, "reduce_sum" for "math.reduce_sum reduce_sum"; of an op
 * without one the name of the op. */
static const char *public_name(const struct function_object *function, char buffer[128]) {
  situ_op op;
  const situ_status status = situ_ops_get(function->number, &op);
  const char *first = status || !op.python ? "" : op.python;
  situ_status_release(status);
  size_t length = strcspn(first, " ");
  for (size_t i = 0; i < length; i++)
    if (first[i] == '.') {
      first += i + 1;
      length -= i + 1;
      i = (size_t)-1;
    }
  if (!length) return PyUnicode_AsUTF8(function->name);
  snprintf(buffer, 128, "%.*s", (int)length, first);
  return buffer;
}

static PyObject *raise_type_error(const struct call *call, const char *what, PyObject *key) {
  char name[128];
  return PyErr_Format(PyExc_TypeError, "%s() %s '%S'", public_name(call->function, name), what,
                      key);
}

/* Returns the parameter of a keyword, n_params for `name`, or -1. */
static int find_param(const struct op_signature *signature, PyObject *key) {
  for (int pass = 0; pass < 2; pass++) { /* by identity first: names are interned */
    for (int i = 0; i < signature->n_params; i++) {
      PyObject *const keys[2] = {
          i < signature->n_inputs ? signature->inputs[i].key
                                  : signature->attrs[signature->param_attr[i]].key,
          i < signature->n_inputs ? signature->input_alias[i]
                                  : signature->attrs[signature->param_attr[i]].alias};
      for (int k = 0; k < 2; k++)
        if (keys[k] && (pass ? !PyUnicode_Compare(keys[k], key) : keys[k] == key)) return i;
    }
  }
  return PyUnicode_CompareWithASCIIString(key, "name") ? -1 : signature->n_params;
}

static int set_name(struct call *call, PyObject *value) {
  if (value == Py_None) return 0;
  call->name = PyUnicode_Check(value) ? convert_text(value)
               : PyBytes_Check(value) ? PyBytes_AS_STRING(value)
                                      : NULL;
  if (!call->name && !PyErr_Occurred())
    PyErr_Format(PyExc_TypeError, "the name of an op is a str, not %R", value);
  return call->name ? 0 : -1;
}

static int set_keywords(struct call *call, PyObject *const *values, PyObject *names) {
  const struct op_signature *signature = &call->function->signature;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
    PyObject *key = PyTuple_GET_ITEM(names, i);
    const int p = find_param(signature, key);
    if (p < 0) return raise_type_error(call, "got an unexpected keyword argument", key), -1;
    if (p == signature->n_params) {
      if (set_name(call, values[i])) return -1;
    } else if (call->values[p]) {
      return raise_type_error(call, "got multiple values for argument", key), -1;
    } else {
      call->values[p] = values[i];
    }
  }
  return 0;
}

/* Returns whether reading an argument adds a node, which has to wait for the name of the op
 * (emit.c). */
static bool is_read_later(PyObject *value) {
  if (!context_graph() || !PyType_HasFeature(Py_TYPE(value), Py_TPFLAGS_HEAPTYPE)) return false;
  PyObject *reads = PyObject_GetAttrString(value, "_situ_reads_");
  if (!reads) PyErr_Clear();
  Py_XDECREF(reads);
  return reads == Py_True;
}

/* Replaces a variable by its tensor; returns other values unchanged. */
static PyObject *resolve(PyObject *value) {
  if (value == Py_None || PyObject_TypeCheck(value, &base_type)) return Py_NewRef(value);
  if (is_read_later(value)) return Py_NewRef(value);
  PyObject *tensor_value = tensor_from_object(value);
  if (tensor_value) return tensor_value;
  return PyErr_Occurred() ? NULL : Py_NewRef(value);
}

static int add_flat(struct call *call, PyObject *value) {
  PyObject *item = resolve(value);
  if (!item) return -1;
  call->flat[call->n_flat++] = item;
  return 0;
}

static int reserve(struct call *call, Py_ssize_t more) {
  if (call->n_flat + more <= FLAT) return 0;
  PyObject **larger = PyMem_Malloc(sizeof *larger * (size_t)(call->n_flat + more + MAX_INPUTS));
  if (!larger) return PyErr_NoMemory(), -1;
  memcpy(larger, call->flat, sizeof *larger * (size_t)call->n_flat);
  if (call->flat != call->inline_buffer) PyMem_Free(call->flat);
  call->flat = larger;
  return 0;
}

static int lay_list(struct call *call, int p, PyObject *value) {
  PyObject *list = PyObject_TypeCheck(value, &base_type)
                       ? PyTuple_Pack(1, value)
                       : structure_tuple(value, "this op takes a list of tensors");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  int failed = reserve(call, n + MAX_INPUTS);
  for (Py_ssize_t i = 0; i < n && !failed; i++) failed = add_flat(call, PyTuple_GET_ITEM(list, i));
  call->counts[p] = (int)n;
  Py_DECREF(list);
  return failed;
}

static situ_type type_behind(PyObject *variable) {
  situ_type type = SITU_NO_TYPE;
  PyObject *dtype = PyObject_GetAttrString(variable, "dtype");
  if (!dtype || types_number(dtype, &type)) PyErr_Clear();
  Py_XDECREF(dtype);
  return type;
}

/* Sets type attributes from the types of tensor inputs. */
static void learn_types(struct call *call) {
  const struct op_signature *signature = &call->function->signature;
  int at = 0;
  for (int p = 0; p < signature->n_inputs; p++)
    for (int i = 0; i < call->counts[p]; i++, at++) {
      const int attr = signature->inputs[p].type_attr;
      if (attr < 0 || call->types[attr] != SITU_NO_TYPE) continue;
      if (IS_TENSOR(call->flat[at]))
        call->types[attr] = situ_tensor_type(TENSOR_OF(call->flat[at]));
      else if (IS_VALUE(call->flat[at]))
        call->types[attr] = ((struct value_object *)call->flat[at])->type;
      else if (is_read_later(call->flat[at]))
        call->types[attr] = type_behind(call->flat[at]);
    }
}

static int lay_inputs(struct call *call) {
  const struct op_signature *signature = &call->function->signature;
  for (int p = 0; p < signature->n_inputs; p++) {
    const int types = signature->inputs[p].types_attr;
    if (signature->inputs[p].all_axes && !call->values[p]) call->values[p] = Py_None;
    if (!call->values[p] && types >= 0 && signature->attrs[types].spec->default_value) {
      call->counts[p] = 0; /* an empty list by default */
      continue;
    }
    if (!call->values[p])
      return raise_type_error(call, "missing required argument", signature->inputs[p].key), -1;
    call->counts[p] = 1;
    if (signature->inputs[p].is_list ? lay_list(call, p, call->values[p])
                                     : add_flat(call, call->values[p]))
      return -1;
  }
  learn_types(call);
  return 0;
}

int call_bind(struct call *call, struct function_object *function, PyObject *const *args,
              Py_ssize_t n, PyObject *names) {
  const struct op_signature *signature = &function->signature;
  call->function = function;
  call->name = NULL;
  call->flat = call->inline_buffer;
  call->n_flat = call->n_attrs = 0;
  memset(call->values, 0, sizeof *call->values * (size_t)signature->n_params);
  memset(call->types, 0, sizeof call->types);
  memset(call->tensors, 0, sizeof call->tensors);
  memset(call->lists, 0, sizeof call->lists);
  if (n > signature->n_params + 1) {
    PyErr_Format(PyExc_TypeError, "%s() takes at most %d arguments (%zd given)",
                 public_name(function, (char[128]){0}), signature->n_params + 1, n);
    return -1;
  }
  for (Py_ssize_t i = 0; i < n && i < signature->n_params; i++) call->values[i] = args[i];
  if (n == signature->n_params + 1 && set_name(call, args[n - 1])) return -1;
  if (names && set_keywords(call, args + n, names)) return -1;
  return lay_inputs(call);
}

static int read_integers(struct call *call, int slot, PyObject *value, situ_attr *out) {
  PyObject *list = PyLong_Check(value) ? PyTuple_Pack(1, value)
                                       : structure_tuple(value, "expected a list of integers");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  int64_t *integers = call->integers[slot];
  if (n > SITU_MAX_RANK * 2)
    integers = call->lists[slot] = PyMem_Calloc((size_t)n, sizeof *integers);
  if (!integers) PyErr_NoMemory();
  for (Py_ssize_t i = 0; i < n && !PyErr_Occurred(); i++)
    integers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(list, i));
  *out = situ_attr_ints(out->name, integers, (int)n);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_reals(struct call *call, int slot, PyObject *value, situ_attr *out) {
  PyObject *list = structure_tuple(value, "expected a list of numbers");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  double *reals = call->lists[slot] = PyMem_Calloc((size_t)n + 1, sizeof *reals);
  if (!reals) PyErr_NoMemory();
  for (Py_ssize_t i = 0; reals && i < n && !PyErr_Occurred(); i++)
    reals[i] = PyFloat_AsDouble(PyTuple_GET_ITEM(list, i));
  *out = situ_attr_floats(out->name, reals, (int)n);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_types(struct call *call, int slot, PyObject *value, situ_attr *out) {
  PyObject *list = structure_tuple(value, "expected a list of types");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  int64_t *types = call->lists[slot] = PyMem_Calloc((size_t)n + 1, sizeof *types);
  if (!types) PyErr_NoMemory();
  for (Py_ssize_t i = 0; types && i < n; i++) {
    situ_type type = SITU_NO_TYPE;
    if (types_number(PyTuple_GET_ITEM(list, i), &type)) break;
    types[i] = type;
  }
  *out = situ_attr_types(out->name, types, (int)n);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

static int read_shapes(struct call *call, int slot, PyObject *value, situ_attr *out) {
  PyObject *list = structure_tuple(value, "expected a list of shapes");
  if (!list) return -1;
  const Py_ssize_t n = PyTuple_GET_SIZE(list);
  situ_shape *shapes = call->lists[slot] = PyMem_Calloc((size_t)n + 1, sizeof *shapes);
  if (!shapes) PyErr_NoMemory();
  for (Py_ssize_t i = 0; shapes && i < n; i++)
    if (types_shape(PyTuple_GET_ITEM(list, i), &shapes[i])) break;
  *out = situ_attr_shapes(out->name, shapes, (int)n);
  Py_DECREF(list);
  return PyErr_Occurred() ? -1 : 0;
}

/* The characters of a string attribute; NULL and an exception if it contains a NUL. */
static const char *read_text(const char *name, PyObject *value) {
  Py_ssize_t length = 0;
  const bool bytes = PyBytes_Check(value);
  const char *text = bytes ? PyBytes_AS_STRING(value) : PyUnicode_AsUTF8AndSize(value, &length);
  if (bytes) length = PyBytes_GET_SIZE(value);
  if (!text || !memchr(text, 0, (size_t)length)) return text;
  PyErr_Format(PyExc_ValueError, "The string attribute '%s' must not contain NUL characters", name);
  return NULL;
}

static int read_attr(struct call *call, int slot, const situ_op_attr *attr, PyObject *value) {
  situ_attr *out = &call->attrs[slot];
  situ_type type;
  situ_shape shape;
  out->name = attr->name;
  switch (attr->kind) {
    case SITU_ATTR_INT:
      *out = situ_attr_int(attr->name, PyLong_AsLongLong(value));
      break;
    case SITU_ATTR_FLOAT:
      *out = situ_attr_float(attr->name, PyFloat_AsDouble(value));
      break;
    case SITU_ATTR_BOOL:
      *out = situ_attr_bool(attr->name, PyObject_IsTrue(value) == 1);
      break;
    case SITU_ATTR_TYPE:
      if (!types_number(value, &type)) *out = situ_attr_type(attr->name, type);
      break;
    case SITU_ATTR_SHAPE:
      if (!types_shape(value, &shape)) *out = situ_attr_shape(attr->name, shape);
      break;
    case SITU_ATTR_STRING:
      *out = situ_attr_string(attr->name, read_text(attr->name, value));
      break;
    case SITU_ATTR_TENSOR:
      call->tensors[slot] = IS_TENSOR(value) ? situ_tensor_retain(TENSOR_OF(value))
                                             : convert_value(value, SITU_NO_TYPE);
      *out = situ_attr_tensor(attr->name, call->tensors[slot]);
      break;
    case SITU_ATTR_INTS:
      return read_integers(call, slot, value, out);
    case SITU_ATTR_FLOATS:
      return read_reals(call, slot, value, out);
    case SITU_ATTR_TYPES:
      return read_types(call, slot, value, out);
    case SITU_ATTR_SHAPES:
      return read_shapes(call, slot, value, out);
    case SITU_ATTR_FUNCTION:
      *out = situ_attr_function(attr->name, convert_text(value));
      break;
    default:
      break;
  }
  return PyErr_Occurred() ? -1 : 0;
}

int call_attrs(struct call *call) {
  const struct op_signature *signature = &call->function->signature;
  for (int p = signature->n_inputs; p < signature->n_params; p++) {
    const struct op_attr *attr = &signature->attrs[signature->param_attr[p]];
    PyObject *value = call->values[p];
    if (!value || (value == Py_None && attr->spec->default_value)) {
      if (attr->spec->default_value) continue;
      return raise_type_error(call, "missing required argument", attr->key), -1;
    }
    if (read_attr(call, call->n_attrs++, attr->spec, value))
      return -1; /* counted first: it may own memory */
  }
  return 0;
}

static situ_type type_of_flat(PyObject *item) {
  return IS_TENSOR(item) ? situ_tensor_type(TENSOR_OF(item)) : ((struct value_object *)item)->type;
}

int call_list_types(struct call *call) {
  const struct op_signature *signature = &call->function->signature;
  for (int p = 0, at = 0; p < signature->n_inputs; at += call->counts[p++]) {
    const int attr = signature->inputs[p].types_attr, count = call->counts[p];
    if (attr < 0) continue;
    int64_t *types = PyMem_Calloc((size_t)count + 1, sizeof *types);
    if (!types) return PyErr_NoMemory(), -1;
    for (int i = 0; i < count; i++) types[i] = type_of_flat(call->flat[at + i]);
    call->lists[call->n_attrs] = types;
    call->attrs[call->n_attrs++] = situ_attr_types(signature->attrs[attr].spec->name, types, count);
  }
  return 0;
}

situ_type call_type(const struct call *call, int p) {
  const struct op_input *input = &call->function->signature.inputs[p];
  return input->type_attr < 0 ? input->type : call->types[input->type_attr];
}

/* An empty list has no type: uses the default of the op definition. */
situ_type call_type_for(const struct call *call, int p, PyObject *value) {
  const situ_type type = call_type(call, p);
  const int attr = call->function->signature.inputs[p].type_attr;
  const bool is_empty =
      (PyList_Check(value) || PyTuple_Check(value)) && !PySequence_Fast_GET_SIZE(value);
  return type == SITU_NO_TYPE && is_empty && attr >= 0
             ? call->function->signature.attrs[attr].default_type
             : type;
}

PyObject *call_axes(int rank) {
  static PyObject *known[SITU_MAX_RANK + 1];
  if (!known[rank]) {
    int32_t axes[SITU_MAX_RANK];
    situ_tensor *tensor = NULL;
    for (int i = 0; i < rank; i++) axes[i] = i;
    const situ_status status = situ_tensor_create(SITU_INT32, SITU_SHAPE(rank), axes, &tensor);
    known[rank] = status ? errors_raise(status, NULL) : tensor_wrap(tensor);
  }
  return Py_XNewRef(known[rank]);
}

void call_clear(struct call *call) {
  for (int i = 0; i < call->n_flat; i++) Py_DECREF(call->flat[i]);
  if (call->flat != call->inline_buffer) PyMem_Free(call->flat);
  for (int i = 0; i < call->n_attrs; i++) situ_tensor_release(call->tensors[i]);
  for (int i = 0; i < call->n_attrs; i++) PyMem_Free(call->lists[i]);
}
