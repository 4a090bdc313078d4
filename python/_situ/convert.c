/* SPDX-License-Identifier: Apache-2.0
 * convert.c: converts numbers, strings and nested lists to tensors by TensorFlow's rules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "interruptible.h"
#include "situ_python.h"

const char *convert_text(PyObject *text) {
  Py_ssize_t length = 0;
  const char *utf8 = PyUnicode_AsUTF8AndSize(text, &length);
  if (!utf8 || strlen(utf8) == (size_t)length) return utf8;
  PyErr_Format(PyExc_ValueError, "%R contains a null character.", text);
  return NULL;
}

enum kind {
  KIND_NONE,
  KIND_BOOL,
  KIND_INT,
  KIND_LONG,
  KIND_FLOAT,
  KIND_COMPLEX,
  KIND_TEXT,
  KIND_OTHER,
  N_KINDS
};

/* Properties of a nested value. */
struct value_info {
  situ_shape shape;
  enum kind kind;      /* the highest kind of all leaves */
  bool has[N_KINDS];   /* the kinds that occur */
  bool numpy, np_bool; /* NumPy scalars occur; NumPy bools occur */
  bool ragged;
  bool huge;       /* an integer exceeds 64 bits */
  PyObject *leaf;  /* owned: a leaf of the highest kind */
  PyObject *first; /* owned: the first leaf */
};

/* Returns the name of a NumPy type without its module; NULL for other types. */
static const char *numpy_name(PyObject *value) {
  const char *name = Py_TYPE(value)->tp_name;
  return strncmp(name, "numpy.", 6) ? NULL : name + 6;
}

static bool is_array(PyObject *value) {
  const char *name = numpy_name(value);
  return name && !strcmp(name, "ndarray");
}

static enum kind kind_of_int(PyObject *value) {
  int overflow = 0;
  const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
  if (number == -1 && PyErr_Occurred()) PyErr_Clear(); /* for example an unknown Dimension */
  return overflow || number > INT32_MAX || number < INT32_MIN ? KIND_LONG : KIND_INT;
}

static enum kind kind_of(PyObject *value) {
  if (PyBool_Check(value)) return KIND_BOOL;
  if (PyFloat_Check(value)) return KIND_FLOAT;
  if (PyComplex_Check(value)) return KIND_COMPLEX;
  if (PyLong_Check(value)) return kind_of_int(value);
  if (PyUnicode_Check(value) || PyBytes_Check(value)) return KIND_TEXT;
  const char *numpy = numpy_name(value);
  if (numpy && !strncmp(numpy, "bool", 4)) return KIND_BOOL;
  if (numpy && (!strncmp(numpy, "float", 5) || !strcmp(numpy, "longdouble"))) return KIND_FLOAT;
  if (numpy && (!strncmp(numpy, "complex", 7) || !strcmp(numpy, "clongdouble")))
    return KIND_COMPLEX;
  if (!PyIndex_Check(value) || PySequence_Check(value) || is_array(value)) return KIND_OTHER;
  return kind_of_int(value); /* a NumPy integer or a Dimension */
}

static void look_at_leaf(PyObject *value, enum kind kind, struct value_info *value_info) {
  int overflow = 0;
  if (kind == KIND_LONG) (void)PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) value_info->huge = true;
  if (!value_info->first) value_info->first = Py_NewRef(value);
  value_info->has[kind] = true;
  if (kind != KIND_OTHER && numpy_name(value)) value_info->numpy = true;
  if (kind == KIND_BOOL && !PyBool_Check(value)) value_info->np_bool = true;
  if (kind > value_info->kind) {
    value_info->kind = kind;
    Py_XSETREF(value_info->leaf, Py_NewRef(value));
  }
}

