/* SPDX-License-Identifier: Apache-2.0
 * bitcast.c: reinterprets the bytes of a tensor as elements of another type. */
#include <string.h>

#include "ops/ops.h"
#include "tensor/tensor.h"

/* TensorFlow's error, which has type numbers instead of names. */
static situ_status misfit(const struct call *call) {
  return INVALID("Cannot bitcast from %d to %d", (int)call->in[0].type, (int)call->out[0].type);
}

/* Splits larger elements into a new last dimension, and the reverse. */
static situ_status bitcast_shape(struct call *call) {
  const int64_t from = (int64_t)situ_type_size(call->in[0].type);
  const int64_t to = (int64_t)situ_type_size(call->out[0].type);
  situ_shape shape = call->in[0].shape;
  if (shape.rank >= 0 && from > to) {
    if (from % to || shape.rank == SITU_MAX_RANK) return misfit(call);
    shape.dim[shape.rank++] = from / to;
  } else if (shape.rank >= 0 && from < to) {
    const int64_t last = shape.rank ? shape.dim[shape.rank - 1] : 1;
    if (!shape.rank || to % from || (last != SITU_ANY && last != to / from)) return misfit(call);
    shape.rank--;
  }
  call->out[0].shape = shape;
  return NULL;
}

static situ_status compute_bitcast(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  void *data = NULL;
  TRY(bitcast_shape(compute->call));
  TRY(compute_output(compute, 0, compute->call->out[0].shape, &data));
  if (situ_tensor_bytes(in)) memcpy(data, situ_tensor_data(in), situ_tensor_bytes(in));
  return NULL;
}

static const struct op_def op_defs[] = {
    {.name = "Bitcast",
     .inputs = "input:T",
     .outputs = "output:type",
     .attrs = "T:{bfloat16 half float double int64 int32 uint8 uint16 int8 int16 complex64 "
              "complex128 uint32 uint64} type:{bfloat16 half float double int64 int32 uint8 uint16 "
              "int8 int16 complex64 complex128 uint32 uint64}",
     .python = "bitcast",
     .doc =
         "Reinterprets the bytes of a tensor as elements of another type. Larger elements become "
         "a new last dimension of smaller ones; to larger ones, the last dimension must have as "
         "many elements as one of them.",
     .args = "input: Tensor of numbers.\ntype: Type of the result.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = bitcast_shape,
     .compute = compute_bitcast},
};

OP_FAMILY(bitcast, op_defs);
