/* SPDX-License-Identifier: Apache-2.0
 * qr.c: the QR decomposition of batches of matrices. */
#include "ops/linalg/dense.h"
#include "ops/linalg/householder.h"

#define ALGORITHMS "ops/linalg/qr_steps.h"
#include "ops/linalg/elements.h"

static situ_status qr_shape(struct call *call) {
  int64_t m, n, k;
  TRY(dense_need_matrix(call, 0, false));
  dense_sizes(&call->in[0].shape, &m, &n, &k);
  const bool full = call_bool(call, "full_matrices");
  call->out[0].shape = dense_with_last(&call->in[0].shape, m, full ? m : k, false);
  call->out[1].shape = dense_with_last(&call->in[0].shape, full ? m : k, n, false);
  return NULL;
}

static situ_status compute_qr(struct compute *compute) {
  struct dense dense = dense_of(compute);
  const int64_t m = dense.m, n = dense.n;
  return dense_run(&dense, m * n + m * m + dense.k + 2 * max_i64(m, n),
                   2.0 * (double)m * (double)n * (double)dense.k,
                   dense.is_complex ? qr_one_complex : qr_one_real);
}

/* Gradients: for x = r^-H with a triangular r, see arXiv 2009.10071. */

/* a r^-H */
static struct term divide(struct gradient *g, struct term a, struct term r) {
  const struct term solved =
      gradient_emit(g, "MatrixTriangularSolve", TERMS(r, dense_adjoint(g, a)),
                    ATTRS(situ_attr_bool("lower", false), situ_attr_bool("adjoint", false)));
  return dense_adjoint(g, solved);
}

static struct term less_adjoint(struct gradient *g, struct term a) {
  return OP(g, "Sub", a, dense_adjoint(g, a));
}

/* The imaginary diagonal of a matrix. */
static struct term imaginary_diagonal(struct gradient *g, struct term a) {
  const bool single = gradient_type(g, a) == SITU_COMPLEX64;
  const situ_type part = single ? SITU_FLOAT : SITU_DOUBLE;
  const struct term diagonal = OP(g, "MatrixDiagPart", a);
  const struct term imag =
      gradient_emit(g, "Imag", TERMS(diagonal), ATTRS(situ_attr_type("Tout", part)));
  const struct term pair =
      gradient_emit(g, "Complex", TERMS(OP(g, "ZerosLike", imag), imag),
                    ATTRS(situ_attr_type("Tout", single ? SITU_COMPLEX64 : SITU_COMPLEX128)));
  return OP(g, "MatrixDiag", pair);
}

/* With at least as many rows as columns. */
static struct term deep_grad(struct gradient *g, struct term q, struct term r, struct term dq,
                             struct term dr) {
  const struct term qdq = dense_matmul(g, q, dq, true, false);
  const struct term rdr = dense_matmul(g, r, dr, false, true);
  const struct term skew = OP(g, "Add", less_adjoint(g, qdq), less_adjoint(g, rdr));
  const struct term lower = divide(g, dense_band(g, skew, -1, 0), r);
  const struct term inside = dense_matmul(g, q, OP(g, "Add", dr, lower), false, false);
  const struct term rest = OP(g, "Sub", dq, dense_matmul(g, q, qdq, false, false));
  struct term dx = OP(g, "Add", inside, divide(g, rest, r));
  if (type_is_complex(gradient_type(g, q))) {
    const struct term turn = imaginary_diagonal(g, OP(g, "Sub", rdr, dense_adjoint(g, qdq)));
    dx = OP(g, "Add", dx, divide(g, dense_matmul(g, q, turn, false, true), r));
  }
  return dx;
}

/* Of a wide matrix [x, y] with r = [u, v], by the square case of x. */
static struct term wide_grad(struct gradient *g, int64_t rows, int rank, struct term dq,
                             struct term dr) {
  const struct term q = g->out[0];
  const struct term y = dense_columns(g, g->in[0], rank, rows, -1);
  const struct term u = dense_columns(g, g->out[1], rank, 0, rows);
  const struct term du = dense_columns(g, dr, rank, 0, rows),
                    dv = dense_columns(g, dr, rank, rows, -1);
  const struct term dy = dense_matmul(g, q, dv, false, false);
  const struct term dx =
      deep_grad(g, q, u, OP(g, "Add", dq, dense_matmul(g, y, dv, false, true)), du);
  return gradient_emit(g, "ConcatV2", TERMS(dx, dy, gradient_int(g, -1)), NO_ATTRS);
}

static void qr_grad(struct gradient *g) {
  const situ_shape q = gradient_shape(g, g->out[0]), r = gradient_shape(g, g->out[1]);
  char text[256];
  const int64_t rows = r.rank < 2 ? SITU_ANY : r.dim[r.rank - 2];
  const int64_t columns = r.rank < 2 ? SITU_ANY : r.dim[r.rank - 1];
  if (rows == SITU_ANY || columns == SITU_ANY || q.rank < 2) {
    gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                        "QrGrad not implemented with dynamic shapes. Received "
                                        "r.shape: %s",
                                        shape_print(&r, text)));
    return;
  }
  if (rows > columns && q.dim[q.rank - 2] == q.dim[q.rank - 1]) {
    gradient_fail(g,
                  situ_status_create(SITU_UNIMPLEMENTED,
                                     "QrGrad not implemented when nrows > ncols and "
                                     "full_matrices is true. Received r.shape=%s with "
                                     "nrows=%lld and ncols=%lld.",
                                     shape_print(&r, text), (long long)rows, (long long)columns));
    return;
  }
  const struct term dq = gradient_or_zeros(g, g->dy[0], g->out[0]);
  const struct term dr = gradient_or_zeros(g, g->dy[1], g->out[1]);
  const int64_t height = q.dim[q.rank - 2];
  g->dx[0] = height >= columns ? deep_grad(g, g->out[0], g->out[1], dq, dr)
                               : wide_grad(g, height, r.rank, dq, dr);
}

static const struct op_def op_defs[] = {
    {.name = "Qr",
     .inputs = "input:T",
     .outputs = "q:T r:T",
     .attrs = "full_matrices:bool=false T:{" DENSE_TYPES "}",
     .python = "",
     .doc = "QR decompositions of a batch of matrices: input = q * r.",
     .args = "input: Matrices [..., m, n].\n"
             "full_matrices: Return square q, else only its first min(m, n) columns.",
     .devices = "CPU(" DENSE_TYPES ")",
     .shape = qr_shape,
     .compute = compute_qr,
     .grad = qr_grad},
};

OP_FAMILY(qr, op_defs);
