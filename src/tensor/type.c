/* SPDX-License-Identifier: Apache-2.0
 * type.c: names and sizes of the element types, all from SITU_TYPES. */
#include "tensor/type.h"

#include <stdio.h>
#include <string.h>

/* The element types of TensorFlow that situ does not have: DataType, number, name. */
#define UNSUPPORTED_TYPES(X) \
  X(QINT8, 11, "qint8")      \
  X(QUINT8, 12, "quint8")    \
  X(QINT32, 13, "qint32")    \
  X(QINT16, 15, "qint16")    \
  X(QUINT16, 16, "quint16")

bool type_is_real(situ_type type) {
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF || type == SITU_BFLOAT16 ||
         type_is_float8(type);
}

bool type_is_float8(situ_type type) {
  return type == SITU_FLOAT8_E5M2 || type == SITU_FLOAT8_E4M3FN;
}

bool type_is_int4(situ_type type) { return type == SITU_INT4 || type == SITU_UINT4; }

situ_type type_wide(situ_type type) {
  if (type == SITU_BFLOAT16 || type_is_float8(type)) return SITU_FLOAT;
  return type == SITU_INT4 ? SITU_INT8 : type == SITU_UINT4 ? SITU_UINT8 : type;
}

bool type_is_storage(situ_type type) { return type_wide(type) != type; }

bool type_is_complex(situ_type type) { return type == SITU_COMPLEX64 || type == SITU_COMPLEX128; }

bool type_is_unsigned(situ_type type) {
  return type == SITU_UINT8 || type == SITU_UINT16 || type == SITU_UINT32 || type == SITU_UINT64 ||
         type == SITU_UINT4;
}

situ_type type_real(situ_type type) {
  return type == SITU_COMPLEX64 ? SITU_FLOAT : type == SITU_COMPLEX128 ? SITU_DOUBLE : type;
}

const char *situ_type_name(situ_type type) {
#define TYPE_NAME(name, number, bytes, type_name, numpy) \
  if ((int)type == (number)) return type_name;
  SITU_TYPES(TYPE_NAME)
#undef TYPE_NAME
  return "invalid";
}

const char *situ_type_numpy(situ_type type) {
#define TYPE_NUMPY(name, number, bytes, type_name, numpy) \
  if ((int)type == (number)) return numpy;
  SITU_TYPES(TYPE_NUMPY)
#undef TYPE_NUMPY
  return "invalid";
}

size_t situ_type_size(situ_type type) {
  switch (type) {
#define TYPE_SIZE(name, number, bytes, type_name, numpy) \
  case SITU_##name:                                      \
    return bytes;
    SITU_TYPES(TYPE_SIZE)
#undef TYPE_SIZE
    case SITU_NO_TYPE:
      break;
  }
  return 0;
}

situ_type situ_type_parse(const char *name) {
  if (!name) return SITU_NO_TYPE;
#define TYPE_PARSE(name_, number, bytes, type_name, numpy)                             \
  if (!strcmp(name, type_name) || !strcmp(name, numpy) || !strcmp(name, "DT_" #name_)) \
    return SITU_##name_;
  SITU_TYPES(TYPE_PARSE)
#undef TYPE_PARSE
  return SITU_NO_TYPE;
}

static const char *unsupported(int64_t number, const char *text) {
#define UNSUPPORTED_NAME(name, number_, tf_name) \
  if (number == (number_) || (text && !strcmp(text, "DT_" #name))) return tf_name;
  UNSUPPORTED_TYPES(UNSUPPORTED_NAME)
#undef UNSUPPORTED_NAME
  return NULL;
}

const char *type_error(int64_t number, const char *name, char out[TYPE_ERROR_TEXT]) {
  const char *tf_name = unsupported(number, name);
  if (tf_name)
    snprintf(out, TYPE_ERROR_TEXT, "%s is not supported by situ yet", tf_name);
  else if (name)
    snprintf(out, TYPE_ERROR_TEXT, "unknown element type %.40s", name);
  else
    snprintf(out, TYPE_ERROR_TEXT, "unknown element type %lld", (long long)number);
  return out;
}
