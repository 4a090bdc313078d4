/* SPDX-License-Identifier: Apache-2.0
 * sparse_math.c: SparseDenseCwiseAdd, Mul and Div, SparseSparseMaximum and Minimum. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/sparse/sparse_elements.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* SparseDenseCwise: an element-wise op with a dense tensor that is broadcast. */

static situ_status cwise_shape(struct call *call) {
  TRY(op_need_sparse(call, 0, "sparse tensor"));
  call->out[0].shape = call->in[1].shape;
  return NULL;
}

static struct sparse_number add(struct sparse_number x, struct sparse_number y) {
  return (struct sparse_number){x.real + y.real, x.imag + y.imag};
}

static struct sparse_number mul(struct sparse_number x, struct sparse_number y) {
  return (struct sparse_number){x.real * y.real - x.imag * y.imag,
                                x.real * y.imag + x.imag * y.real};
}

static struct sparse_number divide(struct sparse_number x, struct sparse_number y) {
  if (y.imag == 0) return (struct sparse_number){x.real / y.real, x.imag / y.real};
  const long double norm = y.real * y.real + y.imag * y.imag;
  const struct sparse_number z = mul(x, (struct sparse_number){y.real, -y.imag});
  return (struct sparse_number){z.real / norm, z.imag / norm};
}

/* Products of integers wrap around: they are computed modulo 2^64. */
static void store_product(const struct sparse *in, const situ_tensor *dense, int64_t i, int64_t at,
                          void *to) {
  const situ_type type = dense->type;
  const struct sparse_number x = sparse_number_at(in->values, i), y = sparse_number_at(dense, at);
  struct sparse_number z = mul(x, y);
  if (!type_is_real(type) && !type_is_complex(type)) {
    const uint64_t a = x.real < 0 ? 0 - (uint64_t)-x.real : (uint64_t)x.real;
    const uint64_t b = y.real < 0 ? 0 - (uint64_t)-y.real : (uint64_t)y.real;
    z.real = (long double)(a * b);
  }
  sparse_number_store(type, to, i, z);
}

enum cwise { CWISE_ADD, CWISE_MUL, CWISE_DIV };

static situ_status check_broadcast(const struct sparse *in, const situ_shape *dense) {
  const int added = in->rank - dense->rank;
  bool fits = added >= 0;
  for (int d = 0; fits && d < dense->rank; d++)
    fits = dense->dim[d] == 1 || dense->dim[d] == in->dims[d + added];
  if (fits) return NULL;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  situ_shape own = {.rank = in->rank};
  memcpy(own.dim, in->dims, sizeof *own.dim * (size_t)in->rank);
  return INVALID(
      "SparseDenseBinaryOpShared broadcasts dense to sparse only; got incompatible shapes: %s vs. "
      "%s",
      shape_print(&own, a), shape_print(dense, b));
}

static int64_t dense_position(const struct sparse *in, const situ_shape *dense, int64_t i) {
  const int64_t *index = in->indices + i * in->rank + (in->rank - dense->rank);
  int64_t at = 0;
  for (int d = 0; d < dense->rank; d++)
    at = at * dense->dim[d] + (dense->dim[d] == 1 ? 0 : index[d]);
  return at;
}

static bool has_zero(const situ_tensor *dense) {
  for (int64_t i = 0; i < situ_shape_count(dense->shape); i++)
    if (sparse_number_at(dense, i).real == 0) return true;
  return false;
}

static situ_status compute_cwise(const struct compute *compute, enum cwise kind) {
  const situ_tensor *dense = compute->in[3];
  struct sparse in;
  TRY(sparse_read(compute, 0, &in));
  TRY(check_broadcast(&in, &dense->shape));
  const bool whole = !type_is_real(dense->type) && !type_is_complex(dense->type);
  if (kind == CWISE_DIV && whole && has_zero(dense))
    return INVALID("SparseDenseCwiseDiv cannot divide by zero, but the dense tensor contains zero");
  void *to = NULL;
  TRY(compute_output(compute, 0, in.values->shape, &to));
  for (int64_t i = 0; i < in.count; i++) {
    TRY(interrupt_check());
    if (!sparse_is_inside(&in, i, ~0u))
      return INVALID("Provided indices are out-of-bounds w.r.t. dense side with broadcasted shape");
    const int64_t at = dense_position(&in, &dense->shape, i);
    const struct sparse_number x = sparse_number_at(in.values, i), y = sparse_number_at(dense, at);
    if (kind == CWISE_MUL)
      store_product(&in, dense, i, at, to);
    else
      sparse_number_store(dense->type, to, i, kind == CWISE_ADD ? add(x, y) : divide(x, y));
  }
  return NULL;
}

static situ_status compute_add(struct compute *compute) {
  return compute_cwise(compute, CWISE_ADD);
}
static situ_status compute_mul(struct compute *compute) {
  return compute_cwise(compute, CWISE_MUL);
}
static situ_status compute_div(struct compute *compute) {
  return compute_cwise(compute, CWISE_DIV);
}

