/* SPDX-License-Identifier: Apache-2.0
 * unicode_ops.c: UnicodeDecode, UnicodeDecodeWithOffsets, UnicodeEncode and UnicodeTranscode. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/ops.h"
#include "ops/string/unicode_decoder.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

/* The treatment of malformed input. */
struct policy {
  bool ignores, is_strict, replaces_controls;
  uint32_t replacement;
};

static situ_status read_policy(const struct call *call, bool controls, struct policy *out) {
  const char *errors = call_text(call, "errors");
  const int64_t replacement = call_integer(call, "replacement_char");
  if (replacement < 0 || replacement > UNICODE_LAST)
    return INVALID("replacement_char out of unicode codepoint range");
  out->ignores = !strcmp(errors, "ignore");
  out->is_strict = !strcmp(errors, "strict");
  out->replacement = (uint32_t)replacement;
  out->replaces_controls = controls && call_bool(call, "replace_control_characters");
  return NULL;
}

/* Checks the attributes of a decoding op. */
static situ_status check_decoding(const struct call *call) {
  struct policy policy;
  struct unicode_decoder decoder;
  TRY(read_policy(call, true, &policy));
  TRY(unicode_decoder_open(call_text(call, "input_encoding"), &decoder));
  unicode_decoder_close(&decoder);
  return NULL;
}

static bool is_replaced(const struct policy *policy, uint32_t c, bool is_malformed) {
  return is_malformed || (policy->replaces_controls && c <= 0x1F);
}

/* UnicodeDecode */

static situ_status decode_shape(struct call *call) {
  TRY(check_decoding(call));
  const int64_t n = situ_shape_count(call->in[0].shape);
  call->out[0].shape = SITU_SHAPE(n < 0 ? SITU_ANY : n + 1);
  for (int i = 1; i < call->n_out; i++) call->out[i].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

/* The characters of all strings, and the first character of each string. */
struct characters {
  int32_t *codes;
  int64_t *starts;
  int64_t count, capacity;
};

static situ_status add_character(struct characters *to, uint32_t c, size_t start) {
  if (to->count == to->capacity) {
    const int64_t capacity = to->capacity ? 2 * to->capacity : 64;
    int32_t *codes = realloc(to->codes, (size_t)capacity * sizeof *codes);
    if (codes) to->codes = codes;
    int64_t *starts = realloc(to->starts, (size_t)capacity * sizeof *starts);
    if (starts) to->starts = starts;
    if (!codes || !starts) return NO_MEMORY();
    to->capacity = capacity;
  }
  to->codes[to->count] = (int32_t)c;
  to->starts[to->count++] = (int64_t)start;
  return NULL;
}

static situ_status decode_string(struct unicode_decoder *decoder, const struct policy *policy,
                                 situ_string text, struct characters *to) {
  for (size_t at = 0; at < text.length;) {
    const size_t start = at;
    bool is_malformed;
    uint32_t c = unicode_decoder_next(decoder, text, &at, &is_malformed);
    if (is_malformed && policy->is_strict) return INVALID("Invalid formatting on input string");
    const bool replaced = is_replaced(policy, c, is_malformed);
    if (replaced && policy->ignores) continue;
    TRY(add_character(to, replaced ? policy->replacement : c, start));
  }
  return NULL;
}

static situ_status decode_all(struct compute *compute, struct unicode_decoder *decoder,
                              struct characters *to) {
  const situ_tensor *in = compute->in[0];
  const int64_t n = situ_shape_count(in->shape);
  const bool is_small = compute->call->out[0].type == SITU_INT32;
  struct policy policy;
  void *splits = NULL;
  TRY(read_policy(compute->call, true, &policy));
  TRY(compute_output(compute, 0, SITU_SHAPE(n + 1), &splits));
  for (int64_t i = 0; i <= n; i++) {
    if (is_small)
      ((int32_t *)splits)[i] = (int32_t)to->count;
    else
      ((int64_t *)splits)[i] = to->count;
    TRY(interrupt_check());
    if (i < n) TRY(decode_string(decoder, &policy, situ_tensor_string(in, i), to));
  }
  return NULL;
}

static situ_status return_characters(struct compute *compute, const struct characters *from) {
  const situ_shape shape = SITU_SHAPE(from->count);
  void *codes = NULL, *starts = NULL;
  TRY(compute_output(compute, 1, shape, &codes));
  if (from->count) memcpy(codes, from->codes, sizeof *from->codes * (size_t)from->count);
  if (compute->call->n_out < 3) return NULL;
  TRY(compute_output(compute, 2, shape, &starts));
  if (from->count) memcpy(starts, from->starts, sizeof *from->starts * (size_t)from->count);
  return NULL;
}

static situ_status compute_decode(struct compute *compute) {
  struct unicode_decoder decoder;
  struct characters characters = {0};
  TRY(unicode_decoder_open(call_text(compute->call, "input_encoding"), &decoder));
  situ_status status = decode_all(compute, &decoder, &characters);
  if (!status) status = return_characters(compute, &characters);
  unicode_decoder_close(&decoder);
  free(characters.codes);
  free(characters.starts);
  return status;
}

/* UnicodeTranscode */

static situ_status transcode_shape(struct call *call) {
  TRY(check_decoding(call));
  return op_same_shape(call);
}

static situ_status transcode_string(struct unicode_decoder *decoder, const struct policy *policy,
                                    const char *encoding, situ_string text, struct strbuf *out) {
  for (size_t at = 0; at < text.length;) {
    bool is_malformed;
    uint32_t c = unicode_decoder_next(decoder, text, &at, &is_malformed);
    const bool replaced = is_replaced(policy, c, is_malformed);
    if (replaced && policy->is_strict) return INVALID("Invalid formatting on input string");
    if (replaced && policy->ignores) continue;
    unicode_append(encoding, replaced ? policy->replacement : c, out);
  }
  return out->failed ? NO_MEMORY() : NULL;
}

/* Returns strings that were appended to one buffer, each of which ends at an offset. */
static situ_status return_strings(const struct strbuf *bytes, const size_t *ends, situ_shape shape,
                                  situ_tensor **out) {
  const int64_t n = situ_shape_count(shape);
  situ_string *strings = malloc((size_t)(n + 1) * sizeof *strings);
  if (!strings) return NO_MEMORY();
  for (int64_t i = 0; i < n; i++) {
    const size_t begin = i ? ends[i - 1] : 0;
    strings[i] = (situ_string){strbuf_get(bytes) + begin, ends[i] - begin};
  }
  const situ_status status = situ_tensor_create_strings(shape, strings, out);
  free(strings);
  return status;
}

static situ_status compute_transcode(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const char *encoding = call_text(compute->call, "output_encoding");
  const int64_t n = situ_shape_count(in->shape);
  struct unicode_decoder decoder;
  struct policy policy;
  struct strbuf bytes = {0};
  TRY(read_policy(compute->call, true, &policy));
  TRY(unicode_decoder_open(call_text(compute->call, "input_encoding"), &decoder));
  size_t *ends = calloc((size_t)n + 1, sizeof *ends);
  situ_status status = ends ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++) {
    status = transcode_string(&decoder, &policy, encoding, situ_tensor_string(in, i), &bytes);
    ends[i] = bytes.length;
    if (!status) status = interrupt_check();
  }
  if (!status) status = return_strings(&bytes, ends, in->shape, &compute->out[0]);
  unicode_decoder_close(&decoder);
  strbuf_free(&bytes);
  free(ends);
  return status;
}

