/* SPDX-License-Identifier: Apache-2.0
 * matrix_band_diag.c: several diagonals of matrices at once: MatrixDiag, MatrixDiagPart and
 * MatrixSetDiag, versions 2 and 3.
 *
 * Diagonal d of a matrix has the elements [r, r + d]. Diagonals `lower` to `upper` are the rows of
 * an array [upper - lower + 1, longest], the uppermost first; a single one is a vector. Shorter
 * ones stand at the left or the right of their row. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/linalg/matrix_band_diag.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(bands_put, BITS);
KERNEL_TABLE(bands_take, BITS);
KERNEL_TABLE(bands_set, BITS);

struct bands {
  int64_t lower, upper; /* the lowest and the highest diagonal */
  bool known;
};

/* Reads the diagonals of a call from input k. */
static situ_status read_bands(const struct call *call, int input, struct bands *out) {
  int64_t items[SITU_MAX_RANK];
  int count;
  *out = (struct bands){.known = false};
  const situ_shape *k = &call->in[input].shape;
  if (k->rank > 1)
    return INVALID("diag_index must be a scalar or vector, received shape: rank %d", k->rank);
  if (k->rank == 1 && k->dim[0] != SITU_ANY && (k->dim[0] < 1 || k->dim[0] > 2))
    return INVALID("diag_index must be a vector with one or two elements. It has %lld elements.",
                   (long long)k->dim[0]);
  TRY(call_integers(call, input, items, &count));
  if (count == SITU_ANY) return NULL;
  *out = (struct bands){.lower = items[0], .upper = items[count - 1], .known = true};
  if (out->lower <= out->upper) return NULL;
  return call->building
             ? INVALID("lower_diag_index is greater than upper_diag_index")
             : INVALID("lower_diag_index must not be larger than upper_diag_index: %lld > %lld",
                       (long long)out->lower, (long long)out->upper);
}

static situ_status need_inside(const struct call *call, const char *name, int64_t diagonal,
                               int64_t rows, int64_t columns) {
  if (!diagonal || (-rows < diagonal && diagonal < columns)) return NULL;
  if (call->building) return INVALID("%s is out of bound.", name);
  return INVALID("%s is out of bound: %lld. It must be between %lld and %lld", name,
                 (long long)diagonal, (long long)-rows, (long long)columns);
}

/* The length of the longest diagonal of a matrix, SITU_ANY if its size is not known. */
static situ_status longest_of(const struct call *call, const struct bands *bands, int64_t rows,
                              int64_t columns, int64_t *out) {
  *out = SITU_ANY;
  if (rows == SITU_ANY || columns == SITU_ANY) return NULL;
  TRY(need_inside(call, "lower_diag_index", bands->lower, rows, columns));
  TRY(need_inside(call, "upper_diag_index", bands->upper, rows, columns));
  *out = min_i64(rows + min_i64(bands->upper, 0), columns - max_i64(bands->lower, 0));
  return NULL;
}

/* The shape of the diagonals of matrices of shape `in`, whose rank is known. */
static situ_status diagonals_shape(const struct call *call, const situ_shape *in,
                                   const struct bands *bands, situ_shape *out) {
  int64_t longest;
  TRY(longest_of(call, bands, in->dim[in->rank - 2], in->dim[in->rank - 1], &longest));
  *out = *in;
  if (bands->lower == bands->upper) out->rank--;
  if (bands->lower < bands->upper) out->dim[out->rank - 2] = bands->upper - bands->lower + 1;
  out->dim[out->rank - 1] = longest;
  return NULL;
}

static situ_status need_rank_from(const struct call *call, int input, int least, const char *name) {
  const int rank = call->in[input].shape.rank;
  char text[SHAPE_STRING_SIZE];
  if (rank == SITU_ANY || rank >= least) return NULL;
  if (call->building) return INVALID("Shape must be at least rank %d but is rank %d", least, rank);
  return INVALID("%s must be at least %d-dim, received shape: %s", name, least,
                 shape_print(&call->in[input].shape, text));
}