/* The offsets of the elements in the dense tensor: their indices without the dimensions that it
 * does not have, and 0 where it has size 1. */
static struct term dense_indices(struct gradient *g) {
  const struct term indices = g->in[0], dims = g->in[2], dense = g->in[3];
  const situ_attr to_int64 = situ_attr_type("DstT", SITU_INT64);
  const struct term one = gradient_emit(g, "Cast", TERMS(gradient_int(g, 1)), ATTRS(to_int64));
  const struct term own =
      gradient_emit(g, "Shape", TERMS(dense), ATTRS(situ_attr_type("out_type", SITU_INT64)));
  const struct term zero = gradient_int(g, 0);
  const struct term added =
      OP(g, "ExpandDims", OP(g, "Sub", OP(g, "Size", dims), OP(g, "Rank", dense)), zero);
  const struct term first =
      OP(g, "ConcatV2", gradient_ints(g, (const int64_t[]){0}, 1), added, zero);
  const struct term tail = OP(g, "Slice", dims, added, gradient_ints(g, (const int64_t[]){-1}, 1));
  const struct term rest =
      OP(g, "Slice", indices, first, gradient_ints(g, (const int64_t[]){-1, -1}, 2));
  const struct term scale = OP(g, "FloorDiv", tail, OP(g, "Maximum", own, one));
  return OP(g, "FloorDiv", rest, OP(g, "Maximum", scale, one));
}

static void cwise_grad(struct gradient *g, enum cwise kind) {
  const struct term dz = g->dy[0], x = g->in[1], dense = g->in[3];
  const bool scalar = gradient_shape(g, dense).rank == 0;
  const struct term at = scalar ? NO_TERM : dense_indices(g);
  const struct term y = kind == CWISE_ADD || scalar ? dense : OP(g, "GatherNd", dense, at);
  const bool is_complex = type_is_complex(gradient_type(g, x));
  const struct term y_ = is_complex ? OP(g, "Conj", y) : y, x_ = is_complex ? OP(g, "Conj", x) : x;
  struct term dy = dz;
  g->dx[1] = dz;
  if (kind == CWISE_MUL) {
    g->dx[1] = OP(g, "Mul", dz, y_);
    dy = OP(g, "Mul", dz, x_);
  } else if (kind == CWISE_DIV) {
    g->dx[1] = OP(g, "RealDiv", dz, y_);
    dy = OP(g, "Neg", OP(g, "RealDiv", OP(g, "Mul", dz, x_), OP(g, "Mul", y_, y_)));
  }
  const struct term shape =
      gradient_emit(g, "Shape", TERMS(dense), ATTRS(situ_attr_type("out_type", SITU_INT64)));
  g->dx[3] = scalar ? OP(g, "Sum", dy, gradient_int(g, 0)) : OP(g, "ScatterNd", at, dy, shape);
}

static void add_grad(struct gradient *g) { cwise_grad(g, CWISE_ADD); }
static void mul_grad(struct gradient *g) { cwise_grad(g, CWISE_MUL); }
static void div_grad(struct gradient *g) { cwise_grad(g, CWISE_DIV); }

/* SparseSparseMaximum, SparseSparseMinimum: an element that only one tensor has is compared with 0.
 * */

static situ_status union_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  call->out[0].shape = SITU_SHAPE(SITU_ANY, in->rank == 2 ? in->dim[1] : SITU_ANY);
  call->out[1].shape = SITU_SHAPE(SITU_ANY);
  return NULL;
}

static situ_status check_operands(const struct sparse *a, const struct sparse *b) {
  if (a->rank != b->rank)
    return INVALID("Operands do not have the same ranks; got ranks %d and %d", a->rank, b->rank);
  for (int d = 0; d < a->rank; d++)
    if (a->dims[d] != b->dims[d])
      return INVALID("Operands' shapes do not match: got %lld and %lld for dimension %d",
                     (long long)a->dims[d], (long long)b->dims[d], d);
  for (int which = 0; which < 2; which++)
    for (int64_t i = 0; i < (which ? b : a)->count; i++)
      if (!sparse_is_inside(which ? b : a, i, ~0u))
        return INVALID("Sparse index tuple indices[%lld, :] is out of bounds", (long long)i);
  return NULL;
}

/* Two sorted lists of entries to merge; with `indices` and `values` NULL, the elements are counted.
 * */
struct merge {
  const struct sparse *in[2];
  struct sparse_entry *entries[2];
  bool is_max;
  int64_t *indices;
  void *values;
};

static void store_merged(const struct merge *merge, int64_t n, const int64_t from[2]) {
  const struct sparse *owner = merge->in[from[0] < 0];
  const int64_t at = from[from[0] < 0];
  struct sparse_number x = {0, 0}, y = {0, 0};
  if (from[0] >= 0) x = sparse_number_at(merge->in[0]->values, from[0]);
  if (from[1] >= 0) y = sparse_number_at(merge->in[1]->values, from[1]);
  const bool first = merge->is_max ? x.real >= y.real : x.real <= y.real;
  memcpy(merge->indices + n * owner->rank, owner->indices + at * owner->rank,
         sizeof(int64_t) * (size_t)owner->rank);
  sparse_number_store(owner->values->type, merge->values, n, first ? x : y);
}

