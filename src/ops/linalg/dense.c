/* SPDX-License-Identifier: Apache-2.0
 * dense.c: host ops on batches of dense matrices: conversion of elements, threads, shapes and the
 * terms that their gradients share. */
#include "ops/linalg/dense.h"

#include <stdlib.h>
#include <string.h>

#include "host/half.h"
#include "host/thread_pool.h"

enum { THREAD_FLOPS = 1 << 16 }; /* worth a thread */

static void load_real(const situ_tensor *tensor, int64_t at, int64_t count, double *to,
                      int64_t step) {
  const void *data = situ_tensor_data(tensor);
  if (tensor->type == SITU_HALF) {
    for (int64_t i = 0; i < count; i++) {
      float value;
      half_to_float((const uint16_t *)data + at + i, &value, 1);
      to[i * step] = value;
    }
    return;
  }
  const bool single = tensor->type == SITU_FLOAT || tensor->type == SITU_COMPLEX64;
  const float *floats = (const float *)data + at;
  const double *doubles = (const double *)data + at;
  for (int64_t i = 0; single && i < count; i++) to[i * step] = floats[i];
  for (int64_t i = 0; !single && i < count; i++) to[i * step] = doubles[i];
}

void dense_load(const situ_tensor *tensor, int64_t at, int64_t count, bool is_complex, void *to) {
  if (type_is_complex(tensor->type)) {
    load_real(tensor, 2 * at, 2 * count, to, 1);
  } else if (is_complex) {
    memset(to, 0, (size_t)count * sizeof(double _Complex));
    load_real(tensor, at, count, to, 2);
  } else {
    load_real(tensor, at, count, to, 1);
  }
}

void dense_store(const struct dense *dense, int output, int64_t at, int64_t count, bool is_complex,
                 const void *from) {
  const situ_tensor *tensor = dense->compute->out[output];
  const bool pairs = type_is_complex(tensor->type);
  const bool single = tensor->type == SITU_FLOAT || tensor->type == SITU_COMPLEX64;
  const int64_t parts = pairs ? 2 : 1, step = is_complex ? 2 : 1;
  for (int64_t i = 0; i < count; i++)
    for (int64_t part = 0; part < parts; part++) {
      const double value = part < step ? ((const double *)from)[i * step + part] : 0;
      const float rounded = (float)value;
      if (tensor->type == SITU_HALF)
        half_from_float(&rounded, (uint16_t *)dense->out[output] + at + i, 1);
      else if (single)
        ((float *)dense->out[output])[(at + i) * parts + part] = rounded;
      else
        ((double *)dense->out[output])[(at + i) * parts + part] = value;
    }
}

void dense_sizes(const situ_shape *in, int64_t *m, int64_t *n, int64_t *k) {
  *m = *n = *k = SITU_ANY;
  if (in->rank < 2) return;
  *m = in->dim[in->rank - 2];
  *n = in->dim[in->rank - 1];
  if (*m != SITU_ANY && *n != SITU_ANY) *k = *m < *n ? *m : *n;
}

struct dense dense_of(const struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  struct dense dense = {.compute = compute, .is_complex = type_is_complex(in->type), .matrices = 1};
  dense_sizes(&in->shape, &dense.m, &dense.n, &dense.k);
  for (int d = 0; d < in->shape.rank - 2; d++) dense.matrices *= in->shape.dim[d];
  return dense;
}

struct job {
  const struct dense *dense;
  dense_one *one;
  size_t bytes;
};

static situ_status run_some(const union arg *args, int64_t begin, int64_t end) {
  const struct job *job = args[0].pointer;
  void *workspace = malloc(job->bytes);
  situ_status s = workspace ? NULL : NO_MEMORY();
  for (int64_t i = begin; !s && i < end; i++) s = job->one(job->dense, i, workspace);
  free(workspace);
  return s;
}

situ_status dense_run(struct dense *dense, int64_t workspace, double flops, dense_one *one) {
  const struct compute *compute = dense->compute;
  for (int i = 0; i < compute->call->n_out; i++)
    TRY(compute_output(compute, i, compute->call->out[i].shape, &dense->out[i]));
  const size_t size = dense->is_complex ? sizeof(double _Complex) : sizeof(double);
  struct job job = {dense, one, (size_t)(workspace + 1) * size};
  const int64_t grain = (int64_t)(THREAD_FLOPS / (flops + 1)) + 1;
  return thread_pool_run(run_some, (const union arg[]){{.pointer = &job}}, dense->matrices, grain);
}

