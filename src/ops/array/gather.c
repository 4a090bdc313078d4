/* SPDX-License-Identifier: Apache-2.0
 * gather.c: Gather, GatherV2 and ResourceGather: slices along an axis. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/array/gather.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(gather_i16, BITS);
KERNEL_TABLE(gather_i32, BITS);
KERNEL_TABLE(gather_i64, BITS);

/* params has the dimensions [batch, outer, axis, inner], indices [batch, picks], and the result
 * [batch, outer, picks, inner], where each but `axis` may be any number of dimensions. */
struct gather_axes {
  int batch, axis; /* numbers of dimensions before outer and before axis; -1: not known */
};

/* The error of shapes that do not have the batch dimensions. */
static situ_status check_batch(const struct call *call, const struct gather_axes *at) {
  const situ_shape *in = &call->in[0].shape, *indices = &call->in[1].shape;
  if (at->axis >= 0 && at->batch > at->axis)
    return INVALID("batch_dims (%d) must be less than or equal to axis (%d).", at->batch, at->axis);
  for (int d = 0; d < at->batch && d < in->rank; d++)
    if (in->dim[d] != SITU_ANY && indices->dim[d] != SITU_ANY && in->dim[d] != indices->dim[d])
      return INVALID("params.shape[%d]: %lld should be equal to indices.shape[%d]: %lld", d,
                     (long long)in->dim[d], d, (long long)indices->dim[d]);
  return NULL;
}

/* Reads axis and batch_dims; ResourceGather gathers along the first axis after the batch. */
static situ_status gather_axes(const struct call *call, struct gather_axes *at) {
  const int rank = call->in[0].shape.rank, depth = call->in[1].shape.rank;
  const int64_t batch = call_attr(call, "batch_dims") ? call_integer(call, "batch_dims") : 0;
  *at = (struct gather_axes){-1, -1};
  if (depth == SITU_ANY && batch) return NULL;
  if (batch && (batch < -depth || batch > depth))
    return INVALID("Expected batch_dims in the range [%d, %d], but got %lld", -depth, depth,
                   (long long)batch);
  at->batch = (int)(batch < 0 ? batch + depth : batch);
  int64_t axis = at->batch;
  bool known = true;
  if (call->n_in > 2) TRY(op_host_scalar(call, 2, &axis, &known));
  if (known && rank != SITU_ANY) {
    const int64_t least = axis < 0 ? -axis : axis + 1;
    if (least > rank)
      return INVALID("Shape must be at least rank %lld but is rank %d", (long long)least, rank);
    TRY(op_wrap_axis(axis, rank, &at->axis));
  }
  return check_batch(call, at);
}

static situ_status gather_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *indices = &call->in[1].shape;
  situ_shape *out = &call->out[0].shape;
  struct gather_axes at;
  *out = SITU_ANY_SHAPE;
  TRY(gather_axes(call, &at));
  if (in->rank == SITU_ANY || in->rank == 0 || indices->rank == SITU_ANY) return NULL;
  if (in->rank - 1 + indices->rank - at.batch > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  out->rank = in->rank - 1 + indices->rank - at.batch;
  for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
  if (at.axis < 0) return NULL;
  out->rank = 0;
  for (int d = 0; d < at.axis; d++) {
    const bool shared = d < at.batch && in->dim[d] == SITU_ANY;
    out->dim[out->rank++] = shared ? indices->dim[d] : in->dim[d];
  }
  for (int d = at.batch; d < indices->rank; d++) out->dim[out->rank++] = indices->dim[d];
  for (int d = at.axis + 1; d < in->rank; d++) out->dim[out->rank++] = in->dim[d];
  return NULL;
}

/* The product of dimensions first ... end - 1. */
static int64_t product(const situ_shape *shape, int first, int end) {
  int64_t result = 1;
  for (int d = first; d < end; d++) result *= shape->dim[d];
  return result;
}

static situ_status record_gather(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *indices = &call->in[1].shape;
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct gather_axes at;
  TRY(gather_axes(call, &at));
  const int64_t picks = product(indices, at.batch, indices->rank);
  const int64_t span = product(in, at.batch, at.axis) * picks;
  const struct kernel *kernel = call->in[1].type == SITU_INT16   ? &gather_i16_kernel
                                : call->in[1].type == SITU_INT32 ? &gather_i32_kernel
                                                                 : &gather_i64_kernel;
  return LAUNCH(call, kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0), ARG_IN(call, 1),
                ARG_OUT(call, 0), ARG_INT(in->dim[at.axis]),
                ARG_INT(product(in, at.axis + 1, in->rank)), ARG_INT(picks), ARG_INT(span),
                ARG_INT(n));
}

/* Gradients */

