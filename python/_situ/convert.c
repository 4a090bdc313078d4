/* SPDX-License-Identifier: Apache-2.0
 * convert.c: tensors out of numbers, texts and lists of them, by TensorFlow's rules. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "situ_python.h"

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_LONG, KIND_FLOAT, KIND_TEXT, KIND_OTHER, N_KINDS };

/* What a value turned out to be. */
struct found {
  situ_shape shape;
  enum kind kind;      /* the highest kind of all leaves */
  bool has[N_KINDS];   /* which kinds there are */
  bool numpy, np_bool; /* whether there are scalars of NumPy, and bools among them */
  bool ragged;
  bool huge;       /* an integer beyond 64 bits */
  PyObject *leaf;  /* owned: one of the leaves that decided the kind */
  PyObject *first; /* owned: the first leaf */
};

/* The name of a type of NumPy without its module; NULL of another type. */
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
  if (number == -1 && PyErr_Occurred()) PyErr_Clear(); /* e.g. a Dimension of unknown size */
  return overflow || number > INT32_MAX || number < INT32_MIN ? KIND_LONG : KIND_INT;
}

static enum kind kind_of(PyObject *value) {
  if (PyBool_Check(value)) return KIND_BOOL;
  if (PyFloat_Check(value)) return KIND_FLOAT;
  if (PyLong_Check(value)) return kind_of_int(value);
  if (PyUnicode_Check(value) || PyBytes_Check(value)) return KIND_TEXT;
  const char *numpy = numpy_name(value);
  if (numpy && !strncmp(numpy, "bool", 4)) return KIND_BOOL;
  if (numpy && (!strncmp(numpy, "float", 5) || !strcmp(numpy, "longdouble"))) return KIND_FLOAT;
  if (!PyIndex_Check(value) || PySequence_Check(value) || is_array(value)) return KIND_OTHER;
  return kind_of_int(value); /* of NumPy, a Dimension */
}

static void look_at_leaf(PyObject *value, enum kind kind, struct found *found) {
  int overflow = 0;
  if (kind == KIND_LONG) (void)PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) found->huge = true;
  if (!found->first) found->first = Py_NewRef(value);
  found->has[kind] = true;
  if (kind != KIND_OTHER && numpy_name(value)) found->numpy = true;
  if (kind == KIND_BOOL && !PyBool_Check(value)) found->np_bool = true;
  if (kind > found->kind) {
    found->kind = kind;
    Py_XSETREF(found->leaf, Py_NewRef(value));
  }
}

static void look(PyObject *value, int depth, struct found *found) {
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  if (!is_list) {
    const enum kind kind = kind_of(value);
    if (found->shape.rank == SITU_ANY) found->shape.rank = depth;
    if (found->shape.rank != depth) found->ragged = true;
    look_at_leaf(value, kind, found);
    return;
  }
  const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
  if (depth >= SITU_MAX_RANK || (found->shape.rank != SITU_ANY && depth >= found->shape.rank)) {
    found->ragged = true;
    return;
  }
  if (found->shape.dim[depth] < 0) found->shape.dim[depth] = n;
  if (found->shape.dim[depth] != n) found->ragged = true;
  for (Py_ssize_t i = 0; i < n && !found->ragged && found->kind != KIND_OTHER; i++) {
    if (PySequence_Fast_GET_SIZE(value) != n) { /* code of the program changed it */
      found->ragged = true;
      return;
    }
    PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
    look(item, depth + 1, found);
    Py_DECREF(item);
  }
  if (n == 0 && found->shape.rank == SITU_ANY) found->shape.rank = depth + 1;
}

static situ_type natural(enum kind kind) {
  static const situ_type types[] = {SITU_FLOAT, SITU_BOOL,  SITU_INT32,
                                    SITU_INT64, SITU_FLOAT, SITU_STRING};
  return types[kind];
}

static bool fits(enum kind kind, situ_type type) {
  if (kind == KIND_NONE) return true;
  if (kind == KIND_BOOL) return type != SITU_STRING;
  if (kind == KIND_TEXT) return type == SITU_STRING;
  if (kind == KIND_FLOAT) return types_is_real(type);
  return type != SITU_BOOL && type != SITU_STRING;
}