situ_status dense_need_matrix(const struct call *call, int input, bool square) {
  const situ_shape *in = &call->in[input].shape;
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank < 2)
    return call->building ? INVALID("Shape must be at least rank 2 but is rank %d", in->rank)
                          : INVALID("Input tensor %d must have rank >= 2, got %d", input, in->rank);
  const int64_t m = in->dim[in->rank - 2], n = in->dim[in->rank - 1];
  if (!square || m == n || m == SITU_ANY || n == SITU_ANY) return NULL;
  return call->building ? INVALID("Dimensions must be equal, but are %lld and %lld", (long long)m,
                                  (long long)n)
                        : INVALID("Input matrix must be square.");
}

situ_shape dense_with_last(const situ_shape *in, int64_t m, int64_t n, bool vector) {
  situ_shape out = *in;
  if (in->rank == SITU_ANY) return out;
  out.dim[out.rank - 2] = m;
  if (vector)
    out.rank--;
  else
    out.dim[out.rank - 1] = n;
  return out;
}

/* Terms of gradients */

struct term dense_matmul(struct gradient *g, struct term a, struct term b, bool adj_a, bool adj_b) {
  return gradient_emit(g, "BatchMatMulV2", TERMS(a, b),
                       ATTRS(situ_attr_bool("adj_x", adj_a), situ_attr_bool("adj_y", adj_b)));
}

struct term dense_adjoint(struct gradient *g, struct term a) {
  const situ_shape shape = gradient_shape(g, a);
  struct term order;
  if (shape.rank != SITU_ANY) {
    int64_t axes[SITU_MAX_RANK];
    for (int d = 0; d < shape.rank; d++) axes[d] = d;
    axes[shape.rank - 2] = shape.rank - 1;
    axes[shape.rank - 1] = shape.rank - 2;
    order = gradient_ints(g, axes, shape.rank);
  } else {
    const struct term rank = gradient_rank_of(g, a), zero = gradient_int(g, 0);
    const struct term one = gradient_int(g, 1);
    const struct term before = OP(g, "Range", zero, OP(g, "Sub", rank, gradient_int(g, 2)), one);
    const struct term last = OP(g, "Sub", rank, one), second = OP(g, "Sub", last, one);
    const struct term both = gradient_emit(g, "Pack", TERMS(last, second), NO_ATTRS);
    order = gradient_emit(g, "ConcatV2", TERMS(before, both, zero), NO_ATTRS);
  }
  const struct term turned = OP(g, "Transpose", a, order);
  return type_is_complex(gradient_type(g, a)) ? OP(g, "Conj", turned) : turned;
}

struct term dense_band(struct gradient *g, struct term a, int lower, int upper) {
  return OP(g, "MatrixBandPart", a, gradient_int(g, lower), gradient_int(g, upper));
}

struct term dense_safe_reciprocal(struct gradient *g, struct term x) {
  const struct term tiny = gradient_number(g, gradient_type(g, x), 1e-20);
  return OP(g, "Mul", x, OP(g, "Reciprocal", OP(g, "Add", OP(g, "Mul", x, x), tiny)));
}

struct term dense_gaps(struct gradient *g, struct term x) {
  const struct term apart = OP(g, "Sub", OP(g, "ExpandDims", x, gradient_int(g, -2)),
                               OP(g, "ExpandDims", x, gradient_int(g, -1)));
  return OP(g, "MatrixSetDiag", dense_safe_reciprocal(g, apart), OP(g, "ZerosLike", x));
}

struct term dense_columns(struct gradient *g, struct term a, int rank, int64_t begin, int64_t end) {
  int64_t at[SITU_MAX_RANK] = {0}, size[SITU_MAX_RANK];
  for (int d = 0; d < rank; d++) size[d] = -1;
  at[rank - 1] = begin;
  if (end >= 0) size[rank - 1] = end - begin;
  return OP(g, "Slice", a, gradient_ints(g, at, rank), gradient_ints(g, size, rank));
}

/* The shape of the batch: all dimensions but the last two. */
static struct term batch_of(struct gradient *g, struct term term) {
  const struct term shape = gradient_shape_of(g, term);
  return OP(g, "Slice", shape, gradient_ints(g, (const int64_t[]){0}, 1),
            OP(g, "Sub", OP(g, "Shape", shape), gradient_int(g, 2)));
}

static situ_shape front(const situ_shape *shape) {
  situ_shape out = *shape;
  if (out.rank != SITU_ANY) out.rank -= 2;
  return out;
}

struct term dense_sum_batch(struct gradient *g, struct term dx, struct term x, struct term y) {
  situ_shape a, b;
  if (!term_exists(dx)) return dx;
  if (gradient_known(g, x, &a) && gradient_known(g, y, &b)) {
    const situ_shape front_a = front(&a), front_b = front(&b);
    if (shape_equal(&front_a, &front_b)) return dx;
  }
  const struct term axes = OP(g, "BroadcastGradientArgs", batch_of(g, x), batch_of(g, y));
  return OP(g, "Reshape", OP(g, "Sum", dx, axes), gradient_shape_of(g, x));
}
