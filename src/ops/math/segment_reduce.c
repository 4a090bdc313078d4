/* SPDX-License-Identifier: Apache-2.0
 * segment_reduce.c: unsorted segment reductions. */
#include "kernel/host.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/array/scatter.h"
#include "tensor/shape.h"

/* Shapes: data begins with the dimensions of the ids, which become one of `segments`. */
static situ_status segments_shape(struct call *call, int64_t segments) {
  const situ_shape *data = &call->in[0].shape, *ids = &call->in[1].shape;
  situ_shape *out = &call->out[0].shape;
  char a[256], b[256];
  *out = SITU_ANY_SHAPE;
  if (data->rank == SITU_ANY || ids->rank == SITU_ANY) return NULL;
  situ_shape front = *data;
  front.rank = ids->rank;
  if (data->rank < ids->rank || !shape_compatible(&front, ids))
    return INVALID("data.shape = %s does not start with segment_ids.shape = %s",
                   shape_print(data, a), shape_print(ids, b));
  out->rank = 0;
  out->dim[out->rank++] = segments;
  for (int d = ids->rank; d < data->rank; d++) out->dim[out->rank++] = data->dim[d];
  return NULL;
}

static int64_t inner_of(const struct call *call) {
  int64_t result = 1;
  for (int d = 1; d < call->out[0].shape.rank; d++) result *= call->out[0].shape.dim[d];
  return result;
}

static situ_status unsorted_shape(struct call *call) {
  int64_t segments = SITU_ANY;
  bool known;
  TRY(op_host_scalar(call, 2, &segments, &known));
  if (known && segments < 0)
    return INVALID("Input num_segments == %lld must not be negative.", (long long)segments);
  return segments_shape(call, segments);
}

static situ_status record_unsorted(struct call *call, const struct kernel *f,
                                   enum scatter_identity identity) {
  const situ_shape *out = &call->out[0].shape;
  struct scatter_rows s = {.updates = call->in[0].slot,
                           .to = call->out[0].slot,
                           .picks = situ_shape_count(call->in[1].shape),
                           .inner = inner_of(call)};
  TRY(scatter_clear(call, call->out[0].type, s.to, identity, situ_shape_count(*out)));
  TRY(scatter_number(call, 1, out, 1, SCATTER_SKIP_NEGATIVE, &s.rows));
  return scatter_rows(call, f, call->out[0].type, &s);
}

static situ_status record_unsorted_sum(struct call *call) {
  return record_unsorted(call, scatter_add, SCATTER_ZERO);
}
static situ_status record_unsorted_prod(struct call *call) {
  return record_unsorted(call, scatter_mul, SCATTER_ONE);
}
static situ_status record_unsorted_max(struct call *call) {
  return record_unsorted(call, scatter_max, SCATTER_LOWEST);
}
static situ_status record_unsorted_min(struct call *call) {
  return record_unsorted(call, scatter_min, SCATTER_HIGHEST);
}

/* Gradients */

static struct term gather(struct gradient *g, struct term from, struct term ids) {
  return OP(g, "GatherV2", from, ids, gradient_int(g, 0));
}

/* Appends dimensions of size 1, up to the rank of another term. */
static struct term with_rank_of(struct gradient *g, struct term term, struct term other) {
  const struct term more = OP(g, "Sub", OP(g, "Rank", other), OP(g, "Rank", term));
  const struct term count = OP(g, "ExpandDims", more, gradient_int(g, 0));
  const struct term ones = OP(g, "Fill", count, gradient_int(g, 1));
  const struct term shape = OP(g, "ConcatV2", OP(g, "Shape", term), ones, gradient_int(g, 0));
  return OP(g, "Reshape", term, shape);
}

static struct term zero_id(struct gradient *g) {
  return gradient_number(g, gradient_type(g, g->in[1]), 0);
}

/* Which rows of data count, with the rank of data: not those of negative ids. */
static struct term counting(struct gradient *g) {
  const situ_shape data = gradient_shape(g, g->in[0]), ids = gradient_shape(g, g->in[1]);
  struct term counts = OP(g, "GreaterEqual", g->in[1], zero_id(g));
  for (int d = ids.rank; d < data.rank && ids.rank >= 0; d++)
    counts = OP(g, "ExpandDims", counts, gradient_int(g, -1));
  if (data.rank < 0 || ids.rank < 0) counts = with_rank_of(g, counts, g->in[0]);
  return counts;
}