/* Elements first ... first + count - 1 of a vector; all from there on if `count` is missing. */
static struct term part(struct gradient *g, struct term sizes, struct term first,
                        struct term count) {
  const struct term all = gradient_ints(g, (const int64_t[]){-1}, 1);
  return OP(g, "Slice", sizes, first, term_exists(count) ? count : all);
}

/* Rows of dy as the dimensions of a single index, one after the other. */
static struct term rows_of(struct gradient *g, struct term dy, struct term params,
                           struct term indices) {
  const situ_shape ids = gradient_shape(g, indices);
  const struct term one = gradient_ints(g, (const int64_t[]){1}, 1);
  situ_shape shape = gradient_shape(g, params);
  if (ids.rank == 1) return dy;
  if (shape_is_known(&ids) && shape.rank > 0) {
    shape.dim[0] = situ_shape_count(ids);
    if (shape_is_known(&shape))
      return OP(g, "Reshape", dy, gradient_ints(g, shape.dim, shape.rank));
  }
  const struct term count = OP(g, "Reshape", OP(g, "Size", indices), one);
  const struct term rest = part(g, gradient_shape_of(g, params), one, NO_TERM);
  return OP(g, "Reshape", dy, OP(g, "ConcatV2", count, rest, gradient_int(g, 0)));
}

/* Scatters gradients to the gathered slices, for axis 0 without batch dimensions. */
static void gather_rows_grad(struct gradient *g) {
  const struct term values = rows_of(g, g->dy[0], g->in[0], g->in[1]);
  const bool flat = gradient_shape(g, g->in[1]).rank == 1;
  const struct term all = gradient_ints(g, (const int64_t[]){-1}, 1);
  g->dx[0] =
      gradient_slices(g, values, flat ? g->in[1] : OP(g, "Reshape", g->in[1], all), g->in[0]);
}

/* The product of the elements of a shape, as a vector of one element. */
static struct term count_of(struct gradient *g, struct term sizes) {
  const struct term one = gradient_ints(g, (const int64_t[]){1}, 1);
  return OP(g, "Reshape", OP(g, "Prod", sizes, gradient_int(g, 0)), one);
}

static struct term as_int32(struct gradient *g, struct term term) {
  const struct term one = gradient_ints(g, (const int64_t[]){1}, 1);
  return gradient_emit(g, "Cast", TERMS(OP(g, "Reshape", term, one)),
                       ATTRS(situ_attr_type("DstT", SITU_INT32)));
}

/* The indices as rows of [batch * size]: those of batch b are b * size + index. */
static struct term flat_picks(struct gradient *g, struct term batch, struct term picks,
                              struct term size) {
  const struct term scalar = gradient_ints(g, NULL, 0), zero = gradient_int(g, 0);
  const struct term indices =
      gradient_emit(g, "Cast", TERMS(g->in[1]), ATTRS(situ_attr_type("DstT", SITU_INT32)));
  const struct term flat = gradient_ints(g, (const int64_t[]){-1}, 1);
  const struct term matrix = OP(g, "Reshape", indices, OP(g, "ConcatV2", batch, picks, zero));
  const struct term all = OP(g, "Range", zero, OP(g, "Reshape", batch, scalar), gradient_int(g, 1));
  const struct term starts = OP(g, "ExpandDims", OP(g, "Mul", all, size), gradient_int(g, 1));
  return OP(g, "Reshape", OP(g, "Add", matrix, starts), flat);
}

/* The general case, with the dimensions of struct gather_axes: the picks of all batches are moved
 * to the front, so that equal picks are summed. `at` and `front` are the numbers of dimensions
 * before the axis and of the batch. */
static void gather_any_grad(struct gradient *g, struct term at, struct term front) {
  const struct term zero = gradient_int(g, 0), none = gradient_ints(g, (const int64_t[]){0}, 1);
  const struct term one = gradient_ints(g, (const int64_t[]){1}, 1);
  const struct term swap = gradient_ints(g, (const int64_t[]){0, 2, 1, 3}, 4);
  const struct term shape = gradient_shape_of(g, g->in[0]), ids = gradient_shape_of(g, g->in[1]);
  const struct term batch = count_of(g, part(g, shape, none, front));
  const struct term outer = count_of(g, part(g, shape, front, OP(g, "Sub", at, front)));
  const struct term size = part(g, shape, at, one);
  const struct term inner = count_of(g, part(g, shape, OP(g, "Add", at, one), NO_TERM));
  const struct term picks = count_of(g, part(g, ids, front, NO_TERM));
  const struct term four =
      OP(g, "Reshape", g->dy[0], OP(g, "ConcatV2", batch, outer, picks, inner, zero));
  const struct term rows = OP(g, "Reshape", OP(g, "Transpose", four, swap),
                              OP(g, "ConcatV2", OP(g, "Mul", batch, picks), outer, inner, zero));
  const struct term total = OP(g, "Reshape", OP(g, "Mul", batch, size), gradient_ints(g, NULL, 0));
  const struct term sums =
      OP(g, "UnsortedSegmentSum", rows, flat_picks(g, batch, picks, size), total);
  const struct term back =
      OP(g, "Reshape", sums, OP(g, "ConcatV2", batch, size, outer, inner, zero));
  g->dx[0] = OP(g, "Reshape", OP(g, "Transpose", back, swap), shape);
}

