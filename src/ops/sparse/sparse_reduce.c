/* SPDX-License-Identifier: Apache-2.0
 * sparse_reduce.c: SparseReduceSum, SparseReduceMax and SparseSoftmax: elements of a sparse tensor
 * in groups of equal indices. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/sparse/sparse_elements.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* SparseReduceSum, SparseReduceMax */

static situ_status check_axes(const struct call *call) {
  char text[SHAPE_STRING_SIZE];
  if (call->in[3].shape.rank > 1)
    return INVALID("Expected reduction_axes to be a scalar or a vector; got shape: %s",
                   shape_print(&call->in[3].shape, text));
  return NULL;
}

/* The mask of dimensions that are kept. */
static situ_status kept_dims(const struct compute *compute, int rank, unsigned *kept) {
  const situ_tensor *axes = compute->in[3];
  const int32_t *items = situ_tensor_data(axes);
  *kept = (1u << rank) - 1;
  for (int64_t i = 0; i < situ_shape_count(axes->shape); i++) {
    const int64_t axis = items[i];
    if (axis < -rank || axis >= rank)
      return INVALID("Invalid reduction dimension %lld, for input with %d dimensions.",
                     (long long)axis, rank);
    *kept &= ~(1u << (axis < 0 ? axis + rank : axis));
  }
  return NULL;
}

/* A reduction: groups of elements with equal kept indices. */
struct reduction {
  struct sparse in;
  struct sparse_entry *entries;
  unsigned kept;
  bool keep_dims, is_max;
  situ_shape shape; /* of the result */
};

static situ_status start_reduction(const struct compute *compute, bool is_max,
                                   struct reduction *r) {
  *r = (struct reduction){.is_max = is_max, .keep_dims = call_bool(compute->call, "keep_dims")};
  TRY(sparse_read(compute, 0, &r->in));
  TRY(kept_dims(compute, r->in.rank, &r->kept));
  for (int d = 0; d < r->in.rank; d++)
    if (r->kept >> d & 1 || r->keep_dims)
      r->shape.dim[r->shape.rank++] = r->kept >> d & 1 ? r->in.dims[d] : 1;
  for (int64_t i = 0; i < r->in.count; i++)
    if (!sparse_is_inside(&r->in, i, r->kept))
      return INVALID("Sparse index tuple indices[%lld, :] is out of bounds", (long long)i);
  return sparse_sort(&r->in, r->kept, &r->entries);
}

/* Reduces the group that begins at entry *at and advances *at. */
static struct sparse_number reduce_group(const struct reduction *r, int64_t *at) {
  const int64_t key = r->entries[*at].key;
  struct sparse_number all = sparse_number_at(r->in.values, r->entries[*at].at);
  for (++*at; *at < r->in.count && r->entries[*at].key == key; ++*at) {
    const struct sparse_number x = sparse_number_at(r->in.values, r->entries[*at].at);
    if (!r->is_max)
      all = (struct sparse_number){all.real + x.real, all.imag + x.imag};
    else if (x.real > all.real || isnan(x.real))
      all = x;
  }
  return all;
}

static situ_status reduce_dense(const struct compute *compute, const struct reduction *r) {
  const situ_type type = r->in.values->type;
  void *to = NULL;
  TRY(compute_output(compute, 0, r->shape, &to));
  memset(to, 0, situ_tensor_bytes(compute->out[0]));
  for (int64_t at = 0; at < r->in.count;) {
    const int64_t key = r->entries[at].key;
    sparse_number_store(type, to, key, reduce_group(r, &at));
  }
  return NULL;
}

static int64_t count_groups(const struct reduction *r) {
  int64_t n = r->in.count > 0;
  for (int64_t i = 1; i < r->in.count; i++) n += r->entries[i].key != r->entries[i - 1].key;
  return n;
}

static situ_status reduce_sparse(const struct compute *compute, const struct reduction *r) {
  const int64_t groups = count_groups(r);
  void *indices = NULL, *values = NULL, *dims = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(groups, r->shape.rank), &indices));
  TRY(compute_output(compute, 1, SITU_SHAPE(groups), &values));
  TRY(compute_output(compute, 2, SITU_SHAPE(r->shape.rank), &dims));
  for (int d = 0; d < r->shape.rank; d++) ((int64_t *)dims)[d] = r->shape.dim[d];
  int64_t *index = indices;
  for (int64_t at = 0, group = 0; at < r->in.count; group++) {
    const int64_t *from = r->in.indices + r->entries[at].at * r->in.rank;
    for (int d = 0; d < r->in.rank; d++)
      if (r->kept >> d & 1 || r->keep_dims) *index++ = r->kept >> d & 1 ? from[d] : 0;
    sparse_number_store(r->in.values->type, values, group, reduce_group(r, &at));
  }
  return NULL;
}

