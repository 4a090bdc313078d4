/* SPDX-License-Identifier: Apache-2.0
 * svd.c: the singular value decomposition of batches of matrices. */
#include "ops/linalg/svd.h"

#include "ops/linalg/bidiagonal.h"
#include "ops/linalg/dense.h"
#include "ops/linalg/householder.h"

#define ALGORITHMS "ops/linalg/svd_steps.h"
#include "ops/linalg/elements.h"

static situ_status svd_shape(struct call *call) {
  int64_t m, n, k;
  const situ_shape *in = &call->in[0].shape;
  TRY(dense_need_matrix(call, 0, false));
  dense_sizes(in, &m, &n, &k);
  const bool full = call_bool(call, "full_matrices");
  call->out[0].shape = dense_with_last(in, k, 0, true);
  call->out[1].shape = dense_with_last(in, m, full ? m : k, false);
  call->out[2].shape = dense_with_last(in, n, full ? n : k, false);
  if (!call_bool(call, "compute_uv")) call->out[1].shape = call->out[2].shape = SITU_SHAPE(0);
  return NULL;
}

/* Of a matrix without elements: any basis, here the unit vectors. */
static situ_status put_identity(const struct dense *dense, int64_t index, void *workspace) {
  for (int output = 1; output < 3; output++) {
    const situ_shape *shape = &dense->compute->out[output]->shape;
    const int64_t size = shape->rank < 2 ? 0 : shape->dim[shape->rank - 1];
    double *x = workspace;
    for (int64_t i = 0; i < size * size; i++) x[i] = i / size == i % size;
    dense_store(dense, output, index * size * size, size * size, false, x);
  }
  return NULL;
}

static situ_status compute_svd(struct compute *compute) {
  struct dense dense = dense_of(compute);
  const int64_t k = dense.k, most = max_i64(dense.m, dense.n);
  const bool vectors = call_bool(compute->call, "compute_uv");
  if (!k) {
    const bool full = vectors && call_bool(compute->call, "full_matrices");
    if (!full) dense.matrices = 0;
    return dense_run(&dense, most * most, (double)most, put_identity);
  }
  const int64_t bases = vectors ? most * most + k * k : 0;
  return dense_run(&dense, dense.m * dense.n + most * most + bases + 4 * k + 2 * most,
                   20.0 * (double)(k * k) * (double)most,
                   dense.is_complex ? svd_one_complex : svd_one_real);
}

/* Gradients: for A = U S V^H with at most as many rows as columns. */
struct svd_terms {
  struct term s, u, v, ds, du, dv; /* s, ds: of the type of u */
  int64_t m, n;
  int rank;
};

static struct term plus_adjoint(struct gradient *g, struct term a) {
  return OP(g, "Add", a, dense_adjoint(g, a));
}

/* U (dS + (F * U^H dU)' S + S (F * V^H dV)') V^H, where X' = X + X^H. */
static struct term inner_grad(struct gradient *g, const struct svd_terms *x, struct term v1,
                              struct term v_dv) {
  const struct term s = OP(g, "MatrixDiag", x->s);
  const struct term gaps = dense_gaps(g, OP(g, "Mul", x->s, x->s));
  const struct term u_du = dense_matmul(g, x->u, x->du, true, false);
  const struct term left = plus_adjoint(g, OP(g, "Mul", gaps, u_du));
  const struct term right = plus_adjoint(g, OP(g, "Mul", gaps, v_dv));
  struct term sum = OP(g, "MatrixDiag", x->ds);
  sum = OP(g, "Add", sum, dense_matmul(g, left, s, false, false));
  sum = OP(g, "Add", sum, dense_matmul(g, s, right, false, false));
  if (type_is_complex(gradient_type(g, x->u))) { /* the phase of the vectors */
    const struct term diagonal = OP(g, "MatrixDiagPart", v_dv);
    const struct term turn = OP(g, "Sub", OP(g, "Conj", diagonal), diagonal);
    const struct term a_half = gradient_number(g, gradient_type(g, x->u), 0.5);
    const struct term phase =
        OP(g, "Mul", OP(g, "Mul", dense_safe_reciprocal(g, x->s), turn), a_half);
    sum = OP(g, "Add", sum, OP(g, "MatrixDiag", phase));
  }
  return dense_matmul(g, x->u, dense_matmul(g, sum, v1, false, true), false, false);
}

