/* SPDX-License-Identifier: Apache-2.0
 * print.c: prints an array as str() of NumPy 1.21 to 2.2.
 *
 * Two passes over the printed elements: the first determines the common widths, the second writes.
 * More than 1000 elements are summarized: three at each end of each axis. */
#include "tensor/print.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { PRECISION = 8, THRESHOLD = 1000, EDGE = 3, LINE_WIDTH = 75 };

/* The array and the results of the first pass. */
struct array {
  situ_type type;
  const situ_shape *shape;
  const char *data;
  int64_t strides[SITU_MAX_RANK]; /* in elements */
  bool summarize;
  int width;                               /* width of an integer */
  int left, right;                         /* characters before and after the point of a float */
  bool scientific;                         /* scientific notation */
  int fraction, exponent_digits;           /* its digits */
  double largest, smallest;                /* of the finite nonzero magnitudes */
  bool any_special, any_negative_infinity; /* nan, inf */
};

typedef void visit(struct array *array, int64_t index);

static bool is_summarized(const struct array *array, int axis) {
  return array->summarize && array->shape->dim[axis] > 2 * EDGE;
}

/* Calls `function` for every printed element. */
static void visit_elements(struct array *array, int axis, int64_t base, visit *function) {
  if (axis == array->shape->rank) {
    function(array, base);
    return;
  }
  const int64_t length = array->shape->dim[axis];
  for (int64_t i = 0; i < length; i++) {
    if (i == EDGE && is_summarized(array, axis)) i = length - EDGE;
    visit_elements(array, axis + 1, base + i * array->strides[axis], function);
  }
}

static bool is_float(situ_type type) {
  return type == SITU_FLOAT || type == SITU_DOUBLE || type == SITU_HALF;
}

static int max_int(int width, int other) { return width > other ? width : other; }

static void measure_integer(struct array *array, int64_t index) {
  const int64_t value = number_integer_at(array->type, array->data, index);
  array->width = max_int(array->width, snprintf(NULL, 0, "%" PRId64, value));
}

static void measure_range(struct array *array, int64_t index) {
  const double value = number_at(array->type, array->data, index);
  if (!isfinite(value)) {
    array->any_special = true;
    if (isinf(value) && value < 0) array->any_negative_infinity = true;
    return;
  }
  const double magnitude = fabs(value);
  if (magnitude == 0) return;
  if (magnitude > array->largest) array->largest = magnitude;
  if (array->smallest == 0 || magnitude < array->smallest) array->smallest = magnitude;
}

/* Rounds to the array's type, in which NumPy compares. */
static double round_to_type(const struct array *array, double value) {
  if (array->type == SITU_FLOAT) return (double)(float)value;
  if (array->type == SITU_HALF) return number_from_half(number_to_half(value));
  return value;
}

static bool needs_exponents(const struct array *array) {
  if (array->largest == 0) return false;
  return array->largest >= 1e8 || array->smallest < round_to_type(array, 1e-4) ||
         round_to_type(array, array->largest / array->smallest) > 1000;
}

/* Returns digits with at most PRECISION after the point. */
static void digits_positional(situ_type type, double value, struct decimal *out) {
  number_shortest(type, value, out);
  if (out->count - 1 - out->exponent > PRECISION)
    number_round(value, out->exponent + 1 + PRECISION, out);
  else if (out->count < out->exponent + 1)
    number_round(value, out->exponent + 1, out); /* all digits before the point are exact */
}

/* Returns digits d.ddd with at most `fraction` after the point. */
static void digits_scientific(situ_type type, double value, int fraction, struct decimal *out) {
  number_shortest(type, value, out);
  if (out->count - 1 > fraction) number_round(value, fraction + 1, out);
}

static void measure_positional(struct array *array, int64_t index) {
  const double value = number_at(array->type, array->data, index);
  if (!isfinite(value)) return;
  struct decimal d;
  digits_positional(array->type, value, &d);
  const int whole = d.exponent < 0 ? 1 : d.exponent + 1;
  array->left = max_int(array->left, whole + d.negative);
  array->right = max_int(array->right, d.count - 1 - d.exponent);
}

static void measure_scientific(struct array *array, int64_t index) {
  const double value = number_at(array->type, array->data, index);
  if (!isfinite(value)) return;
  struct decimal d;
  digits_scientific(array->type, value, PRECISION, &d);
  array->left = max_int(array->left, 1 + d.negative);
  array->fraction = max_int(array->fraction, d.count - 1);
  array->exponent_digits = max_int(array->exponent_digits, abs(d.exponent) > 99 ? 3 : 2);
}

static void measure_floats(struct array *array) {
  visit_elements(array, 0, 0, measure_range);
  array->scientific = needs_exponents(array);
  visit_elements(array, 0, 0, array->scientific ? measure_scientific : measure_positional);
  if (array->scientific) array->right = array->exponent_digits + 2 + array->fraction;
  if (!array->any_special) return;
  const int longest = array->any_negative_infinity ? 4 : 3; /* -inf, nan */
  array->left = max_int(array->left, longest - (array->right + 1));
}