/* UnicodeEncode */

static situ_status encode_shape(struct call *call) {
  struct policy policy;
  TRY(op_need_rank(call, 0, 1, "input_values"));
  TRY(op_need_rank(call, 1, 1, "input_splits"));
  TRY(read_policy(call, false, &policy));
  const situ_shape *splits = &call->in[1].shape;
  const bool known = splits->rank == 1 && splits->dim[0] > 0;
  call->out[0].shape = SITU_SHAPE(known ? splits->dim[0] - 1 : SITU_ANY);
  return NULL;
}

/* Whether a number is a code point and not a surrogate. */
static bool is_character(int32_t c) {
  return c >= 0 && c <= UNICODE_LAST && !(c >= 0xD800 && c < 0xE000);
}

static situ_status encode_one(const struct policy *policy, const char *encoding, int32_t c,
                              struct strbuf *out) {
  const bool is_valid = is_character(c);
  if (!is_valid && policy->is_strict)
    return INVALID("Code point is out of range for Unicode, or is a surrogate.");
  if (is_valid || !policy->ignores)
    unicode_append(encoding, is_valid ? (uint32_t)c : policy->replacement, out);
  return NULL;
}

static situ_status check_splits(const situ_tensor *values, const situ_tensor *splits) {
  if (values->shape.rank != 1 || splits->shape.rank != 1)
    return INVALID("Both the input_tensor and input_splits should be of rank 1.");
  const int64_t n = splits->shape.dim[0], size = values->shape.dim[0];
  const void *data = situ_tensor_data(splits);
  if (!n)
    return INVALID("Input_splits should contain elements, but given input_values has 0 elements");
  if (number_integer_at(splits->type, data, 0))
    return INVALID("First value in input_splits must be zero.");
  if (number_integer_at(splits->type, data, n - 1) != size)
    return INVALID("Last value in input_splits must be equal to length of input_tensor.");
  for (int64_t i = 1; i < n; i++) {
    const int64_t end = number_integer_at(splits->type, data, i);
    if (end < number_integer_at(splits->type, data, i - 1))
      return INVALID("Values in input_splits must be equal or in ascending order.");
    if (end > size)
      return INVALID("Values in input_splits must be less than or equal to input_tensor length.");
  }
  return NULL;
}