/* The size of the matrices of MatrixDiag: num_rows and num_cols, -1 for the smallest that fits. */
static situ_status fit_size(const struct call *call, const struct bands *bands, int64_t length,
                            int64_t *rows, int64_t *columns) {
  const int64_t least_rows = length - min_i64(bands->upper, 0);
  const int64_t least_columns = length + max_i64(bands->lower, 0);
  if (*rows == -1 && *columns == -1) *rows = *columns = max_i64(least_rows, least_columns);
  if (*rows == -1) *rows = least_rows;
  if (*columns == -1) *columns = least_columns;
  if (*rows < least_rows)
    return INVALID(call->building ? "num_rows is too small" : "The number of rows is too small.");
  if (*columns < least_columns)
    return INVALID(call->building ? "num_cols is too small."
                                  : "The number of columns is too small.");
  if (*rows == least_rows || *columns == least_columns) return NULL;
  return INVALID(
      "%s: num_rows = %lld != min_num_rows = %lld, num_cols = %lld != min_num_cols = %lld",
      call->building ? "num_rows and num_cols are not consistent with lower_diag_index, "
                       "upper_diag_index, and the length of the given diagonals"
                     : "The number of rows or columns is not consistent with the specified "
                       "d_lower, d_upper, and diagonal.",
      (long long)*rows, (long long)least_rows, (long long)*columns, (long long)least_columns);
}

static bool dim_fits(int64_t dim, int64_t size) { return dim == SITU_ANY || dim == size; }

static situ_status need_count(const struct call *call, const situ_shape *in,
                              const struct bands *bands) {
  const int64_t count = bands->upper - bands->lower + 1;
  if (count == 1 || (in->rank > 1 && dim_fits(in->dim[in->rank - 2], count))) return NULL;
  if (!call->building)
    return INVALID(
        "The number of diagonals provided in the input does not match the "
        "lower_diag_index and upper_diag_index range.");
  return INVALID(
      "The number of rows of `diagonal` doesn't match the number of diagonals implied "
      "from `d_lower` and `d_upper`: num_diags = %lld, d_lower = %lld, d_upper = %lld",
      in->rank > 1 ? (long long)in->dim[in->rank - 2] : 1, (long long)bands->lower,
      (long long)bands->upper);
}

static situ_status put_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  struct bands bands;
  int64_t rows, columns;
  bool rows_known, columns_known;
  *out = SITU_ANY_SHAPE;
  TRY(need_rank_from(call, 0, 1, "diagonal"));
  TRY(read_bands(call, 1, &bands));
  for (int i = 2; i < 5; i++)
    TRY(op_need_rank(call, i, 0, i == 2 ? "num_rows" : i == 3 ? "num_cols" : "padding_value"));
  TRY(op_host_scalar(call, 2, &rows, &rows_known));
  TRY(op_host_scalar(call, 3, &columns, &columns_known));
  if (in->rank == SITU_ANY || !bands.known) return NULL;
  TRY(need_count(call, in, &bands));
  const int64_t length = in->dim[in->rank - 1];
  *out = *in;
  if (bands.lower == bands.upper) out->rank++;
  if (out->rank > SITU_MAX_RANK)
    return INVALID("diagonal must have 1 to %d dimensions, not %d", (int)SITU_MAX_RANK - 1,
                   in->rank);
  const bool known = rows_known && columns_known && length != SITU_ANY;
  if (known) TRY(fit_size(call, &bands, length, &rows, &columns));
  out->dim[out->rank - 2] = known ? rows : SITU_ANY;
  out->dim[out->rank - 1] = known ? columns : SITU_ANY;
  return NULL;
}

static situ_status take_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  struct bands bands;
  call->out[0].shape = SITU_ANY_SHAPE;
  TRY(need_rank_from(call, 0, 2, "input"));
  TRY(read_bands(call, 1, &bands));
  TRY(op_need_rank(call, 2, 0, "padding_value"));
  if (in->rank == SITU_ANY || !bands.known) return NULL;
  return diagonals_shape(call, in, &bands, &call->out[0].shape);
}

static situ_status wrong_diagonals(const situ_shape *in, const situ_shape *given,
                                   const situ_shape *wanted) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE], c[SHAPE_STRING_SIZE];
  return INVALID(
      "Either first dimensions of diagonal don't match input.shape[:-2], or diagonal.shape[:-1] is "
      "not equal to the longests diagonal in range [lower_diag_index:upper_diag_index].\n"
      "Input shape: %s\nDiagonal shape: %s\nExpected diagonal shape: %s",
      shape_print(in, a), shape_print(given, b), shape_print(wanted, c));
}