static void analyze(PyObject *value, int depth, struct value_info *value_info) {
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  if (!is_list) {
    const enum kind kind = kind_of(value);
    if (value_info->shape.rank == SITU_ANY) value_info->shape.rank = depth;
    if (value_info->shape.rank != depth) value_info->ragged = true;
    look_at_leaf(value, kind, value_info);
    return;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
  if (depth >= SITU_MAX_RANK ||
      (value_info->shape.rank != SITU_ANY && depth >= value_info->shape.rank)) {
    value_info->ragged = true;
    return;
  }
  if (value_info->shape.dim[depth] < 0) value_info->shape.dim[depth] = n;
  if (value_info->shape.dim[depth] != n) value_info->ragged = true;
  for (Py_ssize_t i = 0; i < n && !value_info->ragged && value_info->kind != KIND_OTHER; i++) {
    if (PySequence_Fast_GET_SIZE(value) != n || interruptible_pending(i)) { /* by user code */
      value_info->ragged = true;
      return;
    }
    PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
    analyze(item, depth + 1, value_info);
    Py_DECREF(item);
  }
  if (n == 0 && value_info->shape.rank == SITU_ANY) value_info->shape.rank = depth + 1;
}

static situ_type default_type(enum kind kind) {
  static const situ_type types[] = {SITU_FLOAT, SITU_BOOL,       SITU_INT32, SITU_INT64,
                                    SITU_FLOAT, SITU_COMPLEX128, SITU_STRING};
  return types[kind];
}

static bool fits(enum kind kind, situ_type type) {
  if (kind == KIND_NONE) return true;
  if (kind == KIND_BOOL) return type != SITU_STRING;
  if (kind == KIND_TEXT) return type == SITU_STRING;
  if (kind == KIND_COMPLEX) return types_is_complex(type);
  if (kind == KIND_FLOAT) return types_is_real(type) || types_is_complex(type);
  return type != SITU_BOOL && type != SITU_STRING;
}

static PyObject *raise_wrong_type(PyObject *value, const struct value_info *value_info,
                                  situ_type type) {
  if (context_graph()) {
    PyObject *leaf = Py_NewRef(value_info->leaf); /* repr may run user code */
    PyErr_Format(PyExc_TypeError, "Expected %s, got %R of type '%s' instead.", types_name(type),
                 leaf, Py_TYPE(leaf)->tp_name);
    Py_DECREF(leaf);
    return NULL;
  }
  return PyErr_Format(PyExc_TypeError, "Cannot convert %R to EagerTensor of dtype %s", value,
                      situ_type_name(type));
}

static PyObject *raise_unsupported(PyObject *value) {
  return PyErr_Format(PyExc_ValueError,
                      "Attempt to convert a value (%R) with an unsupported type (%R) to a Tensor.",
                      value, Py_TYPE(value));
}

/* The error of graph mode for values without a common type. */
static PyObject *raise_no_common_type(PyObject *value) {
  return PyErr_Format(PyExc_TypeError,
                      "Failed to convert elements of %R to Tensor. Consider casting elements to a "
                      "supported type. See https://www.tensorflow.org/api_docs/python/tf/dtypes "
                      "for supported TF dtypes.",
                      value);
}

/* Converts an empty array of strings; NULL if it is not empty. */
static situ_tensor *convert_empty_strings(PyObject *array) {
  PyObject *sizes = PyObject_GetAttrString(array, "shape");
  situ_shape shape = {.rank = 0};
  situ_tensor *result = NULL;
  if (sizes && PyTuple_Check(sizes) && PyTuple_GET_SIZE(sizes) <= SITU_MAX_RANK)
    for (; shape.rank < (int)PyTuple_GET_SIZE(sizes); shape.rank++)
      shape.dim[shape.rank] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, shape.rank));
  Py_XDECREF(sizes);
  if (situ_shape_count(shape) == 0) {
    const situ_status status = situ_tensor_create_strings(shape, NULL, &result);
    if (status) errors_raise(status, NULL);
  }
  return result;
}

