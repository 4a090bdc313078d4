/* SPDX-License-Identifier: Apache-2.0
 * convert.c: tensors out of numbers, texts and lists of them, by TensorFlow's rules. */
#include <stdlib.h>
#include <string.h>

#include "situ_python.h"

enum kind { KIND_NONE, KIND_BOOL, KIND_INT, KIND_LONG, KIND_FLOAT, KIND_TEXT, KIND_OTHER };

/* What a value turned out to be. */
struct found {
  situ_shape shape;
  enum kind kind;
  bool ragged;
  bool mixed;     /* leaves of kinds that do not become each other */
  bool huge;      /* an integer beyond 64 bits */
  PyObject *leaf; /* borrowed: one of the leaves that decided the kind */
};

static enum kind kind_of(PyObject *value) {
  if (PyBool_Check(value)) return KIND_BOOL;
  if (PyFloat_Check(value)) return KIND_FLOAT;
  if (PyLong_Check(value)) {
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow || number > INT32_MAX || number < INT32_MIN ? KIND_LONG : KIND_INT;
  }
  if (PyUnicode_Check(value) || PyBytes_Check(value)) return KIND_TEXT;
  /* A Dimension; numbers of NumPy have a type of their own and go through it. */
  return PyIndex_Check(value) && !PyObject_CheckBuffer(value) ? KIND_INT : KIND_OTHER;
}

static bool is_number(enum kind kind) { return kind >= KIND_INT && kind <= KIND_FLOAT; }

