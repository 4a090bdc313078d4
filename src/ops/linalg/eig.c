/* SPDX-License-Identifier: Apache-2.0
 * eig.c: eigenvalues, square roots and logarithms of batches of square matrices, by their Schur
 * decomposition. */
#include <math.h>
#include <string.h>

#include "base/complex_number.h"
#include "base/interrupt.h"
#include "ops/linalg/dense.h"
#include "ops/linalg/schur.h"

typedef double _Complex number;

static situ_status eig_shape(struct call *call) {
  int64_t m, n, k;
  TRY(dense_need_matrix(call, 0, true));
  dense_sizes(&call->in[0].shape, &m, &n, &k);
  call->out[0].shape = dense_with_last(&call->in[0].shape, n == SITU_ANY ? m : n, 0, true);
  call->out[1].shape = call->in[0].shape;
  if (!call_bool(call, "compute_v")) call->out[1].shape = SITU_SHAPE(0);
  return NULL;
}

static situ_status square_shape(struct call *call) {
  TRY(dense_need_matrix(call, 0, true));
  return op_same_shape(call);
}

/* c = a b; b adjoint: c = a b^H. */
static void multiply(int64_t n, const number *a, const number *b, bool adjoint, number *c) {
  memset(c, 0, (size_t)(n * n) * sizeof *c);
  for (int64_t i = 0; i < n && !interrupt_pending(); i++)
    for (int64_t k = 0; k < n; k++) {
      const number x = a[i * n + k];
      const double re = creal(x), im = cimag(x);
      for (int64_t j = 0; j < n; j++) {
        const number y = adjoint ? conj(b[j * n + k]) : b[k * n + j];
        c[i * n + j] += CMPLX(re * creal(y) - im * cimag(y), re * cimag(y) + im * creal(y));
      }
    }
}

/* Columns of length 1. */
static void normalize(int64_t n, number *x) {
  for (int64_t j = 0; j < n; j++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++)
      sum += creal(x[i * n + j]) * creal(x[i * n + j]) + cimag(x[i * n + j]) * cimag(x[i * n + j]);
    const double length = sqrt(sum);
    for (int64_t i = 0; length > 0 && i < n; i++) x[i * n + j] /= length;
  }
}

static bool is_finite(const number *x, int64_t count) {
  bool finite = true;
  for (int64_t i = 0; i < count; i++)
    finite = finite && isfinite(creal(x[i])) && isfinite(cimag(x[i]));
  return finite;
}

static situ_status eig_one(const struct dense *dense, int64_t index, void *workspace) {
  const int64_t n = dense->n, size = n * n;
  number *t = workspace, *z = t + size, *x = z + size, *work = x + size;
  dense_load(dense->compute->in[0], index * size, size, true, t);
  if (!is_finite(t, size) || !schur_decompose(n, t, z, work))
    return INVALID("Eigen decomposition was not successful. The input might not be valid.");
  for (int64_t i = 0; i < n; i++) x[i] = t[i * n + i];
  dense_store(dense, 0, index * n, n, true, x);
  if (!call_bool(dense->compute->call, "compute_v")) return NULL;
  schur_eigenvectors(n, t, x);
  multiply(n, z, x, false, work);
  normalize(n, work);
  dense_store(dense, 1, index * size, size, true, work);
  return NULL;
}

/* f(input) = Z f(T) Z^H. */
typedef void triangular_function(int64_t n, const number *t, number *y, number *work);

static situ_status function_one(const struct dense *dense, int64_t index, void *workspace,
                                triangular_function *function) {
  const int64_t n = dense->n, size = n * n;
  number *t = workspace, *z = t + size, *y = z + size, *work = y + size;
  dense_load(dense->compute->in[0], index * size, size, true, t);
  if (is_finite(t, size) && schur_decompose(n, t, z, work)) {
    function(n, t, y, work);
    multiply(n, z, y, false, t);
    multiply(n, t, z, true, y);
  } else {
    for (int64_t i = 0; i < size; i++) y[i] = CMPLX(NAN, NAN);
  }
  dense_store(dense, 0, index * size, size, true, y);
  return NULL;
}

static void square_root(int64_t n, const number *t, number *y, number *work) {
  (void)work;
  schur_square_root(n, t, y);
}

static situ_status square_root_one(const struct dense *dense, int64_t index, void *workspace) {
  return function_one(dense, index, workspace, square_root);
}

static situ_status logarithm_one(const struct dense *dense, int64_t index, void *workspace) {
  return function_one(dense, index, workspace, schur_logarithm);
}

static situ_status run(struct compute *compute, dense_one *one) {
  struct dense dense = dense_of(compute);
  const int64_t n = dense.n;
  dense.is_complex = true; /* the workspace is for complex numbers also of real matrices */
  if (!n) dense.matrices = 0;
  return dense_run(&dense, 7 * n * n + 6 * n, 50.0 * (double)(n * n * n), one);
}

static situ_status compute_eig(struct compute *compute) { return run(compute, eig_one); }
static situ_status compute_sqrtm(struct compute *compute) { return run(compute, square_root_one); }
static situ_status compute_logm(struct compute *compute) { return run(compute, logarithm_one); }

/* V^-H (diag(de) + conj(F) * (V^H dV - V^H V diag(Re(V^H dV)))) V^H with F = 1 / (e[j] - e[i]): see
 * arXiv 1701.00392, equation 4.77. */