/* Converts an int64 array to int32 if no value changes; consumes the reference. */
static PyObject *narrow_to_int32(PyObject *numpy, PyObject *array) {
  PyObject *small = PyObject_CallMethod(array, "astype", "s", "int32");
  PyObject *same = small ? PyObject_CallMethod(numpy, "array_equal", "OO", array, small) : NULL;
  const int is_same = same ? PyObject_IsTrue(same) : -1;
  if (is_same != 0) Py_SETREF(array, is_same > 0 ? Py_NewRef(small) : NULL);
  Py_XDECREF(small);
  Py_XDECREF(same);
  return array;
}

/* Gets the NumPy type code of an array, such as "<f8". */
static int type_code(PyObject *array, char code[8]) {
  PyObject *dtype = PyObject_GetAttrString(array, "dtype");
  PyObject *text = dtype ? PyObject_GetAttrString(dtype, "str") : NULL;
  const char *letters = text ? PyUnicode_AsUTF8(text) : NULL;
  snprintf(code, 8, "%s", letters ? letters : "");
  Py_XDECREF(dtype);
  Py_XDECREF(text);
  return letters ? 0 : -1;
}

/* Converts a value to a NumPy array. For lists, NumPy's default types become TensorFlow's: float64
 * becomes float32, and int64 becomes int32 if it fits. For eager lists of arrays, float64 stays and
 * all integers become int32. */
static PyObject *to_numpy(PyObject *value, bool is_list, bool of_arrays) {
  char code[8] = "";
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *array = numpy ? PyObject_CallMethod(numpy, "array", "(O)", value) : NULL;
  if (array && is_list) {
    if (type_code(array, code))
      Py_CLEAR(array);
    else if (!strcmp(code, "<f8") && !of_arrays)
      Py_SETREF(array, PyObject_CallMethod(array, "astype", "s", "float32"));
    else if (!strcmp(code, "<i8") || (of_arrays && strchr("iu", code[1])))
      array = narrow_to_int32(numpy, array);
  }
  Py_XDECREF(numpy);
  return array;
}

/* Returns whether all leaves are strings. */
static bool all_strings(PyObject *value) {
  if (!PyList_Check(value)) return kind_of(value) == KIND_TEXT;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
    if (interruptible_pending(i) || !all_strings(PyList_GET_ITEM(value, i))) return false;
  return true;
}

/* Converts a string or object array through a list. */
static situ_tensor *convert_via_list(PyObject *value, PyObject *array, situ_type type) {
  PyObject *list = PyObject_CallMethod(array, "tolist", NULL);
  situ_tensor *result = NULL;
  if (list && all_strings(list))
    result = convert_value(list, type);
  else if (list && !PyErr_Occurred())
    (void)(context_graph() ? raise_no_common_type(value) : raise_unsupported(value));
  Py_XDECREF(list);
  return result;
}

/* Converts an array of another byte order to native byte order. */
static PyObject *to_native_byte_order(PyObject *array) {
  PyObject *dtype = PyObject_GetAttrString(array, "dtype");
  PyObject *native = dtype ? PyObject_CallMethod(dtype, "newbyteorder", "s", "=") : NULL;
  PyObject *result = native ? PyObject_CallMethod(array, "astype", "O", native) : NULL;
  Py_XDECREF(dtype);
  Py_XDECREF(native);
  return result;
}

/* Raises the error of an array whose elements have no type here: float128, ... */
static void unsupported_array(PyObject *array, const char *code) {
  PyObject *class = context_graph() ? PyExc_TypeError : PyExc_ValueError;
  const bool number = code[1] == 'u' || code[1] == 'c' || code[1] == 'f';
  PyObject *dtype = number ? PyObject_GetAttrString(array, "dtype") : NULL;
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
  PyErr_Clear();
  if (name)
    PyErr_Format(class,
                 "Failed to convert a NumPy array to a Tensor (%S is not supported by situ yet).",
                 name);
  else
    PyErr_Format(class, "Failed to convert a NumPy array to a Tensor (Unsupported numpy type %s).",
                 code);
  Py_XDECREF(name);
  Py_XDECREF(dtype);
}

