/* SPDX-License-Identifier: Apache-2.0
 * string_ops.c: string length, split, join, StringToNumber, DecodeCSV. */
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "ops/ops.h"
#include "ops/string/utf8_case.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* A growing list of strings in one buffer. */
struct words {
  struct strbuf bytes;
  size_t *ends;
  int64_t count, capacity;
};

static situ_status words_end(struct words *w) {
  if (w->count == w->capacity) {
    const int64_t capacity = w->capacity ? 2 * w->capacity : 64;
    size_t *ends = realloc(w->ends, (size_t)capacity * sizeof *ends);
    if (!ends) return NO_MEMORY();
    w->ends = ends;
    w->capacity = capacity;
  }
  w->ends[w->count++] = w->bytes.length;
  return w->bytes.failed ? NO_MEMORY() : NULL;
}

static situ_status words_add(struct words *w, const char *data, size_t length) {
  strbuf_append_n(&w->bytes, data, length);
  return words_end(w);
}

static void words_free(struct words *w) {
  strbuf_free(&w->bytes);
  free(w->ends);
}

/* Every `step`-th string from `first` on as a tensor. */
static situ_status words_tensor(struct words *w, int64_t first, int64_t step, situ_shape shape,
                                situ_tensor **out) {
  const int64_t n = situ_shape_count(shape);
  situ_string *strings = malloc((size_t)max_i64(1, n) * sizeof *strings);
  if (!strings) return NO_MEMORY();
  const char *bytes = strbuf_get(&w->bytes);
  for (int64_t i = 0; w->ends && i < n; i++) {
    const int64_t at = first + i * step;
    const size_t begin = at ? w->ends[at - 1] : 0;
    strings[i] = (situ_string){bytes + begin, w->ends[at] - begin};
  }
  const situ_status status = situ_tensor_create_strings(shape, strings, out);
  free(strings);
  return status;
}

/* A function of each text. */
static situ_status each(struct compute *compute,
                        situ_status (*function)(struct compute *, situ_string, struct words *)) {
  const situ_tensor *in = compute->in[0];
  struct words words = {0};
  situ_status status = NULL;
  for (int64_t i = 0; i < situ_shape_count(in->shape) && !status; i++)
    status = status_first(interrupt_check(), function(compute, situ_tensor_string(in, i), &words));
  if (!status) status = words_tensor(&words, 0, 1, in->shape, &compute->out[0]);
  words_free(&words);
  return status;
}

/* Letters */

/* Returns whether the encoding is UTF-8; else bytes are ASCII. */
static situ_status check_encoding(const struct call *call, bool *utf8) {
  const char *encoding = call_text(call, "encoding");
  *utf8 = !strcmp(encoding, "utf-8");
  if (*utf8 || !*encoding) return NULL;
  return INVALID("only utf-8 or '' (no encoding) is supported, received %s", encoding);
}

static situ_status case_shape(struct call *call) {
  bool utf8;
  TRY(check_encoding(call, &utf8));
  return op_same_shape(call);
}

static situ_status add_utf8(situ_string text, bool is_upper, struct words *to) {
  TRY(utf8_case(text, is_upper, &to->bytes));
  return words_end(to);
}

static situ_status lower(struct compute *compute, situ_string text, struct words *to) {
  bool utf8;
  TRY(check_encoding(compute->call, &utf8));
  if (utf8) return add_utf8(text, false, to);
  for (size_t i = 0; i < text.length; i++) {
    const char c = (char)tolower((unsigned char)text.data[i]);
    strbuf_append_n(&to->bytes, &c, 1);
  }
  return words_end(to);
}
static situ_status upper(struct compute *compute, situ_string text, struct words *to) {
  bool utf8;
  TRY(check_encoding(compute->call, &utf8));
  if (utf8) return add_utf8(text, true, to);
  for (size_t i = 0; i < text.length; i++) {
    const char c = (char)toupper((unsigned char)text.data[i]);
    strbuf_append_n(&to->bytes, &c, 1);
  }
  return words_end(to);
}
static situ_status strip(struct compute *compute, situ_string text, struct words *to) {
  (void)compute;
  size_t begin = 0, end = text.length;
  while (begin < end && isspace((unsigned char)text.data[begin])) begin++;
  while (end > begin && isspace((unsigned char)text.data[end - 1])) end--;
  return words_add(to, text.data + begin, end - begin);
}

