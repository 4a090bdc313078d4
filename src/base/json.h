/* SPDX-License-Identifier: Apache-2.0
 * json.h: a strict reader and a small writer of JSON (RFC 8259, UTF-8). */
#ifndef SITU_BASE_JSON_H
#define SITU_BASE_JSON_H

#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"

enum { JSON_DEPTH = 100 }; /* arrays and objects inside each other; more is an error */

enum json_kind {
  JSON_NULL,
  JSON_BOOL,
  JSON_INTEGER, /* written without fraction and exponent, and fits into an int64 */
  JSON_REAL,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
};

/* A value. Children are a list in the order of the text. */
struct json {
  enum json_kind kind;
  int32_t count;     /* children of an array or object */
  size_t offset;     /* where it begins in the text */
  const char *key;   /* of a member of an object, else NULL; ends in 0 */
  size_t key_length; /* a key may hold a 0 */
  struct json *next; /* next child of the same parent, or NULL */
  union {
    bool truth;
    int64_t integer;
    double real;
    struct {
      const char *text; /* UTF-8, ends in 0 */
      size_t length;    /* a string may hold a 0 */
    } string;
    struct {
      struct json *first, *last; /* children */
    } list;
  };
};

/* Reads one value that fills the text; everything lives in the arena. A malformed text is
 * InvalidArgument, with line and column (from 1, in bytes). A key that occurs twice in an object is
 * an error. */
situ_status json_parse(const char *text, size_t length, struct arena *arena,
                       struct json **out) SITU_MUST_USE;

/* The member of an object, or NULL (also where `value` is NULL or no object). */
const struct json *json_get(const struct json *value, const char *key);

/* The element of an array, or NULL (also where `value` is NULL or no array). */
const struct json *json_at(const struct json *value, int index);

/* The first child of an array or object, or NULL; go on with `->next`. */
const struct json *json_first(const struct json *value);

/* The value as a C type, or `otherwise` where it is NULL or of another kind. An integer is a number
 * too; a real with an integral value is no integer. */
const char *json_string(const struct json *value, const char *otherwise);
int64_t json_integer(const struct json *value, int64_t otherwise);
double json_number(const struct json *value, double otherwise);
bool json_bool(const struct json *value, bool otherwise);

/* The word for a kind in messages: "an object". */
const char *json_kind_name(enum json_kind kind);

/* Appends a text as a JSON string, with quotes. Bytes that are no UTF-8 become U+FFFD. */
void json_write_string(struct strbuf *out, const char *text);
void json_write_string_n(struct strbuf *out, const char *text, size_t length);

/* Appends a number that reads back to the same value; NaN and infinities, which JSON lacks, as
 * null. */
void json_write_real(struct strbuf *out, double value);
void json_write_integer(struct strbuf *out, int64_t value);

/* Appends a whole value on one line. */
void json_write(struct strbuf *out, const struct json *value);

#endif