/* batch_dims as a vector of one element, not negative. */
static struct term batch_dims_of(struct gradient *g) {
  const int64_t batch = gradient_attr(g, "batch_dims") ? gradient_integer(g, "batch_dims") : 0;
  const struct term given = gradient_ints(g, &batch, 1);
  return batch < 0 ? OP(g, "Add", given, OP(g, "Rank", g->in[1])) : given;
}

static void gather_grad(struct gradient *g) {
  if (!gradient_attr(g, "batch_dims") || !gradient_integer(g, "batch_dims"))
    gather_rows_grad(g);
  else
    gather_any_grad(g, batch_dims_of(g), batch_dims_of(g));
}

static void gather_axis_grad(struct gradient *g) {
  int64_t axis[SITU_MAX_RANK];
  int count;
  const bool first = gradient_integers(g, g->in[2], axis, &count) && axis[0] == 0;
  if (first && !gradient_integer(g, "batch_dims"))
    gather_rows_grad(g);
  else
    gather_any_grad(g, OP(g, "FloorMod", as_int32(g, g->in[2]), OP(g, "Rank", g->in[0])),
                    batch_dims_of(g));
}

static const struct op_def op_defs[] = {
    {.name = "Gather",
     .inputs = "params:Tparams indices:Tindices",
     .outputs = "output:Tparams",
     .attrs = "Tparams:{" ALL_TYPES "} Tindices:{int32 int64} validate_indices:bool=true",
     .doc = "Gathers slices of params along the first dimension.",
     .args = "params: Tensor of rank 1 or more.\n"
             "indices: Indices into the first dimension, of any shape.\n"
             "validate_indices: Accepted and ignored; indices are always checked.",
     .samples = "Tindices=int32 [4,3] [3]=2,0,3; Tindices=int64 [5] [2,2]=4,0,1,1; "
                "Tindices=int32 [4,3] []=1",
     .devices = MOVABLE,
     .shape = gather_shape,
     .record = record_gather,
     .grad = gather_grad},
    {.name = "ResourceGather",
     .inputs = "resource:@dtype indices:Tindices",
     .outputs = "output:dtype",
     .attrs = "dtype:{" NUMERIC "} Tindices:{int32 int64} batch_dims:int=0 "
              "validate_indices:bool=true",
     .doc = "Gathers slices of a variable along the first dimension.",
     .args = "resource: Handle of the variable.\n"
             "indices: Indices into the first dimension, of any shape.\n"
             "batch_dims: Number of leading dimensions that the variable and indices share.\n"
             "validate_indices: Accepted and ignored; indices are always checked.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL,
     .shape = gather_shape,
     .record = record_gather,
     .grad = gather_grad},
    {.name = "GatherV2",
     .inputs = "params:Tparams indices:Tindices axis:Taxis",
     .outputs = "output:Tparams",
     .attrs = "Tparams:{" ALL_TYPES "} Tindices:{int16 int32 int64} Taxis:{int32 int64}=int32 "
              "batch_dims:int=0",
     .python = "gather",
     .doc = "Gathers slices of params along an axis.",
     .args =
         "params: Tensor of rank axis + 1 or more.\n"
         "indices: Indices into the axis, of any shape, which replaces the axis in the "
         "result's shape.\n"
         "axis: Axis to gather from, a scalar; negative values count from the end.\n"
         "batch_dims: Number of leading dimensions that params and indices share; at most axis.",
     .samples = "Tindices=int32 [4,3] [3]=2,0,3 []=0; Tindices=int64 [2,5,3] [2]=4,1 []=1; "
                "Tindices=int32 [2,3] [2,2]=0,2,1,1 []=-1; Tindices=int32 [4,3] [0]= []=0; "
                "Tindices=int32 batch_dims=1 [2,3,4] [2,2]=0,2,1,1 []=1; "
                "Tindices=int64 batch_dims=1 [2,3,4] [2,2]=0,3,1,1 []=2; "
                "Tindices=int32 batch_dims=-1 [2,3] [2,2]=0,2,1,1 []=-1; "
                "Tindices=int32 batch_dims=2 [2,2,3] [2,2]=0,2,1,1 []=2",
     .host = "axis",
     .devices = MOVABLE,
     .shape = gather_shape,
     .record = record_gather,
     .grad = gather_axis_grad},
};

OP_FAMILY(gather, op_defs);