static situ_status compute_lower(struct compute *compute) { return each(compute, lower); }
static situ_status compute_upper(struct compute *compute) { return each(compute, upper); }
static situ_status compute_strip(struct compute *compute) { return each(compute, strip); }

/* The URL-safe base64 alphabet */

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static situ_status encode(struct compute *compute, situ_string text, struct words *to) {
  const bool pad = call_bool(compute->call, "pad");
  for (size_t i = 0; i < text.length; i += 3) {
    const size_t left = text.length - i < 3 ? text.length - i : 3;
    uint32_t word = 0;
    for (size_t k = 0; k < 3; k++)
      word = word << 8 | (k < left ? (unsigned char)text.data[i + k] : 0);
    for (size_t k = 0; k < 4; k++) {
      const char c = k <= left ? digits[word >> (18 - 6 * k) & 63] : '=';
      if (k <= left || pad) strbuf_append_n(&to->bytes, &c, 1);
    }
  }
  return words_end(to);
}

static situ_status decode(struct compute *compute, situ_string text, struct words *to) {
  (void)compute;
  uint32_t word = 0;
  int bits = 0;
  for (size_t i = 0; i < text.length && text.data[i] != '='; i++) {
    const char *at = text.data[i] ? strchr(digits, text.data[i]) : NULL;
    if (!at) return INVALID("Invalid character found in base64.");
    word = word << 6 | (uint32_t)(at - digits);
    bits += 6;
    if (bits < 8) continue;
    bits -= 8;
    const char c = (char)(word >> bits & 255);
    strbuf_append_n(&to->bytes, &c, 1);
  }
  return words_end(to);
}

static situ_status compute_encode(struct compute *compute) { return each(compute, encode); }
static situ_status compute_decode(struct compute *compute) { return each(compute, decode); }

/* Numbers */

/* The number of bytes, or in UTF-8 of bytes that begin a character. */
static int32_t length_of(situ_string text, bool characters) {
  int32_t count = 0;
  if (!characters) return (int32_t)text.length;
  for (size_t i = 0; i < text.length; i++) count += ((unsigned char)text.data[i] & 0xC0) != 0x80;
  return count;
}

static situ_status compute_length(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  const bool characters = !strcmp(call_text(compute->call, "unit"), "UTF8_CHAR");
  void *data = NULL;
  TRY(compute_output(compute, 0, in->shape, &data));
  for (int64_t i = 0; i < situ_shape_count(in->shape) && !interrupt_pending(); i++)
    ((int32_t *)data)[i] = length_of(situ_tensor_string(in, i), characters);
  return NULL;
}

/* Parses a null-terminated string to element i of `to`; false if it is not a number. */
static bool is_number(situ_string text, situ_type type, int64_t i, void *to) {
  char *end = (char *)(uintptr_t)text.data;
  errno = 0;
  const bool whole = type == SITU_INT32 || type == SITU_INT64;
  const double real = whole ? 0 : strtod(text.data, &end);
  const long long number = whole ? strtoll(text.data, &end, 10) : 0;
  const bool wide = (type == SITU_INT32 && number != (int32_t)number) || (whole && errno == ERANGE);
  while (isspace((unsigned char)*end)) end++;
  if (end == text.data || *end || wide) return false;
  if (type == SITU_INT32) ((int32_t *)to)[i] = (int32_t)number;
  if (type == SITU_INT64) ((int64_t *)to)[i] = (int64_t)number;
  if (type == SITU_FLOAT) ((float *)to)[i] = strtof(text.data, NULL);
  if (type == SITU_DOUBLE) ((double *)to)[i] = real;
  return true;
}

static situ_status compute_number(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  void *data = NULL;
  TRY(compute_output(compute, 0, in->shape, &data));
  for (int64_t i = 0; i < situ_shape_count(in->shape) && !interrupt_pending(); i++)
    if (!is_number(situ_tensor_string(in, i), compute->call->out[0].type, i, data))
      return INVALID("StringToNumberOp could not correctly convert string: %s",
                     situ_tensor_string(in, i).data);
  return NULL;
}

