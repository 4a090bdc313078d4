/* SPDX-License-Identifier: Apache-2.0
 * as_string.c: AsString. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

enum { WORD = 512 }; /* longer than any double with 20 decimals */

/* How AsString writes: a printf format for real numbers and those for signed and unsigned
 * integers. */
struct format {
  char real[64], whole[64], natural[64];
  int64_t width; /* of strings; negative: aligned left */
};

/* Only real numbers have decimals. */
static situ_status check_type(const struct call *call, int64_t precision, bool notation) {
  const situ_type type = call->in[0].type;
  if (type_is_real(type) || type_is_complex(type)) return NULL;
  if (notation)
    return INVALID("scientific and shortest format not supported for datatype %s",
                   situ_type_name(type));
  if (precision > -1)
    return INVALID("precision not supported for datatype %s", situ_type_name(type));
  return NULL;
}

static situ_status read_format(const struct call *call, struct format *out) {
  const int64_t precision = call_integer(call, "precision"), width = call_integer(call, "width");
  const char *fill = call_text(call, "fill");
  const bool scientific = call_bool(call, "scientific"), shortest = call_bool(call, "shortest");
  TRY(check_type(call, precision, scientific || shortest));
  if (precision > 100 || width > 100)
    return INVALID("AsString: precision and width are at most 100.");
  if (strlen(fill) > 1) return INVALID("Fill string must be one or fewer characters");
  if (scientific && shortest) return INVALID("Cannot select both scientific and shortest notation");
  if (!strchr(" 0-+#", *fill)) return INVALID("Fill argument not supported: \"%s\"", fill);
  out->width = width < 0 ? 0 : *fill == '-' ? -width : width;
  char head[32] = "%", tail[32] = "";
  if (*fill) snprintf(head, sizeof head, "%%%s", fill);
  if (width > -1) snprintf(head + strlen(head), 8, "%lld", (long long)width);
  if (precision > -1) snprintf(tail, sizeof tail, ".%lld", (long long)precision);
  snprintf(out->real, sizeof out->real, "%s%s%c", head, tail,
           scientific ? 'e'
           : shortest ? 'g'
                      : 'f');
  snprintf(out->whole, sizeof out->whole, "%slld", head);
  snprintf(out->natural, sizeof out->natural, "%sllu", head);
  return NULL;
}

static situ_status string_shape(struct call *call) {
  struct format format;
  TRY(read_format(call, &format));
  return op_same_shape(call);
}

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
/* As TensorFlow: (1,2). */
static int write_complex(const struct format *format, double real, double imag, char word[WORD]) {
  char first[WORD / 2 - 2], second[WORD / 2 - 2];
  snprintf(first, sizeof first, format->real, real);
  snprintf(second, sizeof second, format->real, imag);
  return snprintf(word, WORD, "(%s,%s)", first, second);
}

static int write_one(const struct format *format, const situ_tensor *tensor, int64_t i,
                     char word[WORD]) {
  const void *data = situ_tensor_data(tensor);
  const situ_type type = situ_tensor_type(tensor), part = type_real(type);
  if (type_is_complex(type))
    return write_complex(format, number_at(part, data, 2 * i), number_at(part, data, 2 * i + 1),
                         word);
  if (type_is_real(type)) return snprintf(word, WORD, format->real, number_at(type, data, i));
  if (type == SITU_BOOL)
    return snprintf(word, WORD, "%s", ((const bool *)data)[i] ? "true" : "false");
  if (type == SITU_UINT64)
    return snprintf(word, WORD, format->natural, ((const unsigned long long *)data)[i]);
  return snprintf(word, WORD, format->whole, (long long)number_integer_at(type, data, i));
}
#pragma GCC diagnostic pop

/* Pads a string with blanks to a width; on the right if the width is negative. */
static situ_string pad(struct arena *arena, situ_string text, int64_t width) {
  const size_t size = (size_t)(width < 0 ? -width : width);
  if (size <= text.length) return text;
  char *padded = arena_alloc(arena, size);
  if (!padded) return text;
  memset(padded, ' ', size);
  if (text.length) memcpy(padded + (width < 0 ? 0 : size - text.length), text.data, text.length);
  return (situ_string){padded, size};
}

static situ_status compute_as_string(struct compute *compute) {
  struct format format;
  TRY(read_format(compute->call, &format));
  const situ_tensor *in = compute->in[0];
  const situ_shape shape = situ_tensor_shape(in);
  const int64_t n = situ_shape_count(shape);
  situ_string *strings = calloc((size_t)n + 1, sizeof *strings);
  struct arena arena = {0};
  for (int64_t i = 0; strings && i < n && !interrupt_pending(); i++) {
    char word[WORD];
    if (in->type == SITU_STRING) {
      strings[i] = pad(&arena, situ_tensor_string(in, i), format.width);
      continue;
    }
    const int length = write_one(&format, in, i, word);
    const size_t size = length < WORD ? (size_t)length : WORD - 1;
    strings[i] = (situ_string){arena_strndup(&arena, word, size), size};
  }
  const bool failed = !strings || arena.failed;
  const situ_status status =
      failed ? NO_MEMORY() : situ_tensor_create_strings(shape, strings, &compute->out[0]);
  arena_free(&arena);
  free(strings);
  return status;
}

static const struct op_def op_defs[] = {
    {.name = "AsString",
     .inputs = "input:T",
     .outputs = "output:string",
     .attrs = "T:{" ALL_TYPES "} precision:int=-1 "
              "scientific:bool=false shortest:bool=false width:int=-1 fill:string=''",
     .python = "as_string strings.as_string",
     .doc = "Formats elements as strings.",
     .args = "input: Tensor of numbers, booleans or strings.\n"
             "precision: Digits after the decimal point of reals; -1 selects the default.\n"
             "scientific: Use the exponential notation of %e.\n"
             "shortest: Use the shorter one of %e and %f, as %g.\n"
             "width: Minimum width of the strings; -1 does not pad.\n"
             "fill: Flag of the format: '0' pads with zeros, '-' aligns left, '+' or ' ' precedes "
             "positive numbers; empty pads with blanks on the left.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = string_shape,
     .compute = compute_as_string},
};
OP_FAMILY(as_string, op_defs);
