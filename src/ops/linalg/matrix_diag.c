/* SPDX-License-Identifier: Apache-2.0
 * matrix_diag.c: diagonals and bands of batches of matrices. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/linalg/matrix_diag.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(diagonal_put, BITS);
KERNEL_TABLE(diagonal_take, BITS);
KERNEL_TABLE(diagonal_set, BITS);
KERNEL_TABLE(band_part, BITS);

static int64_t least(int64_t a, int64_t b) {
  return a == SITU_ANY || b == SITU_ANY ? SITU_ANY : min_i64(a, b);
}

static situ_status need_matrix(const struct call *call) {
  const int rank = call->in[0].shape.rank;
  if (rank == SITU_ANY || rank >= 2) return NULL;
  return INVALID("input must be at least 2-dim, received rank %d", rank);
}

/* Diag: a tensor twice as deep. DiagPart: half as deep. */

static situ_status diag_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  *out = SITU_ANY_SHAPE;
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank == 0 || 2 * in->rank > SITU_MAX_RANK)
    return INVALID("Expected 1 <= dims <= %d, got %d", (int)SITU_MAX_RANK / 2, in->rank);
  out->rank = 2 * in->rank;
  for (int d = 0; d < out->rank; d++) out->dim[d] = in->dim[d % in->rank];
  return NULL;
}

static situ_status diag_part_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  char text[256];
  *out = SITU_ANY_SHAPE;
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank == 0 || in->rank % 2)
    return INVALID("The rank of the tensor should be even and positive, got shape %s",
                   shape_print(in, text));
  out->rank = in->rank / 2;
  for (int d = 0; d < out->rank; d++) {
    const int64_t a = in->dim[d], b = in->dim[d + out->rank];
    if (a != b && a != SITU_ANY && b != SITU_ANY)
      return INVALID("Invalid shape %s: dimensions %d and %d do not match.", shape_print(in, text),
                     d, d + out->rank);
    out->dim[d] = a == SITU_ANY ? b : a;
  }
  return NULL;
}

static situ_status matrix_diag_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  *out = *in;
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank == 0 || in->rank == SITU_MAX_RANK)
    return INVALID("diagonal must have 1 to %d dimensions, not %d", (int)SITU_MAX_RANK - 1,
                   in->rank);
  out->dim[out->rank++] = in->dim[in->rank - 1];
  return NULL;
}

static situ_status matrix_diag_part_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  *out = *in;
  TRY(need_matrix(call));
  if (in->rank == SITU_ANY) return NULL;
  out->rank--;
  out->dim[out->rank - 1] = least(in->dim[in->rank - 2], in->dim[in->rank - 1]);
  return NULL;
}

static situ_status set_diag_shape(struct call *call) {
  char a[256], b[256];
  const situ_shape *in = &call->in[0].shape;
  TRY(matrix_diag_part_shape(call));
  if (!shape_compatible(&call->out[0].shape, &call->in[1].shape))
    return INVALID("diagonal must have shape %s, not %s", shape_print(&call->out[0].shape, a),
                   shape_print(&call->in[1].shape, b));
  call->out[0].shape = *in;
  return NULL;
}

static situ_status band_shape(struct call *call) {
  TRY(need_matrix(call));
  TRY(op_need_rank(call, 1, 0, "num_lower"));
  TRY(op_need_rank(call, 2, 0, "num_upper"));
  return op_same_shape(call);
}

/* Records: `size` rows and columns of each matrix. */
static situ_status record_put(struct call *call, int64_t size) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return LAUNCH(call, &diagonal_put_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(size), ARG_INT(n));
}

static situ_status record_diag(struct call *call) {
  return record_put(call, situ_shape_count(call->in[0].shape));
}
static situ_status record_matrix_diag(struct call *call) {
  return record_put(call, call->in[0].shape.dim[call->in[0].shape.rank - 1]);
}

static situ_status record_take(struct call *call, int64_t rows, int64_t columns) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return LAUNCH(call, &diagonal_take_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(rows), ARG_INT(columns), ARG_INT(min_i64(rows, columns)),
                ARG_INT(n));
}

static situ_status record_diag_part(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return record_take(call, n, n);
}
static situ_status record_matrix_diag_part(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  return record_take(call, in->dim[in->rank - 2], in->dim[in->rank - 1]);
}

static situ_status record_set_diag(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t n = situ_shape_count(*in), rows = in->dim[in->rank - 2];
  const int64_t columns = in->dim[in->rank - 1];
  return LAUNCH(call, &diagonal_set_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_IN(call, 1), ARG_OUT(call, 0), ARG_INT(rows), ARG_INT(columns),
                ARG_INT(min_i64(rows, columns)), ARG_INT(n));
}

static situ_status record_band(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t n = situ_shape_count(*in);
  return LAUNCH(call, &band_part_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(in->dim[in->rank - 2]), ARG_INT(in->dim[in->rank - 1]),
                ARG_INT(call_element(call, 1, 0)), ARG_INT(call_element(call, 2, 0)), ARG_INT(n));
}

