/* SPDX-License-Identifier: Apache-2.0
 * top_k.c: TopK and InTopK. */
#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/nn/top_k.cl"
#include "kernel/types.h"

KERNEL_TABLE(top_k, NUMBER);
KERNEL_TABLE(in_top_k, INTEGER);

enum { TOP_WORK = 16384 };

/* k, which is an attribute or the value of input `input`. */
static situ_status read_k(const struct call *call, int input, int64_t *k, bool *known) {
  *known = true;
  if (!call_attr(call, "k")) return op_host_scalar(call, input, k, known);
  *k = call_integer(call, "k");
  return NULL;
}

static situ_status top_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  int64_t k;
  bool known;
  TRY(read_k(call, 1, &k, &known));
  if (known && k < 0) return INVALID("Need k >= 0, got %lld", (long long)k);
  if (!known) k = SITU_ANY;
  situ_shape out = *in;
  if (in->rank == 0) return INVALID("Shape must be at least rank 1 but is rank 0");
  if (in->rank != SITU_ANY) {
    const int64_t width = in->dim[in->rank - 1];
    if (width != SITU_ANY && k != SITU_ANY && k > width)
      return INVALID("input must have at least k columns. Had %lld, needed %lld", (long long)width,
                     (long long)k);
    out.dim[in->rank - 1] = k;
  }
  call->out[0].shape = call->out[1].shape = out;
  return NULL;
}

static situ_status record_top(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t width = in->dim[in->rank - 1];
  int64_t k;
  bool known;
  TRY(read_k(call, 1, &k, &known));
  const int64_t rows = width ? situ_shape_count(*in) / width : 0;
  if (!k || !width) return NULL;
  const struct operand *to = &call->out[1];
  int32_t indices = to->slot; /* the kernel has int32 indices */
  if (to->type != SITU_INT32)
    TRY(call_scratch(call, (size_t)max_i64(1, rows * k) * sizeof(int32_t), &indices));
  TRY(LAUNCH(call, &top_k_kernel, call->in[0].type, rows, max_i64(1, TOP_WORK / (width * k)),
             (double)rows * (double)(width * k), ARG_IN(call, 0), ARG_OUT(call, 0), ARG_AT(indices),
             ARG_INT(width), ARG_INT(k), ARG_INT(rows)));
  if (to->type == SITU_INT32) return NULL;
  return cast_record(call, SITU_INT32, indices, to->type, to->slot, rows * k);
}

/* Scatters gradients back to the selected elements. */
static void top_grad(struct gradient *g) {
  const situ_type type = gradient_type(g, g->in[0]);
  const situ_shape shape = gradient_shape(g, g->in[0]);
  struct term width;
  if (shape.rank != SITU_ANY && shape.dim[shape.rank - 1] != SITU_ANY)
    width = gradient_int(g, shape.dim[shape.rank - 1]);
  else
    width = gradient_emit(
        g, "StridedSlice",
        TERMS(gradient_shape_of(g, g->in[0]), gradient_ints(g, (const int64_t[]){-1}, 1),
              gradient_ints(g, (const int64_t[]){0}, 1), gradient_ints(g, (const int64_t[]){1}, 1)),
        ATTRS(situ_attr_int("shrink_axis_mask", 1)));
  struct term indices = g->out[1];
  if (gradient_type(g, indices) == SITU_INT16)
    indices = gradient_emit(g, "Cast", TERMS(indices), ATTRS(situ_attr_type("DstT", SITU_INT32)));
  const struct term hits =
      OP(g, "OneHot", indices, width, gradient_number(g, type, 1), gradient_number(g, type, 0));
  const struct term spread = OP(g, "Mul", hits, OP(g, "ExpandDims", g->dy[0], gradient_int(g, -1)));
  g->dx[0] = OP(g, "Sum", spread, gradient_int(g, -2));
}

