/* SPDX-License-Identifier: Apache-2.0
 * json_format.c: parses and writes protobuf's JSON format: camelCase names (snake_case is
 * accepted), 64-bit integers as strings, bytes in base64, maps as objects, "NaN" and "Infinity" as
 * strings. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "proto/message.h"
#include "tensor/number.h"

/* Names */

enum { NAME_LENGTH = 64 };

/* Converts tensor_shape to tensorShape. */
static const char *to_camel_case(const char *name, char out[NAME_LENGTH]) {
  size_t length = 0;
  for (const char *at = name; *at && length < NAME_LENGTH - 1; at++) {
    const bool is_joint = *at == '_' && at[1] >= 'a' && at[1] <= 'z';
    if (is_joint) at++;
    out[length++] = is_joint ? (char)(*at - 32) : *at;
  }
  out[length] = 0;
  return out;
}

static const situ_field *find_field(const situ_message_type *type, const char *key) {
  char name[NAME_LENGTH];
  for (int i = 0; i < type->count; i++)
    if (!strcmp(type->fields[i].name, key) ||
        !strcmp(to_camel_case(type->fields[i].name, name), key))
      return &type->fields[i];
  return NULL;
}

/* Base64 */

static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void write_base64(struct strbuf *out, const char *data, size_t length) {
  const unsigned char *bytes = (const unsigned char *)data;
  strbuf_append(out, "\"");
  for (size_t i = 0; i < length; i += 3) {
    const size_t left = length - i;
    const unsigned group = (unsigned)bytes[i] << 16 | (left > 1 ? (unsigned)bytes[i + 1] << 8 : 0) |
                           (left > 2 ? (unsigned)bytes[i + 2] : 0);
    const char four[] = {letters[group >> 18], letters[group >> 12 & 63],
                         left > 1 ? letters[group >> 6 & 63] : '=',
                         left > 2 ? letters[group & 63] : '='};
    strbuf_append_n(out, four, sizeof four);
  }
  strbuf_append(out, "\"");
}

static int value_of(char c) {
  if (c == '-') c = '+'; /* URL-safe alphabet */
  if (c == '_') c = '/';
  const char *at = c ? strchr(letters, c) : NULL;
  return at ? (int)(at - letters) : -1;
}

/* Decodes base64; false: malformed. `out` has at least `length` bytes. */
static bool read_base64(const char *text, size_t length, char *out, size_t *count) {
  unsigned group = 0;
  size_t n = 0, used = 0;
  while (length && text[length - 1] == '=') length--;
  for (; used < length; used++) {
    const int value = value_of(text[used]);
    if (value < 0) return false;
    group = group << 6 | (unsigned)value;
    if (used % 4) out[n++] = (char)(group >> (6 - used % 4 * 2) & 255);
  }
  *count = n;
  return length % 4 != 1;
}

/* Reading */

static situ_status kind_error(const struct proto_source *source, const struct json *json,
                              const situ_field *field, const char *what) {
  return proto_error(source, json->offset, "'%s' must be %s, not %s", field->name, what,
                     json_kind_name(json->kind));
}

/* The range of a kind of integers. */
static bool is_in_range(situ_field_kind kind, int64_t value) {
  if (kind == SITU_FIELD_INT32 || kind == SITU_FIELD_ENUM)
    return value >= INT32_MIN && value <= INT32_MAX;
  if (kind == SITU_FIELD_UINT32 || kind == SITU_FIELD_FIXED32)
    return value >= 0 && value <= UINT32_MAX;
  return true;
}

/* Parses a whole string as an integer. */
static bool parse_integer(const char *text, size_t length, bool is_unsigned, int64_t *out) {
  char *end = NULL;
  if (!length || text[0] <= ' ') return false;
  errno = 0;
  *out = is_unsigned ? (int64_t)strtoull(text, &end, 10) : strtoll(text, &end, 10);
  return !errno && end == text + length;
}

static situ_status read_integer(const struct proto_source *source, const struct json *json,
                                const situ_field *field, struct proto_value *out) {
  const bool is_unsigned = field->kind == SITU_FIELD_UINT64 || field->kind == SITU_FIELD_FIXED64;
  out->integer = json_integer(json, 0);
  bool is_valid = json->kind == JSON_INTEGER;
  if (json->kind == JSON_STRING)
    is_valid = parse_integer(json->string.text, json->string.length, is_unsigned, &out->integer);
  if (!is_valid) return kind_error(source, json, field, "an integer");
  if (is_in_range(field->kind, out->integer)) return NULL;
  return proto_error(source, json->offset, "'%s' is too large", field->name);
}

