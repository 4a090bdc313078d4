/* SPDX-License-Identifier: Apache-2.0
 * matrix_solve.c: MatrixSolve, Cholesky, inverse and determinant of batches of matrices. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/linalg/matrix_solve.cl"
#include "kernel/types.h"

#define TWO_TYPES(kernel_name)                        \
  static const struct kernel kernel_name##_kernel = { \
      .name = #kernel_name,                           \
      .file = types_file,                             \
      .host = {[SITU_FLOAT] = kernel_name##_float, [SITU_DOUBLE] = kernel_name##_double}}
TWO_TYPES(matrix_solve);
TWO_TYPES(matrix_determinant);
TWO_TYPES(matrix_cholesky);
TWO_TYPES(triangular_solve);

static situ_status need_square(const struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  char text[256];
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank < 2) return INVALID("Input matrix must have rank >= 2, got %d", in->rank);
  const int64_t a = in->dim[in->rank - 2], b = in->dim[in->rank - 1];
  if (a == b || a == SITU_ANY || b == SITU_ANY) return NULL;
  return INVALID("Input matrices must be squares, got %s", shape_print(in, text));
}

static situ_status square_shape(struct call *call) {
  TRY(need_square(call));
  return op_same_shape(call);
}

static situ_status determinant_shape(struct call *call) {
  TRY(square_shape(call));
  if (call->out[0].shape.rank != SITU_ANY) call->out[0].shape.rank -= 2;
  return NULL;
}

static situ_status solve_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  char x[256], y[256];
  TRY(need_square(call));
  call->out[0].shape = *b;
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) return NULL;
  situ_shape want = *a;
  if (b->rank == a->rank) want.dim[want.rank - 1] = b->dim[b->rank - 1];
  if (b->rank == a->rank && shape_compatible(&want, b)) return NULL;
  return INVALID("Input matrix and rhs are incompatible: %s vs. %s", shape_print(a, x),
                 shape_print(b, y));
}

static int64_t size_of(const struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  return in->dim[in->rank - 1];
}

static int64_t matrices(const struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  int64_t count = 1;
  for (int d = 0; d < in->rank - 2; d++) count *= in->dim[d];
  return count;
}

static situ_status work_like(struct call *call, int32_t *slot) {
  const int64_t n = max_i64(1, situ_shape_count(call->in[0].shape));
  return call_scratch(call, (size_t)n * situ_type_size(call->in[0].type), slot);
}

static situ_status record_solution(struct call *call, bool identity) {
  const int64_t size = size_of(call), n = size ? matrices(call) : 0;
  const int64_t sides = call->out[0].shape.dim[call->out[0].shape.rank - 1];
  int32_t work;
  TRY(work_like(call, &work));
  return LAUNCH(call, &matrix_solve_kernel, call->in[0].type, n, 1,
                (double)n * (double)(size * size * size), ARG_IN(call, 0),
                ARG_IN(call, identity ? 0 : 1), ARG_AT(work), ARG_OUT(call, 0), ARG_INT(size),
                ARG_INT(sides), ARG_INT(identity), ARG_INT(call_bool(call, "adjoint")), ARG_INT(n));
}

static situ_status record_inverse(struct call *call) { return record_solution(call, true); }
static situ_status record_solve(struct call *call) { return record_solution(call, false); }

static situ_status record_determinant(struct call *call) {
  const int64_t size = size_of(call), n = matrices(call);
  int32_t work;
  TRY(work_like(call, &work));
  return LAUNCH(call, &matrix_determinant_kernel, call->in[0].type, n, 1,
                (double)n * (double)(size * size * size), ARG_IN(call, 0), ARG_AT(work),
                ARG_OUT(call, 0), ARG_INT(size), ARG_INT(n));
}

static situ_status record_cholesky(struct call *call) {
  const int64_t size = size_of(call), n = size ? matrices(call) : 0;
  return LAUNCH(call, &matrix_cholesky_kernel, call->in[0].type, n, 1,
                (double)n * (double)(size * size * size), ARG_IN(call, 0), ARG_OUT(call, 0),
                ARG_INT(size), ARG_INT(n));
}

static situ_status record_triangular(struct call *call) {
  const int64_t size = size_of(call), n = size ? matrices(call) : 0;
  const int64_t sides = call->out[0].shape.dim[call->out[0].shape.rank - 1];
  return LAUNCH(call, &triangular_solve_kernel, call->in[0].type, n, 1,
                (double)n * (double)(size * size * sides), ARG_IN(call, 0), ARG_IN(call, 1),
                ARG_OUT(call, 0), ARG_INT(size), ARG_INT(sides), ARG_INT(call_bool(call, "lower")),
                ARG_INT(call_bool(call, "adjoint")), ARG_INT(n));
}

/* Gradients */