/* Gradients */

static void diag_grad(struct gradient *g) { g->dx[0] = OP(g, "DiagPart", g->dy[0]); }
static void diag_part_grad(struct gradient *g) { g->dx[0] = OP(g, "Diag", g->dy[0]); }
static void matrix_diag_grad(struct gradient *g) { g->dx[0] = OP(g, "MatrixDiagPart", g->dy[0]); }
static void matrix_diag_part_grad(struct gradient *g) {
  g->dx[0] = OP(g, "MatrixSetDiag", gradient_zeros(g, g->in[0]), g->dy[0]);
}
static void set_diag_grad(struct gradient *g) {
  g->dx[0] = OP(g, "MatrixSetDiag", g->dy[0], gradient_zeros(g, g->in[1]));
  g->dx[1] = OP(g, "MatrixDiagPart", g->dy[0]);
}
static void band_grad(struct gradient *g) {
  g->dx[0] = OP(g, "MatrixBandPart", g->dy[0], g->in[1], g->in[2]);
}

static const struct op_def op_defs[] = {
    {.name = "Diag",
     .inputs = "diagonal:T",
     .outputs = "output:T",
     .attrs = "T:{" NUMERIC "}",
     .python = "linalg.tensor_diag diag",
     .doc = "A diagonal tensor of twice the rank, with zeros elsewhere.",
     .args = "diagonal: Elements of the diagonal.",
     .samples = "[4]; [2,3]",
     .devices = EVERYWHERE,
     .shape = diag_shape,
     .record = record_diag,
     .grad = diag_grad},
    {.name = "DiagPart",
     .inputs = "input:T",
     .outputs = "diagonal:T",
     .attrs = "T:{" NUMERIC "}",
     .python = "linalg.tensor_diag_part diag_part",
     .doc = "The diagonal of a tensor of shape [D1, ..., Dk, D1, ..., Dk].",
     .args = "input: Tensor of even rank whose two halves of the shape are equal.",
     .samples = "[4,4]; [2,3,2,3]",
     .devices = EVERYWHERE,
     .shape = diag_part_shape,
     .record = record_diag_part,
     .grad = diag_part_grad},
    {.name = "MatrixDiag",
     .inputs = "diagonal:T",
     .outputs = "output:T",
     .attrs = "T:{" NUMERIC "}",
     .doc = "A batch of diagonal matrices.",
     .args = "diagonal: Diagonals [..., n]; the result has shape [..., n, n].",
     .samples = "[4]; [2,3]; [2,0]",
     .devices = GPU_TYPES("half bfloat16 float double complex64 complex128 bool"),
     .shape = matrix_diag_shape,
     .record = record_matrix_diag,
     .grad = matrix_diag_grad},
    {.name = "MatrixDiagPart",
     .inputs = "input:T",
     .outputs = "diagonal:T",
     .attrs = "T:{" NUMERIC "}",
     .doc = "The main diagonals of a batch of matrices.",
     .args = "input: Matrices [..., m, n].",
     .samples = "[4,4]; [2,3,4]; [2,4,3]",
     .devices = GPU_TYPES("half bfloat16 float double complex64 complex128 bool"),
     .shape = matrix_diag_part_shape,
     .record = record_matrix_diag_part,
     .grad = matrix_diag_part_grad},
    {.name = "MatrixSetDiag",
     .inputs = "input:T diagonal:T",
     .outputs = "output:T",
     .attrs = "T:{" NUMERIC "}",
     .doc = "Replaces the main diagonals of a batch of matrices.",
     .args = "input: Matrices [..., m, n].\n"
             "diagonal: New diagonals [..., min(m, n)].",
     .samples = "[4,4] [4]; [2,3,4] [2,3]; [2,4,3] [2,3]",
     .devices = GPU_TYPES("half bfloat16 float double complex64 complex128 bool"),
     .shape = set_diag_shape,
     .record = record_set_diag,
     .grad = set_diag_grad},
    {.name = "MatrixBandPart",
     .inputs = "input:T num_lower:Tindex[] num_upper:Tindex[]",
     .outputs = "band:T",
     .attrs = "T:{" NUMERIC "} Tindex:{int32 int64}=int64",
     .python = "linalg.band_part matrix_band_part",
     .doc = "Sets elements outside a band around the main diagonal of matrices to zero.",
     .args =
         "input: Matrices [..., m, n].\n"
         "num_lower: Number of subdiagonals to keep, a scalar; negative keeps the lower triangle.\n"
         "num_upper: Number of superdiagonals to keep, a scalar; negative keeps the upper "
         "triangle.",
     .samples = "[4,4] []=0 []=1; [2,3,4] []=-1 []=0; Tindex=int32 [3,3] []=0 []=-1",
     .host = "num_lower num_upper",
     .devices = GPU_TYPES("half bfloat16 float double complex64 complex128 bool"),
     .shape = band_shape,
     .record = record_band,
     .grad = band_grad},
};

OP_FAMILY(matrix_diag, op_defs);
