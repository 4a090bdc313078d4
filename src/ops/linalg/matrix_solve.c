/* SPDX-License-Identifier: Apache-2.0
 * matrix_solve.c: MatrixSolve, Cholesky, inverse and determinant of batches of matrices. */
#include "base/interrupt.h"
#include "ops/linalg/dense.h"

#define KERNELS "ops/linalg/matrix_solve.cl"
#include "kernel/types.h"
#define KERNELS "ops/linalg/matrix_solve.cl"
#include "kernel/complex_types.h"

#define FOUR_TYPES(kernel_name)                            \
  static const struct kernel kernel_name##_kernel = {      \
      .name = #kernel_name,                                \
      .file = types_file,                                  \
      .complex_file = complex_file,                        \
      .host = {[SITU_FLOAT] = kernel_name##_float,         \
               [SITU_DOUBLE] = kernel_name##_double,       \
               [SITU_COMPLEX64] = kernel_name##_complex64, \
               [SITU_COMPLEX128] = kernel_name##_complex128}}
FOUR_TYPES(matrix_solve);
FOUR_TYPES(matrix_determinant);
FOUR_TYPES(matrix_cholesky);
FOUR_TYPES(triangular_solve);

#define DEVICES DENSE_DEVICES " GPU(float double complex64 complex128)"

static situ_status square_shape(struct call *call) {
  TRY(dense_need_matrix(call, 0, true));
  return op_same_shape(call);
}

static situ_status determinant_shape(struct call *call) {
  TRY(square_shape(call));
  if (call->out[0].shape.rank != SITU_ANY) call->out[0].shape.rank -= 2;
  return NULL;
}

static situ_status solve_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  int64_t m, n, k;
  dense_sizes(a, &m, &n, &k);
  if (!call->building && m != n && m != SITU_ANY)
    return INVALID("First input (lhs) must be a square matrix.");
  TRY(dense_need_matrix(call, 0, true));
  TRY(dense_need_matrix(call, 1, false));
  call->out[0].shape = *b;
  if (a->rank == SITU_ANY || b->rank == SITU_ANY) return NULL;
  situ_shape want = *a;
  if (b->rank == a->rank) want.dim[want.rank - 1] = b->dim[b->rank - 1];
  if (b->rank == a->rank && shape_compatible(&want, b)) return NULL;
  if (call->building && b->rank == a->rank)
    return INVALID("Dimensions must be equal, but are %lld and %lld", (long long)n,
                   (long long)b->dim[b->rank - 2]);
  return INVALID("Input matrix and rhs are incompatible.");
}

/* The batch of a shape of matrices. */
static situ_shape front(const situ_shape *shape) {
  situ_shape out = *shape;
  if (out.rank != SITU_ANY) out.rank -= 2;
  return out;
}

