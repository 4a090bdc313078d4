/* SPDX-License-Identifier: Apache-2.0
 * protojson.c: parses and writes protobuf's JSON format: camelCase names (snake_case is accepted),
 * 64-bit integers as strings, bytes in base64, maps as objects, "NaN" and "Infinity" as strings. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "graph/attrs.h"
#include "graph/proto.h"
#include "tensor/number.h"
#include "tensor/type.h"

/* Names */

enum { NAME_LENGTH = 40 };

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

static const struct proto_field *find_field(const struct proto_type *type, const char *key) {
  char name[NAME_LENGTH];
  for (const struct proto_field *field = type->fields; field->name; field++)
    if (!strcmp(field->name, key) || !strcmp(to_camel_case(field->name, name), key)) return field;
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
                              const struct proto_field *field, const char *what) {
  return proto_error(source, json->offset, "'%s' must be %s, not %s", field->name, what,
                     json_kind_name(json->kind));
}

static situ_status read_integer(const struct proto_source *source, const struct json *json,
                                struct proto_value *out) {
  const struct proto_field *field = out->field;
  out->integer = json_integer(json, 0);
  bool is_valid = json->kind == JSON_INTEGER;
  if (json->kind == JSON_STRING && json->string.length && json->string.text[0] > ' ') {
    char *end = NULL;
    errno = 0;
    out->integer = strtoll(json->string.text, &end, 10);
    is_valid = !errno && end == json->string.text + json->string.length;
  }
  if (!is_valid) return kind_error(source, json, field, "an integer");
  if (field->kind == PROTO_INT32 && (out->integer < INT32_MIN || out->integer > INT32_MAX))
    return proto_error(source, json->offset, "'%s' is too large", field->name);
  return NULL;
}

static situ_status read_real(const struct proto_source *source, const struct json *json,
                             struct proto_value *out) {
  const char *text = json_string(json, "");
  out->real = json_number(json, 0);
  if (json->kind == JSON_INTEGER || json->kind == JSON_REAL) return NULL;
  if (!strcmp(text, "NaN"))
    out->real = (double)NAN;
  else if (!strcmp(text, "Infinity"))
    out->real = (double)INFINITY;
  else if (!strcmp(text, "-Infinity"))
    out->real = -(double)INFINITY;
  else
    return kind_error(source, json, out->field, "a number");
  return NULL;
}

static situ_status read_type(const struct proto_source *source, const struct json *json,
                             struct proto_value *out) {
  out->integer = json_integer(json, situ_type_parse(json_string(json, "")));
  if (situ_type_size((situ_type)out->integer)) return NULL;
  char text[TYPE_ERROR_TEXT];
  if (json->kind == JSON_STRING || out->integer)
    return proto_error(source, json->offset, "%s",
                       type_error(out->integer, json_string(json, NULL), text));
  return kind_error(source, json, out->field, "an element type");
}

static situ_status read_bytes(const struct proto_source *source, const struct json *json,
                              struct proto_value *out) {
  if (json->kind != JSON_STRING) return kind_error(source, json, out->field, "a string");
  out->bytes.data = json->string.text;
  out->bytes.length = json->string.length;
  if (out->field->kind == PROTO_STRING) return NULL;
  char *data = arena_alloc(source->arena, json->string.length + 1);
  if (!data) return NO_MEMORY();
  if (!read_base64(json->string.text, json->string.length, data, &out->bytes.length))
    return proto_error(source, json->offset, "'%s' is not base64", out->field->name);
  data[out->bytes.length] = 0;
  out->bytes.data = data;
  return NULL;
}

static situ_status read_message(const struct proto_source *source, const struct json *json,
                                const struct proto_type *type, struct proto_message **out);

static situ_status read_value(const struct proto_source *source, const struct json *json,
                              struct proto_message *message, const struct proto_field *field) {
  struct proto_value *value = proto_add(source->arena, message, field);
  if (!value) return NO_MEMORY();
  value->offset = json->offset;
  switch (field->kind) {
    case PROTO_INT32:
    case PROTO_INT64:
      return read_integer(source, json, value);
    case PROTO_FLOAT:
    case PROTO_DOUBLE:
      return read_real(source, json, value);
    case PROTO_BOOL:
      value->integer = json_bool(json, false);
      return json->kind == JSON_BOOL ? NULL : kind_error(source, json, field, "true or false");
    case PROTO_TYPE:
      return read_type(source, json, value);
    case PROTO_MESSAGE:
      return read_message(source, json, field->message, &value->message);
    default:
      return read_bytes(source, json, value);
  }
}

