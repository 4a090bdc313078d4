/* SPDX-License-Identifier: Apache-2.0
 * schema.c: looks up message types, fields and enum values. */
#include "proto/schema.h"

#include <string.h>

static const situ_message_type *const messages[] = {
#define PROTO_MESSAGE(name) &proto_##name,
#include "proto/types.def"
};

static const situ_enum_type *const enums[] = {
#define PROTO_ENUM(name) &proto_##name,
#include "proto/types.def"
};

const situ_message_type *situ_message_type_at(int index) {
  return index >= 0 && index < (int)COUNT_OF(messages) ? messages[index] : NULL;
}

const situ_enum_type *situ_enum_type_at(int index) {
  return index >= 0 && index < (int)COUNT_OF(enums) ? enums[index] : NULL;
}

const situ_message_type *situ_message_type_find(const char *name) {
  for (size_t i = 0; name && i < COUNT_OF(messages); i++)
    if (!strcmp(messages[i]->name, name)) return messages[i];
  return NULL;
}

const situ_field *situ_message_type_field(const situ_message_type *type, const char *name) {
  for (int i = 0; i < type->count; i++)
    if (!strcmp(type->fields[i].name, name)) return &type->fields[i];
  return NULL;
}

const char *schema_short_name(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? dot + 1 : name;
}

const situ_field *schema_field(const situ_message_type *type, uint64_t number) {
  /* Most numbers are dense. */
  const uint64_t guess = number - 1;
  if (guess < (uint64_t)type->count && (uint64_t)type->fields[guess].number == number)
    return &type->fields[guess];
  for (int i = 0; i < type->count; i++)
    if ((uint64_t)type->fields[i].number == number) return &type->fields[i];
  return NULL;
}

const situ_enum_value *schema_enum_value(const situ_enum_type *type, const char *name,
                                         size_t length) {
  for (int i = 0; i < type->count; i++)
    if (!strncmp(type->values[i].name, name, length) && !type->values[i].name[length])
      return &type->values[i];
  return NULL;
}

const char *schema_enum_name(const situ_enum_type *type, int64_t number) {
  for (int i = 0; i < type->count; i++)
    if (type->values[i].number == number) return type->values[i].name;
  return NULL;
}
