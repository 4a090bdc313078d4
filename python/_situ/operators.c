/* SPDX-License-Identifier: Apache-2.0
 * operators.c: operators and comparisons of tensors. */
#include <string.h>

#include "situ_python.h"

/* Operators: slot, op, node name. */
#define OPERATORS(X)                               \
  X(add, "Add", "add")                             \
  X(subtract, "Sub", "sub")                        \
  X(multiply, "Mul", "mul")                        \
  X(floor_divide, "FloorDiv", "floordiv")          \
  X(modulo, "FloorMod", "mod")                     \
  X(true_divide, "RealDiv", "truediv")             \
  X(power, "Pow", "pow")                           \
  X(matrix_multiply, "MatMul", "matmul")           \
  X(less, "Less", "Less")                          \
  X(less_equal, "LessEqual", "LessEqual")          \
  X(greater, "Greater", "Greater")                 \
  X(greater_equal, "GreaterEqual", "GreaterEqual") \
  X(negative, "Neg", "Neg")                        \
  X(absolute, "Abs", "Abs")

enum {
#define ENTRY(slot, op, name) OP_##slot,
  OPERATORS(ENTRY)
#undef ENTRY
      N_OPERATORS
};

static const char *const op_names[] = {
#define ENTRY(slot, op, name) op,
    OPERATORS(ENTRY)
#undef ENTRY
};
static const char *const node_names[] = {
#define ENTRY(slot, op, name) name,
    OPERATORS(ENTRY)
#undef ENTRY
};
static int numbers[N_OPERATORS];

int operators_prepare(void) {
  for (int i = 0; i < N_OPERATORS; i++) {
    numbers[i] = ops_number(op_names[i]);
    if (numbers[i] < 0) return PyErr_Format(PyExc_ImportError, "no op %s", op_names[i]), -1;
  }
  return 0;
}

/* Returns whether a value is a composite tensor, such as a SparseTensor, with operators of its own.
 */
static bool is_composite(PyObject *value) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace); /* looking an attribute up clears the exception */
  const bool found = PyObject_HasAttrString((PyObject *)Py_TYPE(value), "_situ_parts_");
  PyErr_Restore(type, error, trace);
  return found;
}

/* Returns NotImplemented if the other operand cannot be converted, so that Python tries its
 * operator. */
static PyObject *decline(PyObject *x, PyObject *y, PyObject *result) {
  if (result) return result;
  const bool both = PyObject_TypeCheck(x, &base_type) && PyObject_TypeCheck(y, &base_type);
  const bool composite = is_composite(x) || is_composite(y);
  if (both || (!context_graph() && !composite)) return NULL;
  if (!PyErr_ExceptionMatches(PyExc_TypeError) && !composite) return NULL;
  PyErr_Clear();
  Py_RETURN_NOTIMPLEMENTED;
}

static PyObject *run(int which, PyObject *const *args, Py_ssize_t n) {
  PyObject *function = ops_function(numbers[which]);
  return function ? ops_call(function, node_names[which], args, n) : NULL;
}

static PyObject *binary(int which, PyObject *x, PyObject *y) {
  return decline(x, y, run(which, (PyObject *[]){x, y}, 2));
}