static PyObject *misfit(PyObject *value, const struct found *found, situ_type type) {
  if (context_graph()) {
    PyObject *leaf = Py_NewRef(found->leaf); /* its repr is code of the program */
    PyErr_Format(PyExc_TypeError, "Expected %s, got %R of type '%s' instead.", types_word(type),
                 leaf, Py_TYPE(leaf)->tp_name);
    Py_DECREF(leaf);
    return NULL;
  }
  return PyErr_Format(PyExc_TypeError, "Cannot convert %R to EagerTensor of dtype %s", value,
                      situ_type_name(type));
}

static PyObject *unsupported(PyObject *value) {
  return PyErr_Format(PyExc_ValueError,
                      "Attempt to convert a value (%R) with an unsupported type (%R) to a Tensor.",
                      value, Py_TYPE(value));
}

/* What graphs say of values that have no common type. */
static PyObject *no_common_type(PyObject *value) {
  return PyErr_Format(PyExc_TypeError,
                      "Failed to convert elements of %R to Tensor. Consider casting elements to a "
                      "supported type. See https://www.tensorflow.org/api_docs/python/tf/dtypes "
                      "for supported TF dtypes.",
                      value);
}

/* A tensor of texts without elements, of the shape of an array that has none; NULL: it has some. */
static situ_tensor *no_texts(PyObject *array) {
  PyObject *sizes = PyObject_GetAttrString(array, "shape");
  situ_shape shape = {.rank = 0};
  situ_tensor *made = NULL;
  if (sizes && PyTuple_Check(sizes) && PyTuple_GET_SIZE(sizes) <= SITU_MAX_RANK)
    for (; shape.rank < (int)PyTuple_GET_SIZE(sizes); shape.rank++)
      shape.dim[shape.rank] = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, shape.rank));
  Py_XDECREF(sizes);
  if (situ_shape_count(shape) == 0) {
    const situ_status status = situ_tensor_create_strings(shape, NULL, &made);
    if (status) errors_raise(status, NULL);
  }
  return made;
}

/* An array of 64-bit integers as one of int32, where that loses nothing; takes the array. */
static PyObject *narrowed(PyObject *numpy, PyObject *array) {
  PyObject *small = PyObject_CallMethod(array, "astype", "s", "int32");
  PyObject *same = small ? PyObject_CallMethod(numpy, "array_equal", "OO", array, small) : NULL;
  const int is_same = same ? PyObject_IsTrue(same) : -1;
  if (is_same != 0) Py_SETREF(array, is_same > 0 ? Py_NewRef(small) : NULL);
  Py_XDECREF(small);
  Py_XDECREF(same);
  return array;
}

/* The type of an array's elements as NumPy writes it, e.g. "<f8", into `code`. */
static int type_code(PyObject *array, char code[8]) {
  PyObject *dtype = PyObject_GetAttrString(array, "dtype");
  PyObject *text = dtype ? PyObject_GetAttrString(dtype, "str") : NULL;
  const char *letters = text ? PyUnicode_AsUTF8(text) : NULL;
  snprintf(code, 8, "%s", letters ? letters : "");
  Py_XDECREF(dtype);
  Py_XDECREF(text);
  return letters ? 0 : -1;
}

/* A value as an array of NumPy. Of a list, NumPy's default types become TensorFlow's: float64 turns
 * into float32 and int64 into int32 where it fits. Of arrays that are listed eagerly float64 stays,
 * and integers of all sizes become int32. */
static PyObject *as_array(PyObject *value, bool is_list, bool of_arrays) {
  char code[8] = "";
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *array = numpy ? PyObject_CallMethod(numpy, "array", "(O)", value) : NULL;
  if (array && is_list) {
    if (type_code(array, code))
      Py_CLEAR(array);
    else if (!strcmp(code, "<f8") && !of_arrays)
      Py_SETREF(array, PyObject_CallMethod(array, "astype", "s", "float32"));
    else if (!strcmp(code, "<i8") || (of_arrays && strchr("iu", code[1])))
      array = narrowed(numpy, array);
  }
  Py_XDECREF(numpy);
  return array;
}

/* Whether all leaves are texts. */
static bool holds_texts(PyObject *value) {
  if (!PyList_Check(value)) return kind_of(value) == KIND_TEXT;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(value); i++)
    if (!holds_texts(PyList_GET_ITEM(value, i))) return false;
  return true;
}

