/* SPDX-License-Identifier: Apache-2.0
 * type.c: names and sizes of the element types, all from SITU_TYPES. */
#include <string.h>

#include "situ/tensor.h"

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
