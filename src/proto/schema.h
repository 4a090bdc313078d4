/* SPDX-License-Identifier: Apache-2.0
 * schema.h: the tables of message types and enums, one file per subject, and the macros that they
 * are written with. Numbers and names are those of TensorFlow's .proto files.
 *
 * A message that situ does not need, such as SavedObjectGraph, has no schema; its bytes are kept as
 * an unknown field. */
#ifndef SITU_PROTO_SCHEMA_H
#define SITU_PROTO_SCHEMA_H

#include "base/base.h"
#include "situ/message.h"

#define PROTO_MESSAGE(name) extern const situ_message_type proto_##name;
#define PROTO_ENUM(name) extern const situ_enum_type proto_##name;
#include "proto/types.def"

/* Fields of scalars, of messages and of enums: singular and repeated. */
#define FIELD(number, name, kind) \
  { #name, number, SITU_FIELD_##kind, false, false, NULL, NULL, NULL }
#define REPEATED(number, name, kind) \
  { #name, number, SITU_FIELD_##kind, true, false, NULL, NULL, NULL }
#define MESSAGE(number, name, type) \
  { #name, number, SITU_FIELD_MESSAGE, false, false, NULL, &proto_##type, NULL }
#define MESSAGES(number, name, type) \
  { #name, number, SITU_FIELD_MESSAGE, true, false, NULL, &proto_##type, NULL }
#define MAP(number, name, type) \
  { #name, number, SITU_FIELD_MESSAGE, true, true, NULL, &proto_##type, NULL }
#define ENUM(number, name, type) \
  { #name, number, SITU_FIELD_ENUM, false, false, NULL, NULL, &proto_##type }
#define ENUMS(number, name, type) \
  { #name, number, SITU_FIELD_ENUM, true, false, NULL, NULL, &proto_##type }

/* Fields of a oneof. */
#define ONEOF_FIELD(oneof, number, name, kind) \
  { #name, number, SITU_FIELD_##kind, false, false, #oneof, NULL, NULL }
#define ONEOF_MESSAGE(oneof, number, name, type) \
  { #name, number, SITU_FIELD_MESSAGE, false, false, #oneof, &proto_##type, NULL }
#define ONEOF_ENUM(oneof, number, name, type) \
  { #name, number, SITU_FIELD_ENUM, false, false, #oneof, NULL, &proto_##type }

#define SCHEMA_TYPE(symbol, name, is_entry, ...)                                                   \
  static const situ_field symbol##_fields[] = {__VA_ARGS__};                                       \
  const situ_message_type proto_##symbol = {name, symbol##_fields, (int)COUNT_OF(symbol##_fields), \
                                            is_entry};
#define MESSAGE_TYPE(symbol, name, ...) SCHEMA_TYPE(symbol, name, false, __VA_ARGS__)
#define MAP_ENTRY(symbol, name, ...) SCHEMA_TYPE(symbol, name, true, __VA_ARGS__)
#define ENUM_TYPE(symbol, name, ...)                              \
  static const situ_enum_value symbol##_values[] = {__VA_ARGS__}; \
  const situ_enum_type proto_##symbol = {name, symbol##_values, (int)COUNT_OF(symbol##_values)};

/* The name of a type or enum without its package and outer messages. */
const char *schema_short_name(const char *name);

/* The field of that number, or NULL. */
const situ_field *schema_field(const situ_message_type *type, uint64_t number);

/* The value of that name, or NULL; the name of a number, or NULL. */
const situ_enum_value *schema_enum_value(const situ_enum_type *type, const char *name,
                                         size_t length);
const char *schema_enum_name(const situ_enum_type *type, int64_t number);

#endif