/* Texts and objects of an array as a list, which is converted. */
static situ_tensor *through_list(PyObject *value, PyObject *array, situ_type type) {
  PyObject *list = PyObject_CallMethod(array, "tolist", NULL);
  situ_tensor *result = NULL;
  if (list && holds_texts(list))
    result = convert_value(list, type);
  else if (list && context_graph())
    no_common_type(value);
  else if (list)
    unsupported(value);
  Py_XDECREF(list);
  return result;
}

/* The elements of an array of another byte order or of a rarer type as one that C can read. */
static PyObject *as_native(PyObject *array) {
  PyObject *dtype = PyObject_GetAttrString(array, "dtype");
  PyObject *native = dtype ? PyObject_CallMethod(dtype, "newbyteorder", "s", "=") : NULL;
  PyObject *made = native ? PyObject_CallMethod(array, "astype", "O", native) : NULL;
  Py_XDECREF(dtype);
  Py_XDECREF(native);
  return made;
}

/* Raises the error of an array whose elements have no type here: uint32, complex64, ... */
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

/* What C cannot read goes through NumPy. */
static situ_tensor *through_numpy(PyObject *value, situ_type type, bool is_list, bool of_arrays) {
  PyObject *array = as_array(value, is_list && type == SITU_NO_TYPE, of_arrays);
  if (!array) return NULL;
  situ_tensor *result = NULL;
  bool unfit = false;
  char code[8] = "";
  const bool known = !type_code(array, code);
  const char letter = code[1];
  const bool is_text = letter == 'U' || letter == 'S' || letter == 'O';
  if (letter == 'M' || letter == 'm' || letter == 'V') unfit = true;
  if (is_text && PyObject_CheckBuffer(value) && (!type || type == SITU_STRING))
    result = no_texts(array);
  if (result || PyErr_Occurred() || !known) {
    /* it is made, or cannot be */
  } else if (is_text) {
    result = through_list(value, array, type);
  } else {
    if (code[0] == '>') Py_SETREF(array, as_native(array));
    if (!unfit) result = array ? buffer_value(array, type, false, &unfit) : NULL;
    if (unfit) unsupported_array(array, code);
  }
  Py_XDECREF(array);
  return result;
}

/* A TensorShape is the list of its sizes. */
static situ_tensor *convert_shape(PyObject *shape, situ_type type) {
  PyObject *list = PyObject_CallMethod(shape, "as_list", NULL);
  situ_tensor *tensor = list ? convert_value(list, type == SITU_NO_TYPE ? SITU_INT32 : type) : NULL;
  Py_XDECREF(list);
  return tensor;
}

/* Whether all leaves of a list are arrays of one type, of which each has elements. */
static bool holds_arrays(PyObject *value, char code[8]) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    bool all = PySequence_Fast_GET_SIZE(value) > 0;
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value) && all; i++) {
      PyObject *item = Py_NewRef(PySequence_Fast_GET_ITEM(value, i));
      all = holds_arrays(item, code);
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

/* A list with all arrays and other sequences inside it as lists; NULL: some leaf is no value. */
static PyObject *expanded(PyObject *value) {
  if (kind_of(value) != KIND_OTHER) return Py_NewRef(value);
  if (is_array(value) && PyObject_HasAttrString(value, "ndim")) {
    PyObject *rank = PyObject_GetAttrString(value, "ndim");
    const long n = rank ? PyLong_AsLong(rank) : -1;
    Py_XDECREF(rank);
    if (n == 0) return PyObject_CallMethod(value, "__getitem__", "(())");
  }
  if (!PySequence_Check(value)) return unsupported(value);
  PyObject *list = PySequence_List(value);
  for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++) {
    PyObject *item = expanded(PyList_GET_ITEM(list, i));
    if (item)
      PyList_SetItem(list, i, item);
    else
      Py_CLEAR(list);
  }
  return list;
}