/* Reads an object {name: value, ...} as messages {key, value}. */
static situ_status read_map(const struct proto_source *source, const struct json *json,
                            struct proto_message *message, const struct proto_field *field) {
  const struct proto_type *entry = field->message;
  if (json->kind != JSON_OBJECT) return kind_error(source, json, field, "an object");
  for (const struct json *at = json_first(json); at; at = at->next) {
    struct proto_value *value = proto_add(source->arena, message, field);
    struct proto_message *pair = proto_create(source->arena, entry);
    if (!value || !pair) return NO_MEMORY();
    value->offset = at->offset;
    value->message = pair;
    struct proto_value *key = proto_add(source->arena, pair, &entry->fields[0]);
    if (!key) return NO_MEMORY();
    key->offset = at->offset;
    if (entry->fields[0].kind == PROTO_INT32) {
      key->integer = strtol(at->key, NULL, 10);
    } else {
      key->bytes.data = at->key;
      key->bytes.length = at->key_length;
    }
    TRY(read_value(source, at, pair, &entry->fields[1]));
  }
  return NULL;
}

static situ_status read_field(const struct proto_source *source, const struct json *json,
                              struct proto_message *message) {
  const struct proto_field *field = find_field(message->type, json->key);
  if (!field)
    return proto_error(source, json->offset, "%s has no field '%.60s'", message->type->name,
                       json->key);
  if (field->kind == PROTO_IGNORED || json->kind == JSON_NULL) return NULL;
  if (field->kind == PROTO_UNSUPPORTED) {
    if (json->kind == JSON_ARRAY && !json->count) return NULL;
    return proto_error(source, json->offset, "'%s' of %s is not supported", field->name,
                       message->type->name);
  }
  if (field->kind == PROTO_MAP) return read_map(source, json, message, field);
  if (!field->repeated) {
    if (!proto_get(message, field->name)) return read_value(source, json, message, field);
    return proto_error(source, json->offset, "'%s' is set twice", field->name);
  }
  if (json->kind != JSON_ARRAY) return kind_error(source, json, field, "an array");
  for (const struct json *at = json_first(json); at; at = at->next)
    TRY(read_value(source, at, message, field));
  return NULL;
}

static situ_status read_message(const struct proto_source *source, const struct json *json,
                                const struct proto_type *type, struct proto_message **out) {
  struct proto_message *message = proto_create(source->arena, type);
  if (!message) return NO_MEMORY();
  *out = message;
  if (json->kind != JSON_OBJECT)
    return proto_error(source, json->offset, "expected an object (%s), found %s", type->name,
                       json_kind_name(json->kind));
  for (const struct json *at = json_first(json); at; at = at->next)
    TRY(read_field(source, at, message));
  return NULL;
}

situ_status protojson_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) {
  struct json *json = NULL;
  TRY(json_parse(source->text, source->length, source->arena, &json));
  return read_message(source, json, type, out);
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

static void write_value(struct strbuf *out, const struct proto_value *value) {
  switch (value->field->kind) {
    case PROTO_INT32:
      json_write_integer(out, value->integer);
      break;
    case PROTO_INT64:
      strbuf_appendf(out, "\"%" PRId64 "\"", value->integer);
      break;
    case PROTO_FLOAT:
    case PROTO_DOUBLE:
      write_real(out, value->field->kind == PROTO_FLOAT ? SITU_FLOAT : SITU_DOUBLE, value->real);
      break;
    case PROTO_BOOL:
      strbuf_append(out, value->integer ? "true" : "false");
      break;
    case PROTO_TYPE:
      strbuf_appendf(out, "\"%s\"", attrs_type_name((situ_type)value->integer));
      break;
    case PROTO_STRING:
      json_write_string_n(out, value->bytes.data, value->bytes.length);
      break;
    case PROTO_BYTES:
      write_base64(out, value->bytes.data, value->bytes.length);
      break;
    default:
      protojson_write(out, value->message);
  }
}

static void write_entry(struct strbuf *out, const struct proto_message *entry) {
  json_write_string(out, proto_string(entry, "key"));
  strbuf_append(out, ":");
  write_value(out, proto_get(entry, "value"));
}

/* Writes the adjacent values of a field as one member. Returns the last one. */
static const struct proto_value *write_member(struct strbuf *out, const struct proto_value *value) {
  const struct proto_field *field = value->field;
  const bool is_map = field->kind == PROTO_MAP;
  char name[NAME_LENGTH];
  strbuf_appendf(out, "\"%s\":", to_camel_case(field->name, name));
  if (!field->repeated) {
    write_value(out, value);
    return value;
  }
  strbuf_append(out, is_map ? "{" : "[");
  for (;; value = value->next) {
    if (is_map)
      write_entry(out, value->message);
    else
      write_value(out, value);
    if (!value->next || value->next->field != field) break;
    strbuf_append(out, ",");
  }
  strbuf_append(out, is_map ? "}" : "]");
  return value;
}

void protojson_write(struct strbuf *out, const struct proto_message *message) {
  strbuf_append(out, "{");
  for (const struct proto_value *value = message->first; value; value = value->next) {
    if (value != message->first) strbuf_append(out, ",");
    value = write_member(out, value);
  }
  strbuf_append(out, "}");
}
