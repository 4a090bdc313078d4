/* SPDX-License-Identifier: Apache-2.0
 * string_format.c: StringFormat, PrintV2, Assert. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* Formats a number with the smaller of two numbers of digits that reads back as the same number. */
static void add_real(struct strbuf *out, situ_type type, double value) {
  char words[64];
  const bool wide = type == SITU_DOUBLE;
  snprintf(words, sizeof words, "%.*g", wide ? 15 : 6, value);
  const bool same =
      wide ? strtod(words, NULL) == value : (double)strtof(words, NULL) == (double)(float)value;
  if (!same && value == value) snprintf(words, sizeof words, "%.*g", wide ? 17 : 9, value);
  strbuf_append(out, words);
}

/* A string as C writes it, without quotes; bytes of UTF-8 characters stay. */
static void add_escaped(struct strbuf *out, situ_string text) {
  static const char plain[] = "\"\\'\n\t\r", written[] = "\"\\'ntr";
  for (size_t i = 0; i < text.length; i++) {
    const unsigned char byte = (unsigned char)text.data[i];
    const char *found = byte ? strchr(plain, byte) : NULL;
    if (found)
      strbuf_appendf(out, "\\%c", written[found - plain]);
    else if (byte < ' ' || byte == 127)
      strbuf_appendf(out, "\\%03o", (unsigned)byte);
    else
      strbuf_append_n(out, &text.data[i], 1);
  }
}

static void add_element(struct strbuf *out, const situ_tensor *tensor, int64_t i, bool quoted) {
  const void *data = situ_tensor_data(tensor);
  if (tensor->type == SITU_STRING) {
    const situ_string text = situ_tensor_string(tensor, i);
    if (quoted) strbuf_append(out, "\"");
    add_escaped(out, text);
    if (quoted) strbuf_append(out, "\"");
  } else if (type_is_real(tensor->type)) {
    add_real(out, tensor->type, number_at(tensor->type, data, i));
  } else if (type_is_complex(tensor->type)) {
    const situ_type part = type_real(tensor->type);
    strbuf_append(out, "(");
    add_real(out, part, number_at(part, data, 2 * i));
    strbuf_append(out, ",");
    add_real(out, part, number_at(part, data, 2 * i + 1));
    strbuf_append(out, ")");
  } else {
    number_write_integer(out, tensor->type, number_integer_at(tensor->type, data, i));
  }
}

/* As tf.print: `ends` elements at both ends of each dimension. */

static void add_space(struct strbuf *out, int dim, int rank) {
  if (dim == rank - 1) {
    strbuf_append(out, " ");
    return;
  }
  for (int i = 0; i < rank - dim - 1; i++) strbuf_append(out, "\n");
  for (int i = 0; i <= dim; i++) strbuf_append(out, " ");
}

static void add_dim(struct strbuf *out, const situ_tensor *tensor, int dim, int64_t first,
                    int64_t ends) {
  const situ_shape *shape = &tensor->shape;
  if (dim == shape->rank) {
    add_element(out, tensor, first, true);
    return;
  }
  int64_t step = 1;
  const int64_t size = shape->dim[dim];
  for (int d = dim + 1; d < shape->rank; d++) step *= shape->dim[d];
  strbuf_append(out, "[");
  for (int64_t i = 0; i < size; i++) {
    if (i >= ends && i < size - ends) {
      if (i == ends) {
        add_space(out, dim, shape->rank);
        strbuf_append(out, "...");
      }
      continue;
    }
    if (i) add_space(out, dim, shape->rank);
    add_dim(out, tensor, dim + 1, first + i * step, ends);
  }
  strbuf_append(out, "]");
}

/* As tf.Print: the first `limit` elements. */
static void add_first(struct strbuf *out, const situ_tensor *tensor, int dim, int64_t limit,
                      int64_t *next) {
  const situ_shape *shape = &tensor->shape;
  if (*next >= limit) return;
  for (int64_t i = 0; i < shape->dim[dim]; i++) {
    if (dim == shape->rank - 1) {
      if (*next >= limit) {
        if (dim) strbuf_append(out, "...");
        return;
      }
      if (i) strbuf_append(out, " ");
      add_element(out, tensor, (*next)++, false);
    } else if (*next < limit) {
      strbuf_append(out, "[");
      add_first(out, tensor, dim + 1, limit, next);
      strbuf_append(out, "]");
    }
  }
}

/* The first elements of a tensor: "1 2 3...". */
static void summarize(struct strbuf *out, const situ_tensor *tensor, int64_t limit) {
  const int64_t n = situ_shape_count(tensor->shape), most = limit < 0 ? n : limit;
  int64_t next = 0;
  if (!tensor->shape.rank) {
    add_element(out, tensor, 0, false);
    return;
  }
  add_first(out, tensor, 0, most, &next);
  if (n > most) strbuf_append(out, "...");
}

static situ_status give_text(struct compute *compute, struct strbuf *text) {
  const situ_string all = {strbuf_get(text), text->length};
  situ_status status = text->failed ? NO_MEMORY() : NULL;
  if (!status) status = situ_tensor_create_strings(SITU_SCALAR, &all, &compute->out[0]);
  strbuf_free(text);
  return status;
}

