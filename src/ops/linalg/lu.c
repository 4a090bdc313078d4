/* SPDX-License-Identifier: Apache-2.0
 * lu.c: the LU decomposition and the logarithm of determinants of batches of matrices. */
#include "base/interrupt.h"
#include "ops/linalg/dense.h"

#define ALGORITHMS "ops/linalg/lu_steps.h"
#include "ops/linalg/elements.h"

static situ_status lu_shape(struct call *call) {
  int64_t m, n, k;
  if (!call->building && call->in[0].shape.rank < 2)
    return INVALID("Input tensor must have rank >= 2, got %d", call->in[0].shape.rank);
  TRY(dense_need_matrix(call, 0, true));
  dense_sizes(&call->in[0].shape, &m, &n, &k);
  call->out[0].shape = call->in[0].shape;
  call->out[1].shape = dense_with_last(&call->in[0].shape, n == SITU_ANY ? m : n, 0, true);
  return NULL;
}

static situ_status log_determinant_shape(struct call *call) {
  TRY(dense_need_matrix(call, 0, true));
  situ_shape shape = call->in[0].shape;
  if (shape.rank != SITU_ANY) shape.rank -= 2;
  call->out[0].shape = call->out[1].shape = shape;
  return NULL;
}

static situ_status run(struct compute *compute, dense_one *real, dense_one *complex_one) {
  struct dense dense = dense_of(compute);
  const int64_t n = dense.n;
  return dense_run(&dense, n * n + n, (double)(n * n * n), dense.is_complex ? complex_one : real);
}

static situ_status compute_lu(struct compute *compute) {
  return run(compute, lu_one_real, lu_one_complex);
}

static situ_status compute_log_determinant(struct compute *compute) {
  return run(compute, log_determinant_one_real, log_determinant_one_complex);
}

/* Of the logarithm: the adjoint of the inverse. */
static void log_determinant_grad(struct gradient *g) {
  if (!term_exists(g->dy[1])) return;
  const struct term inverse =
      gradient_emit(g, "MatrixInverse", TERMS(g->in[0]), ATTRS(situ_attr_bool("adjoint", true)));
  struct term scale = g->dy[1];
  for (int d = 0; d < 2; d++) scale = OP(g, "ExpandDims", scale, gradient_int(g, -1));
  g->dx[0] = OP(g, "Mul", scale, inverse);
}

static const struct op_def op_defs[] = {
    {.name = "Lu",
     .inputs = "input:T",
     .outputs = "lu:T p:output_idx_type",
     .attrs = "T:{" DENSE_TYPES "} output_idx_type:{int32 int64}=int32",
     .python = "linalg.lu",
     .doc = "LU decompositions of a batch of square matrices, with partial pivoting.",
     .args = "input: Matrices [..., n, n].\n"
             "output_idx_type: Type of the permutation.",
     .devices = DENSE_DEVICES,
     .shape = lu_shape,
     .compute = compute_lu,
     .grad = gradient_missing},
    {.name = "LogMatrixDeterminant",
     .inputs = "input:T",
     .outputs = "sign:T log_abs_determinant:T",
     .attrs = "T:{" DENSE_TYPES "}",
     .python = "linalg.slogdet",
     .doc = "The sign and the logarithm of the absolute value of determinants.",
     .args = "input: Matrices [..., n, n].",
     .devices = DENSE_DEVICES,
     .shape = log_determinant_shape,
     .compute = compute_log_determinant,
     .grad = log_determinant_grad},
};

OP_FAMILY(lu, op_defs);