static situ_status compute_encode(struct compute *compute) {
  const situ_tensor *values = compute->in[0], *splits = compute->in[1];
  const char *encoding = call_text(compute->call, "output_encoding");
  struct policy policy;
  struct strbuf bytes = {0};
  TRY(read_policy(compute->call, false, &policy));
  TRY(check_splits(values, splits));
  const int64_t n = splits->shape.dim[0] - 1;
  const int32_t *codes = situ_tensor_data(values);
  size_t *ends = calloc((size_t)n + 1, sizeof *ends);
  situ_status status = ends ? NULL : NO_MEMORY();
  for (int64_t i = 0, k = 0; i < n && !status; i++) {
    const int64_t end = number_integer_at(splits->type, situ_tensor_data(splits), i + 1);
    for (; k < end && !status; k++) status = encode_one(&policy, encoding, codes[k], &bytes);
    ends[i] = bytes.length;
    if (!status) status = interrupt_check();
  }
  if (!status && bytes.failed) status = NO_MEMORY();
  if (!status) status = return_strings(&bytes, ends, SITU_SHAPE(n), &compute->out[0]);
  strbuf_free(&bytes);
  free(ends);
  return status;
}

#define POLICY "errors:{'strict','replace','ignore'}='replace' replacement_char:int=65533"
#define CONTROLS " replace_control_characters:bool=false"
#define OUTPUT_ENCODING "output_encoding:{'UTF-8','UTF-16-BE','UTF-32-BE'}"
#define INPUT_DOC               \
  "input: Tensor of strings.\n" \
  "input_encoding: Name of their encoding, as UTF-8 or UTF-16-BE.\n"
#define POLICY_DOC                                                                            \
  "errors: What happens to malformed sequences: strict fails, replace replaces them, ignore " \
  "leaves them out.\n"                                                                        \
  "replacement_char: Code point that replaces them."
#define CONTROLS_DOC \
  "\nreplace_control_characters: Treat code points below 32 as malformed sequences."
#define DECODE(name_, outputs_, doc_)                                                             \
  {                                                                                               \
    .name = name_, .inputs = "input:string", .outputs = outputs_,                                 \
    .attrs = "input_encoding:string " POLICY CONTROLS " Tsplits:{int32 int64}=int64",             \
    .python = "", .doc = doc_,                                                                    \
    .args = INPUT_DOC POLICY_DOC CONTROLS_DOC "\nTsplits: Type of row_splits.", .devices = "CPU", \
    .flags = OP_NO_GRADIENT, .shape = decode_shape, .compute = compute_decode                     \
  }

static const struct op_def op_defs[] = {
    DECODE("UnicodeDecode", "row_splits:Tsplits char_values:int32",
           "Decodes strings to code points: the rows of a ragged tensor."),
    DECODE("UnicodeDecodeWithOffsets",
           "row_splits:Tsplits char_values:int32 char_to_byte_starts:int64",
           "Decodes strings to code points and the offset of each in its string."),
    {.name = "UnicodeEncode",
     .inputs = "input_values:int32 input_splits:Tsplits",
     .outputs = "output:string",
     .attrs = "errors:{'ignore','replace','strict'}='replace' " OUTPUT_ENCODING
              " replacement_char:int=65533 Tsplits:{int32 int64}=int64",
     .python = "",
     .doc = "Encodes the rows of a ragged tensor of code points as strings.",
     .args = "input_values: Code points of all strings.\n"
             "input_splits: Where each string begins, and the number of code points.\n"
             "output_encoding: Encoding of the strings.\n" POLICY_DOC,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = encode_shape,
     .compute = compute_encode},
    {.name = "UnicodeTranscode",
     .inputs = "input:string",
     .outputs = "output:string",
     .attrs = "input_encoding:string " OUTPUT_ENCODING " " POLICY CONTROLS,
     .python = "strings.unicode_transcode",
     .doc = "Converts strings to another encoding.",
     .args = INPUT_DOC "output_encoding: Encoding of the results.\n" POLICY_DOC CONTROLS_DOC,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = transcode_shape,
     .compute = compute_transcode},
};

OP_FAMILY(unicode_ops, op_defs);
