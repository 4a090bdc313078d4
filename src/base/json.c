/* SPDX-License-Identifier: Apache-2.0
 * json.c: a strict JSON parser (recursive descent with limited depth) and a small writer. */
#include "base/json.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
  const char *text, *at, *end;
  struct arena *arena;
  int depth;
};

/* ---- Numbers in the C locale ---- */

static double parse_real(const char *text) {
  const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t old_locale = c_locale ? uselocale(c_locale) : (locale_t)0;
  const double value = strtod(text, NULL);
  if (c_locale) uselocale(old_locale), freelocale(c_locale);
  return value;
}

/* Formats the shortest of 15 to 17 digits that parses to the same value. */
static void format_real(double value, char out[40]) {
  const locale_t c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
  const locale_t old_locale = c_locale ? uselocale(c_locale) : (locale_t)0;
  for (int precision = 15; precision <= 17; precision++) {
    snprintf(out, 40, "%.*g", precision, value);
    if (strtod(out, NULL) == value) break;
  }
  if (c_locale) uselocale(old_locale), freelocale(c_locale);
}

/* ---- Characters ---- */

static situ_status malformed(const struct parser *parser, const char *where, const char *what) {
  int line = 1;
  const char *start = parser->text;
  for (const char *c = parser->text; c < where; c++)
    if (*c == '\n') line++, start = c + 1;
  return INVALID("Malformed JSON: %s at line %d, column %zu", what, line,
                 (size_t)(where - start) + 1);
}

static int peek(const struct parser *parser) {
  return parser->at < parser->end ? (unsigned char)*parser->at : -1;
}

static bool is_digit(int c) { return c >= '0' && c <= '9'; }

static void skip_space(struct parser *parser) {
  int c;
  while ((c = peek(parser)) == ' ' || c == '\t' || c == '\n' || c == '\r') parser->at++;
}

static bool accept(struct parser *parser, char c) {
  if (peek(parser) != c) return false;
  parser->at++;
  return true;
}

static bool accept_keyword(struct parser *parser, const char *keyword) {
  const size_t length = strlen(keyword);
  if ((size_t)(parser->end - parser->at) < length || memcmp(parser->at, keyword, length))
    return false;
  parser->at += length;
  return true;
}

/* Returns the length of the UTF-8 sequence at `text` (RFC 3629: shortest form, no surrogates), or
 * 0. */
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

static situ_status parse_hex(struct parser *parser, uint32_t *out) {
  uint32_t value = 0;
  for (int i = 0; i < 4; i++) {
    const int c = peek(parser);
    const int digit = is_digit(c)            ? c - '0'
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                             : -1;
    if (digit < 0) return malformed(parser, parser->at, "expected four hexadecimal digits");
    value = value * 16 + (uint32_t)digit;
    parser->at++;
  }
  *out = value;
  return NULL;
}