static struct term product(struct gradient *g, struct term a, struct term b, bool adj_a,
                           bool adj_b) {
  return gradient_emit(g, "BatchMatMul", TERMS(a, b),
                       ATTRS(situ_attr_bool("adj_x", adj_a), situ_attr_bool("adj_y", adj_b)));
}

static void inverse_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint");
  const struct term inside = product(g, g->out[0], g->dy[0], true, false);
  struct term dx = OP(g, "Neg", product(g, inside, g->out[0], false, true));
  if (adjoint) /* the inverse of the transpose */
    dx = OP(g, "Neg",
            product(g, product(g, g->out[0], g->dy[0], false, true), g->out[0], false, false));
  g->dx[0] = dx;
}

static void determinant_grad(struct gradient *g) {
  const struct term inverse =
      gradient_emit(g, "MatrixInverse", TERMS(g->in[0]), ATTRS(situ_attr_bool("adjoint", true)));
  struct term scale = OP(g, "Mul", g->dy[0], g->out[0]);
  for (int d = 0; d < 2; d++) scale = OP(g, "ExpandDims", scale, gradient_int(g, -1));
  g->dx[0] = OP(g, "Mul", scale, inverse);
}

static void solve_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint");
  const struct term db = gradient_emit(g, "MatrixSolve", TERMS(g->in[0], g->dy[0]),
                                       ATTRS(situ_attr_bool("adjoint", !adjoint)));
  const struct term outer =
      adjoint ? product(g, g->out[0], db, false, true) : product(g, db, g->out[0], false, true);
  g->dx[0] = OP(g, "Neg", outer);
  g->dx[1] = db;
}

static void triangular_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint"), lower = gradient_bool(g, "lower");
  const struct term db =
      gradient_emit(g, "MatrixTriangularSolve", TERMS(g->in[0], g->dy[0]),
                    ATTRS(situ_attr_bool("lower", lower), situ_attr_bool("adjoint", !adjoint)));
  const struct term outer =
      adjoint ? product(g, g->out[0], db, false, true) : product(g, db, g->out[0], false, true);
  const struct term all = gradient_int(g, -1), none = gradient_int(g, 0);
  g->dx[0] = OP(g, "MatrixBandPart", OP(g, "Neg", outer), lower ? all : none, lower ? none : all);
  g->dx[1] = db;
}

/* L^-T P L^-1, made symmetric, where P is the lower triangle of L^T dL with half its diagonal. */
static void cholesky_grad(struct gradient *g) {
  const struct term none = gradient_int(g, 0), all = gradient_int(g, -1);
  const struct term inverse = OP(g, "MatrixInverse", g->out[0]);
  const struct term whole = product(g, g->out[0], g->dy[0], true, false);
  const struct term a_half = gradient_number(g, gradient_type(g, g->dy[0]), 0.5);
  const struct term diagonal = OP(g, "MatrixBandPart", whole, none, none);
  const struct term lower =
      OP(g, "Sub", OP(g, "MatrixBandPart", whole, all, none), OP(g, "Mul", diagonal, a_half));
  const struct term left = product(g, inverse, lower, true, false);
  const struct term sum =
      OP(g, "Add", product(g, left, inverse, false, false), product(g, inverse, left, true, true));
  g->dx[0] = OP(g, "Mul", sum, a_half);
}

