/* SPDX-License-Identifier: Apache-2.0
 * scatter.c: GatherNd, ScatterNd and scatter updates of variables. */
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/string/string_elements.h"
#include "ops/array/scatter.h"
#include "ops/array/strided_copy.h"
#include "tensor/shape.h"
#include "tensor/type.h"

#define KERNELS "ops/array/scatter.cl"
#include "kernel/types.h"
#define KERNELS "ops/array/permute_rows.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(reorder_rows, BITS);
KERNEL_TABLE(put_identity, NUMBER);
KERNEL_TABLE(scatter_update, ANY);
KERNEL_TABLE(scatter_add, NUMBER);
KERNEL_TABLE(scatter_sub, NUMBER);
KERNEL_TABLE(scatter_mul, NUMBER);
KERNEL_TABLE(scatter_div, NUMBER);
KERNEL_TABLE(scatter_min, NUMBER);
KERNEL_TABLE(scatter_max, NUMBER);
static const struct kernel number_rows_kernel = {.name = "number_rows",
                                                 .file = types_file,
                                                 .host = {[SITU_INT16] = number_rows_int16,
                                                          [SITU_INT32] = number_rows_int32,
                                                          [SITU_INT64] = number_rows_int64}};

static const struct kernel chain_picks_kernel = {
    .name = "chain_picks", .file = types_file, .host = {[SITU_INT32] = chain_picks_int32}};

const struct kernel *const scatter_update = &scatter_update_kernel;
const struct kernel *const scatter_add = &scatter_add_kernel;
const struct kernel *const scatter_sub = &scatter_sub_kernel;
const struct kernel *const scatter_mul = &scatter_mul_kernel;
const struct kernel *const scatter_div = &scatter_div_kernel;
const struct kernel *const scatter_min = &scatter_min_kernel;
const struct kernel *const scatter_max = &scatter_max_kernel;

/* The number of index tuples of length `depth` (which may be 0) in an input. */
static int64_t count_tuples(const situ_shape *indices, int depth) {
  int64_t count = 1;
  if (depth) return situ_shape_count(*indices) / depth;
  for (int d = 0; d < indices->rank - 1; d++) count *= indices->dim[d];
  return count;
}

situ_status scatter_number(struct call *call, int indices, const situ_shape *params, int depth,
                           enum scatter_bad bad, int32_t *slot) {
  const int64_t n = count_tuples(&call->in[indices].shape, depth);
  TRY(call_scratch(call, (size_t)max_i64(1, n) * sizeof(int64_t), slot));
  return LAUNCH(call, &number_rows_kernel, call->in[indices].type, n, GRAIN, 0,
                ARG_IN(call, indices), ARG_AT(*slot), ARG_INTS(params->dim), ARG_INT(depth),
                ARG_INT(bad), ARG_INT(n));
}

situ_status scatter_chain(struct call *call, int32_t rows, int64_t picks, int64_t count,
                          int32_t *seen, int32_t *next) {
  enum { PARTS = 64 }; /* per launch on a GPU */
  if (picks > INT32_MAX) return INVALID("%lld rows to update are too many", (long long)picks);
  TRY(call_scratch(call, (size_t)max_i64(1, count) * sizeof(int32_t), seen));
  TRY(call_scratch(call, (size_t)max_i64(1, picks) * sizeof(int32_t), next));
  return LAUNCH(call, &chain_picks_kernel, SITU_INT32, PARTS, PARTS, 0, ARG_AT(rows), ARG_AT(*seen),
                ARG_AT(*next), ARG_INT(picks), ARG_INT(PARTS));
}

situ_status scatter_clear(struct call *call, situ_type type, int32_t slot,
                          enum scatter_identity identity, int64_t n) {
  if (type_is_complex(type) && identity == SCATTER_ZERO) n *= 2;
  if (type_is_complex(type)) type = type_real(type);
  const bool is_short = call->stored == SITU_BFLOAT16 && type == SITU_FLOAT;
  return LAUNCH(call, &put_identity_kernel, type == SITU_BOOL ? SITU_UINT8 : type, n, GRAIN, 0,
                ARG_AT(slot), ARG_INT(identity), ARG_INT(is_short), ARG_INT(n));
}

