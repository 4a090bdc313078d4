/* SPDX-License-Identifier: Apache-2.0
 * prototext.c: parses protobuf's text format: name: "a" attr { key: "T" value { type: DT_FLOAT } }.
 *
 * The recursion is as deep as the nesting of message types; ignored fields are skipped without
 * recursion. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "graph/proto.h"
#include "tensor/type.h"

struct reader {
  const struct proto_source *source;
  size_t at;
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
  char *data = arena_alloc(reader->source->arena, quoted_length(*reader) + 1), *end = data;
  if (!data) return NO_MEMORY();
  for (skip(reader); peek(reader) == '"' || peek(reader) == '\''; skip(reader))
    TRY(read_quoted(reader, &end));
  *end = 0;
  out->bytes.data = data;
  out->bytes.length = (size_t)(end - data);
  return NULL;
}

/* Numbers */

enum { NUMBER_LENGTH = 400 };

static situ_status read_integer(struct reader *reader, bool is_short, int64_t *out) {
  const bool negative = take(reader, '-');
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
  *out = strtoll(text, &end, 0);
  const bool fits = !errno && (!is_short || (*out >= INT32_MIN && *out <= INT32_MAX));
  if (!*end && fits) return NULL;
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

static situ_status read_type(struct reader *reader, int64_t *out) {
  const struct word word = read_word(reader, false);
  char name[32] = "";
  if (word.length < sizeof name) memcpy(name, word.at, word.length);
  *out = situ_type_parse(name);
  if (word.length && word.at[0] >= '0' && word.at[0] <= '9') {
    reader->at = word.offset;
    TRY(read_integer(reader, true, out));
  }
  if (situ_type_size((situ_type)*out)) return NULL;
  if (!word.length) return expected(reader, "an element type");
  char text[TYPE_ERROR_TEXT];
  snprintf(name, sizeof name, "%.*s", (int)min_i64((int64_t)word.length, sizeof name - 1), word.at);
  return proto_error(reader->source, word.offset, "%s", type_error(*out, name, text));
}

/* Messages */

static situ_status read_fields(struct reader *reader, const struct proto_type *type, int close,
                               struct proto_message **out);

/* Skips a value of any kind. */
static situ_status skip_value(struct reader *reader) {
  const size_t start = reader->at;
  for (int64_t depth = 0;;) {
    skip(reader);
    const int c = peek(reader);
    struct proto_value string;
    if (c < 0) return proto_error(reader->source, start, "a value is not terminated");
    if (c == '"' || c == '\'') {
      TRY(read_string(reader, &string));
    } else if (is_word(c)) {
      read_word(reader, true);
    } else {
      depth += c == '{' || c == '<' || c == '[';
      depth -= c == '}' || c == '>' || c == ']';
      if (depth < 0) return expected(reader, "a value");
      reader->at++;
    }
    if (!depth && c != '-' && c != ':') return NULL;
  }
}

static situ_status read_scalar(struct reader *reader, struct proto_value *value) {
  switch (value->field->kind) {
    case PROTO_INT32:
      return read_integer(reader, true, &value->integer);
    case PROTO_INT64:
      return read_integer(reader, false, &value->integer);
    case PROTO_FLOAT:
    case PROTO_DOUBLE:
      return read_real(reader, &value->real);
    case PROTO_BOOL:
      return read_bool(reader, &value->integer);
    case PROTO_TYPE:
      return read_type(reader, &value->integer);
    default:
      return read_string(reader, value);
  }
}

static bool is_message(const struct proto_field *field) {
  return field->kind == PROTO_MESSAGE || field->kind == PROTO_MAP;
}

static situ_status read_value(struct reader *reader, struct proto_message *message,
                              const struct proto_field *field) {
  skip(reader);
  struct proto_value *value = proto_add(reader->source->arena, message, field);
  if (!value) return NO_MEMORY();
  value->offset = reader->at;
  if (!is_message(field)) return read_scalar(reader, value);
  if (take(reader, '{')) return read_fields(reader, field->message, '}', &value->message);
  if (take(reader, '<')) return read_fields(reader, field->message, '>', &value->message);
  return expected(reader, "'{'");
}

static situ_status read_values(struct reader *reader, struct proto_message *message,
                               const struct proto_field *field) {
  if (!field->repeated || !take(reader, '[')) return read_value(reader, message, field);
  if (take(reader, ']')) return NULL;
  do TRY(read_value(reader, message, field));
  while (take(reader, ','));
  return take(reader, ']') ? NULL : expected(reader, "',' or ']'");
}

static situ_status read_field(struct reader *reader, struct proto_message *message) {
  const struct word name = read_word(reader, false);
  if (!name.length) return expected(reader, "the name of a field");
  const struct proto_field *field = proto_field(message->type, name.at, name.length);
  if (!field)
    return proto_error(reader->source, name.offset, "%s has no field '%.*s'", message->type->name,
                       (int)(name.length < 60 ? name.length : 60), name.at);
  if (field->kind == PROTO_UNSUPPORTED)
    return proto_error(reader->source, name.offset, "'%s' of %s is not supported", field->name,
                       message->type->name);
  if (!field->repeated && field->kind != PROTO_IGNORED && proto_get(message, field->name))
    return proto_error(reader->source, name.offset, "'%s' is set twice", field->name);
  const bool colon = take(reader, ':');
  if (!colon && !is_message(field) && field->kind != PROTO_IGNORED) return expected(reader, "':'");
  return field->kind == PROTO_IGNORED ? skip_value(reader) : read_values(reader, message, field);
}

/* Reads fields up to the closing bracket, or to the end of the input if that is -1. */
static situ_status read_fields(struct reader *reader, const struct proto_type *type, int close,
                               struct proto_message **out) {
  struct proto_message *message = proto_create(reader->source->arena, type);
  if (!message) return NO_MEMORY();
  *out = message;
  for (;;) {
    skip(reader);
    if (peek(reader) == close) {
      reader->at += close >= 0;
      return NULL;
    }
    TRY(read_field(reader, message));
    if (!take(reader, ',')) take(reader, ';');
  }
}

situ_status prototext_read(const struct proto_source *source, const struct proto_type *type,
                           struct proto_message **out) {
  struct reader reader = {source, 0};
  return read_fields(&reader, type, -1, out);
}