/* For each row of data the one of its segment; of those of negative ids the first. */
static struct term own_rows(struct gradient *g, struct term segments) {
  return gather(g, segments, OP(g, "Maximum", g->in[1], zero_id(g)));
}

static void unsorted_sum_grad(struct gradient *g) {
  const struct term rows = own_rows(g, g->dy[0]);
  g->dx[0] = OP(g, "SelectV2", counting(g), rows, gradient_zeros(g, rows));
}

/* The product of the other elements: by division, or for a zero the product of the nonzero
 * elements; 0 if there is a second zero. */
static void unsorted_prod_grad(struct gradient *g) {
  const struct term data = g->in[0], ids = g->in[1], none = gradient_zeros(g, data);
  const struct term is_zero = OP(g, "Equal", data, none);
  const struct term one = OP(g, "OnesLike", data);
  const struct term count =
      OP(g, "UnsortedSegmentSum", OP(g, "SelectV2", is_zero, one, none), ids, g->in[2]);
  const struct term rest = OP(g, "SelectV2", is_zero, one, data);
  const struct term product = OP(g, "UnsortedSegmentProd", rest, ids, g->in[2]);
  const struct term single = OP(g, "LessEqual", count, OP(g, "OnesLike", count));
  const struct term dy = OP(g, "SelectV2", single, g->dy[0], gradient_zeros(g, g->dy[0]));
  const struct term others = OP(g, "SelectV2", is_zero, own_rows(g, product),
                                OP(g, "RealDiv", own_rows(g, g->out[0]), rest));
  const struct term rows = OP(g, "Mul", own_rows(g, dy), others);
  g->dx[0] = OP(g, "SelectV2", counting(g), rows, none);
}

/* A mask of the selected extremes; equal elements share the gradient. */
static void extreme_grad(struct gradient *g) {
  const struct term equal = OP(g, "Equal", g->in[0], own_rows(g, g->out[0]));
  const struct term hit = OP(g, "LogicalAnd", equal, counting(g));
  const struct term ones = gradient_emit(g, "Cast", TERMS(hit),
                                         ATTRS(situ_attr_type("DstT", gradient_type(g, g->in[0]))));
  const struct term counts = OP(g, "UnsortedSegmentSum", ones, g->in[1], g->in[2]);
  const struct term share = own_rows(g, OP(g, "RealDiv", g->dy[0], counts));
  g->dx[0] = OP(g, "SelectV2", hit, share, gradient_zeros(g, share));
}

#define UNSORTED_SAMPLES                                                                          \
  "[5] [5]=0,1,0,-1,2 []=3; Tindices=int64 [2,2,3] [2,2]=1,1,0,1 []=2; T=float [0,2] [0]= []=2; " \
  "T=int32 [4,3] [4]=3,0,0,3 []=5"

#define UNSORTED(NAME, suffix, types, grad_, text)                                                \
  {                                                                                               \
    .name = "UnsortedSegment" #NAME,                                                              \
    .inputs = "data:T segment_ids:Tindices num_segments:Tnumsegments[]", .outputs = "output:T",   \
    .attrs = "T:{" types "} Tindices:{int16 int32 int64}=int32 Tnumsegments:{int32 int64}=int32", \
    .python = "math.unsorted_segment_" #suffix " unsorted_segment_" #suffix,                      \
    .doc = text " of the elements of each segment; segments need not be sorted.",                 \
    .args =                                                                                       \
        "data: Tensor whose shape begins with the shape of segment_ids.\n"                        \
        "segment_ids: Segment of each slice of data; slices with a negative one are ignored.\n"   \
        "num_segments: Number of segments, a scalar, the first dimension of the result.",         \
    .samples = UNSORTED_SAMPLES, .host = "num_segments", .devices = EVERYWHERE,                   \
    .shape = unsorted_shape, .record = record_unsorted_##suffix, grad_                            \
  }

static const struct op_def op_defs[] = {
    UNSORTED(Sum, sum, TYPE_NAMES_NUMBER_COMPLEX, .grad = unsorted_sum_grad, "Sum"),
    UNSORTED(Prod, prod, TYPE_NAMES_NUMBER, .grad = unsorted_prod_grad, "Product"),
    UNSORTED(Max, max, TYPE_NAMES_NUMBER, .grad = extreme_grad, "Maximum"),
    UNSORTED(Min, min, TYPE_NAMES_NUMBER, .grad = extreme_grad, "Minimum"),
};

OP_FAMILY(segment_reduce, op_defs);