/* Returns the type of ml_dtypes that the elements of an array have: bfloat16, float8, or none. */
static situ_type ml_type(PyObject *array) {
  PyObject *dtype = PyObject_GetAttrString(array, "dtype");
  PyObject *name = dtype ? PyObject_GetAttrString(dtype, "name") : NULL;
  const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
  const situ_type type = text ? situ_type_parse(text) : SITU_NO_TYPE;
  Py_XDECREF(dtype);
  Py_XDECREF(name);
  PyErr_Clear();
  return types_is_storage(type) ? type : SITU_NO_TYPE;
}

/* Converts a value that has no supported buffer through NumPy. */
static situ_tensor *convert_via_numpy(PyObject *value, situ_type type, bool is_list,
                                      bool of_arrays) {
  PyObject *array = to_numpy(value, is_list && type == SITU_NO_TYPE, of_arrays);
  if (!array) return NULL;
  situ_tensor *result = NULL;
  bool unfit = false;
  char code[8] = "";
  const bool known = !type_code(array, code);
  const char letter = code[1];
  const bool is_text = letter == 'U' || letter == 'S' || letter == 'O';
  const situ_type special = letter == 'V' || letter == 'f' ? ml_type(array) : SITU_NO_TYPE;
  if (special != SITU_NO_TYPE) {
    Py_SETREF(array, PyObject_CallMethod(array, "astype", "s", "float32"));
    if (type == SITU_NO_TYPE) type = special;
  } else if (letter == 'M' || letter == 'm' || letter == 'V') {
    unfit = true;
  }
  if (is_text && PyObject_CheckBuffer(value) && (!type || type == SITU_STRING))
    result = convert_empty_strings(array);
  if (result || PyErr_Occurred() || !known) {
    /* done, or an exception is set */
  } else if (is_text) {
    result = convert_via_list(value, array, type);
  } else {
    if (code[0] == '>') Py_SETREF(array, to_native_byte_order(array));
    if (!unfit) result = array ? buffer_value(array, type, false, &unfit) : NULL;
    if (unfit) unsupported_array(array, code);
  }
  Py_XDECREF(array);
  return result;
}

/* Converts a TensorShape as the list of its sizes. */
static situ_tensor *convert_shape(PyObject *shape, situ_type type) {
  PyObject *list = PyObject_CallMethod(shape, "as_list", NULL);
  situ_tensor *tensor = list ? convert_value(list, type == SITU_NO_TYPE ? SITU_INT32 : type) : NULL;
  Py_XDECREF(list);
  return tensor;
}

/* Returns whether all leaves are nonempty arrays of the same type. */
static bool all_arrays(PyObject *value, char code[8]) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    bool all = PySequence_Fast_GET_SIZE(value) > 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && all; i++) {
      PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
      all = all_arrays(item, code);
      Py_DECREF(item);
    }
    return all;
  }
  char mine[8];
  if (!is_array(value) || PyObject_Length(value) <= 0 || type_code(value, mine)) {
    PyErr_Clear();
    return false;
  }
  if (!*code) strcpy(code, mine);
  return !strcmp(code, mine);
}

