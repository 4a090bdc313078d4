/* SPDX-License-Identifier: Apache-2.0
 * dense.h: host ops that compute something of each matrix of a batch, in double precision.
 *
 * Elements are double, or double _Complex for complex types; inputs and outputs are converted from
 * and to the types of the call. The matrices of a batch are distributed over the thread pool. */
#ifndef SITU_OPS_LINALG_DENSE_H
#define SITU_OPS_LINALG_DENSE_H

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

enum { DENSE_MOST_OUTPUTS = 3 };

/* The types of most linear algebra ops, and where they have kernels. */
#define DENSE_TYPES "half float double complex64 complex128"
#define DENSE_DEVICES "CPU(float double complex64 complex128)"

/* A call: `one` is called with the index of each matrix. */
struct dense {
  const struct compute *compute;
  bool is_complex;  /* elements are complex numbers */
  int64_t m, n, k;  /* of the matrices of input 0: rows, columns, the smaller of both */
  int64_t matrices; /* in the batch of input 0 */
  void *out[DENSE_MOST_OUTPUTS];
};

/* `workspace` is an uninitialized workspace of the requested number of elements. */
typedef situ_status dense_one(const struct dense *dense, int64_t index, void *workspace);

/* Describes a call without creating outputs. */
struct dense dense_of(const struct compute *compute);

/* Creates the outputs with the inferred shapes and calls `one` for each matrix. `flops` of one
 * matrix determine how many are computed in a thread. */
situ_status dense_run(struct dense *dense, int64_t workspace, double flops,
                      dense_one *one) SITU_MUST_USE;

/* Reads `count` elements of an input from element `at`; writes elements of an output, if somebody
 * reads it. `is_complex` says how the elements in memory are stored. */
void dense_load(const situ_tensor *tensor, int64_t at, int64_t count, bool is_complex, void *to);
void dense_store(const struct dense *dense, int output, int64_t at, int64_t count, bool is_complex,
                 const void *from);

/* Shapes: checks that input 0 has matrices (square ones); the shape of input 0 with other last
 * dimensions, or without the last (`vector`). */
situ_status dense_need_matrix(const struct call *call, int input, bool square) SITU_MUST_USE;
situ_shape dense_with_last(const situ_shape *in, int64_t m, int64_t n, bool vector);
void dense_sizes(const situ_shape *in, int64_t *m, int64_t *n, int64_t *k);

/* Terms of gradients. */
struct term dense_matmul(struct gradient *g, struct term a, struct term b, bool adj_a, bool adj_b);
struct term dense_adjoint(struct gradient *g, struct term a);
struct term dense_band(struct gradient *g, struct term a, int lower, int upper);

/* 1 / x, and 0 where x is (nearly) 0: x / (x^2 + 1e-20). */
struct term dense_safe_reciprocal(struct gradient *g, struct term x);

/* 1 / (x[j] - x[i]) for i != j of the vectors x, and 0 on the diagonal. */
struct term dense_gaps(struct gradient *g, struct term x);

/* Sums dx over the dimensions of the batch along which x was repeated to fit y. */
struct term dense_sum_batch(struct gradient *g, struct term dx, struct term x, struct term y);

/* The columns begin <= j < end of matrices in a tensor of a rank; end -1: to the last. */
struct term dense_columns(struct gradient *g, struct term a, int rank, int64_t begin, int64_t end);

#endif
