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
#include "tensor/type.h"

enum { PRECISION = 8, THRESHOLD = 1000, EDGE = 3, LINE_WIDTH = 75 };

/* The common format of floats. */
struct format {
  bool sign;                               /* a plus sign before numbers that are not negative */
  int left, right;                         /* characters before and after the point */
  bool scientific;                         /* scientific notation */
  int fraction, exponent_digits;           /* its digits */
  double largest, smallest;                /* of the finite nonzero magnitudes */
  bool any_special, any_negative_infinity; /* nan, inf */
};

/* The array and the results of the first pass. */
struct array {
  situ_type type;
  const situ_shape *shape;
  const char *data;
  int64_t strides[SITU_MAX_RANK]; /* in elements */
  bool summarize;
  int width;               /* width of an integer */
  struct format format[2]; /* of floats, or of the real and imaginary parts */
  int part;                /* the part that is measured or written */
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

/* Element `index`, or its part that is measured or written. */
static double float_at(const struct array *array, int64_t index) {
  const bool is_complex = type_is_complex(array->type);
  return number_at(type_real(array->type), array->data,
                   is_complex ? 2 * index + array->part : index);
}

static struct format *format_of(struct array *array) { return &array->format[array->part]; }

static int max_int(int width, int other) { return width > other ? width : other; }

static void measure_integer(struct array *array, int64_t index) {
  const int64_t value = number_integer_at(array->type, array->data, index);
  const int width = array->type == SITU_UINT64 ? snprintf(NULL, 0, "%" PRIu64, (uint64_t)value)
                                               : snprintf(NULL, 0, "%" PRId64, value);
  array->width = max_int(array->width, width);
}

static void measure_range(struct array *array, int64_t index) {
  struct format *format = format_of(array);
  const double value = float_at(array, index);
  if (!isfinite(value)) {
    format->any_special = true;
    if (isinf(value) && value < 0) format->any_negative_infinity = true;
    return;
  }
  const double magnitude = fabs(value);
  if (magnitude == 0) return;
  if (magnitude > format->largest) format->largest = magnitude;
  if (format->smallest == 0 || magnitude < format->smallest) format->smallest = magnitude;
}

/* NumPy compares in the type of the array. */
static bool needs_exponents(situ_type type, const struct format *format) {
  if (format->largest == 0) return false;
  return format->largest >= 1e8 || format->smallest < number_as(type, 1e-4) ||
         number_as(type, format->largest / format->smallest) > 1000;
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

/* Characters of the sign of a number. */
static int sign_width(const struct format *format, const struct decimal *d) {
  return d->negative || format->sign;
}

static void measure_positional(struct array *array, int64_t index) {
  struct format *format = format_of(array);
  const double value = float_at(array, index);
  if (!isfinite(value)) return;
  struct decimal d;
  digits_positional(type_real(array->type), value, &d);
  const int whole = d.exponent < 0 ? 1 : d.exponent + 1;
  format->left = max_int(format->left, whole + sign_width(format, &d));
  format->right = max_int(format->right, d.count - 1 - d.exponent);
}

static void measure_scientific(struct array *array, int64_t index) {
  struct format *format = format_of(array);
  const double value = float_at(array, index);
  if (!isfinite(value)) return;
  struct decimal d;
  digits_scientific(type_real(array->type), value, PRECISION, &d);
  format->left = max_int(format->left, 1 + sign_width(format, &d));
  format->fraction = max_int(format->fraction, d.count - 1);
  format->exponent_digits = max_int(format->exponent_digits, abs(d.exponent) > 99 ? 3 : 2);
}

static void measure_part(struct array *array, int part) {
  struct format *format = &array->format[part];
  array->part = part;
  format->sign = part == 1;
  visit_elements(array, 0, 0, measure_range);
  format->scientific = needs_exponents(type_real(array->type), format);
  visit_elements(array, 0, 0, format->scientific ? measure_scientific : measure_positional);
  if (format->scientific) format->right = format->exponent_digits + 2 + format->fraction;
  if (!format->any_special) return;
  const int longest = 3 + (format->any_negative_infinity || format->sign); /* -inf, nan */
  format->left = max_int(format->left, longest - (format->right + 1));
}

static void measure_floats(struct array *array) {
  measure_part(array, 0);
  if (type_is_complex(array->type)) measure_part(array, 1);
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

static void write_sign(const struct format *format, bool negative, struct strbuf *out) {
  strbuf_append(out, negative ? "-" : format->sign ? "+" : "");
}

static void write_positional(const struct format *format, situ_type type, double value,
                             struct strbuf *out) {
  struct decimal d;
  digits_positional(type, value, &d);
  const int whole = d.exponent < 0 ? 1 : d.exponent + 1;
  const int fraction = max_int(0, d.count - 1 - d.exponent);
  pad(out, format->left - whole - sign_width(format, &d));
  write_sign(format, d.negative, out);
  write_whole(&d, out);
  strbuf_append(out, ".");
  write_fraction(&d, fraction, out);
  pad(out, format->right - fraction);
}

static void write_scientific(const struct format *format, situ_type type, double value,
                             struct strbuf *out) {
  struct decimal d;
  digits_scientific(type, value, format->fraction, &d);
  if (d.count - 1 < format->fraction) number_round(value, format->fraction + 1, &d);
  pad(out, format->left - 1 - sign_width(format, &d));
  const int exponent = d.exponent;
  d.exponent = 0;
  write_sign(format, d.negative, out);
  strbuf_appendf(out, "%c.", d.digits[0]);
  write_fraction(&d, format->fraction, out);
  strbuf_appendf(out, "e%c%0*d", exponent < 0 ? '-' : '+', format->exponent_digits, abs(exponent));
}

static const char *special_name(double value) {
  return isnan(value) ? "nan" : value < 0 ? "-inf" : "inf";
}

static void write_float(const struct format *format, situ_type type, double value,
                        struct strbuf *out) {
  if (!isfinite(value)) {
    const char *word = special_name(value);
    const bool plus = format->sign && *word != '-';
    pad(out, format->left + format->right + 1 - (int)strlen(word) - plus);
    strbuf_append(out, plus ? "+" : "");
    strbuf_append(out, word);
  } else if (format->scientific) {
    write_scientific(format, type, value, out);
  } else {
    write_positional(format, type, value, out);
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

/* Writes a part of a complex scalar: as write_single, without ".0". */
static void write_single_part(situ_type type, double value, struct strbuf *out) {
  write_single(type, value, out);
  if (out->length > 2 && !strcmp(out->data + out->length - 2, ".0"))
    out->data[out->length -= 2] = 0;
}

/* Writes as str() of a complex scalar of NumPy: (1+2j), or 2j without a real part. */
static void write_single_complex(situ_type type, double real, double imag, struct strbuf *out) {
  const bool is_pure = real == 0 && !signbit(real);
  if (!is_pure) {
    strbuf_append(out, "(");
    write_single_part(type, real, out);
    strbuf_append(out, signbit(imag) && !isnan(imag) ? "" : "+");
  }
  write_single_part(type, imag, out);
  strbuf_append(out, is_pure ? "j" : "j)");
}

/* The "j" of an imaginary part follows its last digit. */
static void write_complex(const struct array *array, double real, double imag, struct strbuf *out) {
  const situ_type type = type_real(array->type);
  write_float(&array->format[0], type, real, out);
  write_float(&array->format[1], type, imag, out);
  size_t end = out->length;
  while (end && out->data[end - 1] == ' ') end--;
  strbuf_append(out, " ");
  if (out->failed) return;
  memmove(out->data + end + 1, out->data + end, out->length - end - 1);
  out->data[end] = 'j';
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

static void write_integer(const struct array *array, int64_t index, struct strbuf *out) {
  const int width = array->shape->rank ? array->width : 0;
  const int64_t value = number_integer_at(array->type, array->data, index);
  if (array->type == SITU_UINT64)
    strbuf_appendf(out, "%*" PRIu64, width, (uint64_t)value);
  else
    strbuf_appendf(out, "%*" PRId64, width, value);
}

static void write_element(const struct array *array, int64_t index, struct strbuf *out) {
  const bool single = array->shape->rank == 0;
  if (array->type == SITU_STRING) {
    write_string(tensor_string_at(array->data, index), out);
  } else if (array->type == SITU_BOOL) {
    const bool truth = number_integer_at(array->type, array->data, index) != 0;
    strbuf_append(out, !truth ? "False" : single ? "True" : " True");
  } else if (type_is_complex(array->type)) {
    const situ_type part = type_real(array->type);
    const double real = number_at(part, array->data, 2 * index);
    const double imag = number_at(part, array->data, 2 * index + 1);
    if (single)
      write_single_complex(part, real, imag, out);
    else
      write_complex(array, real, imag, out);
  } else if (!type_is_real(array->type)) {
    write_integer(array, index, out);
  } else if (single) {
    write_single(array->type, number_at(array->type, array->data, index), out);
  } else {
    write_float(&array->format[0], array->type, number_at(array->type, array->data, index), out);
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
  if (type_is_real(type) || type_is_complex(type))
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