static void eig_grad(struct gradient *g) {
  const bool vectors = gradient_bool(g, "compute_v");
  const situ_type type = gradient_type(g, g->out[0]);
  struct term v = g->out[1], inside = NO_TERM;
  if (!vectors)
    v = gradient_output(
        gradient_emit(g, "Eig", TERMS(g->in[0]),
                      ATTRS(situ_attr_bool("compute_v", true), situ_attr_type("Tout", type))),
        1);
  if (term_exists(g->dy[0])) inside = OP(g, "MatrixDiag", g->dy[0]);
  if (vectors && term_exists(g->dy[1])) {
    const struct term gaps = OP(g, "Conj", dense_gaps(g, g->out[0]));
    const struct term v_dv = dense_matmul(g, v, g->dy[1], true, false);
    const struct term real = gradient_emit(g, "Real", TERMS(OP(g, "MatrixDiagPart", v_dv)),
                                           ATTRS(situ_attr_type("Tout", type_real(type))));
    const struct term diagonal =
        OP(g, "MatrixDiag",
           gradient_emit(g, "Cast", TERMS(real), ATTRS(situ_attr_type("DstT", type))));
    const struct term along =
        dense_matmul(g, dense_matmul(g, v, v, true, false), diagonal, false, false);
    const struct term more = OP(g, "Mul", gaps, OP(g, "Sub", v_dv, along));
    inside = term_exists(inside) ? OP(g, "Add", inside, more) : more;
  }
  const struct term adjoint = dense_adjoint(g, v);
  const struct term whole =
      OP(g, "MatrixSolve", adjoint, dense_matmul(g, inside, adjoint, false, false));
  const situ_type input = gradient_type(g, g->in[0]);
  g->dx[0] = input == type
                 ? whole
                 : gradient_emit(g, "Cast", TERMS(whole), ATTRS(situ_attr_type("DstT", input)));
}

/* dX of X^H dX + dX X^H = dY, where X is the root: a Sylvester equation, solved in the basis of the
 * Kronecker products of X. */
static struct term kronecker(struct gradient *g, struct term a, struct term b, struct term shape) {
  struct term left = a, right = b;
  left = OP(g, "ExpandDims", OP(g, "ExpandDims", left, gradient_int(g, -1)), gradient_int(g, -3));
  right = OP(g, "ExpandDims", OP(g, "ExpandDims", right, gradient_int(g, -2)), gradient_int(g, -4));
  return OP(g, "Reshape", OP(g, "Mul", left, right), shape);
}

static void sqrtm_grad(struct gradient *g) {
  const struct term root = g->out[0], zero = gradient_int(g, 0);
  const struct term shape = gradient_shape_of(g, root);
  const struct term two = gradient_int(g, 2);
  const struct term rank = gradient_rank_of(g, root), before = OP(g, "Sub", rank, two);
  const struct term order =
      OP(g, "Slice", shape, OP(g, "ExpandDims", OP(g, "Sub", rank, gradient_int(g, 1)), zero),
         gradient_ints(g, (const int64_t[]){1}, 1));
  const struct term batch = OP(g, "Slice", shape, gradient_ints(g, (const int64_t[]){0}, 1),
                               OP(g, "ExpandDims", before, zero));
  const struct term square = OP(g, "Mul", order, order);
  const struct term wide =
      gradient_emit(g, "ConcatV2", TERMS(batch, square, square, zero), NO_ATTRS);
  const struct term column = gradient_emit(
      g, "ConcatV2", TERMS(batch, square, gradient_ints(g, (const int64_t[]){1}, 1), zero),
      NO_ATTRS);
  const struct term eye = OP(g, "MatrixDiag", OP(g, "OnesLike", OP(g, "MatrixDiagPart", root)));
  /* With rows as vectors: vec(A X B) = (A (x) B^T) vec(X). */
  const struct term adjoint = dense_adjoint(g, root);
  const bool is_complex = type_is_complex(gradient_type(g, root));
  const struct term conjugate = is_complex ? OP(g, "Conj", root) : root;
  const struct term sum =
      OP(g, "Add", kronecker(g, adjoint, eye, wide), kronecker(g, eye, conjugate, wide));
  const struct term solved = OP(g, "MatrixSolve", sum, OP(g, "Reshape", g->dy[0], column));
  g->dx[0] = OP(g, "Reshape", solved, shape);
}

static const struct op_def op_defs[] = {
    {.name = "Eig",
     .inputs = "input:T",
     .outputs = "e:Tout v:Tout",
     .attrs = "compute_v:bool=true T:{float double complex64 complex128} Tout:{complex64 "
              "complex128}",
     .python = "",
     .doc = "Eigenvalues of a batch of square matrices, and eigenvectors as columns.",
     .args = "input: Matrices [..., n, n].\n"
             "compute_v: Compute the eigenvectors.\n"
             "Tout: Type of the outputs: complex128 for double and complex128.",
     .devices = "CPU",
     .shape = eig_shape,
     .compute = compute_eig,
     .grad = eig_grad},
    {.name = "MatrixSquareRoot",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{" DENSE_TYPES "}",
     .python = "linalg.sqrtm matrix_square_root",
     .doc = "The principal square roots of a batch of square matrices.",
     .args = "input: Matrices [..., n, n].",
     .devices = DENSE_DEVICES,
     .shape = square_shape,
     .compute = compute_sqrtm,
     .grad = sqrtm_grad},
    {.name = "MatrixLogarithm",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{complex64 complex128}",
     .python = "linalg.logm",
     .doc = "The principal logarithms of a batch of square matrices.",
     .args = "input: Matrices [..., n, n].",
     .devices = "CPU",
     .shape = square_shape,
     .compute = compute_logm,
     .grad = gradient_missing},
};

OP_FAMILY(eig, op_defs);