/* Whether eager conversion can store all leaves as elements of a type. */
static bool accepts(const struct found *found, situ_type type) {
  const bool *has = found->has;
  const bool whole = has[KIND_INT] || has[KIND_LONG];
  if (type == SITU_STRING) return !has[KIND_BOOL] && !whole && !has[KIND_FLOAT];
  if (type == SITU_BOOL) return !has[KIND_TEXT] && !whole && !has[KIND_FLOAT];
  if (has[KIND_TEXT] || found->np_bool) return false;
  if (types_is_real(type)) return true;
  if (type == SITU_INT32 && has[KIND_LONG]) return false;
  return (type == SITU_INT32 || type == SITU_INT64) && !has[KIND_FLOAT] && !found->huge;
}

/* The type that eager conversion infers: the first leaf decides, integers turn into real numbers
 * where such follow. `asked`: another type was asked for, into which the result is cast. */
static situ_type infer(const struct found *found, bool asked) {
  const enum kind first = found->first ? kind_of(found->first) : KIND_NONE;
  const char *numpy = found->first ? numpy_name(found->first) : NULL;
  if (first == KIND_FLOAT && numpy && !strcmp(numpy, "float16")) return SITU_HALF;
  if (first == KIND_FLOAT && (asked || (numpy && !strcmp(numpy, "float64")))) return SITU_DOUBLE;
  if (first != KIND_INT && first != KIND_LONG) return natural(first);
  if (found->has[KIND_FLOAT]) return asked ? SITU_DOUBLE : SITU_FLOAT;
  return asked || found->has[KIND_LONG] ? SITU_INT64 : SITU_INT32;
}

/* The type that stands for all of its class: real numbers, bools, integers. */
static situ_type type_of_code(const char *code) {
  return code[1] == 'f' ? SITU_DOUBLE : code[1] == 'b' ? SITU_BOOL : SITU_INT64;
}

/* Whether the eager conversion of a value of one type may be cast to another. */
static bool may_cast(situ_type from, situ_type to) {
  if (from == SITU_BOOL || to == SITU_BOOL || from == SITU_STRING || to == SITU_STRING)
    return from == to;
  return types_is_real(to) || !types_is_real(from);
}

/* Whether a Python number is beyond float32, though finite. */
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

/* A nested list by the rules of eager conversion. */
static situ_tensor *convert_eagerly(PyObject *value, const struct found *found, situ_type type) {
  situ_type made = type;
  if (type == SITU_NO_TYPE || !accepts(found, type)) {
    made = infer(found, type != SITU_NO_TYPE);
    if (!found->first) made = type ? type : made;
    if (found->first && !accepts(found, made)) {
      const bool too_large = found->huge && !found->has[KIND_TEXT] && !found->np_bool;
      PyErr_Format(PyExc_ValueError, "Can't convert Python sequence with %s to Tensor.",
                   too_large ? "out-of-range integer" : "mixed types");
      return NULL;
    }
    if (type != SITU_NO_TYPE && found->first && !may_cast(made, type))
      return (situ_tensor *)misfit(value, found, type);
  }
  if (type == SITU_NO_TYPE && made == SITU_FLOAT && found->first && overflows(value)) {
    PyErr_SetString(PyExc_ValueError,
                    "Can't convert Python sequence with a value out of range for "
                    "a double-precision float.");
    return NULL;
  }
  return fill_tensor(value, &found->shape, type == SITU_NO_TYPE ? made : type);
}

/* The same in a graph, of values of Python only. */
static situ_tensor *convert_in_graph(PyObject *value, const struct found *found, situ_type type) {
  const bool to_real = type != SITU_NO_TYPE ? types_is_real(type) : found->kind == KIND_FLOAT;
  const bool has_number = found->has[KIND_BOOL] || found->has[KIND_INT] || found->has[KIND_LONG] ||
                          found->has[KIND_FLOAT];
  if (found->kind == KIND_TEXT && has_number) return (situ_tensor *)no_common_type(value);
  if (found->huge && !to_real) return (situ_tensor *)no_common_type(value);
  if (type != SITU_NO_TYPE && !fits(found->kind, type))
    return (situ_tensor *)misfit(value, found, type);
  return fill_tensor(value, &found->shape, type == SITU_NO_TYPE ? natural(found->kind) : type);
}

static situ_tensor *refuse_none(PyObject *none) {
  if (context_graph())
    PyErr_SetString(PyExc_ValueError, "None values not supported.");
  else
    unsupported(none);
  return NULL;
}

