/* SPDX-License-Identifier: Apache-2.0
 * substr.c: Substr. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/broadcast.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static situ_status substr_shape(struct call *call) {
  const situ_shape *pos = &call->in[1].shape, *length = &call->in[2].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_compatible(pos, length))
    return INVALID(call->building ? "pos and len shapes must match: %s vs. %s"
                                  : "pos and len should have the same shape, got: %s vs. %s",
                   shape_print(pos, a), shape_print(length, b));
  if (shape_broadcast(&call->in[0].shape, pos, &call->out[0].shape)) return NULL;
  return INVALID("Incompatible shapes: %s vs. %s", shape_print(&call->in[0].shape, a),
                 shape_print(pos, b));
}

/* TensorFlow broadcasts vectors and matrices. */
static situ_status check_rank(const struct compute *compute, const situ_shape *shape) {
  const situ_shape *in = &compute->in[0]->shape, *pos = &compute->in[1]->shape;
  if (!pos->rank || shape_equal(in, pos) || (shape->rank > 0 && shape->rank < 3)) return NULL;
  return situ_status_create(SITU_UNIMPLEMENTED,
                            "Substr broadcast not implemented for %d dimensions", (int)shape->rank);
}

static bool is_trail(situ_string text, int64_t at) {
  return ((unsigned char)text.data[at] & 0xC0) == 0x80;
}

/* Moves an offset by a number of characters; false if the string ends before. */
static bool move_forward(situ_string text, int64_t count, int64_t *at) {
  const int64_t size = (int64_t)text.length;
  int64_t moved = 0;
  for (; moved < count && *at < size; moved++) {
    ++*at;
    while (*at < size && is_trail(text, *at)) ++*at;
  }
  return moved == count;
}

static bool move_back(situ_string text, int64_t count, int64_t *at) {
  int64_t moved = 0;
  for (; moved<count && * at> 0; moved++) {
    --*at;
    while (*at > 0 && is_trail(text, *at)) --*at;
  }
  return moved == count;
}

/* Converts a position and length in characters to bytes. */
static bool find_characters(situ_string text, int64_t pos, int64_t length, int64_t *begin,
                            int64_t *end) {
  if (pos >= 0) {
    *begin = 0;
    const bool found = move_forward(text, pos, begin);
    *end = *begin;
    if (found) move_forward(text, length, end);
    return found;
  }
  int64_t from_end, skipped;
  *end = (int64_t)text.length;
  if (__builtin_sub_overflow(0, pos, &from_end) ||
      __builtin_sub_overflow(from_end, length, &skipped))
    return false;
  skipped = max_i64(skipped, 0);
  if (!move_back(text, skipped, end)) return false;
  *begin = *end;
  return move_back(text, from_end - skipped, begin);
}

/* As find_characters, in bytes; a negative length means the rest. */
static bool find_bytes(situ_string text, int64_t pos, int64_t length, int64_t *begin,
                       int64_t *end) {
  const int64_t size = (int64_t)text.length;
  *begin = pos < 0 ? pos + size : pos;
  if (*begin < 0 || *begin > size) return false;
  *end = length < 0 || length > size - *begin ? size : *begin + length;
  return true;
}

static situ_status range_error(bool characters, situ_string text, int64_t pos, int64_t i,
                               const situ_shape *shape) {
  char place[64];
  if (shape->rank == 2 && shape->dim[1])
    snprintf(place, sizeof place, "(%lld, %lld)", (long long)(i / shape->dim[1]),
             (long long)(i % shape->dim[1]));
  else
    snprintf(place, sizeof place, "%lld", (long long)i);
  if (characters)
    return INVALID("pos %lld out of range for string at index %s", (long long)pos, place);
  return INVALID("pos %lld out of range for string b'%.*s' at index %s", (long long)pos,
                 (int)text.length, text.data, place);
}

static situ_status fill(struct compute *compute, const situ_shape *shape, situ_string *out) {
  const situ_tensor *in = compute->in[0], *pos = compute->in[1], *length = compute->in[2];
  const bool characters = !strcmp(call_text(compute->call, "unit"), "UTF8_CHAR");
  struct broadcast b;
  broadcast_plan(shape, (const situ_shape *[]){&in->shape, &pos->shape}, 2, &b);
  const int64_t n = situ_shape_count(*shape);
  for (int64_t i = 0; i < n; i++) {
    TRY(interrupt_check());
    const int64_t at = broadcast_position(&b, 1, i);
    const situ_string text = situ_tensor_string(in, broadcast_position(&b, 0, i));
    const int64_t first = number_integer_at(pos->type, situ_tensor_data(pos), at);
    const int64_t count = number_integer_at(pos->type, situ_tensor_data(length), at);
    int64_t begin, end;
    const bool found = characters ? find_characters(text, first, count, &begin, &end)
                                  : find_bytes(text, first, count, &begin, &end);
    if (!found) return range_error(characters, text, first, i, shape);
    out[i] = (situ_string){text.data + begin, (size_t)(end - begin)};
  }
  return NULL;
}

static situ_status compute_substr(struct compute *compute) {
  const situ_shape *pos = &compute->in[1]->shape;
  situ_shape shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_equal(pos, &compute->in[2]->shape))
    return INVALID("pos and len should have the same shape, got: %s vs. %s", shape_print(pos, a),
                   shape_print(&compute->in[2]->shape, b));
  if (!shape_broadcast(&compute->in[0]->shape, pos, &shape))
    return INVALID("Incompatible shapes: %s vs. %s", shape_print(&compute->in[0]->shape, a),
                   shape_print(pos, b));
  TRY(check_rank(compute, &shape));
  situ_string *strings = malloc((size_t)(situ_shape_count(shape) + 1) * sizeof *strings);
  if (!strings) return NO_MEMORY();
  situ_status status = fill(compute, &shape, strings);
  if (!status) status = situ_tensor_create_strings(shape, strings, &compute->out[0]);
  free(strings);
  return status;
}

static const struct op_def op_defs[] = {
    {.name = "Substr",
     .inputs = "input:string pos:T len:T",
     .outputs = "output:string",
     .attrs = "T:{int32 int64} unit:{'BYTE','UTF8_CHAR'}='BYTE'",
     .python = "",
     .doc = "Returns a part of each string.",
     .args = "input: Tensor of strings.\n"
             "pos: Position of the first byte or character; a negative one counts from the end. It "
             "is broadcast to the strings.\n"
             "len: Length of the part; the end of the string limits it.\n"
             "unit: BYTE, or UTF8_CHAR to count the characters of UTF-8.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = substr_shape,
     .compute = compute_substr},
};

OP_FAMILY(substr, op_defs);