/* Parses what follows `\u`; combines surrogate pairs. */
static situ_status parse_unicode(struct parser *parser, char **out) {
  const char *start = parser->at - 2;
  uint32_t code, low;
  TRY(parse_hex(parser, &code));
  if (code >= 0xD800 && code < 0xE000) {
    if (code >= 0xDC00 || !accept_keyword(parser, "\\u"))
      return malformed(parser, start, "half of a surrogate pair");
    TRY(parse_hex(parser, &low));
    if (low < 0xDC00 || low > 0xDFFF) return malformed(parser, start, "half of a surrogate pair");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  *out = utf8_put(*out, code);
  return NULL;
}

static situ_status parse_escape(struct parser *parser, char **out) {
  static const char names[] = "\"\\/bfnrt", values[] = "\"\\/\b\f\n\r\t";
  const char *start = parser->at - 1;
  const int c = peek(parser);
  const char *name = c > 0 ? strchr(names, c) : NULL;
  if (c >= 0) parser->at++;
  if (c == 'u') return parse_unicode(parser, out);
  if (!name) return malformed(parser, start, "an unknown escape");
  *(*out)++ = values[name - names];
  return NULL;
}

/* Returns the length up to the closing quote, an upper bound of the unescaped length. */
static size_t raw_length(const struct parser *parser) {
  const char *c = parser->at;
  while (c < parser->end && *c != '"') c += *c == '\\' && c + 1 < parser->end ? 2 : 1;
  return (size_t)(c - parser->at);
}

static situ_status parse_string(struct parser *parser, const char **text, size_t *length) {
  const char *start = parser->at;
  if (!accept(parser, '"')) return malformed(parser, start, "expected a string");
  char *copy = arena_alloc(parser->arena, raw_length(parser) + 1), *out = copy;
  if (!copy) return NO_MEMORY();
  while (!accept(parser, '"')) {
    const int c = peek(parser);
    if (c < 0) return malformed(parser, start, "an unterminated string");
    if (c < 0x20) return malformed(parser, parser->at, "a control character in a string");
    const size_t n = utf8_length(parser->at, (size_t)(parser->end - parser->at));
    if (!n) return malformed(parser, parser->at, "a byte that is not UTF-8");
    if (accept(parser, '\\')) {
      TRY(parse_escape(parser, &out));
      continue;
    }
    memcpy(out, parser->at, n);
    out += n;
    parser->at += n;
  }
  *out = 0;
  *text = copy;
  *length = (size_t)(out - copy);
  return NULL;
}

/* ---- Numbers ---- */

/* Scans a number of RFC 8259; `*is_integer` if it has no fraction or exponent. */
static situ_status scan_number(struct parser *parser, bool *is_integer) {
  *is_integer = true;
  accept(parser, '-');
  if (!is_digit(peek(parser))) return malformed(parser, parser->at, "expected a digit");
  if (accept(parser, '0') && is_digit(peek(parser)))
    return malformed(parser, parser->at - 1, "a number that begins with 0");
  while (is_digit(peek(parser))) parser->at++;
  if (accept(parser, '.')) {
    *is_integer = false;
    if (!is_digit(peek(parser))) return malformed(parser, parser->at, "expected a digit");
    while (is_digit(peek(parser))) parser->at++;
  }
  if (accept(parser, 'e') || accept(parser, 'E')) {
    *is_integer = false;
    if (!accept(parser, '+')) accept(parser, '-');
    if (!is_digit(peek(parser))) return malformed(parser, parser->at, "expected a digit");
    while (is_digit(peek(parser))) parser->at++;
  }
  return NULL;
}

static situ_status parse_number(struct parser *parser, struct json *value) {
  const char *start = parser->at;
  bool is_integer;
  TRY(scan_number(parser, &is_integer));
  const char *copy = arena_strndup(parser->arena, start, (size_t)(parser->at - start));
  if (!copy) return NO_MEMORY();
  errno = 0;
  const long long integer = is_integer ? strtoll(copy, NULL, 10) : 0;
  if (is_integer && !errno) {
    value->kind = JSON_INTEGER;
    value->integer = integer;
    return NULL;
  }
  value->kind = JSON_REAL;
  value->real = parse_real(copy);
  return isfinite(value->real) ? NULL : malformed(parser, start, "a number too large");
}

/* ---- Values ---- */

static situ_status parse_value(struct parser *parser, struct json *value);

static void append(struct json *parent, struct json *child) {
  if (parent->list.last)
    parent->list.last->next = child;
  else
    parent->list.first = child;
  parent->list.last = child;
  parent->count++;
}

static situ_status parse_key(struct parser *parser, struct json *child) {
  TRY(parse_string(parser, &child->key, &child->key_length));
  skip_space(parser);
  if (!accept(parser, ':')) return malformed(parser, parser->at, "expected ':'");
  skip_space(parser);
  return NULL;
}

/* Parses from behind the opening bracket up to the closing one. */
static situ_status parse_children(struct parser *parser, struct json *parent) {
  const bool is_object = parent->kind == JSON_OBJECT;
  const char close = is_object ? '}' : ']';
  skip_space(parser);
  if (accept(parser, close)) return NULL;
  for (;;) {
    struct json *child = arena_zero(parser->arena, sizeof *child);
    if (!child) return NO_MEMORY();
    if (parent->count == INT32_MAX) return malformed(parser, parser->at, "too many values");
    skip_space(parser);
    if (is_object) TRY(parse_key(parser, child));
    TRY(parse_value(parser, child));
    append(parent, child);
    skip_space(parser);
    if (accept(parser, close)) return NULL;
    if (!accept(parser, ','))
      return malformed(parser, parser->at,
                       is_object ? "expected ',' or '}'" : "expected ',' or ']'");
  }
}

static int compare_keys(const void *a, const void *b) {
  const struct json *x = *(struct json *const *)a, *y = *(struct json *const *)b;
  const size_t shorter = x->key_length < y->key_length ? x->key_length : y->key_length;
  const int order = memcmp(x->key, y->key, shorter);
  return order ? order : (x->key_length > y->key_length) - (x->key_length < y->key_length);
}

/* Rejects duplicate keys; sorts the members, so that large objects stay cheap. */
static situ_status check_unique_keys(struct parser *parser, const char *start,
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
      s = status_note(malformed(parser, start, "an object with a duplicate key"),
                      "The key is \"%s\".", members[i]->key);
  free(members);
  return s;
}

static situ_status parse_container(struct parser *parser, struct json *value, enum json_kind kind) {
  const char *start = parser->at++;
  value->kind = kind;
  if (parser->depth == JSON_DEPTH) return malformed(parser, start, "too many levels");
  parser->depth++;
  TRY(parse_children(parser, value));
  parser->depth--;
  return kind == JSON_OBJECT ? check_unique_keys(parser, start, value) : NULL;
}

static situ_status parse_value(struct parser *parser, struct json *value) {
  value->offset = (size_t)(parser->at - parser->text);
  switch (peek(parser)) {
    case '{':
      return parse_container(parser, value, JSON_OBJECT);
    case '[':
      return parse_container(parser, value, JSON_ARRAY);
    case '"':
      value->kind = JSON_STRING;
      return parse_string(parser, &value->string.text, &value->string.length);
    case 't':
    case 'f':
      value->kind = JSON_BOOL;
      value->truth = peek(parser) == 't';
      if (accept_keyword(parser, value->truth ? "true" : "false")) return NULL;
      break;
    case 'n':
      if (accept_keyword(parser, "null")) return NULL;
      break;
    default:
      if (peek(parser) == '-' || is_digit(peek(parser))) return parse_number(parser, value);
  }
  return malformed(parser, parser->at, "expected a value");
}

situ_status json_parse(const char *text, size_t length, struct arena *arena, struct json **out) {
  struct parser parser = {.text = text, .at = text, .end = text + length, .arena = arena};
  struct json *value = arena_zero(arena, sizeof *value);
  if (!value) return NO_MEMORY();
  skip_space(&parser);
  TRY(parse_value(&parser, value));
  skip_space(&parser);
  if (parser.at < parser.end) return malformed(&parser, parser.at, "expected the end");
  *out = value;
  return NULL;
}

/* ---- Access ---- */

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
  if (isfinite(value)) format_real(value, digits);
  strbuf_append(out, digits);
  /* Keeps reals distinguishable from integers. */
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