#define GOOD "[2,2]=4,1,2,3; [3,3]=2,-1,0,-1,2,-1,0,-1,2; [2,2,2]=0,1,2,3,4,1,1,4"

static const struct op_def op_defs[] = {
    {.name = "MatrixInverse",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "adjoint:bool=false T:{float double}",
     .python = "linalg.inv matrix_inverse",
     .doc = "The inverses of a batch of square matrices; a singular matrix is an error.",
     .args = "input: Matrices [..., n, n].\n"
             "adjoint: Invert the conjugate transposes instead.",
     .samples = GOOD "; adjoint=true [2,2]=4,1,2,3; [0,2,2]",
     .devices = EVERYWHERE,
     .shape = square_shape,
     .record = record_inverse,
     .grad = inverse_grad},
    {.name = "MatrixDeterminant",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{float double}",
     .python = "linalg.det matrix_determinant",
     .doc = "The determinants of a batch of square matrices.",
     .args = "input: Matrices [..., n, n].",
     .samples = GOOD "; [3,3]; [0,0]",
     .devices = EVERYWHERE,
     .shape = determinant_shape,
     .record = record_determinant,
     .grad = determinant_grad},
    {.name = "MatrixSolve",
     .inputs = "matrix:T rhs:T",
     .outputs = "output:T",
     .attrs = "adjoint:bool=false T:{float double}",
     .python = "linalg.solve matrix_solve",
     .doc = "Solves systems of linear equations, matrix * x = rhs; a singular matrix is an error.",
     .args = "matrix: Square matrices [..., n, n].\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "adjoint: Solve with the conjugate transposes of the matrices.",
     .samples = "[2,2]=4,1,2,3 [2,3]; adjoint=true [2,2]=4,1,2,3 [2,1]; "
                "[2,2,2]=0,1,2,3,4,1,1,4 [2,2,1]",
     .devices = EVERYWHERE,
     .shape = solve_shape,
     .record = record_solve,
     .grad = solve_grad},
    {.name = "MatrixTriangularSolve",
     .inputs = "matrix:T rhs:T",
     .outputs = "output:T",
     .attrs = "lower:bool=true adjoint:bool=false T:{float double}",
     .python = "linalg.triangular_solve matrix_triangular_solve",
     .doc = "Solves systems of linear equations with triangular matrices, matrix * x = rhs.",
     .args = "matrix: Square matrices [..., n, n], of which one triangle is read.\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "lower: Read the lower triangle, else the upper one.\n"
             "adjoint: Solve with the conjugate transposes of the matrices.",
     .samples = "[2,2]=4,1,2,3 [2,3]; lower=false [2,2]=4,1,2,3 [2,1]; "
                "adjoint=true [2,2]=4,1,2,3 [2,2]; lower=false adjoint=true [2,2]=4,1,2,3 [2,2]",
     .devices = EVERYWHERE,
     .shape = solve_shape,
     .record = record_triangular,
     .grad = triangular_grad},
    {.name = "Cholesky",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{float double}",
     .python = "linalg.cholesky cholesky",
     .doc = "The Cholesky factors L of symmetric positive definite matrices: input = L * "
            "transpose(L).",
     .args = "input: Matrices [..., n, n], of which the lower triangle is read.",
     .samples = "[2,2]=4,2,2,3; [3,3]=2,-1,0,-1,2,-1,0,-1,2; [2,1,1]=4,9",
     .devices = EVERYWHERE,
     .shape = square_shape,
     .record = record_cholesky,
     .grad = cholesky_grad},
};

OP_FAMILY(matrix_solve, op_defs);