/* StringSplit: any byte of the delimiter separates; without a delimiter, every byte is a part. */

static situ_status split_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 1, "input"));
  TRY(op_need_rank(call, 1, 0, "delimiter"));
  call->out[0].shape = SITU_SHAPE(SITU_ANY, 2);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  call->out[2].shape = SITU_SHAPE(2);
  return NULL;
}

static situ_status split(situ_string text, situ_string delimiter, bool skip, struct words *to) {
  size_t begin = 0;
  if (!text.length) return NULL;
  if (!delimiter.length) {
    for (size_t i = 0; i < text.length; i++) TRY(words_add(to, text.data + i, 1));
    return NULL;
  }
  for (size_t i = 0; i <= text.length; i++) {
    if (i < text.length && !memchr(delimiter.data, text.data[i], delimiter.length)) continue;
    if (i > begin || !skip) TRY(words_add(to, text.data + begin, i - begin));
    begin = i + 1;
  }
  return NULL;
}

static situ_status give_split(struct compute *compute, struct words *words, const int64_t *counts,
                              int64_t n) {
  int64_t widest = 0;
  void *indices = NULL, *shape = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(words->count, 2), &indices));
  TRY(words_tensor(words, 0, 1, SITU_SHAPE(words->count), &compute->out[1]));
  TRY(compute_output(compute, 2, SITU_SHAPE(2), &shape));
  int64_t *at = indices;
  for (int64_t i = 0; i < n; i++) {
    widest = max_i64(widest, counts[i]);
    for (int64_t k = 0; k < counts[i]; k++) *at++ = i, *at++ = k;
  }
  ((int64_t *)shape)[0] = n;
  ((int64_t *)shape)[1] = widest;
  return NULL;
}

/* Appends the parts of a string to a list. */
typedef situ_status splitter(const struct compute *compute, situ_string text, struct words *to);

static situ_status split_all(struct compute *compute, splitter *add_parts) {
  const situ_tensor *in = compute->in[0];
  const int64_t n = situ_shape_count(in->shape);
  int64_t *counts = calloc((size_t)max_i64(1, n), sizeof *counts);
  struct words words = {0};
  situ_status status = counts ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++) {
    const int64_t before = words.count;
    status = add_parts(compute, situ_tensor_string(in, i), &words);
    counts[i] = words.count - before;
    if (!status) status = interrupt_check();
  }
  if (!status) status = give_split(compute, &words, counts, n);
  words_free(&words);
  free(counts);
  return status;
}

static situ_status split_at_any(const struct compute *compute, situ_string text, struct words *to) {
  const bool skip = call_bool(compute->call, "skip_empty");
  return split(text, situ_tensor_string(compute->in[1], 0), skip, to);
}

static situ_status compute_split(struct compute *compute) {
  return split_all(compute, split_at_any);
}

/* StringSplitV2: as str.split of Python. */

/* Splits at white space, at most `most` times unless that is negative. */
static situ_status split_at_space(situ_string text, int64_t most, struct words *to) {
  size_t i = 0;
  for (int64_t parts = 0;; parts++) {
    while (i < text.length && isspace((unsigned char)text.data[i])) i++;
    size_t end = i;
    while (end < text.length && !isspace((unsigned char)text.data[end])) end++;
    const bool is_rest = most > 0 && parts == most;
    if (is_rest) return words_add(to, text.data + i, text.length - i);
    if (end == i) return NULL;
    TRY(words_add(to, text.data + i, end - i));
    i = end;
  }
}

static situ_status split_at_string(const struct compute *compute, situ_string text,
                                   struct words *to) {
  const situ_string separator = situ_tensor_string(compute->in[1], 0);
  const int64_t most = call_integer(compute->call, "maxsplit");
  if (!most) return words_add(to, text.data, text.length);
  if (!separator.length) return split_at_space(text, most, to);
  for (int64_t parts = 0; most < 0 || parts < most; parts++) {
    const char *at = memmem(text.data, text.length, separator.data, separator.length);
    if (!at) break;
    const size_t length = (size_t)(at - text.data);
    TRY(words_add(to, text.data, length));
    text = (situ_string){at + separator.length, text.length - length - separator.length};
  }
  return words_add(to, text.data, text.length);
}