/* Converts arrays and other sequences within a list to lists; NULL if a leaf is not convertible. */
static PyObject *expand_sequences(PyObject *value) {
  if (kind_of(value) != KIND_OTHER) return Py_NewRef(value);
  if (is_array(value) && PyObject_HasAttrString(value, "ndim")) {
    PyObject *rank = PyObject_GetAttrString(value, "ndim");
    const long n = rank ? PyLong_AsLong(rank) : -1;
    Py_XDECREF(rank);
    if (n == 0) return PyObject_CallMethod(value, "__getitem__", "(())");
  }
  if (!PySequence_Check(value)) return raise_unsupported(value);
  PyObject *list = PySequence_List(value);
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
    PyObject *item = expand_sequences(PyList_GET_ITEM(list, i));
    if (item)
      PyList_SetItem(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

/* Returns whether eager conversion can store all leaves as `type`. */
static bool accepts(const struct value_info *value_info, situ_type type) {
  const bool *has = value_info->has;
  const bool whole = has[KIND_INT] || has[KIND_LONG];
  if (has[KIND_COMPLEX]) return types_is_complex(type) && !has[KIND_TEXT] && !value_info->np_bool;
  if (type == SITU_STRING) return !has[KIND_BOOL] && !whole && !has[KIND_FLOAT];
  if (type == SITU_BOOL) return !has[KIND_TEXT] && !whole && !has[KIND_FLOAT];
  if (has[KIND_TEXT] || value_info->np_bool) return false;
  if (types_is_real(type) || types_is_complex(type)) return true;
  if (type == SITU_UINT64) return !has[KIND_FLOAT];
  if (type == SITU_INT32 && has[KIND_LONG]) return false;
  return (type == SITU_INT32 || type == SITU_INT64) && !has[KIND_FLOAT] && !value_info->huge;
}

/* Infers the type of an eager conversion: the first leaf decides; integers become floats if floats
 * follow. `has_explicit_type`: the result is cast to an explicit type. */
static situ_type infer(const struct value_info *value_info, bool has_explicit_type) {
  const enum kind first = value_info->first ? kind_of(value_info->first) : KIND_NONE;
  const char *numpy = value_info->first ? numpy_name(value_info->first) : NULL;
  if (value_info->has[KIND_COMPLEX] && first != KIND_TEXT && first != KIND_BOOL)
    return numpy && !strcmp(numpy, "complex64") ? SITU_COMPLEX64 : SITU_COMPLEX128;
  if (first == KIND_FLOAT && numpy && !strcmp(numpy, "float16")) return SITU_HALF;
  if (first == KIND_FLOAT && (has_explicit_type || (numpy && !strcmp(numpy, "float64"))))
    return SITU_DOUBLE;
  if (first != KIND_INT && first != KIND_LONG) return default_type(first);
  if (value_info->has[KIND_FLOAT]) return has_explicit_type ? SITU_DOUBLE : SITU_FLOAT;
  return has_explicit_type || value_info->has[KIND_LONG] ? SITU_INT64 : SITU_INT32;
}

/* Returns the widest type of the same class: float, bool or integer. */
static situ_type type_of_code(const char *code) {
  return code[1] == 'c'   ? SITU_COMPLEX128
         : code[1] == 'f' ? SITU_DOUBLE
         : code[1] == 'b' ? SITU_BOOL
                          : SITU_INT64;
}

/* Returns whether eager conversion may cast between the types. */
static bool may_cast(situ_type from, situ_type to) {
  if (from == SITU_BOOL || to == SITU_BOOL || from == SITU_STRING || to == SITU_STRING)
    return from == to;
  if (types_is_complex(from) || types_is_complex(to)) return types_is_complex(to);
  return types_is_real(to) || !types_is_real(from);
}

/* Returns whether a finite Python number overflows float32. */
static bool overflows(PyObject *value) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    bool any = false;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && !any; i++) {
      PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
      any = overflows(item);
      Py_DECREF(item);
    }
    return any;
  }
  const double number = PyFloat_AsDouble(value);
  if (number == -1 && PyErr_Occurred()) return PyErr_Clear(), true;
  return isfinite(number) && isinf((float)number);
}

/* Converts a nested list by the rules of eager mode. */
static situ_tensor *convert_eagerly(PyObject *value, const struct value_info *value_info,
                                    situ_type type) {
  situ_type result = type;
  if (type == SITU_NO_TYPE || !accepts(value_info, type)) {
    result = infer(value_info, type != SITU_NO_TYPE);
    if (!value_info->first) result = type ? type : result;
    if (value_info->first && !accepts(value_info, result)) {
      const bool too_large =
          value_info->huge && !value_info->has[KIND_TEXT] && !value_info->np_bool;
      PyErr_Format(PyExc_ValueError, "Can't convert Python sequence with %s to Tensor.",
                   too_large ? "out-of-range integer" : "mixed types");
      return NULL;
    }
    if (type != SITU_NO_TYPE && value_info->first && !may_cast(result, type))
      return (situ_tensor *)raise_wrong_type(value, value_info, type);
  }
  if (type == SITU_NO_TYPE && result == SITU_FLOAT && value_info->first && overflows(value)) {
    PyErr_SetString(PyExc_ValueError,
                    "Can't convert Python sequence with a value out of range for "
                    "a double-precision float.");
    return NULL;
  }
  return fill_tensor(value, &value_info->shape, type == SITU_NO_TYPE ? result : type);
}

