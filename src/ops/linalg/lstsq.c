/* SPDX-License-Identifier: Apache-2.0
 * lstsq.c: linear least-squares problems. */
#include <float.h>

#include "base/interrupt.h"
#include "ops/linalg/dense.h"
#include "ops/linalg/svd.h"

/* The precision of the elements of input 0. */
static double dense_epsilon(const struct dense *dense) {
  const situ_type type = dense->compute->in[0]->type;
  return type == SITU_FLOAT || type == SITU_COMPLEX64 ? FLT_EPSILON : DBL_EPSILON;
}

#define ALGORITHMS "ops/linalg/lstsq_steps.h"
#include "ops/linalg/elements.h"

static situ_status lstsq_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  int64_t m, n, k, rows, sides;
  TRY(dense_need_matrix(call, 0, false));
  TRY(dense_need_matrix(call, 1, false));
  dense_sizes(a, &m, &n, &k);
  dense_sizes(b, &rows, &sides, &k);
  call->out[0].shape = a->rank == SITU_ANY ? *b : dense_with_last(a, n, sides, false);
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) {
    if (a->rank == SITU_ANY && b->rank != SITU_ANY)
      call->out[0].shape = dense_with_last(b, SITU_ANY, sides, false);
    return NULL;
  }
  const situ_shape want = dense_with_last(b, m, sides, false);
  const situ_shape have = dense_with_last(a, m, sides, false);
  if (!shape_compatible(&have, &want) || (m != rows && m != SITU_ANY && rows != SITU_ANY))
    return call->building ? INVALID("Dimensions must be equal, but are %lld and %lld", (long long)m,
                                    (long long)rows)
                          : INVALID("Input matrix and rhs are incompatible.");
  return NULL;
}

static situ_status compute_lstsq(struct compute *compute) {
  const situ_tensor *l2 = compute->in[2];
  char text[256];
  if (l2->shape.rank)
    return INVALID("l2_regularizer must be scalar, got shape %s", shape_print(&l2->shape, text));
  if (!(*(const double *)situ_tensor_data(l2) >= 0)) return INVALID("l2_regularizer must be >= 0.");
  struct dense dense = dense_of(compute);
  const situ_shape *rhs = &compute->in[1]->shape;
  const int64_t m = dense.m, n = dense.n, k = dense.k, most = max_i64(m, n);
  const int64_t sides = rhs->dim[rhs->rank - 1];
  const int64_t workspace = m * n + (m + n) * sides + k * k;
  const int64_t singular = 2 * m * n + k * most + k * k + k * sides + 8 * most;
  return dense_run(&dense, workspace + singular, 4.0 * (double)(m * n) * (double)k,
                   dense.is_complex ? lstsq_one_complex : lstsq_one_real);
}

/* (a^H a + l2)^-1 x, or (a a^H + l2)^-1 x. */
static struct term solve_normal(struct gradient *g, bool first_kind, struct term x) {
  const struct term a = g->in[0];
  const situ_type type = gradient_type(g, a);
  const struct term gram = dense_matmul(g, a, a, first_kind, !first_kind);
  const struct term l2 =
      gradient_emit(g, "Cast", TERMS(g->in[2]), ATTRS(situ_attr_type("DstT", type)));
  const struct term ones = OP(g, "OnesLike", OP(g, "MatrixDiagPart", gram));
  const struct term regular = OP(g, "Add", gram, OP(g, "MatrixDiag", OP(g, "Mul", ones, l2)));
  const struct term factor = OP(g, "Cholesky", regular);
  const struct term half_way =
      gradient_emit(g, "MatrixTriangularSolve", TERMS(factor, x),
                    ATTRS(situ_attr_bool("lower", true), situ_attr_bool("adjoint", false)));
  return gradient_emit(g, "MatrixTriangularSolve", TERMS(factor, half_way),
                       ATTRS(situ_attr_bool("lower", true), situ_attr_bool("adjoint", true)));
}

static void deep_grad(struct gradient *g) {
  const struct term a = g->in[0], x = g->out[0];
  const struct term z = solve_normal(g, true, g->dy[0]);
  const struct term xz = dense_matmul(g, x, z, false, true);
  const struct term both = OP(g, "Add", xz, dense_adjoint(g, xz));
  g->dx[0] = OP(g, "Sub", dense_matmul(g, g->in[1], z, false, true),
                dense_matmul(g, a, both, false, false));
  g->dx[1] = dense_matmul(g, a, z, false, false);
}

static void wide_grad(struct gradient *g) {
  const struct term a = g->in[0], dx = g->dy[0];
  const struct term db = solve_normal(g, false, dense_matmul(g, a, dx, false, false));
  const struct term t = solve_normal(g, false, g->in[1]);
  const struct term first = dense_matmul(g, db, dense_matmul(g, t, a, true, false), false, false);
  const struct term rest = OP(g, "Sub", dx, dense_matmul(g, a, db, true, false));
  g->dx[0] = OP(g, "Sub", dense_matmul(g, t, rest, false, true), first);
  g->dx[1] = db;
}

static void lstsq_grad(struct gradient *g) {
  const situ_shape a = gradient_shape(g, g->in[0]);
  int64_t m, n, k;
  if (!gradient_bool(g, "fast")) {
    gradient_fail(g, INVALID("Gradient not defined for fast=False"));
    return;
  }
  dense_sizes(&a, &m, &n, &k);
  if (m == SITU_ANY || n == SITU_ANY)
    gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                        "The gradient of MatrixSolveLs needs known sizes of the "
                                        "matrices."));
  else if (m >= n)
    deep_grad(g);
  else
    wide_grad(g);
}

static const struct op_def op_defs[] = {
    {.name = "MatrixSolveLs",
     .inputs = "matrix:T rhs:T l2_regularizer:double[]",
     .outputs = "output:T",
     .attrs = "T:{" DENSE_TYPES "} fast:bool=true",
     .python = "",
     .doc = "Solves linear least-squares problems.",
     .args = "matrix: Matrices [..., m, n].\n"
             "rhs: Right-hand sides [..., m, k].\n"
             "l2_regularizer: Weight of the squared norm of the solution, if fast.\n"
             "fast: Solve the normal equations, else compute the solution of the smallest norm by "
             "singular values.",
     .devices = DENSE_DEVICES,
     .shape = lstsq_shape,
     .compute = compute_lstsq,
     .grad = lstsq_grad},
};

OP_FAMILY(lstsq, op_defs);