static situ_status compute_split_v2(struct compute *compute) {
  return split_all(compute, split_at_string);
}

/* StringJoin: inputs have one shape, or are scalars. */

static situ_status join_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape;
  *out = SITU_SCALAR;
  for (int i = 0; i < call->n_in; i++)
    if (call->in[i].shape.rank != 0) *out = call->in[i].shape;
  return NULL;
}

static situ_status compute_join(struct compute *compute) {
  const char *separator = call_text(compute->call, "separator");
  situ_shape shape = SITU_SCALAR;
  for (int k = 0; k < compute->call->n_in; k++)
    if (compute->in[k]->shape.rank) shape = compute->in[k]->shape;
  const int64_t n = situ_shape_count(shape);
  struct words words = {0};
  situ_status status = NULL;
  for (int64_t i = 0; i < n && !status; i++) {
    for (int k = 0; k < compute->call->n_in; k++) {
      const bool one = !compute->in[k]->shape.rank;
      if (!one && situ_shape_count(compute->in[k]->shape) != n) {
        words_free(&words);
        return INVALID("Input shapes do not match");
      }
      const situ_string text = situ_tensor_string(compute->in[k], one ? 0 : i);
      if (k) strbuf_append_n(&words.bytes, separator, strlen(separator));
      strbuf_append_n(&words.bytes, text.data, text.length);
    }
    status = words_end(&words);
    if (!status) status = interrupt_check();
  }
  if (!status) status = words_tensor(&words, 0, 1, shape, &compute->out[0]);
  words_free(&words);
  return status;
}

/* DecodeCSV */

static situ_status csv_shape(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = call->in[0].shape;
  return NULL;
}

/* Appends the next field and returns its end; unescapes quotes. */
static situ_status next_field(situ_string record, char separator, bool quotes, size_t *at,
                              struct words *to) {
  size_t i = *at;
  if (quotes && i < record.length && record.data[i] == '"') {
    for (i++; i < record.length; i++) {
      if (record.data[i] == '"' && (i + 1 >= record.length || record.data[i + 1] != '"')) break;
      i += record.data[i] == '"';
      strbuf_append_n(&to->bytes, record.data + i, 1);
    }
    if (i >= record.length) return INVALID("Quoted field has to end with quote: %s", record.data);
    i++;
  } else {
    size_t end = i;
    while (end < record.length && record.data[end] != separator && record.data[end] != '\n' &&
           record.data[end] != '\r')
      end++;
    strbuf_append_n(&to->bytes, record.data + i, end - i);
    i = end;
  }
  *at = i;
  return words_end(to);
}

/* The columns to return, in ascending order; count 0: all. */
static situ_status check_columns(const struct call *call) {
  const struct attr_value *columns = call_attr(call, "select_cols");
  if (columns->list.count && columns->list.count != call->n_out)
    return INVALID("select_cols should match output size");
  for (int i = 0; i < columns->list.count; i++) {
    if (columns->list.items[i] < 0) return INVALID("select_cols should be non-negative indices");
    if (i && columns->list.items[i - 1] >= columns->list.items[i])
      return INVALID("select_cols should be strictly increasing indices");
  }
  return NULL;
}

/* Appends the selected fields of a record; a missing one is an empty string. */
static situ_status read_fields(struct compute *compute, situ_string record, struct words *words,
                               int *fields) {
  const struct attr_value *columns = call_attr(compute->call, "select_cols");
  const char separator = call_text(compute->call, "field_delim")[0];
  const char *na = call_text(compute->call, "na_value");
  const bool quotes = call_bool(compute->call, "use_quote_delim");
  size_t at = 0;
  *fields = 0;
  for (int column = 0, more = true; more; column++) {
    const size_t before = words->bytes.length;
    TRY(next_field(record, separator, quotes, &at, words));
    more = at < record.length && record.data[at] == separator;
    at += more ? 1 : 0;
    const size_t length = words->bytes.length - before;
    const bool all = !columns->list.count;
    const bool selected =
        all || (*fields < columns->list.count && columns->list.items[*fields] == column);
    const bool missing =
        length == strlen(na) && !memcmp(strbuf_get(&words->bytes) + before, na, length);
    if (!selected || missing) words->bytes.length = before;
    if (words->ends) words->ends[words->count - 1] = words->bytes.length;
    if (selected) ++*fields;
    if (!selected) words->count--;
  }
  return NULL;
}