/* As solve_shape, but batches are broadcast. */
static situ_status triangular_shape(struct call *call) {
  const situ_shape *a = &call->in[0].shape, *b = &call->in[1].shape;
  situ_shape *out = &call->out[0].shape;
  char x[256], y[256];
  int64_t m, n, k, rows, sides;
  dense_sizes(a, &m, &n, &k);
  dense_sizes(b, &rows, &sides, &k);
  for (int i = 0; i < 2; i++)
    if (!call->building && call->in[i].shape.rank < 2)
      return INVALID("In[%d] ndims must be >= 2: %d", i, call->in[i].shape.rank);
  if (!call->building && m != n)
    return INVALID("In[0] matrices in the last dimensions must be square (%lld =/= %lld)",
                   (long long)n, (long long)m);
  TRY(dense_need_matrix(call, 0, true));
  TRY(dense_need_matrix(call, 1, false));
  if (n != rows && n != SITU_ANY && rows != SITU_ANY)
    return call->building
               ? INVALID("Dimensions must be equal, but are %lld and %lld", (long long)n,
                         (long long)rows)
               : INVALID("In[0] mismatch In[1] shape: %lld vs. %lld: %s %s %d %d", (long long)n,
                         (long long)rows, shape_print(a, x), shape_print(b, y),
                         call_bool(call, "lower"), call_bool(call, "adjoint"));
  const situ_shape left = front(a), right = front(b);
  if (!shape_broadcast(&left, &right, out))
    return call->building
               ? INVALID("Incompatible shapes: %s vs. %s", shape_print(&left, x),
                         shape_print(&right, y))
               : INVALID("In[0] and In[1] must have compatible batch dimensions: %s vs. %s",
                         shape_print(a, x), shape_print(b, y));
  if (out->rank == SITU_ANY) return NULL;
  out->dim[out->rank++] = rows == SITU_ANY ? n : rows;
  out->dim[out->rank++] = sides;
  return shape_check(out);
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

static situ_status scratch_for_input(struct call *call, int32_t *slot) {
  const int64_t n = max_i64(1, situ_shape_count(call->in[0].shape));
  return call_scratch(call, (size_t)n * situ_type_size(call->in[0].type), slot);
}

static situ_status record_solution(struct call *call, bool identity) {
  const int64_t size = size_of(call), n = size ? matrices(call) : 0;
  const int64_t sides = call->out[0].shape.dim[call->out[0].shape.rank - 1];
  int32_t work;
  TRY(scratch_for_input(call, &work));
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
  TRY(scratch_for_input(call, &work));
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

/* The strides between the matrices of an operand along each dimension of the batch. */
static void steps_of(const situ_shape *operand, int64_t steps[SITU_MAX_RANK]) {
  int64_t step = operand->dim[operand->rank - 1] * operand->dim[operand->rank - 2];
  for (int d = 0; d < SITU_MAX_RANK; d++) steps[d] = 0;
  for (int d = 1; d <= operand->rank - 2; d++) {
    const int64_t dim = operand->dim[operand->rank - 2 - d];
    if (dim != 1) steps[SITU_MAX_RANK - d] = step;
    step *= dim;
  }
}

static situ_status record_triangular(struct call *call) {
  const situ_shape batch = front(&call->out[0].shape);
  const int64_t size = size_of(call), n = size ? situ_shape_count(batch) : 0;
  const int64_t sides = call->out[0].shape.dim[call->out[0].shape.rank - 1];
  int64_t dim[SITU_MAX_RANK], a_step[SITU_MAX_RANK], b_step[SITU_MAX_RANK];
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    const int own = d - (SITU_MAX_RANK - batch.rank);
    dim[d] = own < 0 ? 1 : batch.dim[own];
  }
  steps_of(&call->in[0].shape, a_step);
  steps_of(&call->in[1].shape, b_step);
  return LAUNCH(call, &triangular_solve_kernel, call->in[0].type, n, 1,
                (double)n * (double)(size * size * sides), ARG_IN(call, 0), ARG_IN(call, 1),
                ARG_OUT(call, 0), ARG_INT(size), ARG_INT(sides), ARG_INT(call_bool(call, "lower")),
                ARG_INT(call_bool(call, "adjoint")), ARG_INT(n), ARG_INTS(dim), ARG_INTS(a_step),
                ARG_INTS(b_step));
}

/* Gradients */

static void inverse_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint");
  const struct term inside = dense_matmul(g, g->out[0], g->dy[0], true, false);
  struct term dx = OP(g, "Neg", dense_matmul(g, inside, g->out[0], false, true));
  if (adjoint) /* the inverse of the transpose */
    dx = OP(g, "Neg",
            dense_matmul(g, dense_matmul(g, g->out[0], g->dy[0], false, true), g->out[0], false,
                         false));
  g->dx[0] = dx;
}

static void determinant_grad(struct gradient *g) {
  const struct term inverse =
      gradient_emit(g, "MatrixInverse", TERMS(g->in[0]), ATTRS(situ_attr_bool("adjoint", true)));
  const bool is_complex = type_is_complex(gradient_type(g, g->out[0]));
  const struct term value = is_complex ? OP(g, "Conj", g->out[0]) : g->out[0];
  struct term scale = OP(g, "Mul", g->dy[0], value);
  for (int d = 0; d < 2; d++) scale = OP(g, "ExpandDims", scale, gradient_int(g, -1));
  g->dx[0] = OP(g, "Mul", scale, inverse);
}

static void solve_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint");
  const struct term db = gradient_emit(g, "MatrixSolve", TERMS(g->in[0], g->dy[0]),
                                       ATTRS(situ_attr_bool("adjoint", !adjoint)));
  const struct term outer = adjoint ? dense_matmul(g, g->out[0], db, false, true)
                                    : dense_matmul(g, db, g->out[0], false, true);
  g->dx[0] = OP(g, "Neg", outer);
  g->dx[1] = db;
}

static void triangular_grad(struct gradient *g) {
  const bool adjoint = gradient_bool(g, "adjoint"), lower = gradient_bool(g, "lower");
  const struct term db =
      gradient_emit(g, "MatrixTriangularSolve", TERMS(g->in[0], g->dy[0]),
                    ATTRS(situ_attr_bool("lower", lower), situ_attr_bool("adjoint", !adjoint)));
  const struct term outer = adjoint ? dense_matmul(g, g->out[0], db, false, true)
                                    : dense_matmul(g, db, g->out[0], false, true);
  const struct term all = gradient_int(g, -1), none = gradient_int(g, 0);
  const struct term da =
      OP(g, "MatrixBandPart", OP(g, "Neg", outer), lower ? all : none, lower ? none : all);
  g->dx[0] = dense_sum_batch(g, da, g->in[0], g->in[1]);
  g->dx[1] = dense_sum_batch(g, db, g->in[1], g->in[0]);
}