static situ_status set_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *diagonals = &call->in[1].shape;
  struct bands bands;
  situ_shape wanted;
  call->out[0].shape = *in;
  TRY(need_rank_from(call, 0, 2, "input"));
  TRY(need_rank_from(call, 1, 1, "diagonal"));
  TRY(read_bands(call, 2, &bands));
  if (in->rank == SITU_ANY || !bands.known) return NULL;
  TRY(diagonals_shape(call, in, &bands, &wanted));
  if (shape_compatible(&wanted, diagonals)) return NULL;
  if (call->building && diagonals->rank != wanted.rank)
    return INVALID("Shape must be rank %d but is rank %d", wanted.rank, diagonals->rank);
  return wrong_diagonals(in, diagonals, &wanted);
}

/* Which diagonals stand at the right: bit 0: those above the main diagonal, bit 1: those below. */
static int64_t right_aligned(const struct call *call) {
  if (schema_attr(call->schema, "align") < 0) return 0;
  const char *align = call_text(call, "align");
  const bool above = !strncmp(align, "RIGHT_", 6);
  const bool below = !strcmp(align + (above ? 6 : 5), "RIGHT");
  return (above ? 1 : 0) | (below ? 2 : 0);
}

/* The arguments that all kernels have: of matrices and their diagonals. */
#define BANDS(call, matrices, diagonals, input)                                               \
  ARG_INT((matrices).dim[(matrices).rank - 2]), ARG_INT((matrices).dim[(matrices).rank - 1]), \
      ARG_INT(call_element(call, input, 0)),                                                  \
      ARG_INT(call_element(call, input, situ_shape_count((call)->in[input].shape) - 1)),      \
      ARG_INT((diagonals).dim[(diagonals).rank - 1]), ARG_INT(right_aligned(call))

static situ_status record_put(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  return LAUNCH(call, &bands_put_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_IN(call, 4), ARG_OUT(call, 0), BANDS(call, *out, *in, 1), ARG_INT(n));
}

static situ_status record_take(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  return LAUNCH(call, &bands_take_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_IN(call, 2), ARG_OUT(call, 0), BANDS(call, *in, *out, 1), ARG_INT(n));
}

static situ_status record_set(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *diagonals = &call->in[1].shape;
  const int64_t n = situ_shape_count(*in);
  return LAUNCH(call, &bands_set_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_IN(call, 1), ARG_OUT(call, 0), BANDS(call, *in, *diagonals, 2), ARG_INT(n));
}

/* Gradients: ops of version 2 align at the left. */

static situ_attr align_of(struct gradient *g) {
  return schema_attr(g->schema, "align") < 0 ? situ_attr_string("align", "LEFT_LEFT")
                                             : gradient_keep(g, "align");
}

static struct term take_of(struct gradient *g, struct term matrices, struct term k) {
  const struct term zero = gradient_number(g, gradient_type(g, matrices), 0);
  return gradient_emit(g, "MatrixDiagPartV3", TERMS(matrices, k, zero), ATTRS(align_of(g)));
}

static struct term set_of(struct gradient *g, struct term matrices, struct term diagonals,
                          struct term k) {
  return gradient_emit(g, "MatrixSetDiagV3", TERMS(matrices, diagonals, k), ATTRS(align_of(g)));
}

static void put_grad(struct gradient *g) { g->dx[0] = take_of(g, g->dy[0], g->in[1]); }
static void take_grad(struct gradient *g) {
  g->dx[0] = set_of(g, gradient_zeros(g, g->in[0]), g->dy[0], g->in[1]);
}
static void set_grad(struct gradient *g) {
  g->dx[0] = set_of(g, g->dy[0], gradient_zeros(g, g->in[1]), g->in[2]);
  g->dx[1] = take_of(g, g->dy[0], g->in[2]);
}

#define TYPES "T:{" NUMERIC "}"
#define ALIGN " align:{'LEFT_RIGHT','RIGHT_LEFT','LEFT_LEFT','RIGHT_RIGHT'}='RIGHT_LEFT'"
#define ALIGN_DOC                                                                                \
  "\nalign: Where diagonals above and below the main diagonal stand in their rows, if they are " \
  "shorter."
#define K_DOC "k: The diagonal, a scalar, or the lowest and the highest of several."
#define DEVICES GPU_TYPES("half bfloat16 float double complex64 complex128 bool")