/* The end of string i; string -1 ends at 0. */
static size_t end_of(const struct words *words, int64_t i) {
  return words->ends && i >= 0 ? words->ends[i] : 0;
}

static situ_status read_record(struct compute *compute, int64_t i, struct words *words) {
  const int columns = compute->call->n_out;
  const int64_t first = words->count;
  int fields;
  TRY(read_fields(compute, situ_tensor_string(compute->in[0], i), words, &fields));
  if (fields != columns)
    return INVALID("Expect %d fields but have %d in record %lld", columns, fields, (long long)i);
  for (int c = 0; c < columns; c++) {
    const int64_t at = first + c;
    const bool missing = end_of(words, at) == end_of(words, at - 1);
    if (missing && !situ_shape_count(compute->in[1 + c]->shape))
      return INVALID("Field %d is required but missing in record %lld!", c, (long long)i);
  }
  return NULL;
}

/* Column c as strings or numbers; missing fields are the default. */
static situ_status give_column(struct compute *compute, const struct words *words, int c,
                               situ_string *strings) {
  const situ_tensor *in = compute->in[0], *preset = compute->in[1 + c];
  const int64_t n = situ_shape_count(in->shape), columns = compute->call->n_out;
  const char *bytes = strbuf_get((struct strbuf *)&words->bytes);
  const bool is_string = preset->type == SITU_STRING;
  void *data = NULL;
  if (!is_string) TRY(compute_output(compute, c, in->shape, &data));
  const size_t size = situ_type_size(preset->type);
  for (int64_t i = 0; i < n; i++) {
    TRY(interrupt_check());
    const int64_t at = i * columns + c;
    const size_t begin = end_of(words, at - 1), length = end_of(words, at) - begin;
    char number[64];
    snprintf(number, sizeof number, "%.*s", (int)(length < 63 ? length : 63), bytes + begin);
    if (is_string)
      strings[i] = length ? (situ_string){bytes + begin, length} : situ_tensor_string(preset, 0);
    else if (!length)
      memcpy((char *)data + (size_t)i * size, situ_tensor_data(preset), size);
    else if (length >= sizeof number ||
             !is_number((situ_string){number, length}, preset->type, i, data))
      return INVALID("Field %d in record %lld is not a valid %s: %s", c, (long long)i,
                     situ_type_name(preset->type), number);
  }
  return is_string ? situ_tensor_create_strings(in->shape, strings, &compute->out[c]) : NULL;
}

static situ_status compute_csv(struct compute *compute) {
  const int64_t n = situ_shape_count(compute->in[0]->shape);
  struct words words = {0};
  situ_string *strings = malloc((size_t)max_i64(1, n) * sizeof *strings);
  situ_status status = strings ? check_columns(compute->call) : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++)
    status = status_first(interrupt_check(), read_record(compute, i, &words));
  for (int c = 0; c < compute->call->n_out && !status; c++)
    status = give_column(compute, &words, c, strings);
  words_free(&words);
  free(strings);
  return status;
}

#define STRING_OP_DEF(NAME, suffix, python_, attrs_, args_, text, shape_)                        \
  {                                                                                              \
    .name = #NAME, .inputs = "input:string", .outputs = "output:string", .attrs = attrs_,        \
    .python = python_, .doc = text, .args = "input: Tensor of strings." args_, .devices = "CPU", \
    .flags = OP_NO_GRADIENT, .shape = shape_, .compute = compute_##suffix                        \
  }

#define ENCODING "\nencoding: utf-8, or empty for bytes, of which only ASCII letters change."