#define BINARY(slot) \
  static PyObject *slot(PyObject *x, PyObject *y) { return binary(OP_##slot, x, y); }
BINARY(subtract)
BINARY(floor_divide)
BINARY(modulo)
BINARY(less)
BINARY(less_equal)
BINARY(greater)
BINARY(greater_equal)

/* Calls the Python function of an operator that consists of several ops. */
static PyObject *composite(const char *name, PyObject *x, PyObject *y) {
  PyObject *function = hooks.composite ? PyDict_GetItemString(hooks.composite, name) : NULL;
  if (!function) return PyErr_Format(PyExc_TypeError, "unknown operator %s", name);
  return PyObject_CallFunctionObjArgs(function, x, y, NULL);
}

/* Returns the type of a tensor; SITU_NO_TYPE for other values. */
static situ_type type_of(PyObject *value) {
  if (IS_TENSOR(value)) return situ_tensor_type(TENSOR_OF(value));
  return IS_VALUE(value) ? ((struct value_object *)value)->type : SITU_NO_TYPE;
}

/* Returns the type of two operands if it is obvious: tensors of one type, or a tensor and a number.
 * */
static situ_type common_type(PyObject *x, PyObject *y) {
  const situ_type left = type_of(x), right = type_of(y);
  if (left == right) return left;
  PyObject *other = left == SITU_NO_TYPE ? x : y;
  const bool number = PyFloat_CheckExact(other) || PyLong_CheckExact(other);
  return (left == SITU_NO_TYPE || right == SITU_NO_TYPE) && number ? left + right : SITU_NO_TYPE;
}

static bool is_matrix(PyObject *value) {
  if (IS_TENSOR(value)) return situ_tensor_shape(TENSOR_OF(value)).rank == 2;
  return IS_VALUE(value) && ((struct value_object *)value)->shape.rank == 2;
}

/* Bools: logical and. */
static PyObject *multiply(PyObject *x, PyObject *y) {
  if (type_of(x) == SITU_BOOL || type_of(y) == SITU_BOOL)
    return decline(x, y, composite("mul", x, y));
  return binary(OP_multiply, x, y);
}

/* Strings: concatenation. */
static PyObject *add(PyObject *x, PyObject *y) {
  if (type_of(x) == SITU_STRING || type_of(y) == SITU_STRING) return composite("join", x, y);
  return binary(OP_add, x, y);
}
static PyObject *true_divide(PyObject *x, PyObject *y) {
  const situ_type type = common_type(x, y);
  if (types_is_real(type) || types_is_complex(type)) return binary(OP_true_divide, x, y);
  return decline(x, y, composite("truediv", x, y));
}
static PyObject *power(PyObject *x, PyObject *y) {
  if (common_type(x, y) != SITU_NO_TYPE) return binary(OP_power, x, y);
  return decline(x, y, composite("pow", x, y));
}
static PyObject *matrix_multiply(PyObject *x, PyObject *y) {
  if (is_matrix(x) && is_matrix(y)) return binary(OP_matrix_multiply, x, y);
  return composite("matmul", x, y);
}
static PyObject *both(PyObject *x, PyObject *y) { return decline(x, y, composite("and", x, y)); }
static PyObject *either(PyObject *x, PyObject *y) { return decline(x, y, composite("or", x, y)); }
static PyObject *one_of(PyObject *x, PyObject *y) { return decline(x, y, composite("xor", x, y)); }
static PyObject *invert(PyObject *x) { return composite("invert", x, NULL); }
static PyObject *negative(PyObject *x) { return run(OP_negative, &x, 1); }
static PyObject *absolute(PyObject *x) {
  return types_is_complex(type_of(x)) ? composite("abs", x, NULL) : run(OP_absolute, &x, 1);
}

/* Returns the value of an eager tensor with one element as a Python number. */
static PyObject *scalar(PyObject *self) {
  if (!IS_TENSOR(self))
    return PyErr_Format(PyExc_TypeError, "%S has no value: it is a tensor of a graph.", self);
  PyObject *array = array_from_tensor(TENSOR_OF(self));
  PyObject *number = array ? PyObject_CallMethod(array, "item", NULL) : NULL;
  if (!number && array && PyErr_ExceptionMatches(PyExc_AttributeError)) {
    PyErr_Clear();
    return array;
  }
  if (!number && array && PyErr_ExceptionMatches(PyExc_ValueError)) /* NumPy's item() */
    PyErr_SetString(PyExc_TypeError, "only length-1 arrays can be converted to Python scalars");
  Py_XDECREF(array);
  return number;
}

static int truth(PyObject *self) {
  if (IS_VALUE(self)) {
    Py_XDECREF(PyObject_CallMethod(self, "_refuse_bool", NULL));
    return -1;
  }
  PyObject *array = array_from_tensor(TENSOR_OF(self));
  const int result = array ? PyObject_IsTrue(array) : -1;
  Py_XDECREF(array);
  return result;
}

static PyObject *as_int(PyObject *self) {
  PyObject *number = scalar(self), *result = number ? PyNumber_Long(number) : NULL;
  Py_XDECREF(number);
  return result;
}

static PyObject *as_float(PyObject *self) {
  PyObject *number = scalar(self), *result = number ? PyNumber_Float(number) : NULL;
  Py_XDECREF(number);
  return result;
}

static PyObject *as_index(PyObject *self) {
  PyObject *number = scalar(self), *result = number ? PyNumber_Index(number) : NULL;
  Py_XDECREF(number);
  return result;
}

/* Whether the program enabled the type promotion of tf.experimental.numpy. */
static bool promotes(void) { return hooks.promote && hooks.promote != Py_None; }

/* Computes an operator; of operands of their common type if promotion is enabled. */
static PyObject *promoted(binaryfunc compute, PyObject *x, PyObject *y) {
  if (!promotes() || is_composite(x) || is_composite(y)) return compute(x, y);
  PyObject *pair = PyObject_CallFunctionObjArgs(hooks.promote, x, y, NULL), *result = NULL;
  if (pair) result = compute(PyTuple_GET_ITEM(pair, 0), PyTuple_GET_ITEM(pair, 1));
  Py_XDECREF(pair);
  return result;
}

static PyObject *nb_power(PyObject *x, PyObject *y, PyObject *modulus) {
  if (modulus != Py_None) Py_RETURN_NOTIMPLEMENTED; /* TypeError, as for arrays of NumPy */
  return promoted(power, x, y);
}

#define PROMOTED(slot) \
  static PyObject *nb_##slot(PyObject *x, PyObject *y) { return promoted(slot, x, y); }
PROMOTED(add)
PROMOTED(subtract)
PROMOTED(multiply)
PROMOTED(modulo)
PROMOTED(floor_divide)
PROMOTED(true_divide)
PROMOTED(matrix_multiply)
PROMOTED(both)
PROMOTED(either)
PROMOTED(one_of)

/* Unary +: an operator of NumPy's arrays only. */
static PyObject *positive(PyObject *self) {
  if (promotes()) return Py_NewRef(self);
  return PyErr_Format(PyExc_TypeError, "bad operand type for unary +: '%s'",
                      Py_TYPE(self)->tp_name);
}

PyNumberMethods operators_number = {.nb_add = nb_add,
                                    .nb_subtract = nb_subtract,
                                    .nb_multiply = nb_multiply,
                                    .nb_remainder = nb_modulo,
                                    .nb_power = nb_power,
                                    .nb_negative = negative,
                                    .nb_positive = positive,
                                    .nb_absolute = absolute,
                                    .nb_bool = truth,
                                    .nb_invert = invert,
                                    .nb_and = nb_both,
                                    .nb_xor = nb_one_of,
                                    .nb_or = nb_either,
                                    .nb_int = as_int,
                                    .nb_float = as_float,
                                    .nb_floor_divide = nb_floor_divide,
                                    .nb_true_divide = nb_true_divide,
                                    .nb_index = as_index,
                                    .nb_matrix_multiply = nb_matrix_multiply};

/* Returns whether == compares elements: in eager mode and its functions. */
static bool compares_elements(PyObject *a) {
  struct graph_object *graph = IS_VALUE(a) ? ((struct value_object *)a)->graph : context_graph();
  if (!graph) return IS_TENSOR(a);
  if (!context_is_eager()) return false;
  PyObject *building = PyObject_GetAttrString((PyObject *)graph, "building_function");
  if (!building) PyErr_Clear();
  const bool is_function = building == Py_True;
  Py_XDECREF(building);
  return is_function;
}

static PyObject *equal(PyObject *a, PyObject *b) { return composite("eq", a, b); }
static PyObject *not_equal(PyObject *a, PyObject *b) { return composite("ne", a, b); }

PyObject *operators_compare(PyObject *a, PyObject *b, int how) {
  static const binaryfunc which[] = {
      [Py_LT] = less,    [Py_LE] = less_equal,    [Py_EQ] = equal,
      [Py_GT] = greater, [Py_GE] = greater_equal, [Py_NE] = not_equal};
  const bool equality = how == Py_EQ || how == Py_NE;
  if (!equality || compares_elements(a)) return promoted(which[how], a, b);
  if ((a == b) == (how == Py_EQ)) Py_RETURN_TRUE;
  Py_RETURN_FALSE;
}