/* The contribution of the columns of V beyond those of U. */
static struct term outer_grad(struct gradient *g, const struct svd_terms *x, struct term v1,
                              struct term dv1, bool full) {
  const struct term dv_v = dense_matmul(g, dv1, v1, true, false);
  struct term rest = OP(g, "Sub", dense_adjoint(g, dv1), dense_matmul(g, dv_v, v1, false, true));
  if (full) {
    const struct term v2 = dense_columns(g, x->v, x->rank, x->m, x->n);
    const struct term dv2 = dense_columns(g, x->dv, x->rank, x->m, x->n);
    const struct term v1_dv2 = dense_matmul(g, v1, dv2, true, false);
    rest = OP(g, "Sub", rest, dense_matmul(g, v1_dv2, v2, false, true));
  }
  const struct term inverse = OP(g, "MatrixDiag", dense_safe_reciprocal(g, x->s));
  return dense_matmul(g, dense_matmul(g, x->u, inverse, false, false), rest, false, false);
}

static bool grad_supported(struct gradient *g, const situ_shape *a, bool full) {
  char text[256];
  const int64_t m = a->rank < 2 ? SITU_ANY : a->dim[a->rank - 2];
  const int64_t n = a->rank < 2 ? SITU_ANY : a->dim[a->rank - 1];
  if (m == SITU_ANY || n == SITU_ANY) {
    gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                        "SVD gradient has not been implemented for input with "
                                        "unknown inner matrix shape."));
    return false;
  }
  if (!full || (m - n <= 1 && n - m <= 1)) return true;
  gradient_fail(g, situ_status_create(SITU_UNIMPLEMENTED,
                                      "svd gradient is not implemented for abs(m - n) > 1 when "
                                      "full_matrices is True. Received: m=%lld and n=%lld from op "
                                      "input with shape=%s.",
                                      (long long)min_i64(m, n), (long long)max_i64(m, n),
                                      shape_print(a, text)));
  return false;
}

/* Without singular vectors: U dS V^H. */
static void values_grad(struct gradient *g) {
  const struct term both = gradient_emit(
      g, "Svd", TERMS(g->in[0]),
      ATTRS(situ_attr_bool("compute_uv", true), situ_attr_bool("full_matrices", false)));
  const struct term scaled =
      dense_matmul(g, OP(g, "MatrixDiag", g->dy[0]), gradient_output(both, 2), false, true);
  g->dx[0] = dense_matmul(g, gradient_output(both, 1), scaled, false, false);
}

static void svd_grad(struct gradient *g) {
  const bool full = gradient_bool(g, "full_matrices");
  if (!gradient_bool(g, "compute_uv")) {
    values_grad(g);
    return;
  }
  const situ_shape a = gradient_shape(g, g->in[0]);
  if (!grad_supported(g, &a, full)) return;
  const int64_t m = a.dim[a.rank - 2], n = a.dim[a.rank - 1];
  const bool deep = m > n; /* the gradient of the adjoint */
  const int left = deep ? 2 : 1, right = deep ? 1 : 2;
  const struct svd_terms x = {g->out[0],
                              g->out[left],
                              g->out[right],
                              gradient_or_zeros(g, g->dy[0], g->out[0]),
                              gradient_or_zeros(g, g->dy[left], g->out[left]),
                              gradient_or_zeros(g, g->dy[right], g->out[right]),
                              min_i64(m, n),
                              max_i64(m, n),
                              a.rank};
  const struct term v1 = dense_columns(g, x.v, x.rank, 0, x.m),
                    dv1 = dense_columns(g, x.dv, x.rank, 0, x.m);
  const struct term v_dv = dense_matmul(g, v1, dv1, true, false);
  struct term dx = inner_grad(g, &x, v1, v_dv);
  if (m != n) dx = OP(g, "Add", dx, outer_grad(g, &x, v1, dv1, full));
  g->dx[0] = deep ? dense_adjoint(g, dx) : dx;
}

static const struct op_def op_defs[] = {
    {.name = "Svd",
     .inputs = "input:T",
     .outputs = "s:T u:T v:T",
     .attrs = "compute_uv:bool=true full_matrices:bool=false T:{" DENSE_TYPES "}",
     .python = "",
     .doc = "Singular value decompositions of a batch of matrices: input = u * diag(s) * "
            "adjoint(v), s in descending order.",
     .args = "input: Matrices [..., m, n].\n"
             "compute_uv: Compute u and v, else only s.\n"
             "full_matrices: Return square u and v, else only their first min(m, n) columns.",
     .devices = DENSE_DEVICES,
     .shape = svd_shape,
     .compute = compute_svd,
     .grad = svd_grad},
};

OP_FAMILY(svd, op_defs);