static const struct op_def op_defs[] = {
    STRING_OP_DEF(StringLower, lower, "strings.lower", "encoding:string=''", ENCODING,
                  "Converts letters to lower case.", case_shape),
    STRING_OP_DEF(StringUpper, upper, "strings.upper", "encoding:string=''", ENCODING,
                  "Converts letters to upper case.", case_shape),
    STRING_OP_DEF(StringStrip, strip, "strings.strip string_strip", "", "",
                  "Strips leading and trailing whitespace.", op_same_shape),
    STRING_OP_DEF(EncodeBase64, encode, "io.encode_base64 encode_base64", "pad:bool=false",
                  "\npad: Append = up to a multiple of 4 characters.",
                  "Encodes strings as web-safe base64, with - and _.", op_same_shape),
    STRING_OP_DEF(DecodeBase64, decode, "io.decode_base64 decode_base64", "", "",
                  "Decodes web-safe base64.", op_same_shape),
    {.name = "StringLength",
     .inputs = "input:string",
     .outputs = "output:int32",
     .attrs = "unit:{'BYTE','UTF8_CHAR'}='BYTE'",
     .python = "strings.length string_length",
     .doc = "The length of each string in bytes or characters.",
     .args = "input: Tensor of strings.\n"
             "unit: BYTE, or UTF8_CHAR to count the characters of UTF-8.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_length},
    {.name = "StringToNumber",
     .inputs = "string_tensor:string",
     .outputs = "output:out_type",
     .attrs = "out_type:{float double int32 int64}=float",
     .python = "strings.to_number string_to_number",
     .doc = "Parses strings as numbers; a string that is not a number is an error.",
     .args = "string_tensor: Tensor of strings.\n"
             "out_type: Type of the numbers.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_number},
    {.name = "StringSplit",
     .inputs = "input:string[?] delimiter:string[]",
     .outputs = "indices:int64 values:string shape:int64",
     .attrs = "skip_empty:bool=true",
     .doc = "Splits strings at delimiters into a sparse matrix with one line per string.",
     .args =
         "input: Vector of strings.\n"
         "delimiter: Scalar whose characters are the delimiters; empty splits into characters.\n"
         "skip_empty: Leave out empty parts.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = split_shape,
     .compute = compute_split},
    {.name = "StringSplitV2",
     .inputs = "input:string[?] sep:string[]",
     .outputs = "indices:int64 values:string shape:int64",
     .attrs = "maxsplit:int=-1",
     .python = "",
     .doc = "Splits strings as str.split into a sparse matrix with one line per string.",
     .args = "input: Vector of strings.\n"
             "sep: String at which to split; empty splits at white space.\n"
             "maxsplit: Maximum number of splits; -1 does not limit it.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = split_shape,
     .compute = compute_split_v2},
    {.name = "StringJoin",
     .inputs = "inputs:N*string",
     .outputs = "output:string",
     .attrs = "N:int>=0 separator:string=''",
     .python = "strings.join string_join",
     .doc = "Concatenates the strings of all inputs element by element.",
     .args = "inputs: Tensors of strings of one shape; scalars are broadcast.\n"
             "separator: String between the parts.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = join_shape,
     .compute = compute_join},
    {.name = "DecodeCSV",
     .inputs = "records:string record_defaults:OUT_TYPE",
     .outputs = "output:OUT_TYPE",
     .attrs = "OUT_TYPE:list({float double int32 int64 string}) field_delim:string=',' "
              "use_quote_delim:bool=true na_value:string='' select_cols:list(int)=[]",
     .doc = "Parses CSV records; returns a tensor per column.",
     .args = "records: Tensor of strings, one record each.\n"
             "record_defaults: Default of each column for empty fields; a tensor without elements "
             "makes the field required.\n"
             "field_delim: Character that separates fields.\n"
             "use_quote_delim: Treat double quotes as quotation marks, not as ordinary "
             "characters.\n"
             "na_value: String that stands for a missing field, beside the empty one.\n"
             "select_cols: Indices of the columns to return, ascending; empty for all.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = csv_shape,
     .compute = compute_csv},
};

OP_FAMILY(string_ops, op_defs);