static int64_t merge_entries(const struct merge *merge) {
  int64_t n = 0, i = 0, j = 0;
  for (; i < merge->in[0]->count || j < merge->in[1]->count; n++) {
    const bool has_a = i < merge->in[0]->count, has_b = j < merge->in[1]->count;
    const int64_t a = has_a ? merge->entries[0][i].key : INT64_MAX;
    const int64_t b = has_b ? merge->entries[1][j].key : INT64_MAX;
    const int64_t from[2] = {has_a && (!has_b || a <= b) ? merge->entries[0][i].at : -1,
                             has_b && (!has_a || b <= a) ? merge->entries[1][j].at : -1};
    if (merge->indices) store_merged(merge, n, from);
    i += from[0] >= 0;
    j += from[1] >= 0;
  }
  return n;
}

static situ_status fill_union(const struct compute *compute, struct merge *merge) {
  const int64_t n = merge_entries(merge);
  void *indices = NULL;
  TRY(compute_output(compute, 0, SITU_SHAPE(n, merge->in[0]->rank), &indices));
  TRY(compute_output(compute, 1, SITU_SHAPE(n), &merge->values));
  merge->indices = indices;
  merge_entries(merge);
  return NULL;
}

static situ_status compute_union(const struct compute *compute, bool is_max) {
  struct sparse a, b;
  TRY(sparse_read(compute, 0, &a));
  TRY(sparse_read(compute, 3, &b));
  TRY(check_operands(&a, &b));
  struct merge merge = {.in = {&a, &b}, .is_max = is_max};
  situ_status status = sparse_sort(&a, ~0u, &merge.entries[0]);
  if (!status) status = sparse_sort(&b, ~0u, &merge.entries[1]);
  if (!status) status = fill_union(compute, &merge);
  free(merge.entries[0]);
  free(merge.entries[1]);
  return status;
}

static situ_status compute_maximum(struct compute *compute) { return compute_union(compute, true); }
static situ_status compute_minimum(struct compute *compute) {
  return compute_union(compute, false);
}

#define REAL_NUMBERS "bfloat16 half float double int32 int64 int8 uint8 int16 uint16 uint32 uint64"
#define CWISE(name_, compute_, grad_, doc_)                                                 \
  {                                                                                         \
    .name = "SparseDenseCwise" #name_,                                                      \
    .inputs = "sp_indices:int64 sp_values:T sp_shape:int64 dense:T", .outputs = "output:T", \
    .attrs = "T:{" REAL_NUMBERS " complex64 complex128}", .python = "",                     \
    .doc = doc_ " The dense tensor is broadcast to the shape of the sparse one.",           \
    .args =                                                                                 \
        "sp_indices: Indices of the elements, one row each.\n"                              \
        "sp_values: Values of the elements.\n"                                              \
        "sp_shape: Shape of the sparse tensor.\n"                                           \
        "dense: Dense tensor.",                                                             \
    .devices = "CPU", .shape = cwise_shape, .grad = grad_, .compute = compute_              \
  }
#define UNION(name_, compute_, doc_)                                                               \
  {                                                                                                \
    .name = "SparseSparse" #name_,                                                                 \
    .inputs = "a_indices:int64 a_values:T a_shape:int64 b_indices:int64 b_values:T b_shape:int64", \
    .outputs = "output_indices:int64 output_values:T", .attrs = "T:{" REAL_NUMBERS "}",            \
    .python = "", .doc = doc_ " An element that only one of them has is compared with 0.",         \
    .args =                                                                                        \
        "a_indices: Indices of the elements of a, one row each.\n"                                 \
        "a_values: Values of the elements of a.\n"                                                 \
        "a_shape: Shape of a.\n"                                                                   \
        "b_indices: Indices of the elements of b.\n"                                               \
        "b_values: Values of the elements of b.\n"                                                 \
        "b_shape: Shape of b, equal to that of a.",                                                \
    .devices = "CPU", .flags = OP_NO_GRADIENT, .shape = union_shape, .compute = compute_           \
  }

static const struct op_def op_defs[] = {
    CWISE(Add, compute_add, add_grad, "Adds a dense tensor to the elements of a sparse one."),
    CWISE(Mul, compute_mul, mul_grad, "Multiplies the elements of a sparse tensor by a dense one."),
    CWISE(Div, compute_div, div_grad, "Divides the elements of a sparse tensor by a dense one."),
    UNION(Maximum, compute_maximum, "The larger elements of two sparse tensors."),
    UNION(Minimum, compute_minimum, "The smaller elements of two sparse tensors."),
};

OP_FAMILY(sparse_math, op_defs);