/* Converts a nested list of Python values by the rules of graph mode. */
static situ_tensor *convert_in_graph(PyObject *value, const struct value_info *value_info,
                                     situ_type type) {
  const bool to_real = type != SITU_NO_TYPE
                           ? types_is_real(type) || types_is_complex(type) || type == SITU_UINT64
                           : value_info->kind == KIND_FLOAT || value_info->kind == KIND_COMPLEX;
  const bool has_number = value_info->has[KIND_BOOL] || value_info->has[KIND_INT] ||
                          value_info->has[KIND_LONG] || value_info->has[KIND_FLOAT] ||
                          value_info->has[KIND_COMPLEX];
  if (value_info->kind == KIND_TEXT && has_number)
    return (situ_tensor *)raise_no_common_type(value);
  if (value_info->huge && !to_real) return (situ_tensor *)raise_no_common_type(value);
  if (type != SITU_NO_TYPE && !fits(value_info->kind, type))
    return (situ_tensor *)raise_wrong_type(value, value_info, type);
  return fill_tensor(value, &value_info->shape,
                     type == SITU_NO_TYPE ? default_type(value_info->kind) : type);
}

static situ_tensor *raise_none(PyObject *none) {
  if (context_graph())
    PyErr_SetString(PyExc_ValueError, "None values not supported.");
  else
    raise_unsupported(none);
  return NULL;
}

/* Returns whether a value is an array, a NumPy scalar, or implements an array interface. */
static bool is_array_like(PyObject *value) {
  if (numpy_name(value)) return true;
  if (PyObject_CheckBuffer(value))
    return context_graph(); /* in eager mode a sequence of integers
                             */
  return PyObject_HasAttrString(value, "__array__") ||
         PyObject_HasAttrString(value, "__array_interface__");
}

/* Returns whether an array converts to a type by the rules for Python numbers. */
static bool array_fits(PyObject *array, situ_type type) {
  char code[8] = "";
  if (type_code(array, code)) return PyErr_Clear(), false;
  if (code[1] == 'c') return types_is_complex(type);
  if (code[1] == 'f') return types_is_real(type) || types_is_complex(type);
  if (code[1] == 'b') return type == SITU_BOOL;
  return strchr("iu", code[1]) && type != SITU_BOOL && type != SITU_STRING;
}

/* Returns whether graph mode can store all leaves as `type`; *leaf is the last one checked. */
static bool leaves_fit(PyObject *value, situ_type type, PyObject **leaf) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
      if (!leaves_fit(PySequence_Fast_GET_ITEM(value, i), type, leaf)) return false;
    return true;
  }
  *leaf = value;
  const enum kind kind = kind_of(value);
  if (kind == KIND_BOOL && !PyBool_Check(value)) return false;
  if (kind == KIND_LONG) return type != SITU_BOOL && type != SITU_STRING;
  return kind == KIND_OTHER ? !is_array(value) || array_fits(value, type) : fits(kind, type);
}

/* In graph mode the first elements of nested lists must be scalars, not arrays. */
static bool is_dense(PyObject *value) {
  PyObject *first = value;
  while ((PyList_Check(first) || PyTuple_Check(first)) && PySequence_Fast_GET_SIZE(first))
    first = PySequence_Fast_GET_ITEM(first, 0);
  const bool is_sequence = kind_of(first) == KIND_OTHER && PySequence_Check(first);
  if (first == value || !is_sequence) return true;
  Py_INCREF(first); /* its length may run user code */
  const bool has_length = PyObject_Length(first) >= 0;
  if (has_length)
    PyErr_Format(PyExc_ValueError,
                 "Expected values %R to be a dense tensor, but its first elements are of type %s.",
                 value, Py_TYPE(first)->tp_name);
  else
    PyErr_Clear();
  Py_DECREF(first);
  return !has_length;
}