/* L^-H P L^-1, made Hermitian, where P is the lower triangle of L^H dL with half its diagonal. */
static void cholesky_grad(struct gradient *g) {
  const struct term none = gradient_int(g, 0), all = gradient_int(g, -1);
  const struct term inverse = OP(g, "MatrixInverse", g->out[0]);
  const struct term whole = dense_matmul(g, g->out[0], g->dy[0], true, false);
  const struct term a_half = gradient_number(g, gradient_type(g, g->dy[0]), 0.5);
  const struct term diagonal = OP(g, "MatrixBandPart", whole, none, none);
  const struct term lower =
      OP(g, "Sub", OP(g, "MatrixBandPart", whole, all, none), OP(g, "Mul", diagonal, a_half));
  const struct term left = dense_matmul(g, inverse, lower, true, false);
  const struct term sum = OP(g, "Add", dense_matmul(g, left, inverse, false, false),
                             dense_matmul(g, inverse, left, true, true));
  g->dx[0] = OP(g, "Mul", sum, a_half);
}

#define GOOD "[2,2]=4,1,2,3; [3,3]=2,-1,0,-1,2,-1,0,-1,2; [2,2,2]=0,1,2,3,4,1,1,4"

static const struct op_def op_defs[] = {
    {.name = "MatrixInverse",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "adjoint:bool=false T:{" DENSE_TYPES "}",
     .python = "linalg.inv matrix_inverse",
     .doc = "The inverses of a batch of square matrices; a singular matrix is an error.",
     .args = "input: Matrices [..., n, n].\n"
             "adjoint: Invert the conjugate transposes instead.",
     .samples = GOOD "; adjoint=true [2,2]=4,1,2,3; [0,2,2]",
     .devices = DEVICES,
     .shape = square_shape,
     .record = record_inverse,
     .grad = inverse_grad},
    {.name = "MatrixDeterminant",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{" DENSE_TYPES "}",
     .python = "linalg.det matrix_determinant",
     .doc = "The determinants of a batch of square matrices.",
     .args = "input: Matrices [..., n, n].",
     .samples = GOOD "; [3,3]; [0,0]",
     .devices = DEVICES,
     .shape = determinant_shape,
     .record = record_determinant,
     .grad = determinant_grad},
    {.name = "MatrixSolve",
     .inputs = "matrix:T rhs:T",
     .outputs = "output:T",
     .attrs = "adjoint:bool=false T:{" DENSE_TYPES "}",
     .python = "linalg.solve matrix_solve",
     .doc = "Solves systems of linear equations, matrix * x = rhs; a singular matrix is an error.",
     .args = "matrix: Square matrices [..., n, n].\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "adjoint: Solve with the conjugate transposes of the matrices.",
     .samples = "[2,2]=4,1,2,3 [2,3]; adjoint=true [2,2]=4,1,2,3 [2,1]; "
                "[2,2,2]=0,1,2,3,4,1,1,4 [2,2,1]",
     .devices = DEVICES,
     .shape = solve_shape,
     .record = record_solve,
     .grad = solve_grad},
    {.name = "MatrixTriangularSolve",
     .inputs = "matrix:T rhs:T",
     .outputs = "output:T",
     .attrs = "lower:bool=true adjoint:bool=false T:{bfloat16 " DENSE_TYPES "}",
     .python = "linalg.triangular_solve matrix_triangular_solve",
     .doc = "Solves systems of linear equations with triangular matrices, matrix * x = rhs.",
     .args = "matrix: Square matrices [..., n, n], of which one triangle is read.\n"
             "rhs: Right-hand sides [..., n, k].\n"
             "lower: Read the lower triangle, else the upper one.\n"
             "adjoint: Solve with the conjugate transposes of the matrices.",
     .samples = "[2,2]=4,1,2,3 [2,3]; lower=false [2,2]=4,1,2,3 [2,1]; "
                "adjoint=true [2,2]=4,1,2,3 [2,2]; lower=false adjoint=true [2,2]=4,1,2,3 [2,2]",
     .devices = DEVICES,
     .shape = triangular_shape,
     .record = record_triangular,
     .grad = triangular_grad},
    {.name = "Cholesky",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{" DENSE_TYPES "}",
     .python = "linalg.cholesky cholesky",
     .doc = "The Cholesky factors L of symmetric positive definite matrices: input = L * "
            "transpose(L).",
     .args = "input: Matrices [..., n, n], of which the lower triangle is read.",
     .samples = "[2,2]=4,2,2,3; [3,3]=2,-1,0,-1,2,-1,0,-1,2; [2,1,1]=4,9",
     .devices = DEVICES,
     .shape = square_shape,
     .record = record_cholesky,
     .grad = cholesky_grad},
};

OP_FAMILY(matrix_solve, op_defs);
