/* SPDX-License-Identifier: Apache-2.0
 * tridiagonal.c: products and systems of tridiagonal matrices, and systems of banded triangles. */
#include <float.h>

#include "base/interrupt.h"
#include "ops/linalg/dense.h"

static double precision_of(const struct dense *dense) {
  const situ_type type = dense->compute->in[0]->type;
  return type == SITU_FLOAT || type == SITU_COMPLEX64 ? FLT_EPSILON : DBL_EPSILON;
}

static double smallest_of(const struct dense *dense) {
  const situ_type type = dense->compute->in[0]->type;
  return type == SITU_FLOAT || type == SITU_COMPLEX64 ? FLT_MIN : DBL_MIN;
}

/* The matrix of an operand that belongs to a matrix of the broadcast batch. */
static int64_t batch_index(const situ_shape *out, const situ_shape *in, int64_t index) {
  int64_t at = 0, step = 1;
  for (int d = 3; d <= out->rank; d++) {
    const int64_t size = out->dim[out->rank - d], here = index % size;
    index /= size;
    if (d > in->rank) continue;
    const int64_t own = in->dim[in->rank - d];
    if (own != 1) at += here * step;
    step *= own;
  }
  return at;
}

#define ALGORITHMS "ops/linalg/tridiagonal_steps.h"
#include "ops/linalg/elements.h"

/* Shapes */

static situ_status differ(int64_t a, int64_t b) {
  return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)a, (long long)b);
}

static bool may_equal(int64_t a, int64_t b) { return a == b || a == SITU_ANY || b == SITU_ANY; }

static situ_status matmul_shape(struct call *call) {
  static const char *const names[] = {"superdiagonal", "main diagonal", "subdiagonal"};
  int64_t m, n, k, rows, sides;
  for (int i = 0; i < 4; i++) TRY(dense_need_matrix(call, i, false));
  dense_sizes(&call->in[3].shape, &rows, &sides, &k);
  call->out[0].shape = call->in[3].shape;
  for (int i = 0; i < 3; i++) {
    const situ_shape *in = &call->in[i].shape;
    dense_sizes(in, &m, &n, &k);
    if (may_equal(m, 1) && may_equal(n, rows) &&
        (in->rank == call->in[3].shape.rank || in->rank == SITU_ANY ||
         call->in[3].shape.rank == SITU_ANY))
      continue;
    return call->building ? differ(may_equal(m, 1) ? n : m, may_equal(m, 1) ? rows : 1)
                          : INVALID("Invalid %s shape.", names[i]);
  }
  return NULL;
}

static situ_status solve_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  int64_t m, n, k, rows, sides;
  TRY(dense_need_matrix(call, 0, false));
  TRY(dense_need_matrix(call, 1, false));
  dense_sizes(a, &m, &n, &k);
  dense_sizes(b, &rows, &sides, &k);
  call->out[0].shape = *b;
  if (!may_equal(n, rows))
    return call->building ? differ(n, rows)
                          : INVALID(
                                "Expected the same number of left-hand sides and right-hand "
                                "sides, got %lld and %lld.",
                                (long long)n, (long long)rows);
  if (!may_equal(m, 3))
    return call->building ? differ(m, 3)
                          : INVALID(
                                "Expected diagonals to be provided as a matrix with 3 rows, got "
                                "%lld rows.",
                                (long long)m);
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) return NULL;
  const situ_shape want = dense_with_last(a, n, sides, false);
  if (!shape_compatible(&want, b))
    return INVALID("Batch shapes of diagonals and rhs are incompatible.");
  return NULL;
}

static situ_status banded_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  situ_shape *out = &call->out[0].shape, left = *a, right = *b;
  char x[256], y[256];
  int64_t m, n, k, rows, sides;
  for (int i = 0; i < 2; i++)
    if (!call->building && call->in[i].shape.rank < 2)
      return INVALID("In[%d] ndims must be >= 2: %d", i, call->in[i].shape.rank);
  TRY(dense_need_matrix(call, 0, false));
  TRY(dense_need_matrix(call, 1, false));
  dense_sizes(a, &m, &n, &k);
  dense_sizes(b, &rows, &sides, &k);
  if (!may_equal(n, rows))
    return call->building
               ? differ(n, rows)
               : INVALID("In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d", (long long)n,
                         (long long)rows, shape_print(a, x), shape_print(b, y),
                         call_bool(call, "lower"), call_bool(call, "adjoint"));
  if (left.rank != SITU_ANY) left.rank -= 2;
  if (right.rank != SITU_ANY) right.rank -= 2;
  if (!shape_broadcast(&left, &right, out))
    return INVALID("In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                   shape_print(a, x), shape_print(b, y));
  if (out->rank == SITU_ANY) return NULL;
  out->dim[out->rank++] = rows == SITU_ANY ? n : rows;
  out->dim[out->rank++] = sides;
  return shape_check(out);
}