static situ_status compute_reduction(const struct compute *compute, bool is_max) {
  struct reduction r;
  situ_status status = start_reduction(compute, is_max, &r);
  if (!status)
    status = compute->call->n_out > 1 ? reduce_sparse(compute, &r) : reduce_dense(compute, &r);
  free(r.entries);
  return status;
}

static situ_status compute_sum(struct compute *compute) {
  return compute_reduction(compute, false);
}

static situ_status compute_max(struct compute *compute) { return compute_reduction(compute, true); }

static situ_status reduce_shape(struct call *call) {
  TRY(check_axes(call));
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  if (call->n_out > 1) {
    call->out[0].shape = SITU_SHAPE(SITU_ANY, SITU_ANY);
    call->out[1].shape = SITU_SHAPE(SITU_ANY);
    call->out[2].shape = SITU_SHAPE(SITU_ANY);
  } else if (call_bool(call, "keep_dims") && call->in[2].shape.rank == 1 &&
             call->in[2].shape.dim[0] >= 0 && call->in[2].shape.dim[0] <= SITU_MAX_RANK) {
    call->out[0].shape.rank = (int)call->in[2].shape.dim[0];
    for (int d = 0; d < call->out[0].shape.rank; d++) call->out[0].shape.dim[d] = SITU_ANY;
  }
  return NULL;
}

/* The gradient of an element is that of its group. */
static void sum_grad(struct gradient *g) {
  const struct term indices = g->in[0], dims = g->in[2];
  const struct term axes = OP(g, "Reshape", g->in[3], gradient_ints(g, (const int64_t[]){-1}, 1));
  const struct term wrapped = OP(g, "FloorMod", axes, OP(g, "Size", dims));
  const situ_attr to_int64 = situ_attr_type("DstT", SITU_INT64);
  const struct term ones =
      gradient_emit(g, "Cast", TERMS(OP(g, "OnesLike", axes)), ATTRS(to_int64));
  const struct term rows = OP(g, "ExpandDims", wrapped, gradient_int(g, 1));
  const struct term kept = OP(g, "TensorScatterUpdate", dims, rows, ones);
  const struct term one = gradient_emit(g, "Cast", TERMS(gradient_int(g, 1)), ATTRS(to_int64));
  const struct term scale = OP(g, "FloorDiv", dims, OP(g, "Maximum", kept, one));
  const struct term at = OP(g, "FloorDiv", indices, OP(g, "Maximum", scale, one));
  g->dx[1] = OP(g, "GatherNd", OP(g, "Reshape", g->dy[0], kept), at);
}

/* SparseSoftmax */

static situ_status softmax_shape(struct call *call) {
  TRY(op_need_sparse(call, 0, "sparse tensor"));
  call->out[0].shape = call->in[1].shape;
  return NULL;
}

static void softmax_group(const struct sparse *in, const struct sparse_entry *group, int64_t n,
                          void *to) {
  double most = -INFINITY, total = 0;
  for (int64_t i = 0; i < n; i++)
    most = fmax(most, (double)sparse_number_at(in->values, group[i].at).real);
  for (int64_t i = 0; i < n; i++)
    total += exp((double)sparse_number_at(in->values, group[i].at).real - most);
  for (int64_t i = 0; i < n; i++) {
    const double x = (double)sparse_number_at(in->values, group[i].at).real;
    const struct sparse_number y = {exp(x - most) / total, 0};
    sparse_number_store(in->values->type, to, group[i].at, y);
  }
}