static void look_at_leaf(PyObject *value, enum kind kind, struct found *found) {
  int overflow = 0;
  if (kind == KIND_LONG) (void)PyLong_AsLongLongAndOverflow(value, &overflow);
  if (overflow) found->huge = true;
  if (found->kind != KIND_NONE && kind != found->kind &&
      !(is_number(kind) && is_number(found->kind)))
    found->mixed = true;
  if (kind > found->kind) {
    found->kind = kind;
    found->leaf = value;
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
  for (Py_ssize_t i = 0; i < n && !found->ragged && found->kind != KIND_OTHER; i++)
    look(PySequence_Fast_GET_ITEM(value, i), depth + 1, found);
  if (n == 0 && found->shape.rank == SITU_ANY) found->shape.rank = depth + 1;
}

static situ_type natural(enum kind kind) {
  static const situ_type types[] = {SITU_FLOAT, SITU_BOOL,  SITU_INT32,
                                    SITU_INT64, SITU_FLOAT, SITU_STRING};
  return types[kind];
}

static bool fits(enum kind kind, situ_type type) {
  if (kind == KIND_NONE) return true;
  if (kind == KIND_BOOL) return type == SITU_BOOL || (!context_graph() && type != SITU_STRING);
  if (kind == KIND_TEXT) return type == SITU_STRING;
  if (kind == KIND_FLOAT) return types_is_real(type);
  if (kind == KIND_LONG && type == SITU_INT32) return false;
  return type != SITU_BOOL && type != SITU_STRING;
}

static PyObject *misfit(PyObject *value, const struct found *found, situ_type type) {
  if (context_graph())
    return PyErr_Format(PyExc_TypeError, "Expected %s, got %R of type '%s' instead.",
                        types_word(type), found->leaf, Py_TYPE(found->leaf)->tp_name);
  return PyErr_Format(PyExc_TypeError, "Cannot convert %R to EagerTensor of dtype %s", value,
                      situ_type_name(type));
}

static void store(PyObject *value, situ_type type, char **at) {
  if (types_is_real(type))
    buffer_store(*at, type, PyFloat_AsDouble(value), 0);
  else
    buffer_store(*at, type, 0, type == SITU_BOOL ? value == Py_True : PyLong_AsLongLong(value));
  *at += situ_type_size(type);
}

static void fill(PyObject *value, situ_type type, char **at) {
  if (PyList_Check(value) || PyTuple_Check(value)) {
    const Py_ssize_t n = PySequence_Fast_GET_SIZE(value);
    for (Py_ssize_t i = 0; i < n; i++) fill(PySequence_Fast_GET_ITEM(value, i), type, at);
  } else if (type == SITU_STRING) {
    Py_ssize_t length = 0;
    situ_text *text = (situ_text *)(void *)*at;
    text->data =
        PyUnicode_Check(value) ? PyUnicode_AsUTF8AndSize(value, &length) : PyBytes_AS_STRING(value);
    text->length = (size_t)(PyUnicode_Check(value) ? length : PyBytes_GET_SIZE(value));
    *at += sizeof *text;
  } else {
    store(value, type, at);
  }
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
    const situ_status status = situ_tensor_create_texts(shape, NULL, &made);
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

/* A value as an array; the integers of a list are int32 where they fit, those of NumPy, too, unless
 * their type is smaller still. */
static PyObject *as_array(PyObject *value, situ_type type, PyObject *leaf) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *array = numpy ? PyObject_CallMethod(numpy, "array", "(O)", value) : NULL;
  const bool is_list = PyList_Check(value) || PyTuple_Check(value);
  if (array && is_list && leaf && !type && !strncmp(Py_TYPE(leaf)->tp_name, "numpy.", 6)) {
    PyObject *word = PyObject_GetAttrString(array, "dtype");
    PyObject *code = word ? PyObject_GetAttrString(word, "str") : NULL;
    const char *letters = code ? PyUnicode_AsUTF8(code) : NULL;
    if (!letters)
      Py_CLEAR(array);
    else if (!strcmp(letters, "<i8"))
      array = narrowed(numpy, array);
    Py_XDECREF(word);
    Py_XDECREF(code);
  }
  Py_XDECREF(numpy);
  return array;
}

/* What C cannot read goes through NumPy; real numbers become float32, as in TensorFlow's lists. */
static situ_tensor *through_numpy(PyObject *value, situ_type type, PyObject *leaf) {
  PyObject *array = as_array(value, type, leaf);
  if (!array) return NULL;
  situ_tensor *result = NULL;
  bool unfit = false;
  PyObject *word = PyObject_GetAttrString(array, "dtype");
  PyObject *kind = word ? PyObject_GetAttrString(word, "kind") : NULL;
  const char *letter = kind ? PyUnicode_AsUTF8(kind) : "";
  const bool is_array = PyObject_CheckBuffer(value);
  const bool is_text = letter && (*letter == 'U' || *letter == 'S' || *letter == 'O');
  if (is_text && is_array && (!type || type == SITU_STRING)) result = no_texts(array);
  if (result || PyErr_Occurred()) {
    /* it is made, or cannot be */
  } else if (letter && (*letter == 'U' || *letter == 'S')) {
    PyObject *list = PyObject_CallMethod(array, "tolist", NULL);
    result = list ? convert_value(list, type) : NULL;
    Py_XDECREF(list);
  } else if (letter && *letter == 'O') {
    PyObject *list = PyObject_CallMethod(array, "tolist", NULL);
    if (list && (is_array || PyObject_HasAttrString(value, "__array__"))) { /* pandas' columns */
      result = convert_value(list, type);
    } else if (list) {
      PyErr_Format(PyExc_ValueError,
                   "Attempt to convert a value (%R) with an unsupported type (%R) to a Tensor.",
                   value, Py_TYPE(value));
    }
    Py_XDECREF(list);
  } else {
    const bool is_double = letter && *letter == 'f' && !is_array;
    result = buffer_value(array,
                          type        ? type
                          : is_double ? SITU_FLOAT
                                      : SITU_NO_TYPE,
                          false, &unfit);
    if (unfit) PyErr_Format(PyExc_TypeError, "Cannot convert %R to a tensor.", value);
  }
  Py_XDECREF(word);
  Py_XDECREF(kind);
  Py_DECREF(array);
  return result;
}

static situ_tensor *build(PyObject *value, const struct found *found, situ_type type) {
  const size_t element = type == SITU_STRING ? sizeof(situ_text) : situ_type_size(type);
  const size_t bytes = (size_t)situ_shape_count(found->shape) * element;
  char small[512], *data = bytes <= sizeof small ? small : malloc(bytes), *at = data;
  if (!data) return (situ_tensor *)PyErr_NoMemory();
  fill(value, type, &at);
  situ_tensor *tensor = NULL;
  if (!PyErr_Occurred()) {
    const situ_status status =
        type == SITU_STRING
            ? situ_tensor_create_texts(found->shape, (const situ_text *)(void *)data, &tensor)
            : situ_tensor_create(type, found->shape, data, &tensor);
    if (status) errors_raise(status, NULL);
  }
  if (data != small) free(data);
  return tensor;
}

/* A TensorShape is the list of its sizes. */
static situ_tensor *convert_shape(PyObject *shape, situ_type type) {
  PyObject *list = PyObject_CallMethod(shape, "as_list", NULL);
  situ_tensor *tensor = list ? convert_value(list, type == SITU_NO_TYPE ? SITU_INT32 : type) : NULL;
  Py_XDECREF(list);
  return tensor;
}

situ_tensor *convert_value(PyObject *value, situ_type type) {
  if (value == Py_None) {
    if (context_graph())
      PyErr_SetString(PyExc_ValueError, "None values not supported.");
    else
      PyErr_Format(PyExc_ValueError,
                   "Attempt to convert a value (None) with an unsupported type (%R) to a Tensor.",
                   Py_TYPE(value));
    return NULL;
  }
  if ((PyObject *)Py_TYPE(value) == hooks.shape) return convert_shape(value, type);
  const bool is_leaf = !PyList_Check(value) && !PyTuple_Check(value);
  if (is_leaf && PyObject_CheckBuffer(value) && !PyBytes_Check(value)) {
    bool unfit = false;
    situ_tensor *tensor = buffer_value(value, type, false, &unfit);
    return unfit ? through_numpy(value, type, NULL) : tensor;
  }
  struct found found = {.shape = SITU_ANY_SHAPE};
  for (int i = 0; i < SITU_MAX_RANK; i++) found.shape.dim[i] = SITU_ANY;
  look(value, 0, &found);
  if (found.kind == KIND_OTHER) return through_numpy(value, type, found.leaf);
  if (found.ragged) {
    PyErr_SetString(PyExc_ValueError, "Can't convert non-rectangular Python sequence to Tensor.");
    return NULL;
  }
  const bool to_real = type != SITU_NO_TYPE ? types_is_real(type) : found.kind == KIND_FLOAT;
  if (found.mixed && (found.kind == KIND_TEXT || !context_graph())) {
    PyErr_SetString(PyExc_ValueError, "Can't convert Python sequence with mixed types to Tensor.");
    return NULL;
  }
  if (found.huge && !to_real) {
    PyErr_SetString(PyExc_ValueError,
                    "Can't convert Python sequence with out-of-range integer to Tensor.");
    return NULL;
  }
  for (int i = 0; i < found.shape.rank; i++)
    if (found.shape.dim[i] < 0) found.shape.dim[i] = 0;
  if (type != SITU_NO_TYPE && !fits(found.kind, type))
    return (situ_tensor *)misfit(value, &found, type);
  return build(value, &found, type == SITU_NO_TYPE ? natural(found.kind) : type);
}

bool convert_holds_tensor(PyObject *value) {
  if (PyObject_TypeCheck(value, &base_type)) return true;
  if (PyList_Check(value) || PyTuple_Check(value)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(value); i++)
      if (convert_holds_tensor(PySequence_Fast_GET_ITEM(value, i))) return true;
    return false;
  }
  if (kind_of(value) != KIND_OTHER) return false;
  return PyObject_HasAttrString(value, "_situ_tensor_");
}