static situ_status run(struct compute *compute, int rhs, dense_one *real, dense_one *complex_one) {
  struct dense dense = dense_of(compute);
  const situ_shape *out = &compute->call->out[0].shape;
  const int64_t n = dense.n, sides = compute->in[rhs]->shape.dim[compute->in[rhs]->shape.rank - 1];
  dense.matrices = n ? 1 : 0;
  for (int d = 0; d < out->rank - 2; d++) dense.matrices *= out->dim[d];
  return dense_run(&dense, max_i64(4, dense.m) * n + 2 * n * sides,
                   10.0 * (double)n * (double)sides, dense.is_complex ? complex_one : real);
}

static situ_status compute_matmul(struct compute *compute) {
  return run(compute, 3, tridiagonal_matmul_one_real, tridiagonal_matmul_one_complex);
}

static situ_status compute_solve(struct compute *compute) {
  if (call_bool(compute->call, "perturb_singular") && !call_bool(compute->call, "partial_pivoting"))
    return INVALID("Setting perturb_singular requires also setting partial_pivoting.");
  return run(compute, 1, tridiagonal_solve_one_real, tridiagonal_solve_one_complex);
}

static situ_status compute_banded(struct compute *compute) {
  return run(compute, 1, banded_solve_one_real, banded_solve_one_complex);
}

/* Gradients */

static struct term conjugate(struct gradient *g, struct term a) {
  return type_is_complex(gradient_type(g, a)) ? OP(g, "Conj", a) : a;
}

/* Elements begin ... end - 1 of axis -2 or -1; an end of 0 is that of the axis. */
static struct term slice_axis(struct gradient *g, struct term x, int axis, int64_t begin,
                              int64_t end) {
  const int n = 1 - axis; /* the ellipsis, the axis and the axes behind it */
  const int64_t first[] = {0, begin, 0}, ones[] = {1, 1, 1};
  const int64_t last[] = {0, end, 0};
  return gradient_emit(
      g, "StridedSlice",
      TERMS(x, gradient_ints(g, first, n), gradient_ints(g, last, n), gradient_ints(g, ones, n)),
      ATTRS(situ_attr_int("ellipsis_mask", 1), situ_attr_int("begin_mask", 4),
            situ_attr_int("end_mask", end ? 4 : 6)));
}

/* Shifts a tensor along axis -2 or -1 by `by` elements, not 0, and fills with zeros. */
static struct term shift(struct gradient *g, struct term x, int axis, int64_t by) {
  const int64_t size = by < 0 ? -by : by;
  const struct term none = gradient_zeros(g, slice_axis(g, x, axis, 0, size));
  const struct term rest =
      by < 0 ? slice_axis(g, x, axis, size, 0) : slice_axis(g, x, axis, 0, -size);
  return OP(g, "ConcatV2", by < 0 ? rest : none, by < 0 ? none : rest, gradient_int(g, axis));
}

static struct term sum_last(struct gradient *g, struct term x) {
  return OP(g, "Sum", x, gradient_int(g, -1));
}

static void matmul_grad(struct gradient *g) {
  const struct term dy = g->dy[0], x = conjugate(g, g->in[3]), before = gradient_int(g, -2);
  const struct term moved[] = {shift(g, x, -2, -1), x, shift(g, x, -2, 1)};
  struct term scaled[3];
  for (int i = 0; i < 3; i++) {
    g->dx[i] = OP(g, "ExpandDims", sum_last(g, OP(g, "Mul", moved[i], dy)), before);
    scaled[i] = OP(g, "Mul", dense_adjoint(g, g->in[i]), dy);
  }
  const struct term sum = OP(g, "Add", shift(g, scaled[0], -2, 1), scaled[1]);
  g->dx[3] = OP(g, "Add", sum, shift(g, scaled[2], -2, -1));
}

/* Row `row` of matrices: [..., 1, n]. */
static struct term row_of(struct gradient *g, struct term x, int64_t row) {
  return slice_axis(g, x, -2, row, row + 1);
}

