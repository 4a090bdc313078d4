/* SPDX-License-Identifier: Apache-2.0
 * text_read.c: parses protobuf's text format: name: "a" attr { key: "T" value { type: DT_FLOAT } }.
 *
 * A singular field, a oneof and a key of a map may be set once. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "proto/message.h"

struct reader {
  const struct proto_source *source;
  size_t at;
  int depth;
};

static int peek(const struct reader *reader) {
  return reader->at < reader->source->length ? (unsigned char)reader->source->text[reader->at] : -1;
}

static bool is_space(int c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\v' || c == '\f';
}

static bool is_word(int c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/* Skips white space and comments. */
static void skip(struct reader *reader) {
  for (;;) {
    while (is_space(peek(reader))) reader->at++;
    if (peek(reader) != '#') return;
    while (peek(reader) >= 0 && peek(reader) != '\n') reader->at++;
  }
}

static bool take(struct reader *reader, char c) {
  skip(reader);
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

/* The error "expected ..., found ..." at the current position. */
static situ_status expected(struct reader *reader, const char *what) {
  skip(reader);
  const int c = peek(reader);
  if (c < 0) return proto_error(reader->source, reader->at, "expected %s before the end", what);
  if (c > ' ' && c <= '~')
    return proto_error(reader->source, reader->at, "expected %s, found '%c'", what, c);
  return proto_error(reader->source, reader->at, "expected %s, found byte 0x%02x", what, c);
}

/* A token of letters, digits, '_' and, in numbers, '.' and the sign of an exponent. */
struct word {
  const char *at;
  size_t offset, length;
};

static struct word read_word(struct reader *reader, bool is_number) {
  skip(reader);
  const struct word start = {reader->source->text + reader->at, reader->at, 0};
  for (int previous = 0;; previous = peek(reader), reader->at++) {
    const int c = peek(reader);
    const bool sign = (c == '+' || c == '-') && (previous == 'e' || previous == 'E');
    if (!is_word(c) && !(is_number && (c == '.' || sign))) break;
  }
  return (struct word){start.at, start.offset, reader->at - start.offset};
}

static bool equals(struct word word, const char *text) {
  return strlen(text) == word.length && !memcmp(word.at, text, word.length);
}

/* Strings */

static int digit_of(int c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return 99;
}

/* Reads up to `max_digits` digits of a base. */
static unsigned read_digits(struct reader *reader, unsigned base, int max_digits) {
  unsigned value = 0;
  for (; max_digits > 0 && (unsigned)digit_of(peek(reader)) < base; max_digits--, reader->at++)
    value = value * base + (unsigned)digit_of(peek(reader));
  return value;
}

/* Reads an escape sequence after the backslash. */
static situ_status read_escape(struct reader *reader, char *out) {
  static const char letters[] = "a\ab\bf\fn\nr\rt\tv\v\\\\''\"\"??";
  const int c = peek(reader);
  if (c >= '0' && c <= '7') {
    *out = (char)read_digits(reader, 8, 3);
    return NULL;
  }
  reader->at++;
  if ((c == 'x' || c == 'X') && digit_of(peek(reader)) < 16) {
    *out = (char)read_digits(reader, 16, 2);
    return NULL;
  }
  for (const char *at = letters; *at; at += 2) {
    if (c != *at) continue;
    *out = at[1];
    return NULL;
  }
  return proto_error(reader->source, reader->at - 2, "an unknown escape in a string");
}

/* Appends one quoted string at *end. */
static situ_status read_quoted(struct reader *reader, char **end) {
  const size_t start = reader->at;
  const int quote = peek(reader);
  reader->at++;
  for (;;) {
    const int c = peek(reader);
    if (c < 0 || c == '\n')
      return proto_error(reader->source, start, "a string is not terminated on its line");
    reader->at++;
    if (c == quote) return NULL;
    *(*end)++ = (char)c;
    if (c == '\\') TRY(read_escape(reader, *end - 1));
  }
}

/* The source length of the adjacent strings from here on: an upper bound of their contents. */
static size_t quoted_length(struct reader reader) {
  const size_t start = reader.at;
  size_t end = start;
  for (;;) {
    skip(&reader);
    const int quote = peek(&reader);
    if (quote != '"' && quote != '\'') return end - start;
    for (reader.at++; peek(&reader) >= 0 && peek(&reader) != quote; reader.at++)
      if (peek(&reader) == '\\') reader.at++;
    end = ++reader.at;
  }
}

static situ_status read_string(struct reader *reader, struct proto_value *out) {
  skip(reader);
  if (peek(reader) != '"' && peek(reader) != '\'') return expected(reader, "a string");
  struct proto_bytes *bytes =
      arena_alloc(reader->source->arena, sizeof *bytes + quoted_length(*reader) + 1);
  if (!bytes) return NO_MEMORY();
  char *end = bytes->data;
  for (skip(reader); peek(reader) == '"' || peek(reader) == '\''; skip(reader))
    TRY(read_quoted(reader, &end));
  *end = 0;
  bytes->length = (size_t)(end - bytes->data);
  out->bytes = bytes;
  return NULL;
}

/* Numbers */

enum { NUMBER_LENGTH = 400 };

/* Whether an integer that was read as the bits of a 64-bit one fits the kind of its field. */
static bool is_in_range(situ_field_kind kind, int64_t value) {
  switch (kind) {
    case SITU_FIELD_INT32:
    case SITU_FIELD_ENUM:
      return value >= INT32_MIN && value <= INT32_MAX;
    case SITU_FIELD_UINT32:
    case SITU_FIELD_FIXED32:
      return value >= 0 && value <= UINT32_MAX;
    default:
      return true;
  }
}

static situ_status read_integer(struct reader *reader, situ_field_kind kind, int64_t *out) {
  const bool is_unsigned = kind == SITU_FIELD_UINT64 || kind == SITU_FIELD_FIXED64;
  const bool negative = !is_unsigned && take(reader, '-');
  const struct word word = read_word(reader, false);
  char text[NUMBER_LENGTH], *end = NULL;
  if (!word.length || word.at[0] < '0' || word.at[0] > '9' || word.length > sizeof text - 2) {
    reader->at = word.offset;
    return expected(reader, "an integer");
  }
  text[0] = negative ? '-' : '+';
  memcpy(text + 1, word.at, word.length);
  text[word.length + 1] = 0;
  errno = 0;
  *out = is_unsigned ? (int64_t)strtoull(text, &end, 0) : strtoll(text, &end, 0);
  if (!*end && !errno && is_in_range(kind, *out)) return NULL;
  return proto_error(reader->source, word.offset,
                     *end ? "%.*s is not an integer" : "%.*s is too large", (int)word.length,
                     word.at);
}

/* Moves the decimal point into the exponent before strtod, whose decimal point depends on the
 * locale. False if the token is not a number. */
static bool parse_real(struct word word, double *out) {
  char text[NUMBER_LENGTH + 32];
  size_t count = 0, i = 0;
  int64_t exponent = 0, shift = 0;
  bool point = false;
  for (; i < word.length && count < NUMBER_LENGTH; i++) {
    const char c = word.at[i];
    if (c == '.' && !point) {
      point = true;
      continue;
    }
    if (c < '0' || c > '9') break;
    text[count++] = c;
    shift -= point;
  }
  if (!count || count == NUMBER_LENGTH) return false;
  if (i < word.length && (word.at[i] == 'e' || word.at[i] == 'E')) {
    const bool minus = ++i < word.length && word.at[i] == '-';
    if (i < word.length && (word.at[i] == '-' || word.at[i] == '+')) i++;
    const size_t first = i;
    for (; i < word.length && word.at[i] >= '0' && word.at[i] <= '9'; i++)
      if (exponent < 100000) exponent = exponent * 10 + (word.at[i] - '0');
    if (i == first) return false;
    if (minus) exponent = -exponent;
  }
  if (i < word.length && (word.at[i] == 'f' || word.at[i] == 'F')) i++;
  if (i < word.length) return false;
  snprintf(text + count, sizeof text - count, "e%" PRId64, exponent + shift);
  *out = strtod(text, NULL);
  return true;
}

static situ_status read_real(struct reader *reader, double *out) {
  const bool negative = take(reader, '-');
  const struct word word = read_word(reader, true);
  double value = 0;
  if (!word.length) return expected(reader, "a number");
  if (equals(word, "inf") || equals(word, "infinity"))
    value = (double)INFINITY;
  else if (equals(word, "nan"))
    value = (double)NAN;
  else if (!parse_real(word, &value))
    return proto_error(reader->source, word.offset, "%.*s is not a number",
                       (int)(word.length < 40 ? word.length : 40), word.at);
  *out = negative ? -value : value;
  return NULL;
}

static situ_status read_bool(struct reader *reader, int64_t *out) {
  const struct word word = read_word(reader, false);
  *out = equals(word, "true") || equals(word, "True") || equals(word, "t") || equals(word, "1");
  if (*out || equals(word, "false") || equals(word, "False") || equals(word, "f") ||
      equals(word, "0"))
    return NULL;
  reader->at = word.offset;
  return expected(reader, "true or false");
}

static situ_status read_enum(struct reader *reader, const situ_enum_type *type, int64_t *out) {
  skip(reader);
  if (peek(reader) == '-' || (peek(reader) >= '0' && peek(reader) <= '9'))
    return read_integer(reader, SITU_FIELD_ENUM, out);
  const struct word word = read_word(reader, false);
  if (!word.length) return expected(reader, "a name or a number");
  const situ_enum_value *value = schema_enum_value(type, word.at, word.length);
  if (!value)
    return proto_error(reader->source, word.offset, "Enum type \"%s\" has no value named %.*s",
                       type->name, (int)(word.length < 60 ? word.length : 60), word.at);
  *out = value->number;
  return NULL;
}

/* Messages */

static situ_status read_fields(struct reader *reader, int close, situ_message *out);

static situ_status read_scalar(struct reader *reader, const situ_field *field,
                               struct proto_value *value) {
  situ_status status = NULL;
  if (proto_is_bytes(field)) return read_string(reader, value);
  if (proto_is_real(field)) {
    status = read_real(reader, &value->real);
    if (field->kind == SITU_FIELD_FLOAT) value->real = (double)(float)value->real;
    return status;
  }
  if (field->kind == SITU_FIELD_BOOL) return read_bool(reader, &value->integer);
  if (field->values) return read_enum(reader, field->values, &value->integer);
  return read_integer(reader, field->kind, &value->integer);
}

static situ_status read_submessage(struct reader *reader, situ_message *out) {
  out->offset = (uint32_t)reader->at;
  if (++reader->depth > PROTO_MAX_DEPTH)
    return proto_error(reader->source, reader->at, "messages are nested too deeply");
  const bool brace = take(reader, '{');
  if (!brace && !take(reader, '<')) return expected(reader, "'{'");
  TRY(read_fields(reader, brace ? '}' : '>', out));
  reader->depth--;
  return NULL;
}

static situ_status read_entry(struct reader *reader, const struct proto_value *value,
                              situ_message *message, const situ_field *field) {
  const situ_field *key = &field->message->fields[0];
  situ_message *entry = value->message;
  const size_t start = reader->at;
  TRY(read_submessage(reader, entry));
  if (!proto_complete_entry(entry)) return NO_MEMORY();
  const situ_field_value own = situ_message_get(entry, key, 0);
  if (situ_message_find(message, field, own) == situ_message_count(message, field) - 1) return NULL;
  return proto_error(reader->source, start, "a key of '%s' is set twice", field->name);
}

static situ_status read_value(struct reader *reader, situ_message *message,
                              const situ_field *field) {
  skip(reader);
  struct proto_value *value = proto_add(message, field);
  if (!value) return NO_MEMORY();
  value->offset = (uint32_t)reader->at;
  if (!field->message) {
    if (proto_is_bytes(field) && !(value->bytes = proto_copy_bytes(message, "", 0)))
      return NO_MEMORY();
    return read_scalar(reader, field, value);
  }
  if (field->is_map) return read_entry(reader, value, message, field);
  return read_submessage(reader, value->message);
}

static situ_status read_values(struct reader *reader, situ_message *message,
                               const situ_field *field) {
  if (!field->is_repeated || !take(reader, '[')) return read_value(reader, message, field);
  if (take(reader, ']')) return NULL;
  do TRY(read_value(reader, message, field));
  while (take(reader, ','));
  return take(reader, ']') ? NULL : expected(reader, "',' or ']'");
}

static const situ_field *find_field(const situ_message_type *type, struct word name) {
  for (int i = 0; i < type->count; i++)
    if (equals(name, type->fields[i].name)) return &type->fields[i];
  return NULL;
}

/* A singular field and a oneof may be set once. */
static situ_status check_unset(const struct reader *reader, size_t offset,
                               const situ_message *message, const situ_field *field) {
  const situ_field *other = field->oneof ? situ_message_which(message, field->oneof) : NULL;
  if (other && other != field)
    return proto_error(reader->source, offset, "'%s' is set besides '%s' of the same oneof '%s'",
                       field->name, other->name, field->oneof);
  if (field->is_repeated || !situ_message_has(message, field)) return NULL;
  return proto_error(reader->source, offset, "'%s' is set twice", field->name);
}

static situ_status read_field(struct reader *reader, situ_message *message) {
  const struct word name = read_word(reader, false);
  if (!name.length) return expected(reader, "the name of a field");
  const situ_field *field = find_field(message->type, name);
  if (!field)
    return proto_error(reader->source, name.offset, "%s has no field '%.*s'",
                       schema_short_name(message->type->name),
                       (int)(name.length < 60 ? name.length : 60), name.at);
  TRY(check_unset(reader, name.offset, message, field));
  if (!take(reader, ':') && !field->message) return expected(reader, "':'");
  return read_values(reader, message, field);
}

/* Reads fields up to the closing bracket, or to the end of the input if that is -1. */
static situ_status read_fields(struct reader *reader, int close, situ_message *out) {
  for (;;) {
    skip(reader);
    if (peek(reader) == close) {
      reader->at += close >= 0;
      return NULL;
    }
    TRY(read_field(reader, out));
    if (!take(reader, ',')) take(reader, ';');
  }
}

situ_status text_read(const struct proto_source *source, situ_message *out) {
  struct reader reader = {source, 0, 0};
  return read_fields(&reader, -1, out);
}