static void pad(struct strbuf *out, int count) {
  for (int i = 0; i < count; i++) strbuf_append(out, " ");
}

/* Writes the digits after the point. */
static void write_fraction(const struct decimal *d, int digits, struct strbuf *out) {
  for (int i = 1; i <= digits; i++) {
    const int at = d->exponent + i;
    const bool inside = at >= 0 && at < d->count;
    strbuf_append_n(out, inside ? d->digits + at : "0", 1);
  }
}

/* Writes the digits before the point; at least one. */
static void write_whole(const struct decimal *d, struct strbuf *out) {
  if (d->exponent < 0) strbuf_append(out, "0");
  for (int i = 0; i <= d->exponent; i++)
    strbuf_append_n(out, i < d->count ? d->digits + i : "0", 1);
}

static void write_positional(const struct array *array, double value, struct strbuf *out) {
  struct decimal d;
  digits_positional(array->type, value, &d);
  const int whole = d.exponent < 0 ? 1 : d.exponent + 1;
  const int fraction = max_int(0, d.count - 1 - d.exponent);
  pad(out, array->left - whole - d.negative);
  if (d.negative) strbuf_append(out, "-");
  write_whole(&d, out);
  strbuf_append(out, ".");
  write_fraction(&d, fraction, out);
  pad(out, array->right - fraction);
}

static void write_scientific(const struct array *array, double value, struct strbuf *out) {
  struct decimal d;
  digits_scientific(array->type, value, array->fraction, &d);
  if (d.count - 1 < array->fraction) number_round(value, array->fraction + 1, &d);
  pad(out, array->left - 1 - d.negative);
  const int exponent = d.exponent;
  d.exponent = 0;
  strbuf_appendf(out, "%s%c.", d.negative ? "-" : "", d.digits[0]);
  write_fraction(&d, array->fraction, out);
  strbuf_appendf(out, "e%c%0*d", exponent < 0 ? '-' : '+', array->exponent_digits, abs(exponent));
}

static const char *special_name(double value) {
  return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

static void write_float(const struct array *array, double value, struct strbuf *out) {
  if (!isfinite(value)) {
    const char *word = special_name(value);
    pad(out, array->left + array->right + 1 - (int)strlen(word));
    strbuf_append(out, word);
  } else if (array->scientific) {
    write_scientific(array, value, out);
  } else {
    write_positional(array, value, out);
  }
}

/* Writes a scalar: all digits that its type needs, scientific notation outside 1e-4 <= x < 1e16. */
static void write_single(situ_type type, double value, struct strbuf *out) {
  if (!isfinite(value)) {
    strbuf_append(out, special_name(value));
    return;
  }
  struct decimal d;
  number_shortest(type, value, &d);
  const double magnitude = fabs(value);
  if (d.negative) strbuf_append(out, "-");
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    write_whole(&d, out);
    strbuf_append(out, ".");
    write_fraction(&d, max_int(1, d.count - 1 - d.exponent), out);
    return;
  }
  strbuf_appendf(out, d.count > 1 ? "%c." : "%c", d.digits[0]);
  strbuf_append_n(out, d.digits + 1, (size_t)d.count - 1);
  strbuf_appendf(out, "e%c%02d", d.exponent < 0 ? '-' : '+', abs(d.exponent));
}

/* Writes as repr() of Python bytes. */
static void write_string(situ_string bytes, struct strbuf *out) {
  const char quote =
      memchr(bytes.data, '\'', bytes.length) && !memchr(bytes.data, '"', bytes.length) ? '"' : '\'';
  strbuf_appendf(out, "b%c", quote);
  for (const char *at = bytes.data; at < bytes.data + bytes.length; at++) {
    const unsigned char c = (unsigned char)*at;
    const char *escape = c ? strchr("t\tn\nr\r", c) : NULL;
    if (c == (unsigned char)quote || c == '\\')
      strbuf_appendf(out, "\\%c", c);
    else if (c < ' ' && escape)
      strbuf_appendf(out, "\\%c", escape[-1]);
    else if (c < ' ' || c > '~')
      strbuf_appendf(out, "\\x%02x", c);
    else
      strbuf_append_n(out, at, 1);
  }
  strbuf_appendf(out, "%c", quote);
}

static void write_element(const struct array *array, int64_t index, struct strbuf *out) {
  const bool single = array->shape->rank == 0;
  if (array->type == SITU_STRING) {
    write_string(tensor_string_at(array->data, index), out);
  } else if (array->type == SITU_BOOL) {
    const bool truth = number_integer_at(array->type, array->data, index) != 0;
    strbuf_append(out, !truth ? "False" : single ? "True" : " True");
  } else if (!is_float(array->type)) {
    strbuf_appendf(out, "%*" PRId64, single ? 0 : array->width,
                   number_integer_at(array->type, array->data, index));
  } else if (single) {
    write_single(array->type, number_at(array->type, array->data, index), out);
  } else {
    write_float(array, number_at(array->type, array->data, index), out);
  }
}