static void solve_grad(struct gradient *g) {
  const struct term a = conjugate(g, g->in[0]), before = gradient_int(g, -2);
  const struct term super = shift(g, row_of(g, a, 2), -1, -1);
  const struct term sub = shift(g, row_of(g, a, 0), -1, 1);
  const struct term adjoint =
      gradient_emit(g, "ConcatV2", TERMS(super, row_of(g, a, 1), sub, before), NO_ATTRS);
  const struct term db = gradient_emit(
      g, "TridiagonalSolve", TERMS(adjoint, g->dy[0]),
      ATTRS(gradient_keep(g, "partial_pivoting"), gradient_keep(g, "perturb_singular")));
  const struct term x = conjugate(g, g->out[0]);
  const struct term moved[] = {shift(g, x, -2, -1), x, shift(g, x, -2, 1)};
  struct term parts[3];
  for (int i = 0; i < 3; i++)
    parts[i] = OP(g, "ExpandDims", sum_last(g, OP(g, "Mul", db, moved[i])), before);
  g->dx[0] =
      OP(g, "Neg",
         gradient_emit(g, "ConcatV2", TERMS(parts[0], parts[1], parts[2], before), NO_ATTRS));
  g->dx[1] = db;
}

static void banded_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint"), lower = gradient_bool(g, "lower");
  const situ_shape shape = gradient_shape(g, g->in[0]);
  const int64_t bands = shape.rank == SITU_ANY ? SITU_ANY : shape.dim[shape.rank - 2];
  if (bands == SITU_ANY || bands > SITU_MAX_RANK * 8) {
    gradient_fail(g,
                  situ_status_create(SITU_UNIMPLEMENTED,
                                     "The gradient of BandedTriangularSolve needs a known number "
                                     "of at most %d bands.",
                                     SITU_MAX_RANK * 8));
    return;
  }
  const struct term db =
      gradient_emit(g, "BandedTriangularSolve", TERMS(g->in[0], g->dy[0]),
                    ATTRS(situ_attr_bool("lower", lower), situ_attr_bool("adjoint", !adjoint)));
  /* Minus the outer product of both, along its diagonals. */
  const struct term left = adjoint ? g->out[0] : db, right = conjugate(g, adjoint ? db : g->out[0]);
  struct term parts[SITU_MAX_RANK * 8 + 1];
  for (int64_t i = 0; i < bands; i++) {
    const int64_t off = lower ? i : bands - 1 - i;
    const struct term moved = off ? shift(g, right, -2, lower ? off : -off) : right;
    parts[i] = OP(g, "ExpandDims", sum_last(g, OP(g, "Mul", left, moved)), gradient_int(g, -2));
  }
  parts[bands] = gradient_int(g, -2);
  const struct term da =
      OP(g, "Neg", gradient_emit(g, "ConcatV2", parts, (int)bands + 1, NO_ATTRS));
  g->dx[0] = dense_sum_batch(g, da, g->in[0], g->in[1]);
  g->dx[1] = dense_sum_batch(g, db, g->in[1], g->in[0]);
}

static const struct op_def op_defs[] = {
    {.name = "TridiagonalMatMul",
     .inputs = "superdiag:T maindiag:T subdiag:T rhs:T",
     .outputs = "output:T",
     .attrs = "T:{float double complex64 complex128}",
     .python = "",
     .doc = "Multiplies tridiagonal matrices by matrices.",
     .args = "superdiag: Diagonals [..., 1, n] above the main one; the last element is ignored.\n"
             "maindiag: Main diagonals [..., 1, n].\n"
             "subdiag: Diagonals [..., 1, n] below; the first element is ignored.\n"
             "rhs: Matrices [..., n, k].",
     .devices = "CPU",
     .shape = matmul_shape,
     .compute = compute_matmul,
     .grad = matmul_grad},
    {.name = "TridiagonalSolve",
     .inputs = "diagonals:T rhs:T",
     .outputs = "output:T",
     .attrs = "partial_pivoting:bool=true perturb_singular:bool=false T:{float double complex64 "
              "complex128}",
     .python = "",
     .doc = "Solves systems of linear equations with tridiagonal matrices.",
     .args = "diagonals: The diagonals [..., 3, n]: above the main one, the main one, below it.\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "partial_pivoting: Exchange rows for stability.\n"
             "perturb_singular: Replace tiny pivots.",
     .devices = "CPU",
     .shape = solve_shape,
     .compute = compute_solve,
     .grad = solve_grad},
    {.name = "BandedTriangularSolve",
     .inputs = "matrix:T rhs:T",
     .outputs = "output:T",
     .attrs = "lower:bool=true adjoint:bool=false T:{" DENSE_TYPES "}",
     .python = "",
     .doc = "Solves systems of linear equations with banded triangular matrices.",
     .args = "matrix: Diagonals [..., bands, n], the main one first if lower, else last.\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "lower: The matrices are lower triangles, else upper ones.\n"
             "adjoint: Solve with the conjugate transposes of the matrices.",
     .devices = DENSE_DEVICES,
     .shape = banded_shape,
     .compute = compute_banded,
     .grad = banded_grad},
};

OP_FAMILY(tridiagonal, op_defs);