static situ_status read_real(const struct proto_source *source, const struct json *json,
                             const situ_field *field, struct proto_value *out) {
  const char *text = json_string(json, "");
  out->real = json_number(json, 0);
  if (field->kind == SITU_FIELD_FLOAT) out->real = (double)(float)out->real;
  if (json->kind == JSON_INTEGER || json->kind == JSON_REAL) return NULL;
  if (!strcmp(text, "NaN"))
    out->real = (double)NAN;
  else if (!strcmp(text, "Infinity"))
    out->real = (double)INFINITY;
  else if (!strcmp(text, "-Infinity"))
    out->real = -(double)INFINITY;
  else
    return kind_error(source, json, field, "a number");
  return NULL;
}

static situ_status read_enum(const struct proto_source *source, const struct json *json,
                             const situ_field *field, struct proto_value *out) {
  if (json->kind == JSON_INTEGER) return read_integer(source, json, field, out);
  if (json->kind != JSON_STRING) return kind_error(source, json, field, "a name or a number");
  const situ_enum_value *value =
      schema_enum_value(field->values, json->string.text, json->string.length);
  if (!value)
    return proto_error(source, json->offset, "Enum type \"%s\" has no value named %.60s",
                       field->values->name, json->string.text);
  out->integer = value->number;
  return NULL;
}

static situ_status read_bytes(const struct proto_source *source, const struct json *json,
                              const situ_field *field, struct proto_value *out) {
  struct proto_bytes *bytes = NULL;
  if (json->kind != JSON_STRING) return kind_error(source, json, field, "a string");
  bytes = arena_alloc(source->arena, sizeof *bytes + json->string.length + 1);
  if (!bytes) return NO_MEMORY();
  bytes->length = json->string.length;
  if (field->kind == SITU_FIELD_STRING)
    memcpy(bytes->data, json->string.text, bytes->length);
  else if (!read_base64(json->string.text, json->string.length, bytes->data, &bytes->length))
    return proto_error(source, json->offset, "'%s' is not base64", field->name);
  bytes->data[bytes->length] = 0;
  out->bytes = bytes;
  return NULL;
}

static situ_status read_message(const struct proto_source *source, const struct json *json,
                                situ_message *out);

static situ_status read_value(const struct proto_source *source, const struct json *json,
                              situ_message *message, const situ_field *field) {
  struct proto_value *value = proto_add(message, field);
  if (!value) return NO_MEMORY();
  value->offset = (uint32_t)json->offset;
  if (field->message) return read_message(source, json, value->message);
  if (proto_is_real(field)) return read_real(source, json, field, value);
  if (proto_is_bytes(field)) {
    value->bytes = proto_copy_bytes(message, "", 0);
    return value->bytes ? read_bytes(source, json, field, value) : NO_MEMORY();
  }
  if (field->values) return read_enum(source, json, field, value);
  if (field->kind != SITU_FIELD_BOOL) return read_integer(source, json, field, value);
  value->integer = json_bool(json, false);
  return json->kind == JSON_BOOL ? NULL : kind_error(source, json, field, "true or false");
}

/* Reads an object {name: value, ...} as messages {key, value}. */
static situ_status read_map(const struct proto_source *source, const struct json *json,
                            situ_message *message, const situ_field *field) {
  const situ_field *kinds = field->message->fields;
  if (json->kind != JSON_OBJECT) return kind_error(source, json, field, "an object");
  for (const struct json *at = json_first(json); at; at = at->next) {
    situ_field_value key = {.bytes = {at->key, at->key_length}};
    int64_t number = 0;
    if (!proto_is_bytes(&kinds[0])) {
      if (!parse_integer(at->key, at->key_length, false, &number))
        return proto_error(source, at->offset, "'%.60s' is not a key of '%s'", at->key,
                           field->name);
      key.integer = number;
    }
    situ_message *entry = situ_message_map_entry(message, field, key);
    if (!entry) return NO_MEMORY();
    entry->offset = (uint32_t)at->offset;
    TRY(read_value(source, at, entry, &kinds[1]));
  }
  return NULL;
}

static situ_status read_field(const struct proto_source *source, const struct json *json,
                              situ_message *message) {
  const situ_field *field = find_field(message->type, json->key);
  if (!field)
    return proto_error(source, json->offset, "%s has no field '%.60s'",
                       schema_short_name(message->type->name), json->key);
  if (json->kind == JSON_NULL) return NULL;
  if (field->is_map) return read_map(source, json, message, field);
  if (!field->is_repeated) {
    if (!proto_slot(message, field)) return read_value(source, json, message, field);
    return proto_error(source, json->offset, "'%s' is set twice", field->name);
  }
  if (json->kind != JSON_ARRAY) return kind_error(source, json, field, "an array");
  for (const struct json *at = json_first(json); at; at = at->next)
    TRY(read_value(source, at, message, field));
  return NULL;
}

