/* SPDX-License-Identifier: Apache-2.0
 * buffer.c: creates tensors from objects with the buffer protocol: NumPy arrays and scalars,
 * memoryviews. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "situ_python.h"

/* Returns the type of a format. */
static situ_type type_of(const Py_buffer *view) {
  const char *format = view->format ? view->format : "B";
  if (*format == '<' || *format == '=' || *format == '@') format++;
  if (!strcmp(format, "Zf")) return SITU_COMPLEX64;
  if (!strcmp(format, "Zd")) return SITU_COMPLEX128;
  if (strlen(format) != 1) return SITU_NO_TYPE;
  switch (*format) {
    case 'f':
      return SITU_FLOAT;
    case 'd':
      return SITU_DOUBLE;
    case 'e':
      return SITU_HALF;
    case '?':
      return SITU_BOOL;
    case 'B':
      return SITU_UINT8;
    case 'b':
      return SITU_INT8;
    case 'h':
      return SITU_INT16;
    case 'H':
      return SITU_UINT16;
    case 'i':
    case 'l':
    case 'q':
      return view->itemsize == 8 ? SITU_INT64 : view->itemsize == 4 ? SITU_INT32 : SITU_NO_TYPE;
    case 'I':
    case 'L':
    case 'Q':
      return view->itemsize == 8 ? SITU_UINT64 : view->itemsize == 4 ? SITU_UINT32 : SITU_NO_TYPE;
    default:
      return SITU_NO_TYPE;
  }
}

/* Reads a floating-point number, or the real part of a complex one. */
static double read_real(const char *at, situ_type type) {
  switch (type) {
    case SITU_FLOAT:
    case SITU_COMPLEX64:
      return (double)*(const float *)at;
    case SITU_DOUBLE:
    case SITU_COMPLEX128:
      return *(const double *)at;
    case SITU_HALF:
      return PyFloat_Unpack2(at, 1);
    default:
      return 0;
  }
}

static int64_t read_whole(const char *at, situ_type type) {
  switch (type) {
    case SITU_INT32:
      return *(const int32_t *)at;
    case SITU_INT64:
      return *(const int64_t *)at;
    case SITU_UINT8:
      return *(const uint8_t *)at;
    case SITU_INT8:
      return *(const int8_t *)at;
    case SITU_INT16:
      return *(const int16_t *)at;
    case SITU_UINT16:
      return *(const uint16_t *)at;
    case SITU_UINT32:
      return *(const uint32_t *)at;
    case SITU_UINT64:
      return (int64_t) * (const uint64_t *)at;
    case SITU_BOOL:
      return *(const bool *)at;
    default:
      return 0;
  }
}

