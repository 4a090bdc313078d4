/* SPDX-License-Identifier: Apache-2.0
 * eigh.c: eigenvalues and eigenvectors of batches of Hermitian matrices. */
#include "ops/linalg/bidiagonal.h"
#include "ops/linalg/dense.h"
#include "ops/linalg/householder.h"

#define ALGORITHMS "ops/linalg/eigh_steps.h"
#include "ops/linalg/elements.h"

static situ_status eigh_shape(struct call *call) {
  int64_t m, n, k;
  TRY(dense_need_matrix(call, 0, true));
  dense_sizes(&call->in[0].shape, &m, &n, &k);
  call->out[0].shape = dense_with_last(&call->in[0].shape, n == SITU_ANY ? m : n, 0, true);
  call->out[1].shape = call->in[0].shape;
  if (!call_bool(call, "compute_v")) call->out[1].shape = SITU_SHAPE(0);
  return NULL;
}

static situ_status compute_eigh(struct compute *compute) {
  struct dense dense = dense_of(compute);
  const int64_t n = dense.n;
  if (!n) dense.matrices = 0;
  return dense_run(&dense, 3 * n * n + 5 * n, 10.0 * (double)(n * n * n),
                   dense.is_complex ? eigh_one_complex : eigh_one_real);
}

/* V (diag(de) + F * V^H dV) V^H with F = 1 / (e[j] - e[i]), folded to the lower triangle, which is
 * all that the op reads. */
static void eigh_grad(struct gradient *g) {
  struct term v = g->out[1], inside = NO_TERM;
  if (!gradient_bool(g, "compute_v"))
    v = gradient_output(gradient_emit(g, "SelfAdjointEigV2", TERMS(g->in[0]),
                                      ATTRS(situ_attr_bool("compute_v", true))),
                        1);
  if (term_exists(g->dy[0])) inside = OP(g, "MatrixDiag", g->dy[0]);
  if (gradient_bool(g, "compute_v") && term_exists(g->dy[1])) {
    const struct term more =
        OP(g, "Mul", dense_gaps(g, g->out[0]), dense_matmul(g, v, g->dy[1], true, false));
    inside = term_exists(inside) ? OP(g, "Add", inside, more) : more;
  }
  const struct term whole =
      dense_matmul(g, v, dense_matmul(g, inside, v, false, true), false, false);
  const struct term lower = dense_band(g, OP(g, "Add", whole, dense_adjoint(g, whole)), -1, 0);
  const struct term a_half = gradient_number(g, gradient_type(g, v), 0.5);
  g->dx[0] = OP(g, "MatrixSetDiag", lower, OP(g, "Mul", a_half, OP(g, "MatrixDiagPart", lower)));
}

static const struct op_def op_defs[] = {
    {.name = "SelfAdjointEigV2",
     .inputs = "input:T",
     .outputs = "e:T v:T",
     .attrs = "compute_v:bool=true T:{" DENSE_TYPES "}",
     .python = "",
     .doc = "Eigenvalues of a batch of Hermitian matrices in ascending order, and eigenvectors as "
            "columns.",
     .args = "input: Matrices [..., n, n], of which the lower triangle is read.\n"
             "compute_v: Compute the eigenvectors.",
     .devices = DENSE_DEVICES,
     .shape = eigh_shape,
     .compute = compute_eigh,
     .grad = eigh_grad},
};

OP_FAMILY(eigh, op_defs);