/* Whether a kernel can treat a complex number as two real ones. */
static bool is_linear(const struct kernel *f) {
  return f == &scatter_update_kernel || f == &scatter_add_kernel || f == &scatter_sub_kernel;
}

situ_status scatter_rows(struct call *call, const struct kernel *f, situ_type type,
                         const struct scatter_rows *s) {
  const int64_t grain = max_i64(1, GRAIN / max_i64(1, s->picks));
  if (!s->picks) return NULL;
  if (type == SITU_BOOL && f == &scatter_add_kernel) /* the sum of booleans is their disjunction */
    return scatter_rows(call, &scatter_max_kernel, SITU_UINT8, s);
  if (type_is_complex(type) && !s->one && is_linear(f)) { /* twice as many real numbers */
    struct scatter_rows parts = *s;
    parts.inner *= 2;
    return scatter_rows(call, f, type_real(type), &parts);
  }
  return LAUNCH(call, f, type, s->inner, grain, (double)s->inner * (double)s->picks,
                ARG_AT(s->rows), ARG_AT(s->updates), ARG_AT(s->to), ARG_INT(s->picks),
                ARG_INT(s->inner), ARG_INT(s->one ? 0 : s->inner), ARG_INT(s->inner));
}

/* Shapes */

static int64_t product(const situ_shape *shape, int first) {
  int64_t result = 1;
  for (int d = first; d < shape->rank; d++) result *= shape->dim[d];
  return result;
}

/* The length of the index tuples in input `i`; SITU_ANY if it is not known yet. */
static int64_t tuple_length(const struct call *call, int i) {
  const situ_shape *shape = &call->in[i].shape;
  return shape->rank > 0 ? shape->dim[shape->rank - 1] : SITU_ANY;
}

static situ_status check_tuples(const struct call *call, int i, const situ_shape *params) {
  char a[256], b[256];
  const situ_shape *shape = &call->in[i].shape;
  if (shape->rank == 0) return INVALID("indices must be at least a vector");
  const int64_t depth = tuple_length(call, i);
  if (depth != SITU_ANY && params->rank != SITU_ANY && depth > params->rank)
    return INVALID("index innermost dimension length must be <= params rank; saw: %s vs. %s",
                   shape_print(shape, a), shape_print(params, b));
  return NULL;
}

/* The shape that updates must have: the dimensions of the indices without the last one, then the
 * dimensions of params that are not indexed. Unknown dimensions stay unknown. */
