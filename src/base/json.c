/* SPDX-License-Identifier: Apache-2.0
 * json.c: see json.h. A recursive descent with a limit on its depth. */
#include "base/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct reader {
  const char *text, *at, *end;
  struct arena *arena;
  int depth;
};

/* ---- Numbers as C writes them, whatever the locale of the program ---- */

static double real_of(const char *text) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = plain ? uselocale(plain) : (locale_t)0;
  const double value = strtod(text, NULL);
  if (plain) uselocale(before), freelocale(plain);
  return value;
}

/* The shortest of the forms that read back to the same value. */
static void real_digits(double value, char out[40]) {
  const locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t before = plain ? uselocale(plain) : (locale_t)0;
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(out, 40, "%.*g", precision, value);
    if (strtod(out, NULL) == value) break;
  }
  if (plain) uselocale(before), freelocale(plain);
}

/* ---- Characters ---- */

static situ_status wrong(const struct reader *reader, const char *where, const char *what) {
  int line = 1;
  const char *start = reader->text;
  for (const char *c = reader->text; c < where; c++)
    if (*c == '\n') line++, start = c + 1;
  return INVALID("Malformed JSON: %s at line %d, column %zu", what, line,
                 (size_t)(where - start) + 1);
}

static int peek(const struct reader *reader) {
  return reader->at < reader->end ? (unsigned char)*reader->at : -1;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static void skip_space(struct reader *reader) {
  int c;
  while ((c = peek(reader)) == ' ' || c == '\t' || c == '\n' || c == '\r') reader->at++;
}

static bool take(struct reader *reader, char c) {
  if (peek(reader) != c) return false;
  reader->at++;
  return true;
}

static bool take_word(struct reader *reader, const char *word) {
  const size_t length = strlen(word);
  if ((size_t)(reader->end - reader->at) < length || memcmp(reader->at, word, length)) return false;
  reader->at += length;
  return true;
}

/* The length of the UTF-8 sequence at `text` (RFC 3629: shortest form, no surrogates), or 0. */
static size_t utf8_length(const char *text, size_t left) {
  const unsigned char *c = (const unsigned char *)text;
  const size_t n = c[0] < 0x80 ? 1 : c[0] < 0xC2 ? 0 : c[0] < 0xE0 ? 2 : c[0] < 0xF0 ? 3 : 4;
  if (!n || c[0] > 0xF4 || n > left) return 0;
  for (size_t i = 1; i < n; i++)
    if ((c[i] & 0xC0) != 0x80) return 0;
  if ((c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xED && c[1] > 0x9F)) return 0;
  if ((c[0] == 0xF0 && c[1] < 0x90) || (c[0] == 0xF4 && c[1] > 0x8F)) return 0;
  return n;
}

static char *utf8_put(char *out, uint32_t code) {
  if (code < 0x80) {
    *out++ = (char)code;
    return out;
  }
  const int tail = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  static const unsigned char head[] = {0, 0xC0, 0xE0, 0xF0};
  *out++ = (char)(head[tail] | (code >> (6 * tail)));
  for (int i = tail - 1; i >= 0; i--) *out++ = (char)(0x80 | ((code >> (6 * i)) & 0x3F));
  return out;
}

/* ---- Strings ---- */

static situ_status read_hex(struct reader *reader, uint32_t *out) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    const int c = peek(reader);
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return wrong(reader, reader->at, "expected four hexadecimal digits");
    value = value * 16 + (uint32_t)digit;
    reader->at++;
  }
  *out = value;
  return NULL;
}