static situ_status read_message(const struct proto_source *source, const struct json *json,
                                situ_message *out) {
  out->offset = (uint32_t)json->offset;
  if (json->kind != JSON_OBJECT)
    return proto_error(source, json->offset, "expected an object (%s), found %s",
                       schema_short_name(out->type->name), json_kind_name(json->kind));
  for (const struct json *at = json_first(json); at; at = at->next)
    TRY(read_field(source, at, out));
  return NULL;
}

situ_status json_format_read(const struct proto_source *source, situ_message *out) {
  struct json *json = NULL;
  struct arena arena = {0};
  situ_status status = json_parse(source->text, source->length, &arena, &json);
  if (!status) status = read_message(source, json, out);
  arena_free(&arena);
  return status;
}

/* Writing */

static void write_real(struct strbuf *out, situ_type type, double value) {
  if (isfinite(value)) {
    const size_t start = out->length;
    number_write(out, type, value);
    /* "-0" would be read as an integer and lose its sign. */
    if (value == 0 && signbit(value) && out->length > start) strbuf_append(out, ".0");
  } else {
    strbuf_append(out, isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"");
  }
}

static void write_enum(struct strbuf *out, const situ_enum_type *type, int64_t number) {
  const char *name = schema_enum_name(type, number);
  if (name)
    strbuf_appendf(out, "\"%s\"", name);
  else
    json_write_integer(out, number);
}

static void write_value(struct strbuf *out, const situ_field *field,
                        const struct proto_value *value) {
  switch (field->kind) {
    case SITU_FIELD_INT64:
      strbuf_appendf(out, "\"%" PRId64 "\"", value->integer);
      break;
    case SITU_FIELD_UINT64:
    case SITU_FIELD_FIXED64:
      strbuf_appendf(out, "\"%" PRIu64 "\"", (uint64_t)value->integer);
      break;
    case SITU_FIELD_FLOAT:
    case SITU_FIELD_DOUBLE:
      write_real(out, field->kind == SITU_FIELD_FLOAT ? SITU_FLOAT : SITU_DOUBLE, value->real);
      break;
    case SITU_FIELD_BOOL:
      strbuf_append(out, value->integer ? "true" : "false");
      break;
    case SITU_FIELD_ENUM:
      write_enum(out, field->values, value->integer);
      break;
    case SITU_FIELD_STRING:
      json_write_string_n(out, value->bytes->data, value->bytes->length);
      break;
    case SITU_FIELD_BYTES:
      write_base64(out, value->bytes->data, value->bytes->length);
      break;
    case SITU_FIELD_MESSAGE:
      json_format_write(out, value->message);
      break;
    default:
      json_write_integer(out, value->integer);
  }
}

static void write_entry(struct strbuf *out, const situ_message *entry) {
  const situ_field *kinds = entry->type->fields;
  const struct proto_value *key = proto_slot(entry, &kinds[0]);
  if (proto_is_bytes(&kinds[0]))
    json_write_string_n(out, key->bytes->data, key->bytes->length);
  else
    strbuf_appendf(out, "\"%" PRId64 "\"", key->integer);
  strbuf_append(out, ":");
  write_value(out, &kinds[1], proto_slot(entry, &kinds[1]));
}

static void write_list(struct strbuf *out, const situ_field *field, const struct proto_list *list) {
  const struct proto_value **sorted = field->is_map ? proto_sorted_entries(list) : NULL;
  if (field->is_map && !sorted) {
    out->failed = true;
    return;
  }
  strbuf_append(out, sorted ? "{" : "[");
  for (size_t i = 0; i < list->count; i++) {
    if (i) strbuf_append(out, ",");
    if (sorted)
      write_entry(out, sorted[i]->message);
    else
      write_value(out, field, &list->items[i]);
  }
  strbuf_append(out, sorted ? "}" : "]");
  free((void *)sorted);
}

void json_format_write(struct strbuf *out, const situ_message *message) {
  bool is_first = true;
  char name[NAME_LENGTH];
  strbuf_append(out, "{");
  for (uint16_t i = 0; i < message->count; i++) {
    const struct proto_value *slot = &message->slots[i];
    const situ_field *field = proto_field_of(message, slot);
    if (!proto_is_written(message, slot)) continue;
    strbuf_appendf(out, "%s\"%s\":", is_first ? "" : ",", to_camel_case(field->name, name));
    is_first = false;
    if (field->is_repeated)
      write_list(out, field, slot->list);
    else
      write_value(out, field, slot);
  }
  strbuf_append(out, "}");
}