static void add_tensor(struct strbuf *out, const struct call *call, const situ_tensor *in) {
  const int64_t given = call_integer(call, "summarize");
  if (!call_bool(call, "_ends"))
    summarize(out, in, given);
  else if (!in->shape.rank)
    add_element(out, in, 0, true);
  else
    add_dim(out, in, 0, 0, given < 0 ? INT64_MAX / 2 : given);
}

/* The end of the template's part before the next placeholder, or NULL. */
static const char *next_placeholder(const char *from, const char *placeholder) {
  return *placeholder ? strstr(from, placeholder) : NULL;
}

static situ_status format_shape(struct call *call) {
  const char *placeholder = call_text(call, "placeholder");
  const char *at = call_text(call, "template");
  int count = 0;
  while ((at = next_placeholder(at, placeholder)) != NULL) count++, at += strlen(placeholder);
  if (count != call->n_in)
    return INVALID("num placeholders in template and num inputs must match: %d vs. %d", count,
                   call->n_in);
  return op_scalar_shape(call);
}

static situ_status compute_format(struct compute *compute) {
  const struct call *call = compute->call;
  const char *placeholder = call_text(call, "placeholder"), *from = call_text(call, "template");
  struct strbuf text = {0};
  for (int i = 0; i < call->n_in; i++) {
    const char *at = next_placeholder(from, placeholder);
    if (!at) break;
    strbuf_append_n(&text, from, (size_t)(at - from));
    add_tensor(&text, call, compute->in[i]);
    from = at + strlen(placeholder);
  }
  strbuf_append(&text, from);
  return give_text(compute, &text);
}

/* PrintV2 */

static situ_status print_shape(struct call *call) { return op_need_rank(call, 0, 0, "input"); }

static situ_status compute_print(struct compute *compute) {
  const situ_string text = situ_tensor_string(compute->in[0], 0);
  const char *where = call_text(compute->call, "output_stream");
  const char *end = call_text(compute->call, "end");
  FILE *file = NULL;
  if (!strncmp(where, "file://", 7)) {
    file = fopen(where + 7, "ab");
    if (!file) return INVALID("The file %s cannot be written", where + 7);
  }
  FILE *stream = file ? file : strcmp(where, "stdout") ? stderr : stdout;
  fwrite(text.data, 1, text.length, stream);
  fputs(end, stream);
  fflush(stream);
  if (file) fclose(file);
  return NULL;
}

/* Assert */

static situ_status assert_shape(struct call *call) { return op_need_rank(call, 0, 0, "condition"); }

static situ_status compute_assert(struct compute *compute) {
  const struct call *call = compute->call;
  if (*(const bool *)situ_tensor_data(compute->in[0])) return NULL;
  struct strbuf text = {0};
  strbuf_append(&text, "assertion failed:");
  for (int i = 1; i < call->n_in; i++) {
    strbuf_append(&text, " [");
    summarize(&text, compute->in[i], call_integer(call, "summarize"));
    strbuf_append(&text, "]");
  }
  const situ_status status = INVALID("%s", strbuf_get(&text));
  strbuf_free(&text);
  return status;
}

static const struct op_def op_defs[] = {
    {.name = "StringFormat",
     .inputs = "inputs:T",
     .outputs = "output:string",
     .attrs = "T:list({" ALL_TYPES "}) template:string='%s' placeholder:string='%s' "
              "summarize:int=3 _ends:bool=true",
     .doc = "Formats tensors as one string and leaves out elements of long dimensions.",
     .args = "inputs: Tensors of any types.\n"
             "template: String with a placeholder for each tensor.\n"
             "placeholder: What a tensor replaces in the template.\n"
             "summarize: Number of elements to show at the beginning and end of each dimension; -1 "
             "shows all.\n"
             "_ends: Show both ends of each dimension, else the first elements of the tensor.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = format_shape,
     .compute = compute_format},
    {.name = "PrintV2",
     .inputs = "input:string[]",
     .outputs = "",
     .attrs = "output_stream:string='stderr' end:string='\n'",
     .doc = "Prints a string.",
     .args = "input: String scalar.\n"
             "output_stream: stdout, stderr, or file://PATH to append to a file.\n"
             "end: String printed after the input.",
     .devices = "CPU",
     .flags = OP_STATEFUL | OP_EFFECT | OP_NO_GRADIENT,
     .shape = print_shape,
     .compute = compute_print},
    {.name = "Assert",
     .inputs = "condition:bool[] data:T",
     .outputs = "",
     .attrs = "T:list(type) summarize:int=3",
     .doc = "Fails if the condition is false; the error shows the first elements of the data.",
     .args = "condition: Boolean scalar.\n"
             "data: Tensors to show in the error.\n"
             "summarize: Number of elements to show of each tensor.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_EFFECT | OP_NO_GRADIENT,
     .shape = assert_shape,
     .compute = compute_assert},
};

OP_FAMILY(string_format, op_defs);
