/* SPDX-License-Identifier: Apache-2.0
 * check_numerics.c: CheckNumerics, and the NaN and infinity check of programs. */
#include "ops/math/check_numerics.h"

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/tensor.h"

#define KERNELS "ops/math/check_numerics.cl"
#include "kernel/types.h"

KERNEL_TABLE(count_odd, REAL);

/* Pieces are long enough for a loop to be fast and as many as keep a GPU busy. */
enum { PIECE = 512, MOST_PIECES = 1024, CHECK_NUMERICS_FLOPS = 4 };

bool check_numerics_concerns(situ_type type) {
  return type >= 0 && (int)type < MAX_TYPES && count_odd_kernel.host[type];
}

static int64_t piece_length(int64_t elements) {
  const int64_t length = (elements + MOST_PIECES - 1) / MOST_PIECES;
  return length < PIECE ? PIECE : length;
}

int64_t check_numerics_pieces(int64_t elements) {
  const int64_t length = piece_length(elements);
  return (elements + length - 1) / length;
}

situ_status check_numerics_record(struct call *call, situ_type type, int64_t elements,
                                  int32_t values, int32_t counts, int64_t first) {
  const int64_t n = check_numerics_pieces(elements), length = piece_length(elements);
  return LAUNCH(call, &count_odd_kernel, type, n, 1 + GRAIN / length,
                CHECK_NUMERICS_FLOPS * (double)elements, ARG_AT(values), ARG_AT(counts),
                ARG_INT(first), ARG_INT(length), ARG_INT(elements), ARG_INT(n));
}

struct numerics_counts check_numerics_sum(const int32_t *counts, int64_t pieces) {
  struct numerics_counts odd = {0};
  for (int64_t i = 0; i < pieces; i++) {
    odd.nans += counts[3 * i];
    odd.highs += counts[3 * i + 1];
    odd.lows += counts[3 * i + 2];
  }
  return odd;
}

/* Converts a piece of bfloat16 numbers, for which there is no kernel. */
static const char *widen(float *to, const uint16_t *from, int64_t length) {
  for (int64_t i = 0; i < length; i++) to[i] = (float)number_from_bfloat16(from[i]);
  return (const char *)to;
}

struct numerics_counts check_numerics_count(const situ_tensor *tensor) {
  const int64_t elements = situ_shape_count(tensor->shape);
  struct numerics_counts odd = {0};
  int32_t counts[3] = {0};
  const situ_type type = tensor->type == SITU_BFLOAT16 ? SITU_FLOAT : tensor->type;
  float wide[PIECE];
  for (int64_t at = 0; at < elements; at += PIECE) {
    const int64_t length = elements - at < PIECE ? elements - at : PIECE;
    const char *from =
        (const char *)situ_tensor_data(tensor) + (size_t)at * situ_type_size(tensor->type);
    if (tensor->type == SITU_BFLOAT16)
      from = widen(wide, (const uint16_t *)(const void *)from, length);
    const union arg args[] = {{.pointer = (void *)from}, {.pointer = counts}, {.integer = 0},
                              {.integer = length},       {.integer = length}, {.integer = 1}};
    situ_status_release(count_odd_kernel.host[type](args, 0, 1));
    const struct numerics_counts more = check_numerics_sum(counts, 1);
    odd.nans += more.nans;
    odd.highs += more.highs;
    odd.lows += more.lows;
  }
  return odd;
}

const char *check_numerics_kinds(const struct numerics_counts *odd) {
  static const char *const kinds[] = {
      "",     "NaN",          "+Inf",          "+Inf and NaN",
      "-Inf", "-Inf and NaN", "-Inf and +Inf", "-Inf, +Inf, and NaN",
  };
  return kinds[(odd->nans ? 1 : 0) + (odd->highs ? 2 : 0) + (odd->lows ? 4 : 0)];
}

/* The op */

static situ_status compute_check(struct compute *compute) {
  const struct numerics_counts odd = check_numerics_count(compute->in[0]);
  if (!check_numerics_is_odd(&odd)) return compute_keep(compute, 0, &compute->out[0]);
  return INVALID("%s : Tensor had %s values", call_text(compute->call, "message"),
                 odd.nans && (odd.highs || odd.lows) ? "Inf and NaN"
                 : odd.nans                          ? "NaN"
                                                     : "Inf");
}

static void check_numerics_grad(struct gradient *g) { g->dx[0] = g->dy[0]; }

static const struct op_def op_defs[] = {
    {.name = "CheckNumerics",
     .inputs = "tensor:T",
     .outputs = "output:T",
     .attrs = "T:{bfloat16 half float double} message:string",
     .python = "debugging.check_numerics check_numerics",
     .doc = "Returns the input; fails with a message if it contains NaN or infinity.",
     .args = "tensor: Input tensor.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_EFFECT,
     .shape = op_same_shape,
     .compute = compute_check,
     .grad = check_numerics_grad},
};

OP_FAMILY(check_numerics, op_defs);