static situ_status compute_softmax(struct compute *compute) {
  struct sparse in;
  TRY(sparse_read(compute, 0, &in));
  if (in.rank < 2) return INVALID("Input should have rank >= 2, but received rank %d", in.rank);
  const unsigned rows = (1u << (in.rank - 1)) - 1;
  for (int64_t i = 0; i < in.count; i++)
    if (!sparse_is_inside(&in, i, rows))
      return INVALID("Sparse index tuple indices[%lld, :] is out of bounds", (long long)i);
  void *to = NULL;
  TRY(compute_output(compute, 0, in.values->shape, &to));
  struct sparse_entry *entries = NULL;
  TRY(sparse_sort(&in, rows, &entries));
  for (int64_t at = 0, end; at < in.count; at = end) {
    for (end = at; end < in.count && entries[end].key == entries[at].key;) end++;
    softmax_group(&in, entries + at, end - at, to);
  }
  free(entries);
  return NULL;
}

/* (dy - the sum of dy * y in the row) * y */
static void softmax_grad(struct gradient *g) {
  const struct term indices = g->in[0], dims = g->in[2], y = g->out[0];
  const struct term last = gradient_ints(g, (const int64_t[]){-1}, 1);
  const struct term sums =
      gradient_emit(g, "SparseReduceSum", TERMS(indices, OP(g, "Mul", g->dy[0], y), dims, last),
                    ATTRS(situ_attr_bool("keep_dims", true)));
  const struct term rest =
      OP(g, "SparseDenseCwiseAdd", indices, g->dy[0], dims, OP(g, "Neg", sums));
  g->dx[1] = OP(g, "Mul", rest, y);
}

#define INPUTS "input_indices:int64 input_values:T input_shape:int64 reduction_axes:int32"
#define REAL_NUMBERS "bfloat16 half float double int32 int64 int8 uint8 int16 uint16 uint32 uint64"
#define REDUCTION_ARGS                                      \
  "input_indices: Indices of the elements, one row each.\n" \
  "input_values: Values of the elements.\n"                 \
  "input_shape: Shape of the sparse tensor.\n"              \
  "reduction_axes: The dimensions to reduce.\n"             \
  "keep_dims: Keep reduced dimensions with size 1."
#define SPARSE_RESULT "output_indices:int64 output_values:T output_shape:int64"

static const struct op_def op_defs[] = {
    {.name = "SparseReduceSum",
     .inputs = INPUTS,
     .outputs = "output:T",
     .attrs = "keep_dims:bool=false T:{" REAL_NUMBERS " complex64 complex128}",
     .python = "",
     .doc = "Sums the elements of a sparse tensor over dimensions; the result is dense.",
     .args = REDUCTION_ARGS,
     .devices = "CPU",
     .shape = reduce_shape,
     .grad = sum_grad,
     .compute = compute_sum},
    {.name = "SparseReduceSumSparse",
     .inputs = INPUTS,
     .outputs = SPARSE_RESULT,
     .attrs = "keep_dims:bool=false T:{" REAL_NUMBERS " complex64 complex128}",
     .python = "",
     .doc = "Sums the elements of a sparse tensor over dimensions; the result is sparse.",
     .args = REDUCTION_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = reduce_shape,
     .compute = compute_sum},
    {.name = "SparseReduceMax",
     .inputs = INPUTS,
     .outputs = "output:T",
     .attrs = "keep_dims:bool=false T:{" REAL_NUMBERS "}",
     .python = "",
     .doc = "The largest element of a sparse tensor over dimensions; the result is dense. It is 0 "
            "where there are no elements.",
     .args = REDUCTION_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = reduce_shape,
     .compute = compute_max},
    {.name = "SparseReduceMaxSparse",
     .inputs = INPUTS,
     .outputs = SPARSE_RESULT,
     .attrs = "keep_dims:bool=false T:{" REAL_NUMBERS "}",
     .python = "",
     .doc = "The largest element of a sparse tensor over dimensions; the result is sparse.",
     .args = REDUCTION_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = reduce_shape,
     .compute = compute_max},
    {.name = "SparseSoftmax",
     .inputs = "sp_indices:int64 sp_values:T sp_shape:int64",
     .outputs = "output:T",
     .attrs = "T:{half float double}",
     .python = "",
     .doc = "Softmax of the existing elements of each row of a sparse tensor.",
     .args = "sp_indices: Indices of the elements, one row each.\n"
             "sp_values: Values of the elements.\n"
             "sp_shape: Shape of the sparse tensor, of rank 2 or more.",
     .devices = "CPU",
     .shape = softmax_shape,
     .grad = softmax_grad,
     .compute = compute_softmax},
};

OP_FAMILY(sparse_reduce, op_defs);