static situ_status in_top_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape, *targets = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 2, "predictions"));
  TRY(op_need_rank(call, 1, 1, "targets"));
  const int64_t rows = x->rank == SITU_ANY ? SITU_ANY : x->dim[0];
  const int64_t count = targets->rank == SITU_ANY ? SITU_ANY : targets->dim[0];
  if (rows != SITU_ANY && count != SITU_ANY && rows != count)
    return INVALID("First dimension of predictions %lld must match length of targets %lld",
                   (long long)rows, (long long)count);
  call->out[0].shape = SITU_SHAPE(rows == SITU_ANY ? count : rows);
  return NULL;
}

static situ_status record_in_top(struct call *call) {
  const int64_t rows = call->in[0].shape.dim[0], width = call->in[0].shape.dim[1];
  int64_t k;
  bool known;
  TRY(read_k(call, 2, &k, &known));
  return LAUNCH(call, &in_top_k_kernel, call->in[1].type, rows,
                max_i64(1, TOP_WORK / max_i64(1, width)), (double)(rows * width), ARG_IN(call, 0),
                ARG_IN(call, 1), ARG_OUT(call, 0), ARG_INT(width), ARG_INT(k), ARG_INT(rows));
}

static const struct op_def op_defs[] = {
    {.name = "TopK",
     .inputs = "input:T",
     .outputs = "values:T indices:int32",
     .attrs = "k:int>=0 sorted:bool=true T:{" TYPE_NAMES_NUMBER "}",
     .doc = "The k largest elements along the last dimension and their indices.",
     .args = "input: Tensor of rank 1 or more.\n"
             "k: Number of elements, at most the size of the last dimension.\n"
             "sorted: Accepted and ignored; elements are always in descending order.",
     .samples = "k=2 [3,5]; k=0 [2,3]; k=4 [4]; k=1 [2,2,3]",
     .devices = EVERYWHERE,
     .shape = top_shape,
     .record = record_top,
     .grad = top_grad},
    {.name = "TopKV2",
     .inputs = "input:T[...,n] k:Tk[]",
     .outputs = "values:T indices:index_type",
     .attrs = "sorted:bool=true T:{" TYPE_NAMES_NUMBER "} Tk:{int16 int32 int64}=int32 "
              "index_type:{int16 int32 int64}=int32",
     .doc = "The k largest elements along the last dimension and their indices.",
     .args = "input: Tensor of rank 1 or more.\n"
             "k: Number of elements, a scalar; at most the size of the last dimension.\n"
             "sorted: Accepted and ignored; elements are always in descending order.\n"
             "index_type: Integer type of the indices.",
     .samples = "[3,5] []=2; [2,3] []=0; [4] []=4; [2,2,3] []=1; [6,70] []=5; "
                "index_type=int64 [3,5] []=2; index_type=int16 Tk=int64 [2,3] []=3; "
                "Tk=int16 [4] []=2",
     .host = "k",
     .devices = EVERYWHERE,
     .shape = top_shape,
     .record = record_top,
     .grad = top_grad},
    {.name = "InTopK",
     .inputs = "predictions:float[b,c] targets:T[b]",
     .outputs = "precision:bool",
     .attrs = "k:int T:{int32 int64}=int32",
     .doc = "Whether the target class of each example is among the k largest predictions.",
     .args = "predictions: Scores [batch, classes].\n"
             "targets: Class indices [batch].\n"
             "k: Number of predictions to consider.",
     .samples = "k=2 [4,5] [4]=0,3,1,4; k=1 [3,3] [3]=2,7,-1",
     .devices = EVERYWHERE,
     .shape = in_top_shape,
     .record = record_in_top},
    {.name = "InTopKV2",
     .inputs = "predictions:float[b,c] targets:T[b] k:T[]",
     .outputs = "precision:bool",
     .attrs = "T:{int32 int64}=int32",
     .doc = "Whether the target class of each example is among the k largest predictions.",
     .args = "predictions: Scores [batch, classes].\n"
             "targets: Class indices [batch].\n"
             "k: Number of predictions to consider, a scalar.",
     .samples = "[4,5] [4]=0,3,1,4 []=2; [3,3] [3]=2,7,-1 []=1",
     .host = "k",
     .devices = EVERYWHERE,
     .shape = in_top_shape,
     .record = record_in_top},
};

OP_FAMILY(top_k, op_defs);