static situ_status tuple_shape(const struct call *call, int i, const situ_shape *params,
                               situ_shape *out) {
  const situ_shape *indices = &call->in[i].shape;
  const int64_t depth = tuple_length(call, i);
  *out = SITU_ANY_SHAPE;
  TRY(check_tuples(call, i, params));
  if (params->rank == SITU_ANY || depth == SITU_ANY) return NULL;
  if (indices->rank - 1 + params->rank - depth > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  out->rank = 0;
  for (int d = 0; d < indices->rank - 1; d++) out->dim[out->rank++] = indices->dim[d];
  for (int d = (int)depth; d < params->rank; d++) out->dim[out->rank++] = params->dim[d];
  return NULL;
}

static situ_status check_updates(const struct call *call, int updates, const situ_shape *want) {
  char a[256], b[256];
  if (shape_compatible(&call->in[updates].shape, want)) return NULL;
  return INVALID("updates must have shape %s, but have %s", shape_print(want, a),
                 shape_print(&call->in[updates].shape, b));
}

/* The dimensions [begin, end) of a shape, up to its rank. */
static situ_shape dimensions(const situ_shape *shape, int begin, int end) {
  situ_shape part = {.rank = 0};
  for (int d = begin; d < end && d < shape->rank; d++) part.dim[part.rank++] = shape->dim[d];
  return part;
}

/* Fails unless the dimensions of `whole` from `begin` on equal those of the updates from `at` on.
 * */
static situ_status match_updates(const char *name, const situ_shape *whole, int begin, int end,
                                 const situ_shape *updates, int at, int stop) {
  char a[256], b[256], c[256], d[256];
  const situ_shape ours = dimensions(whole, begin, end), theirs = dimensions(updates, at, stop);
  if (shape_compatible(&ours, &theirs)) return NULL;
  return INVALID(
      "Dimensions [%d,%d) of %s[shape=%s] = %s must match dimensions [%d,%d) of "
      "updates[shape=%s] = %s",
      begin, end, name, shape_print(whole, a), shape_print(&ours, b), at, stop,
      shape_print(updates, c), shape_print(&theirs, d));
}

/* Checks the updates of index tuples: input `first` has the indices, the next one the updates. */
static situ_status check_tuple_updates(const struct call *call, int first,
                                       const situ_shape *params) {
  const situ_shape *indices = &call->in[first].shape, *updates = &call->in[first + 1].shape;
  const int64_t depth = tuple_length(call, first);
  if (params->rank == 0) return INVALID("Output must be at least 1-D, got shape: []");
  TRY(check_tuples(call, first, params));
  if (shape_is_known(params) && !situ_shape_count(*params) && shape_is_known(indices) &&
      shape_is_known(updates) && situ_shape_count(*indices) && situ_shape_count(*updates))
    return INVALID("Indices and updates specified for empty %s", first ? "input" : "output");
  if (indices->rank == SITU_ANY || updates->rank == SITU_ANY) return NULL;
  const int outer = indices->rank - 1;
  TRY(match_updates("indices", indices, 0, outer, updates, 0, outer));
  if (depth == SITU_ANY || params->rank == SITU_ANY) return NULL;
  return match_updates("input", params, (int)depth, params->rank, updates, outer, updates->rank);
}

/* The attribute bad_indices_policy: an error by default, on all devices. */

#define POLICY " bad_indices_policy:{'','DEFAULT','ERROR','IGNORE'}=''"

static enum scatter_bad bad_indices(const struct call *call) {
  return strcmp(call_text(call, "bad_indices_policy"), "IGNORE") ? SCATTER_STRICT
                                                                 : SCATTER_SKIP_BAD;
}

/* GatherNd */

static situ_status gather_nd_shape(struct call *call) {
  return tuple_shape(call, 1, &call->in[0].shape, &call->out[0].shape);
}

static situ_status record_gather_nd(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int depth = (int)tuple_length(call, 1);
  const int64_t n = situ_shape_count(call->out[0].shape);
  const enum scatter_bad bad = bad_indices(call);
  int32_t rows;
  TRY(scatter_number(call, 1, in, depth, bad, &rows));
  return LAUNCH(call, &reorder_rows_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_AT(rows), ARG_OUT(call, 0), ARG_INT(product(in, depth)), ARG_INT(n));
}

/* ScatterNd and the scatter updates of a copy or a variable: input `first` has the indices, the
 * next one the updates. */

static situ_status record_tuples(struct call *call, const struct kernel *f, int first,
                                 const situ_shape *params) {
  const int depth = (int)tuple_length(call, first);
  const struct operand *to = call->n_out ? &call->out[0] : &call->in[0];
  struct scatter_rows s = {
      .updates = call->in[first + 1].slot, .to = to->slot, .inner = product(params, depth)};
  s.picks = count_tuples(&call->in[first].shape, depth);
  if (!situ_shape_count(*params)) return NULL;
  TRY(scatter_number(call, first, params, depth, bad_indices(call), &s.rows));
  return scatter_rows(call, f, to->type, &s);
}

static situ_status scatter_nd_shape(struct call *call) {
  TRY(op_host_shape(call, 2, false, &call->out[0].shape));
  return check_tuple_updates(call, 0, &call->out[0].shape);
}

static situ_status record_scatter_nd(struct call *call) {
  const situ_shape *out = &call->out[0].shape;
  TRY(scatter_clear(call, call->out[0].type, call->out[0].slot, SCATTER_ZERO,
                    situ_shape_count(*out)));
  return record_tuples(call, &scatter_add_kernel, 0, out);
}

static situ_status tensor_scatter_shape(struct call *call) {
  if (call->n_out) call->out[0].shape = call->in[0].shape;
  return check_tuple_updates(call, 1, &call->in[0].shape);
}

static situ_status record_tensor_scatter(struct call *call, const struct kernel *f) {
  const struct view all = strided_view(&call->in[0].shape);
  if (call->in[0].slot != call->out[0].slot)
    TRY(strided_copy(call, call->in[0].type, call->in[0].slot, &all, call->out[0].slot));
  return record_tuples(call, f, 1, &call->out[0].shape);
}

/* Slices of a variable along its first dimension. */

static situ_status scatter_shape(struct call *call) {
  const situ_shape *ref = &call->in[0].shape, *indices = &call->in[1].shape;
  situ_shape want = SITU_ANY_SHAPE;
  if (call->n_out) call->out[0].shape = *ref;
  if (ref->rank == 0) return INVALID("A scalar has no slices to update");
  if (ref->rank == SITU_ANY || indices->rank == SITU_ANY || call->in[2].shape.rank == 0)
    return NULL;
  if (indices->rank + ref->rank - 1 > SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  want.rank = 0;
  for (int d = 0; d < indices->rank; d++) want.dim[want.rank++] = indices->dim[d];
  for (int d = 1; d < ref->rank; d++) want.dim[want.rank++] = ref->dim[d];
  return check_updates(call, 2, &want);
}

static situ_status record_scatter(struct call *call, const struct kernel *f) {
  const situ_shape *ref = &call->in[0].shape;
  struct scatter_rows s = {.updates = call->in[2].slot,
                           .to = call->in[0].slot,
                           .picks = situ_shape_count(call->in[1].shape),
                           .inner = product(ref, 1),
                           .one = call->in[2].shape.rank == 0};
  TRY(scatter_number(call, 1, ref, 1, SCATTER_STRICT, &s.rows));
  return scatter_rows(call, f, call->in[0].type, &s);
}

#define RECORDS(f)                                                  \
  static situ_status record_tensor_scatter_##f(struct call *call) { \
    return record_tensor_scatter(call, &scatter_##f##_kernel);      \
  }                                                                 \
  static situ_status record_scatter_##f(struct call *call) {        \
    return record_scatter(call, &scatter_##f##_kernel);             \
  }
#define RECORD_ROWS(f)                                       \
  static situ_status record_scatter_##f(struct call *call) { \
    return record_scatter(call, &scatter_##f##_kernel);      \
  }
RECORDS(update)
RECORDS(add)
RECORDS(sub)
RECORDS(min)
RECORDS(max)
RECORD_ROWS(mul)
RECORD_ROWS(div)

static situ_status record_nd_update(struct call *call) {
  return record_tuples(call, &scatter_update_kernel, 1, &call->in[0].shape);
}
static situ_status record_nd_add(struct call *call) {
  return record_tuples(call, &scatter_add_kernel, 1, &call->in[0].shape);
}
static situ_status record_nd_sub(struct call *call) {
  return record_tuples(call, &scatter_sub_kernel, 1, &call->in[0].shape);
}

/* Gradients ignore the indices that the op ignores. */

static struct term gather(struct gradient *g, struct term params, struct term indices) {
  return gradient_emit(g, "GatherNd", TERMS(params, indices),
                       ATTRS(gradient_keep(g, "bad_indices_policy")));
}

/* Index tuples of length 1 select slices like those of Gather; all are valid unless the op skips
 * some. */
static void gather_nd_grad(struct gradient *g) {
  const situ_shape tuples = gradient_shape(g, g->in[1]);
  const bool skips = !strcmp(gradient_text(g, "bad_indices_policy"), "IGNORE");
  if (tuples.rank == 2 && tuples.dim[1] == 1 && !skips) {
    const struct term all = gradient_ints(g, (const int64_t[]){-1}, 1);
    g->dx[0] = gradient_slices(g, g->dy[0], OP(g, "Reshape", g->in[1], all), g->in[0]);
    return;
  }
  struct term shape = gradient_shape_of(g, g->in[0]);
  if (gradient_type(g, g->in[1]) == SITU_INT64)
    shape = gradient_emit(g, "Cast", TERMS(shape), ATTRS(situ_attr_type("DstT", SITU_INT64)));
  g->dx[0] = gradient_emit(g, "ScatterNd", TERMS(g->in[1], g->dy[0], shape),
                           ATTRS(gradient_keep(g, "bad_indices_policy")));
}

static void scatter_nd_grad(struct gradient *g) { g->dx[1] = gather(g, g->dy[0], g->in[0]); }

static void tensor_scatter_update_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "TensorScatterUpdate",
                           TERMS(g->dy[0], g->in[1], gradient_zeros(g, g->in[2])),
                           ATTRS(gradient_keep(g, "bad_indices_policy")));
  g->dx[2] = gather(g, g->dy[0], g->in[1]);
}

