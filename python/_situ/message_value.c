/* SPDX-License-Identifier: Apache-2.0
 * message_value.c: converts values of fields between Python and C, with protobuf's type checks. */
#include <string.h>

#include "message.h"

PyObject *message_value_get(const situ_field *field, situ_field_value value) {
  switch (field->kind) {
    case SITU_FIELD_FLOAT:
    case SITU_FIELD_DOUBLE:
      return PyFloat_FromDouble(value.real);
    case SITU_FIELD_BOOL:
      return PyBool_FromLong(value.integer != 0);
    case SITU_FIELD_STRING:
      return PyUnicode_DecodeUTF8(value.bytes.data, (Py_ssize_t)value.bytes.length, "replace");
    case SITU_FIELD_BYTES:
      return PyBytes_FromStringAndSize(value.bytes.data, (Py_ssize_t)value.bytes.length);
    case SITU_FIELD_UINT64:
    case SITU_FIELD_FIXED64:
      return PyLong_FromUnsignedLongLong((uint64_t)value.integer);
    case SITU_FIELD_MESSAGE:
      return message_wrap(value.message);
    default:
      return PyLong_FromLongLong(value.integer);
  }
}

static int wrong_type(PyObject *object, const char *expected) {
  PyErr_Format(PyExc_TypeError, "%.100R has type %s, but expected one of: %s", object,
               Py_TYPE(object)->tp_name, expected);
  return -1;
}

static int out_of_range(PyObject *object) {
  PyErr_Format(PyExc_ValueError, "Value out of range: %R", object);
  return -1;
}

static bool is_64_bits(const situ_field *field) {
  return field->kind == SITU_FIELD_INT64 || field->kind == SITU_FIELD_UINT64 ||
         field->kind == SITU_FIELD_FIXED64;
}

static bool is_unsigned(const situ_field *field) {
  return field->kind == SITU_FIELD_UINT32 || field->kind == SITU_FIELD_UINT64 ||
         field->kind == SITU_FIELD_FIXED32 || field->kind == SITU_FIELD_FIXED64;
}

static int read_integer(const situ_field *field, PyObject *object, int64_t *out) {
  if (!PyIndex_Check(object)) return wrong_type(object, "int");
  PyObject *whole = PyNumber_Index(object);
  if (!whole) {
    PyErr_Clear();
    return wrong_type(object, "int");
  }
  int overflow = 0;
  *out = PyLong_AsLongLongAndOverflow(whole, &overflow);
  if (overflow > 0 && is_unsigned(field) && is_64_bits(field)) {
    *out = (int64_t)PyLong_AsUnsignedLongLong(whole);
    overflow = PyErr_Occurred() ? 1 : 0;
    PyErr_Clear();
  } else if (!overflow && is_unsigned(field)) {
    overflow = *out < 0 || (!is_64_bits(field) && *out > UINT32_MAX);
  } else if (!overflow && !is_64_bits(field)) {
    overflow = *out < INT32_MIN || *out > INT32_MAX;
  }
  const int failed = overflow ? out_of_range(whole) : 0;
  Py_DECREF(whole);
  return failed;
}

static int read_bool(PyObject *object, int64_t *out) {
  if (PyBool_Check(object) || PyIndex_Check(object) ||
      !strncmp(Py_TYPE(object)->tp_name, "numpy.bool", 10)) {
    const int truth = PyObject_IsTrue(object);
    *out = truth;
    return truth < 0 ? -1 : 0;
  }
  return wrong_type(object, "bool, int");
}

static int read_real(PyObject *object, double *out) {
  const PyNumberMethods *number = Py_TYPE(object)->tp_as_number;
  if (!number || !(number->nb_float || number->nb_index)) return wrong_type(object, "float, int");
  *out = PyFloat_AsDouble(object);
  return *out == -1 && PyErr_Occurred() ? -1 : 0;
}

static int read_string(PyObject *object, situ_string *out) {
  Py_ssize_t length = 0;
  if (PyUnicode_Check(object)) {
    out->data = PyUnicode_AsUTF8AndSize(object, &length);
    if (!out->data) return -1;
  } else if (PyBytes_Check(object)) {
    length = PyBytes_GET_SIZE(object);
    out->data = PyBytes_AS_STRING(object);
    PyObject *text = PyUnicode_DecodeUTF8(out->data, length, NULL);
    if (!text) return -1;
    Py_DECREF(text);
  } else {
    return wrong_type(object, "bytes, str");
  }
  out->length = (size_t)length;
  return 0;
}

static int read_bytes(PyObject *object, situ_string *out) {
  if (PyBytes_Check(object))
    *out = (situ_string){PyBytes_AS_STRING(object), (size_t)PyBytes_GET_SIZE(object)};
  else if (PyByteArray_Check(object))
    *out = (situ_string){PyByteArray_AS_STRING(object), (size_t)PyByteArray_GET_SIZE(object)};
  else
    return wrong_type(object, "bytes");
  return 0;
}

static int read_enum(const situ_field *field, PyObject *object, int64_t *out) {
  if (!PyUnicode_Check(object)) return read_integer(field, object, out);
  for (int i = 0; i < field->values->count; i++) {
    if (PyUnicode_CompareWithASCIIString(object, field->values->values[i].name)) continue;
    *out = field->values->values[i].number;
    return 0;
  }
  PyErr_Format(PyExc_ValueError, "unknown enum label \"%U\"", object);
  return -1;
}

int message_value_read(const situ_field *field, PyObject *object, situ_field_value *out) {
  switch (field->kind) {
    case SITU_FIELD_FLOAT:
    case SITU_FIELD_DOUBLE:
      return read_real(object, &out->real);
    case SITU_FIELD_BOOL:
      return read_bool(object, &out->integer);
    case SITU_FIELD_STRING:
      return read_string(object, &out->bytes);
    case SITU_FIELD_BYTES:
      return read_bytes(object, &out->bytes);
    case SITU_FIELD_ENUM:
      return read_enum(field, object, &out->integer);
    default:
      return read_integer(field, object, &out->integer);
  }
}