/* State of line wrapping within an innermost row. */
struct line_state {
  struct strbuf *out;
  int indent, width; /* of a line */
  int used;          /* characters on this line with the indentation */
};

static void trim_end(struct strbuf *out) {
  while (out->length && out->data[out->length - 1] == ' ') out->data[--out->length] = 0;
}

static void append_word(struct line_state *line_state, const char *word, int length) {
  if (line_state->used + length > line_state->width && line_state->used > line_state->indent) {
    trim_end(line_state->out);
    strbuf_append(line_state->out, "\n");
    pad(line_state->out, line_state->indent);
    line_state->used = line_state->indent;
  }
  strbuf_append_n(line_state->out, word, (size_t)length);
  line_state->used += length;
}

static void append_space(struct line_state *line_state) {
  strbuf_append(line_state->out, " ");
  line_state->used++;
}

static void write_row(const struct array *array, int64_t base, int indent, int width,
                      struct strbuf *out) {
  const int axis = array->shape->rank - 1;
  const int64_t length = array->shape->dim[axis];
  struct line_state line_state = {out, indent, width - 1, indent};
  struct strbuf word = {0};
  for (int64_t i = 0; i < length; i++) {
    if (i) append_space(&line_state);
    if (i == EDGE && is_summarized(array, axis)) {
      append_word(&line_state, "...", 3);
      append_space(&line_state);
      i = length - EDGE;
    }
    word.length = 0;
    write_element(array, base + i * array->strides[axis], &word);
    append_word(&line_state, strbuf_get(&word), (int)word.length);
  }
  out->failed = out->failed || word.failed;
  strbuf_free(&word);
}

static void write_axis(const struct array *array, int axis, int64_t base, int width,
                       struct strbuf *out) {
  const int rank = array->shape->rank;
  strbuf_append(out, "[");
  if (axis == rank - 1) {
    write_row(array, base, axis + 1, width, out);
    strbuf_append(out, "]");
    return;
  }
  for (int64_t i = 0; i < array->shape->dim[axis]; i++) {
    for (int line = 0; i && line < rank - 1 - axis; line++) strbuf_append(out, "\n");
    if (i) pad(out, axis + 1);
    if (i == EDGE && is_summarized(array, axis)) {
      strbuf_append(out, "...");
      for (int line = 0; line < rank - 1 - axis; line++) strbuf_append(out, "\n");
      pad(out, axis + 1);
      i = array->shape->dim[axis] - EDGE;
    }
    write_axis(array, axis + 1, base + i * array->strides[axis], width - 1, out);
  }
  strbuf_append(out, "]");
}

void print_array(situ_type type, const situ_shape *shape, const void *data, struct strbuf *out) {
  struct array array = {.type = type, .shape = shape, .data = data};
  const int64_t count = situ_shape_count(*shape);
  if (count <= 0) {
    strbuf_append(out, "[]");
    return;
  }
  array.summarize = count > THRESHOLD;
  int64_t stride = 1;
  for (int i = shape->rank - 1; i >= 0; i--) {
    array.strides[i] = stride;
    stride *= shape->dim[i];
  }
  if (shape->rank == 0) {
    write_element(&array, 0, out);
    return;
  }
  if (is_float(type))
    measure_floats(&array);
  else if (type != SITU_BOOL && type != SITU_STRING)
    visit_elements(&array, 0, 0, measure_integer);
  write_axis(&array, 0, 0, LINE_WIDTH, out);
}

situ_status situ_tensor_print(const situ_tensor *tensor, FILE *stream) {
  if (!tensor || !stream)
    return INVALID("situ_tensor_print: %s is NULL.", tensor ? "stream" : "tensor");
  const size_t bytes = situ_tensor_bytes(tensor);
  const situ_shape shape = situ_tensor_shape(tensor);
  const void *data = situ_tensor_data(tensor);
  void *copy = data ? NULL : malloc(bytes ? bytes : 1);
  if (!data && !copy) return NO_MEMORY();
  situ_status status = data ? NULL : situ_tensor_read(tensor, copy, bytes);
  struct strbuf text = {0};
  if (!status) print_array(situ_tensor_type(tensor), &shape, data ? data : copy, &text);
  strbuf_append(&text, "\n");
  if (!status && text.failed) status = NO_MEMORY();
  if (!status && fwrite(text.data, 1, text.length, stream) != text.length)
    status = situ_status_create(SITU_UNKNOWN, "situ_tensor_print: cannot write to the stream.");
  strbuf_free(&text);
  free(copy);
  return status;
}