/* Converts a list with NumPy values in graph mode. */
static situ_tensor *convert_in_graph_via_numpy(PyObject *value, situ_type type) {
  struct value_info value_info = {.leaf = value};
  if (type != SITU_NO_TYPE && !leaves_fit(value, type, &value_info.leaf))
    return (situ_tensor *)raise_wrong_type(value, &value_info, type);
  return is_dense(value) ? convert_via_numpy(value, type, true, false) : NULL;
}

/* Converts a sequence that contains arrays, other sequences, or unsupported values. */
static situ_tensor *convert_sequence(PyObject *value, situ_type type) {
  char code[8] = "";
  if (context_graph()) return convert_in_graph_via_numpy(value, type);
  if (PyList_Check(value) && all_arrays(value, code) && !strchr("USO", code[1]) &&
      (type == SITU_NO_TYPE || may_cast(type_of_code(code), type)))
    return convert_via_numpy(value, type, true, true);
  PyObject *list = expand_sequences(value);
  situ_tensor *tensor = list ? convert_value(list, type) : NULL;
  Py_XDECREF(list);
  return tensor;
}

/* Converts an analyzed value. */
static situ_tensor *convert_analyzed(PyObject *value, struct value_info *value_info,
                                     situ_type type) {
  if (value_info->kind == KIND_OTHER) return convert_sequence(value, type);
  if (value_info->ragged) {
    PyErr_SetString(PyExc_ValueError, "Can't convert non-rectangular Python sequence to Tensor.");
    return NULL;
  }
  if (value_info->numpy && context_graph()) return convert_in_graph_via_numpy(value, type);
  for (int i = 0; i < value_info->shape.rank; i++)
    if (value_info->shape.dim[i] < 0) value_info->shape.dim[i] = 0;
  return context_graph() ? convert_in_graph(value, value_info, type)
                         : convert_eagerly(value, value_info, type);
}

situ_tensor *convert_value(PyObject *value, situ_type type) {
  if (value == Py_None) return raise_none(value);
  if ((PyObject *)Py_TYPE(value) == hooks.shape) return convert_shape(value, type);
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  const bool is_plain = PyBytes_Check(value) || PyUnicode_Check(value);
  const char *numpy = numpy_name(value);
  if (numpy && (!strncmp(numpy, "datetime", 8) || !strncmp(numpy, "timedelta", 9)))
    return (situ_tensor *)(context_graph() ? raise_no_common_type(value)
                                           : raise_unsupported(value));
  if (!is_list && (!is_plain || numpy) && is_array_like(value)) {
    bool unfit = true;
    situ_tensor *tensor =
        PyObject_CheckBuffer(value) ? buffer_value(value, type, false, &unfit) : NULL;
    return unfit ? convert_via_numpy(value, type, false, true) : tensor;
  }
  struct value_info value_info = {.shape = SITU_ANY_SHAPE};
  for (int i = 0; i < SITU_MAX_RANK; i++) value_info.shape.dim[i] = SITU_ANY;
  analyze(value, 0, &value_info);
  situ_tensor *tensor = PyErr_Occurred() ? NULL : convert_analyzed(value, &value_info, type);
  Py_XDECREF(value_info.leaf);
  Py_XDECREF(value_info.first);
  return tensor;
}

bool convert_holds_tensor(PyObject *value) {
  if (PyObject_TypeCheck(value, &base_type)) return true;
  if (PyList_Check(value) || PyTuple_Check(value)) {
    bool holds = false;
    for (Py_ssize_t i = 0; !holds && i < PySequence_Fast_GET_SIZE(value); i++) {
      PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
      holds = convert_holds_tensor(item);
      Py_DECREF(item);
    }
    return holds;
  }
  if (kind_of(value) != KIND_OTHER) return false;
  return PyObject_HasAttrString(value, "_situ_tensor_");
}