/* Behind `\u`; joins a pair of surrogates. */
static situ_status read_unicode(struct reader *reader, char **out) {
  const char *start = reader->at - 2;
  uint32_t code, low;
  TRY(read_hex(reader, &code));
  if (code >= 0xD800 && code < 0xE000) {
    if (code >= 0xDC00 || !take_word(reader, "\\u"))
      return wrong(reader, start, "half of a surrogate pair");
    TRY(read_hex(reader, &low));
    if (low < 0xDC00 || low > 0xDFFF) return wrong(reader, start, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  *out = utf8_put(*out, code);
  return NULL;
}

static situ_status read_escape(struct reader *reader, char **out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *start = reader->at - 1;
  const int c = peek(reader);
  const char *name = c > 0 ? strchr(names, c) : NULL;
  if (c >= 0) reader->at++;
  if (c == 'u') return read_unicode(reader, out);
  if (!name) return wrong(reader, start, "an unknown escape");
  *(*out)++ = values[name - names];
  return NULL;
}

/* Finds the closing quote, so that the copy can be as long as it has to be: no escape grows. */
static size_t raw_length(const struct reader *reader) {
  const char *c = reader->at;
  while (c < reader->end && *c != '"') c += *c == '\\' && c + 1 < reader->end ? 2 : 1;
  return (size_t)(c - reader->at);
}

static situ_status read_string(struct reader *reader, const char **text, size_t *length) {
  const char *start = reader->at;
  if (!take(reader, '"')) return wrong(reader, start, "expected a string");
  char *copy = arena_alloc(reader->arena, raw_length(reader) + 1), *out = copy;
  if (!copy) return NO_MEMORY();
  while (!take(reader, '"')) {
    const int c = peek(reader);
    if (c < 0) return wrong(reader, start, "a string without its end");
    if (c < 0x20) return wrong(reader, reader->at, "a control character in a string");
    const size_t n = utf8_length(reader->at, (size_t)(reader->end - reader->at));
    if (!n) return wrong(reader, reader->at, "a byte that is not UTF-8");
    if (take(reader, '\\')) {
      TRY(read_escape(reader, &out));
      continue;
    }
    memcpy(out, reader->at, n);
    out += n;
    reader->at += n;
  }
  *out = 0;
  *text = copy;
  *length = (size_t)(out - copy);
  return NULL;
}

/* ---- Numbers ---- */

/* Walks over a number as RFC 8259 writes it; `*is_integer` where it has no fraction and exponent.
 */
static situ_status scan_number(struct reader *reader, bool *is_integer) {
  *is_integer = true;
  take(reader, '-');
  if (!is_digit(peek(reader))) return wrong(reader, reader->at, "expected a digit");
  if (take(reader, '0') && is_digit(peek(reader)))
    return wrong(reader, reader->at - 1, "a number that begins with 0");
  while (is_digit(peek(reader))) reader->at++;
  if (take(reader, '.')) {
    *is_integer = false;
    if (!is_digit(peek(reader))) return wrong(reader, reader->at, "expected a digit");
    while (is_digit(peek(reader))) reader->at++;
  }
  if (take(reader, 'e') || take(reader, 'E')) {
    *is_integer = false;
    if (!take(reader, '+')) take(reader, '-');
    if (!is_digit(peek(reader))) return wrong(reader, reader->at, "expected a digit");
    while (is_digit(peek(reader))) reader->at++;
  }
  return NULL;
}

static situ_status read_number(struct reader *reader, struct json *value) {
  const char *start = reader->at;
  bool is_integer;
  TRY(scan_number(reader, &is_integer));
  const char *copy = arena_strndup(reader->arena, start, (size_t)(reader->at - start));
  if (!copy) return NO_MEMORY();
  errno = 0;
  const long long integer = is_integer ? strtoll(copy, NULL, 10) : 0;
  if (is_integer && !errno) {
    value->kind = JSON_INTEGER;
    value->integer = integer;
    return NULL;
  }
  value->kind = JSON_REAL;
  value->real = real_of(copy);
  return isfinite(value->real) ? NULL : wrong(reader, start, "a number too large");
}

/* ---- Values ---- */

static situ_status read_value(struct reader *reader, struct json *value);

static void append(struct json *parent, struct json *child) {
  if (parent->list.last)
    parent->list.last->next = child;
  else
    parent->list.first = child;
  parent->list.last = child;
  parent->count++;
}

static situ_status read_key(struct reader *reader, struct json *child) {
  TRY(read_string(reader, &child->key, &child->key_length));
  skip_space(reader);
  if (!take(reader, ':')) return wrong(reader, reader->at, "expected ':'");
  skip_space(reader);
  return NULL;
}

/* Behind the opening bracket, up to the closing one. */
static situ_status read_children(struct reader *reader, struct json *parent) {
  const bool is_object = parent->kind == JSON_OBJECT;
  const char close = is_object ? '}' : ']';
  skip_space(reader);
  if (take(reader, close)) return NULL;
  for (;;) {
    struct json *child = arena_zero(reader->arena, sizeof *child);
    if (!child) return NO_MEMORY();
    if (parent->count == INT32_MAX) return wrong(reader, reader->at, "too many values");
    skip_space(reader);
    if (is_object) TRY(read_key(reader, child));
    TRY(read_value(reader, child));
    append(parent, child);
    skip_space(reader);
    if (take(reader, close)) return NULL;
    if (!take(reader, ','))
      return wrong(reader, reader->at, is_object ? "expected ',' or '}'" : "expected ',' or ']'");
  }
}

static int compare_keys(const void *a, const void *b) {
  const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
  const size_t shorter = x->key_length < y->key_length ? x->key_length : y->key_length;
  const int order = memcmp(x->key, y->key, shorter);
  return order ? order : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

/* Sorts the members, so that an object of many of them stays cheap. */
static situ_status refuse_twins(struct reader *reader, const char *start,
                                const struct json *object) {
  if (object->count < 2) return NULL;
  struct json **members = malloc(sizeof *members * (size_t)object->count);
  if (!members) return NO_MEMORY();
  int32_t n = 0;
  for (struct json *m = object->list.first; m; m = m->next) members[n++] = m;
  qsort(members, (size_t)n, sizeof *members, compare_keys);
  situ_status s = NULL;
  for (int32_t i = 1; i < n && !s; i++)
    if (!compare_keys(&members[i - 1], &members[i]))
      s = status_note(wrong(reader, start, "an object that has a key twice"), "The key is \"%s\".",
                      members[i]->key);
  free(members);
  return s;
}

static situ_status read_list(struct reader *reader, struct json *value, enum json_kind kind) {
  const char *start = reader->at++;
  value->kind = kind;
  if (reader->depth == JSON_DEPTH) return wrong(reader, start, "too many levels");
  reader->depth++;
  TRY(read_children(reader, value));
  reader->depth--;
  return kind == JSON_OBJECT ? refuse_twins(reader, start, value) : NULL;
}

static situ_status read_value(struct reader *reader, struct json *value) {
  value->offset = (size_t)(reader->at - reader->text);
  switch (peek(reader)) {
    case '{':
      return read_list(reader, value, JSON_OBJECT);
    case '[':
      return read_list(reader, value, JSON_ARRAY);
    case '"':
      value->kind = JSON_STRING;
      return read_string(reader, &value->string.text, &value->string.length);
    case 't':
    case 'f':
      value->kind = JSON_BOOL;
      value->truth = peek(reader) == 't';
      if (take_word(reader, value->truth ? "true" : "false")) return NULL;
      break;
    case 'n':
      if (take_word(reader, "null")) return NULL;
      break;
    default:
      if (peek(reader) == '-' || is_digit(peek(reader))) return read_number(reader, value);
  }
  return wrong(reader, reader->at, "expected a value");
}

situ_status json_parse(const char *text, size_t length, struct arena *arena, struct json **out) {
  struct reader reader = {.text = text, .at = text, .end = text + length, .arena = arena};
  struct json *value = arena_zero(arena, sizeof *value);
  if (!value) return NO_MEMORY();
  skip_space(&reader);
  TRY(read_value(&reader, value));
  skip_space(&reader);
  if (reader.at < reader.end) return wrong(&reader, reader.at, "expected the end");
  *out = value;
  return NULL;
}

/* ---- Looking ---- */

const struct json *json_first(const struct json *value) {
  const bool is_list = value && (value->kind == JSON_OBJECT || value->kind == JSON_ARRAY);
  return is_list ? value->list.first : NULL;
}

const struct json *json_get(const struct json *value, const char *key) {
  if (!value || value->kind != JSON_OBJECT) return NULL;
  const size_t length = strlen(key);
  const struct json *m = value->list.first;
  while (m && (m->key_length != length || memcmp(m->key, key, length))) m = m->next;
  return m;
}

const struct json *json_at(const struct json *value, int index) {
  if (!value || value->kind != JSON_ARRAY || index < 0) return NULL;
  const struct json *child = value->list.first;
  while (child && index--) child = child->next;
  return child;
}

const char *json_string(const struct json *value, const char *otherwise) {
  return value && value->kind == JSON_STRING ? value->string.text : otherwise;
}

int64_t json_integer(const struct json *value, int64_t otherwise) {
  return value && value->kind == JSON_INTEGER ? value->integer : otherwise;
}

double json_number(const struct json *value, double otherwise) {
  if (value && value->kind == JSON_INTEGER) return (double)value->integer;
  return value && value->kind == JSON_REAL ? value->real : otherwise;
}

bool json_bool(const struct json *value, bool otherwise) {
  return value && value->kind == JSON_BOOL ? value->truth : otherwise;
}

const char *json_kind_name(enum json_kind kind) {
  static const char *const names[] = {"null",   "a truth value", "an integer", "a number",
                                      "a text", "an array",      "an object"};
  return (size_t)kind < COUNT_OF(names) ? names[kind] : "nothing";
}

/* ---- Writing ---- */

static void write_escaped(struct strbuf *out, unsigned char c) {
  static const char names[] = "\"\\bfnrt", values[] = "\"\\\b\f\n\r\t";
  const char *value = c ? strchr(values, c) : NULL;
  if (value)
    strbuf_appendf(out, "\\%c", names[value - values]);
  else
    strbuf_appendf(out, "\\u%04x", (unsigned)c);
}

void json_write_string_n(struct strbuf *out, const char *text, size_t length) {
  strbuf_append_n(out, "\"", 1);
  for (size_t i = 0, n; i < length; i += n) {
    const unsigned char c = (unsigned char)text[i];
    n = utf8_length(text + i, length - i);
    if (!n) {
      strbuf_append(out, "\xEF\xBF\xBD");
      n = 1;
    } else if (c < 0x20 || c == '"' || c == '\\' || c == 0x7F) {
      write_escaped(out, c);
    } else {
      strbuf_append_n(out, text + i, n);
    }
  }
  strbuf_append_n(out, "\"", 1);
}

void json_write_string(struct strbuf *out, const char *text) {
  json_write_string_n(out, text, strlen(text));
}

void json_write_real(struct strbuf *out, double value) {
  char digits[40] = "null";
  if (isfinite(value)) real_digits(value, digits);
  strbuf_append(out, digits);
  /* A real stays one when it is read again. */
  if (isfinite(value) && !strpbrk(digits, ".e")) strbuf_append(out, ".0");
}

void json_write_integer(struct strbuf *out, int64_t value) {
  strbuf_appendf(out, "%lld", (long long)value);
}

static void write_list(struct strbuf *out, const struct json *value) {
  const bool is_object = value->kind == JSON_OBJECT;
  strbuf_append(out, is_object ? "{" : "[");
  for (const struct json *child = value->list.first; child; child = child->next) {
    if (child != value->list.first) strbuf_append(out, ", ");
    if (is_object) {
      json_write_string_n(out, child->key, child->key_length);
      strbuf_append(out, ": ");
    }
    json_write(out, child);
  }
  strbuf_append(out, is_object ? "}" : "]");
}

void json_write(struct strbuf *out, const struct json *value) {
  switch (value->kind) {
    case JSON_NULL:
      strbuf_append(out, "null");
      break;
    case JSON_BOOL:
      strbuf_append(out, value->truth ? "true" : "false");
      break;
    case JSON_INTEGER:
      json_write_integer(out, value->integer);
      break;
    case JSON_REAL:
      json_write_real(out, value->real);
      break;
    case JSON_STRING:
      json_write_string_n(out, value->string.text, value->string.length);
      break;
    case JSON_ARRAY:
    case JSON_OBJECT:
      write_list(out, value);
  }
}