/* Rounds to nearest, ties to even. */
static uint16_t to_bfloat16(double real) {
  const float single = (float)real;
  uint32_t bits;
  memcpy(&bits, &single, sizeof bits);
  if (isnan(single)) return (uint16_t)(bits >> 16 & 0x8000) | 0x7fc0;
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* The same, for types of 8 bits. */
static uint8_t to_float8(situ_type type, double real) {
  const bool wide = type == SITU_FLOAT8_E5M2;
  const int digits = wide ? 2 : 3, lowest = wide ? -13 : -5; /* as frexp returns exponents */
  const int overflow = wide ? 0x7c : 0x7f, sign = signbit(real) ? 0x80 : 0;
  const double magnitude = fabs(real);
  if (isnan(real)) return (uint8_t)(sign | (wide ? 0x7e : 0x7f));
  if (magnitude >= 131072) return (uint8_t)(sign | overflow);
  int exponent = 0;
  frexp(magnitude, &exponent);
  if (exponent < lowest || magnitude == 0) exponent = lowest;
  const int steps = (int)nearbyint(ldexp(magnitude, digits + 1 - exponent));
  const int bits = ((exponent - lowest) << digits) + steps;
  return (uint8_t)(sign | (bits > overflow ? overflow : bits));
}

void buffer_store_complex(char *at, situ_type type, double real, double imag) {
  const float single[2] = {(float)real, (float)imag};
  const double parts[2] = {real, imag};
  memcpy(at, type == SITU_COMPLEX64 ? (const void *)single : parts, situ_type_size(type));
}

void buffer_store(char *at, situ_type type, double real, int64_t whole) {
  switch (type) {
    case SITU_COMPLEX64:
    case SITU_COMPLEX128:
      buffer_store_complex(at, type, real, 0);
      break;
    case SITU_BFLOAT16:
      *(uint16_t *)at = to_bfloat16(real);
      break;
    case SITU_FLOAT8_E5M2:
    case SITU_FLOAT8_E4M3FN:
      *(uint8_t *)at = to_float8(type, real);
      break;
    case SITU_INT4:
      *(int8_t *)at = (int8_t)(((whole & 15) ^ 8) - 8);
      break;
    case SITU_UINT4:
      *(uint8_t *)at = (uint8_t)(whole & 15);
      break;
    case SITU_UINT32:
      *(uint32_t *)at = (uint32_t)whole;
      break;
    case SITU_UINT64:
      *(uint64_t *)at = (uint64_t)whole;
      break;
    case SITU_FLOAT:
      *(float *)at = (float)real;
      break;
    case SITU_DOUBLE:
      *(double *)at = real;
      break;
    case SITU_HALF: /* overflow becomes infinity */
      PyFloat_Pack2(fabs(real) < 65520 ? real : real * INFINITY, at, 1);
      break;
    case SITU_INT32:
      *(int32_t *)at = (int32_t)whole;
      break;
    case SITU_INT64:
      *(int64_t *)at = whole;
      break;
    case SITU_UINT8:
      *(uint8_t *)at = (uint8_t)whole;
      break;
    case SITU_INT8:
      *(int8_t *)at = (int8_t)whole;
      break;
    case SITU_INT16:
      *(int16_t *)at = (int16_t)whole;
      break;
    case SITU_UINT16:
      *(uint16_t *)at = (uint16_t)whole;
      break;
    case SITU_BOOL:
      *(bool *)at = whole != 0;
      break;
    default:
      break;
  }
}

/* Converts a real number to an integer or bool; out-of-range values as in NumPy. */
static int64_t truncated(double real, situ_type want) {
  if (want == SITU_BOOL) return real != 0;
  if (want == SITU_UINT64 && real >= 0x1p63 && real < 0x1p64) return (int64_t)(uint64_t)real;
  return real > -0x1p63 && real < 0x1p63 ? (int64_t)real : INT64_MIN;
}

/* Copies a strided array to row-major order, dimension by dimension. */
static char *copy(const Py_buffer *view, int dimension, const char *from, situ_type have,
                  situ_type want, char *to) {
  if (dimension == view->ndim) {
    if (have == want)
      memcpy(to, from, situ_type_size(have));
    else if (types_is_complex(have) && types_is_complex(want))
      buffer_store_complex(to, want, read_real(from, have),
                           read_real(from + situ_type_size(have) / 2, have));
    else if (types_is_real(have) || types_is_complex(have))
      buffer_store(to, want, read_real(from, have), truncated(read_real(from, have), want));
    else
      buffer_store(
          to, want,
          have == SITU_UINT64 ? (double)*(const uint64_t *)from : (double)read_whole(from, have),
          read_whole(from, have));
    return to + situ_type_size(want);
  }
  for (Py_ssize_t i = 0; i < view->shape[dimension]; i++)
    to = copy(view, dimension + 1, from + i * view->strides[dimension], have, want, to);
  return to;
}

static void release(void *context) {
  const PyGILState_STATE state = PyGILState_Ensure();
  PyBuffer_Release(context);
  PyMem_Free(context);
  PyGILState_Release(state);
}

/* Shares the memory: the tensor owns the buffer view. */
static situ_status wrap(Py_buffer *view, situ_type type, situ_shape shape, situ_tensor **out) {
  Py_buffer *kept = PyMem_Malloc(sizeof *kept);
  if (!kept) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  *kept = *view;
  view->obj = NULL; /* owned by the tensor now */
  const situ_status status = situ_tensor_wrap(type, shape, kept->buf, release, kept, out);
  if (status) release(kept);
  return status;
}

static situ_status make(Py_buffer *view, situ_type have, situ_type want, bool share,
                        situ_tensor **out) {
  situ_shape shape = {.rank = view->ndim};
  for (int i = 0; i < view->ndim; i++) shape.dim[i] = view->shape[i];
  const bool plain = have == want && PyBuffer_IsContiguous(view, 'C');
  if (plain && share) return wrap(view, want, shape, out);
  if (plain) return situ_tensor_create(want, shape, view->len ? view->buf : NULL, out);
  const int64_t count = situ_shape_count(shape);
  char *data = malloc((size_t)(count ? count : 1) * situ_type_size(want));
  if (!data) return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  copy(view, 0, view->buf, have, want, data);
  const situ_status status = situ_tensor_create(want, shape, data, out);
  free(data);
  return status;
}

static PyObject *refuse(PyObject *value, situ_type want) {
  if (context_graph())
    return PyErr_Format(PyExc_TypeError, "Expected %s, got %R of type '%s' instead.",
                        types_name(want), value, Py_TYPE(value)->tp_name);
  return PyErr_Format(PyExc_ValueError,
                      "Failed to convert a NumPy array to a Tensor (Unsupported object type %s).",
                      Py_TYPE(value)->tp_name);
}

situ_tensor *buffer_value(PyObject *value, situ_type type, bool share, bool *unfit) {
  Py_buffer view;
  *unfit = true;
  if (PyObject_GetBuffer(value, &view, PyBUF_FORMAT | PyBUF_STRIDES)) {
    PyErr_Clear();
    return NULL;
  }
  const situ_type have = type_of(&view), want = type == SITU_NO_TYPE ? have : type;
  situ_tensor *tensor = NULL;
  if (have != SITU_NO_TYPE && view.ndim <= SITU_MAX_RANK) {
    *unfit = false;
    if (want == SITU_STRING) { /* numeric and bool arrays convert to all types but strings */
      refuse(value, want);
    } else {
      const situ_status status = make(&view, have, want, share, &tensor);
      if (status) errors_raise(status, NULL);
    }
  }
  PyBuffer_Release(&view);
  return tensor;
}