static void tensor_scatter_add_grad(struct gradient *g) {
  g->dx[0] = g->dy[0];
  g->dx[2] = gather(g, g->dy[0], g->in[1]);
}

static void tensor_scatter_sub_grad(struct gradient *g) {
  g->dx[0] = g->dy[0];
  g->dx[2] = OP(g, "Neg", gather(g, g->dy[0], g->in[1]));
}

static struct term as_number(struct gradient *g, struct term truth) {
  return gradient_emit(g, "Cast", TERMS(truth),
                       ATTRS(situ_attr_type("DstT", gradient_type(g, g->in[0]))));
}

/* Distributes the gradient of a minimum or maximum equally over all elements that attain it: those
 * of the tensor and of the updates. */
static void tensor_scatter_extreme_grad(struct gradient *g) {
  const struct term there = gather(g, g->out[0], g->in[1]);
  const struct term own = as_number(g, OP(g, "Equal", g->in[0], g->out[0]));
  const struct term given = as_number(g, OP(g, "Equal", g->in[2], there));
  const struct term zeros = gradient_zeros(g, g->in[0]);
  const struct term hits = gradient_emit(g, "TensorScatterAdd", TERMS(zeros, g->in[1], given),
                                         ATTRS(gradient_keep(g, "bad_indices_policy")));
  const struct term count = OP(g, "Add", own, hits);
  const struct term share = OP(g, "RealDiv", g->dy[0], count);
  g->dx[0] = OP(g, "Mul", share, own);
  g->dx[2] = OP(g, "Mul", gather(g, share, g->in[1]), given);
}