#define PUT_DIAGONALS(op, attributes, argument, tests)                                        \
  {                                                                                           \
    .name = op, .inputs = "diagonal:T k:int32 num_rows:int32 num_cols:int32 padding_value:T", \
    .outputs = "output:T", .attrs = attributes,                                               \
    .doc = "Matrices with the given diagonals, and a padding value elsewhere.",               \
    .args = "diagonal: A diagonal [..., length], or several [..., number, length].\n" K_DOC   \
            "\n"                                                                              \
            "num_rows: Number of rows, or -1 for as few as possible.\n"                       \
            "num_cols: Number of columns, or -1 for as few as possible.\n"                    \
            "padding_value: Value of all other elements, a scalar." argument,                 \
    .samples = tests, .host = "k num_rows num_cols", .devices = DEVICES, .shape = put_shape,  \
    .record = record_put, .grad = put_grad                                                    \
  }
#define TAKE_DIAGONALS(op, attributes, argument, tests)                                            \
  {                                                                                                \
    .name = op, .inputs = "input:T k:int32 padding_value:T", .outputs = "diagonal:T",              \
    .attrs = attributes, .doc = "One or several diagonals of a batch of matrices.",                \
    .args = "input: Matrices [..., m, n].\n" K_DOC                                                 \
            "\n"                                                                                   \
            "padding_value: What fills the rows of shorter diagonals, a scalar." argument,         \
    .samples = tests, .host = "k", .devices = DEVICES, .shape = take_shape, .record = record_take, \
    .grad = take_grad                                                                              \
  }
#define SET_DIAGONALS(op, attributes, argument, tests)                                            \
  {                                                                                               \
    .name = op, .inputs = "input:T diagonal:T k:int32", .outputs = "output:T",                    \
    .attrs = attributes, .doc = "Replaces one or several diagonals of a batch of matrices.",      \
    .args =                                                                                       \
        "input: Matrices [..., m, n].\n"                                                          \
        "diagonal: A diagonal [..., length], or several [..., number, length].\n" K_DOC argument, \
    .samples = tests, .host = "k", .devices = DEVICES, .shape = set_shape, .record = record_set,  \
    .grad = set_grad                                                                              \
  }

static const struct op_def op_defs[] = {
    PUT_DIAGONALS(
        "MatrixDiagV2", TYPES, "",
        "[2,3] []=1 []=-1 []=-1 []; [2,2,3] [2]=-1,0 []=4 []=3 []; [3,2] [2]=-1,1 []=2 []=2 []"),
    PUT_DIAGONALS("MatrixDiagV3", TYPES ALIGN, ALIGN_DOC,
                  "[2,3] []=1 []=-1 []=-1 []; [2,3,3] [2]=-1,1 []=-1 []=-1 []; "
                  "align='LEFT_RIGHT' [2,3] [2]=-1,0 []=3 []=4 []; "
                  "align='RIGHT_RIGHT' [3,2] [2]=-1,1 []=2 []=3 []; [3] [1]=-2 []=5 []=4 []"),
    TAKE_DIAGONALS("MatrixDiagPartV2", TYPES, "",
                   "[2,3,4] []=1 []; [3,4] [2]=-2,1 []; [4,3] [2]=0,2 []"),
    TAKE_DIAGONALS("MatrixDiagPartV3", TYPES ALIGN, ALIGN_DOC,
                   "[2,3,4] []=-1 []; [3,4] [2]=-2,3 []; align='LEFT_RIGHT' [2,4,3] [2]=-3,2 []; "
                   "align='RIGHT_RIGHT' [4,3] [2]=-1,2 []; align='LEFT_LEFT' [3,3] [2]=1,2 []"),
    SET_DIAGONALS("MatrixSetDiagV2", TYPES, "",
                  "[2,3,4] [2,3] []=1; [3,4] [4,3] [2]=-2,1; [4,3] [2,3] [2]=0,1"),
    SET_DIAGONALS(
        "MatrixSetDiagV3", TYPES ALIGN, ALIGN_DOC,
        "[2,3,4] [2,2] []=-1; [3,4] [4,3] [2]=-2,1; align='LEFT_RIGHT' [2,4,3] [2,6,3] [2]=-3,2; "
        "align='RIGHT_RIGHT' [4,3] [3,3] [2]=-1,1"),
};

OP_FAMILY(matrix_band_diag, op_defs);
