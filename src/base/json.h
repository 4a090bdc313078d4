/* SPDX-License-Identifier: Apache-2.0
 * json.h: a strict JSON parser and a small writer (RFC 8259, UTF-8). */
#ifndef SITU_BASE_JSON_H
#define SITU_BASE_JSON_H

#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"

enum { JSON_DEPTH = 100 }; /* maximum nesting of arrays and objects */

enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_INTEGER, /* no fraction or exponent, and fits into int64 */
  JSON_REAL,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
};

/* A value. Children are linked in document order. */
struct json {
  enum json_kind kind;
  int32_t count;     /* number of children of an array or object */
  size_t offset;     /* position in the input */
  const char *key;   /* of an object member, else NULL; null-terminated */
  size_t key_length; /* a key may contain NUL */
  struct json *next; /* next sibling, or NULL */
  union {
    bool truth;
    int64_t integer;
    double real;
    struct {
      const char *text; /* UTF-8, null-terminated */
      size_t length;    /* a string may contain NUL */
    } string;
    struct {
      struct json *first, *last; /* children */
    } list;
  };
};

/* Parses one value that spans the input; allocates in the arena. InvalidArgument with line and
 * column (from 1, in bytes) if malformed. Duplicate keys in an object are an error. */
situ_status json_parse(const char *text, size_t length, struct arena *arena,
                       struct json **out) SITU_MUST_USE;

/* Returns the member of an object, or NULL (also if `value` is NULL or not an object). */
const struct json *json_get(const struct json *value, const char *key);

/* Returns the element of an array, or NULL (also if `value` is NULL or not an array). */
const struct json *json_at(const struct json *value, int index);

/* Returns the first child of an array or object, or NULL; iterate with `->next`. */
const struct json *json_first(const struct json *value);

/* Returns the value as a C type, or `otherwise` if it is NULL or of another kind. An integer is a
 * number; a real with an integral value is not an integer. */
const char *json_string(const struct json *value, const char *otherwise);
int64_t json_integer(const struct json *value, int64_t otherwise);
double json_number(const struct json *value, double otherwise);
bool json_bool(const struct json *value, bool otherwise);

/* Returns the name of a kind for messages: "an object". */
const char *json_kind_name(enum json_kind kind);

/* Appends a quoted JSON string. Invalid UTF-8 becomes U+FFFD. */
void json_write_string(struct strbuf *out, const char *text);
void json_write_string_n(struct strbuf *out, const char *text, size_t length);

/* Appends a number that parses to the same value; NaN and infinities, which JSON lacks, as null. */
void json_write_real(struct strbuf *out, double value);
void json_write_integer(struct strbuf *out, int64_t value);

/* Appends a whole value on one line. */
void json_write(struct strbuf *out, const struct json *value);

#endif