/* An array, a scalar of NumPy, or another object that says that it is an array. */
static bool is_array_like(PyObject *value) {
  if (numpy_name(value)) return true;
  if (PyObject_CheckBuffer(value)) return context_graph(); /* a sequence of integers, eagerly */
  return PyObject_HasAttrString(value, "__array__") ||
         PyObject_HasAttrString(value, "__array_interface__");
}

/* Whether the elements of an array may be those of a type, as numbers of Python may. */
static bool array_fits(PyObject *array, situ_type type) {
  char code[8] = "";
  if (type_code(array, code)) return PyErr_Clear(), false;
  if (code[1] == 'f') return types_is_real(type);
  if (code[1] == 'b') return type == SITU_BOOL;
  return strchr("iu", code[1]) && type != SITU_BOOL && type != SITU_STRING;
}

/* Whether all leaves of a nested value are of kinds that a graph stores as a type. */
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

/* In a graph the first elements of nested lists must be scalars, not arrays. */
static bool is_dense(PyObject *value) {
  PyObject *first = value;
  while ((PyList_Check(first) || PyTuple_Check(first)) && PySequence_Fast_GET_SIZE(first))
    first = PySequence_Fast_GET_ITEM(first, 0);
  const bool is_sequence = kind_of(first) == KIND_OTHER && PySequence_Check(first);
  if (first == value || !is_sequence) return true;
  Py_INCREF(first); /* its length is code of the program */
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

/* A list in a graph that holds something of NumPy. */
static situ_tensor *in_graph_by_numpy(PyObject *value, situ_type type) {
  struct found found = {.leaf = value};
  if (type != SITU_NO_TYPE && !leaves_fit(value, type, &found.leaf))
    return (situ_tensor *)misfit(value, &found, type);
  return is_dense(value) ? through_numpy(value, type, true, false) : NULL;
}

/* A sequence that holds arrays, other sequences, or something that is no value at all. */
static situ_tensor *convert_sequence(PyObject *value, situ_type type) {
  char code[8] = "";
  if (context_graph()) return in_graph_by_numpy(value, type);
  if (PyList_Check(value) && holds_arrays(value, code) && !strchr("USO", code[1]) &&
      (type == SITU_NO_TYPE || may_cast(type_of_code(code), type)))
    return through_numpy(value, type, true, true);
  PyObject *list = expanded(value);
  situ_tensor *tensor = list ? convert_value(list, type) : NULL;
  Py_XDECREF(list);
  return tensor;
}

/* What was looked at, as a tensor. */
static situ_tensor *convert_found(PyObject *value, struct found *found, situ_type type) {
  if (found->kind == KIND_OTHER) return convert_sequence(value, type);
  if (found->ragged) {
    PyErr_SetString(PyExc_ValueError, "Can't convert non-rectangular Python sequence to Tensor.");
    return NULL;
  }
  if (found->numpy && context_graph()) return in_graph_by_numpy(value, type);
  for (int i = 0; i < found->shape.rank; i++)
    if (found->shape.dim[i] < 0) found->shape.dim[i] = 0;
  return context_graph() ? convert_in_graph(value, found, type)
                         : convert_eagerly(value, found, type);
}

situ_tensor *convert_value(PyObject *value, situ_type type) {
  if (value == Py_None) return refuse_none(value);
  if ((PyObject *)Py_TYPE(value) == hooks.shape) return convert_shape(value, type);
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  const bool is_plain = PyBytes_Check(value) || PyUnicode_Check(value);
  const char *numpy = numpy_name(value);
  if (numpy && (!strncmp(numpy, "datetime", 8) || !strncmp(numpy, "timedelta", 9)))
    return (situ_tensor *)(context_graph() ? no_common_type(value) : unsupported(value));
  if (!is_list && (!is_plain || numpy) && is_array_like(value)) {
    bool unfit = true;
    situ_tensor *tensor =
        PyObject_CheckBuffer(value) ? buffer_value(value, type, false, &unfit) : NULL;
    return unfit ? through_numpy(value, type, false, true) : tensor;
  }
  struct found found = {.shape = SITU_ANY_SHAPE};
  for (int i = 0; i < SITU_MAX_RANK; i++) found.shape.dim[i] = SITU_ANY;
  look(value, 0, &found);
  situ_tensor *tensor = convert_found(value, &found, type);
  Py_XDECREF(found.leaf);
  Py_XDECREF(found.first);
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