#define TENSOR_SCATTER(NAME, suffix, types, devices_, python_, text, ...)                         \
  {                                                                                               \
    .name = "TensorScatter" #NAME, .inputs = "tensor:T indices:Tindices updates:T",               \
    .outputs = "output:T", .attrs = "T:{" types "} Tindices:{int16 int32 int64}=int32" POLICY,    \
    .python = python_, .doc = text,                                                               \
    .args =                                                                                       \
        "tensor: Tensor to copy.\nindices: Index tuples in the last dimension.\nupdates: "        \
        "Elements or slices, one per index tuple.",                                               \
    .samples =                                                                                    \
        "[5] [3,1]=4,0,4 [3]; [4,3] [2,2]=1,2,3,0 [2]; "                                          \
        "Tindices=int64 [4,3] [2,1]=3,1 [2,3]; [2,2] [0,1]= [0,2]; "                              \
        "bad_indices_policy='IGNORE' [5] [4,1]=4,0,-1,5 [4]",                                     \
    .devices = devices_, .shape = tensor_scatter_shape, .record = record_tensor_scatter_##suffix, \
    __VA_ARGS__                                                                                   \
  }

/* Two ops for each update: on a reference, which the op returns, and on a handle. */
#define SCATTER(NAME, suffix, types, lock, text)                                                 \
  {.name = "Scatter" #NAME,                                                                      \
   .inputs = "ref:&T indices:Tindices updates:T",                                                \
   .outputs = "output_ref:&T",                                                                   \
   .attrs = "T:{" types "} Tindices:{int32 int64}=int32 use_locking:bool=" lock,                 \
   .doc = text " slices of a variable along its first dimension; returns the variable.",         \
   .devices = EVERYWHERE,                                                                        \
   .flags = OP_STATEFUL | OP_UPDATES,                                                            \
   .shape = scatter_shape,                                                                       \
   .record = record_scatter_##suffix},                                                           \
  {                                                                                              \
    .name = "ResourceScatter" #NAME, .inputs = "resource:@dtype indices:Tindices updates:dtype", \
    .attrs = "dtype:{" types "} Tindices:{int32 int64}",                                         \
    .doc = text " slices of a variable along its first dimension.", .devices = EVERYWHERE,       \
    .flags = OP_STATEFUL | OP_UPDATES, .shape = scatter_shape, .record = record_scatter_##suffix \
  }

#define SCATTER_ND(NAME, suffix, types, lock, text)                                                \
  {.name = "ScatterNd" #NAME,                                                                      \
   .inputs = "ref:&T indices:Tindices updates:T",                                                  \
   .outputs = "output_ref:&T",                                                                     \
   .attrs = "T:{" types "} Tindices:{int32 int64}=int32 use_locking:bool=" lock POLICY,            \
   .doc = text " elements or slices of a variable; returns the variable.",                         \
   .args =                                                                                         \
       "indices: Index tuples in the last dimension.\nupdates: Elements or slices, one per index " \
       "tuple.",                                                                                   \
   .devices = EVERYWHERE,                                                                          \
   .flags = OP_STATEFUL | OP_UPDATES,                                                              \
   .shape = tensor_scatter_shape,                                                                  \
   .record = record_nd_##suffix},                                                                  \
  {                                                                                                \
    .name = "ResourceScatterNd" #NAME, .inputs = "ref:@T indices:Tindices updates:T",              \
    .attrs = "T:{" types "} Tindices:{int32 int64}=int32 use_locking:bool=true" POLICY,            \
    .doc = text " elements or slices of a variable.",                                              \
    .args =                                                                                        \
        "indices: Index tuples in the last dimension.\nupdates: Elements or slices, one per "      \
        "index tuple.",                                                                            \
    .devices = EVERYWHERE, .flags = OP_STATEFUL | OP_UPDATES, .shape = tensor_scatter_shape,       \
    .record = record_nd_##suffix                                                                   \
  }

#define LINEAR TYPE_NAMES_NUMBER " complex64 complex128"

static const struct op_def op_defs[] = {
    {.name = "GatherNd",
     .inputs = "params:Tparams indices:Tindices",
     .outputs = "output:Tparams",
     .attrs = "Tparams:{" ALL_TYPES "} Tindices:{int16 int32 int64}=int32" POLICY,
     .doc = "Gathers elements or slices of params by index tuples.",
     .args = "params: Tensor of rank 1 or more.\n"
             "indices: Index tuples in the last dimension; a tuple shorter than the rank of params "
             "selects a slice.",
     .samples = "[4,3] [2,2]=1,2,3,0; [4,3] [2,1]=3,1; Tindices=int64 [2,3,2] [2,1,2]=0,2,1,1; "
                "[3] [2,0]=; [5] [1]=4; [4,3] [0,2]=; "
                "bad_indices_policy='IGNORE' [4,3] [4,2]=1,2,9,0,-1,1,0,3; "
                "bad_indices_policy='IGNORE' [4,3] [3,1]=4,1,-1",
     .devices = MOVABLE,
     .shape = gather_nd_shape,
     .record = record_gather_nd,
     .grad = gather_nd_grad},
    {.name = "ScatterNd",
     .inputs = "indices:Tindices updates:T shape:Tindices",
     .outputs = "output:T",
     .attrs = "T:{" LINEAR " bool string} Tindices:{int16 int32 int64}=int32" POLICY,
     .python = "scatter_nd",
     .doc = "Scatters updates into a tensor of zeros; updates of equal indices are added.",
     .args = "indices: Index tuples in the last dimension.\n"
             "updates: Elements or slices, one per index tuple.\n"
             "shape: Shape of the result.",
     .samples = "[3,1]=4,0,4 [3] [1]=6; [2,2]=1,2,3,0 [2] [2]=4,3; "
                "Tindices=int64 [2,1]=3,1 [2,3] [2]=4,3; [0,1]= [0,3] [2]=2,3; "
                "bad_indices_policy='IGNORE' [4,1]=4,0,-1,6 [4] [1]=6",
     .host = "shape",
     .devices = MOVABLE,
     .shape = scatter_nd_shape,
     .record = record_scatter_nd,
     .compute_strings = string_elements_scatter_nd,
     .grad = scatter_nd_grad},
    TENSOR_SCATTER(Update, update, ALL_TYPES, MOVABLE, "tensor_scatter_nd_update",
                   "A copy of the tensor with elements or slices replaced.",
                   .grad = tensor_scatter_update_grad),
    TENSOR_SCATTER(Add, add, LINEAR, EVERYWHERE, "tensor_scatter_nd_add",
                   "A copy of the tensor with updates added to elements or slices.",
                   .grad = tensor_scatter_add_grad),
    TENSOR_SCATTER(Sub, sub, LINEAR, EVERYWHERE, "tensor_scatter_nd_sub",
                   "A copy of the tensor with updates subtracted from elements or slices.",
                   .grad = tensor_scatter_sub_grad),
    TENSOR_SCATTER(
        Max, max, TYPE_NAMES_NUMBER, EVERYWHERE, "tensor_scatter_nd_max",
        "A copy of the tensor with elements or slices replaced by their maximum with updates.",
        .grad = tensor_scatter_extreme_grad),
    TENSOR_SCATTER(
        Min, min, TYPE_NAMES_NUMBER, EVERYWHERE, "tensor_scatter_nd_min",
        "A copy of the tensor with elements or slices replaced by their minimum with updates.",
        .grad = tensor_scatter_extreme_grad),
    SCATTER(Update, update, NUMERIC, "true", "Replaces"),
    SCATTER(Add, add, LINEAR, "false", "Adds updates to"),
    SCATTER(Sub, sub, LINEAR, "false", "Subtracts updates from"),
    SCATTER(Mul, mul, TYPE_NAMES_NUMBER, "false", "Multiplies by updates the"),
    SCATTER(Div, div, TYPE_NAMES_NUMBER, "false", "Divides by updates the"),
    SCATTER(Min, min, TYPE_NAMES_NUMBER, "false", "Takes the minimum with updates of"),
    SCATTER(Max, max, TYPE_NAMES_NUMBER, "false", "Takes the maximum with updates of"),
    SCATTER_ND(Update, update, NUMERIC, "true", "Replaces"),
    SCATTER_ND(Add, add, LINEAR, "false", "Adds updates to"),
    SCATTER_ND(Sub, sub, LINEAR, "false", "Subtracts updates from"),
};

OP_FAMILY(scatter, op_defs);
