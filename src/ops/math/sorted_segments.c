/* SPDX-License-Identifier: Apache-2.0
 * sorted_segments.c: reductions of consecutive rows, or of rows chosen by indices, whose segment
 * ids are sorted; and the gradients of the latter. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernel/host.h"
#include "ops/gradient.h"
#include "ops/math/row_accumulator.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

/* What the sum of a segment of n rows is divided by: 1, n or the square root of n. */
enum divisor { BY_ONE, BY_COUNT, BY_ROOT };

static double divide_by(enum divisor divisor, int64_t count) {
  return divisor == BY_COUNT ? (double)count : divisor == BY_ROOT ? sqrt((double)count) : 1;
}

static int64_t row_size(const situ_shape *shape) {
  int64_t size = 1;
  for (int d = 1; d < shape->rank; d++) size *= shape->dim[d];
  return size;
}

/* The rows of data, chosen by indices if there are any, and their segment ids. */
struct segments {
  const situ_tensor *data, *indices, *ids;
  int64_t count, results; /* the ids; the rows of the result */
};

static int64_t id_at(const struct segments *s, int64_t i) {
  return number_integer_at(s->ids->type, situ_tensor_data(s->ids), i);
}

/* The row of data that belongs to id i. */
static situ_status find_row(const struct segments *s, int64_t i, int64_t *row) {
  const int64_t rows = s->data->shape.dim[0];
  *row = s->indices ? number_integer_at(s->indices->type, situ_tensor_data(s->indices), i) : i;
  if (*row >= 0 && *row < rows) return NULL;
  return INVALID("Bad: indices[%lld] == %lld out of range [0, %lld)", (long long)i, (long long)*row,
                 (long long)rows);
}

static situ_status read_segments(const struct compute *compute, bool is_sparse,
                                 struct segments *s) {
  *s = (struct segments){.data = compute->in[0],
                         .indices = is_sparse ? compute->in[1] : NULL,
                         .ids = compute->in[is_sparse ? 2 : 1]};
  s->count = situ_shape_count(s->ids->shape);
  if (s->ids->shape.rank != 1) return INVALID("segment_ids should be a vector.");
  if (is_sparse && s->indices->shape.rank != 1) return INVALID("indices should be a vector.");
  if (is_sparse && situ_shape_count(s->indices->shape) != s->count)
    return INVALID("segment_ids and indices should have same size.");
  if (!is_sparse && s->count != s->data->shape.dim[0])
    return INVALID("segment_ids should be the same size as dimension 0 of input.");
  return NULL;
}

/* The number of results: that of an input, or one more than the last id. */
static situ_status count_results(const struct compute *compute, struct segments *s) {
  const int64_t last = s->count ? id_at(s, s->count - 1) : -1;
  const int given = s->indices && compute->call->n_in > 3 ? 3 : -1;
  if (given < 0 && s->count && last < 0) return INVALID("segment ids must be >= 0");
  if (last == (s->ids->type == SITU_INT64 ? INT64_MAX : INT32_MAX))
    return INVALID("Last segment id must be < kintmax, got %lld limit %lld", (long long)last,
                   (long long)last);
  s->results = last + 1;
  if (given < 0) return NULL;
  const situ_tensor *number = compute->in[given];
  if (number->shape.rank) return INVALID("num_segments should be a scalar");
  s->results = number_integer_at(number->type, situ_tensor_data(number), 0);
  if (s->results < 0) return INVALID("Cannot specify a negative value for num_segments");
  return s->results <= last ? INVALID("segment ids must be < num_segments") : NULL;
}

/* The ids must not decrease, and must be those of results. */
static situ_status check_order(const struct segments *s) {
  for (int64_t i = 0; i < s->count; i++) {
    const int64_t id = id_at(s, i);
    if (i + 1 < s->count && id_at(s, i + 1) < id) return INVALID("segment ids are not increasing");
    if (id < 0 || id >= s->results)
      return INVALID(
          "Segment id %lld out of range [0, %lld), possibly because 'segment_ids' input is not "
          "sorted.",
          (long long)id, (long long)s->results);
  }
  return NULL;
}

/* Empty segments of a product are 1, of all others 0. */
static void set_empty(void *data, situ_type type, enum row_reduction reduction, int64_t n) {
  const int step = type_is_complex(type) ? 2 : 1;
  memset(data, 0, (size_t)n * situ_type_size(type));
  if (reduction == ROWS_PROD)
    for (int64_t i = 0; i < n; i++) number_store(type_real(type), data, i * step, 1);
}

static situ_status reduce_segments(const struct segments *s, struct row_accumulator *acc,
                                   enum divisor divisor, void *to) {
  const void *data = situ_tensor_data(s->data);
  for (int64_t i = 0; i < s->count; i++) {
    int64_t row;
    TRY(find_row(s, i, &row));
    row_accumulator_add(acc, data, row);
    if (i + 1 == s->count || id_at(s, i) != id_at(s, i + 1))
      row_accumulator_store(acc, divide_by(divisor, acc->rows), to, id_at(s, i));
  }
  return NULL;
}

static situ_status compute_segments(const struct compute *compute, bool is_sparse,
                                    enum row_reduction reduction, enum divisor divisor) {
  struct segments s;
  struct row_accumulator acc;
  void *to = NULL;
  if (compute->in[0]->shape.rank < 1) return INVALID("Shape must be at least rank 1");
  TRY(read_segments(compute, is_sparse, &s));
  TRY(count_results(compute, &s));
  TRY(check_order(&s));
  situ_shape shape = s.data->shape;
  shape.dim[0] = s.results;
  TRY(shape_check(&shape));
  TRY(compute_output(compute, 0, shape, &to));
  set_empty(to, s.data->type, reduction, situ_shape_count(shape));
  situ_status status = row_accumulator_open(&acc, s.data->type, reduction, row_size(&shape));
  if (!status) status = reduce_segments(&s, &acc, divisor, to);
  row_accumulator_close(&acc);
  return status;
}

#define COMPUTE(name, is_sparse, REDUCTION, DIVISOR)                        \
  static situ_status compute_##name(struct compute *compute) {              \
    return compute_segments(compute, is_sparse, ROWS_##REDUCTION, DIVISOR); \
  }
COMPUTE(sum, false, SUM, BY_ONE)
COMPUTE(mean, false, SUM, BY_COUNT)
COMPUTE(prod, false, PROD, BY_ONE)
COMPUTE(min, false, MIN, BY_ONE)
COMPUTE(max, false, MAX, BY_ONE)
COMPUTE(sparse_sum, true, SUM, BY_ONE)
COMPUTE(sparse_mean, true, SUM, BY_COUNT)
COMPUTE(sparse_sqrt_n, true, SUM, BY_ROOT)

/* Output 0 has the shape of input 0 but for the number of rows. */
static void set_rows(struct call *call, int64_t rows) {
  call->out[0].shape = call->in[0].shape;
  if (call->in[0].shape.rank > 0) call->out[0].shape.dim[0] = rows;
}

static situ_status segments_shape(struct call *call) {
  set_rows(call, SITU_ANY);
  return NULL;
}

/* The number of rows is the value of input 3. */
static situ_status counted_shape(struct call *call, const char *what) {
  int64_t rows = SITU_ANY;
  bool known;
  TRY(op_host_scalar(call, 3, &rows, &known));
  if (known && rows < 0) return INVALID("Cannot specify a negative value for %s", what);
  set_rows(call, known ? rows : SITU_ANY);
  return NULL;
}

static situ_status with_number_shape(struct call *call) {
  return counted_shape(call, "num_segments");
}

static situ_status sparse_grad_shape(struct call *call) {
  return counted_shape(call, "output_dim0");
}

/* The gradients of sparse reductions: each row of data gets those of its segments. */

/* The number of rows of each segment. */
static situ_status count_rows(const struct segments *s, int64_t *counts) {
  const int64_t segments = s->data->shape.dim[0];
  for (int64_t i = 0; i < s->count; i++) {
    const int64_t id = id_at(s, i);
    if (id < 0 || id >= segments)
      return INVALID("Segment id %lld out of range [0, %lld).", (long long)id, (long long)segments);
    counts[id]++;
  }
  return NULL;
}

static situ_status add_gradients(const struct segments *s, enum divisor divisor,
                                 const int64_t *counts, int64_t size, double *sums) {
  const void *data = situ_tensor_data(s->data);
  for (int64_t i = 0; i < s->count; i++) {
    const int64_t id = id_at(s, i);
    const int64_t row = number_integer_at(s->indices->type, situ_tensor_data(s->indices), i);
    const double scale = 1 / divide_by(divisor, counts[id]);
    if (row < 0 || row >= s->results)
      return INVALID("Index %lld out of range [0, %lld).", (long long)row, (long long)s->results);
    for (int64_t k = 0; k < size; k++)
      sums[row * size + k] += scale * number_at(s->data->type, data, id * size + k);
  }
  return NULL;
}

static situ_status spread(const struct segments *s, enum divisor divisor, int64_t size, void *to) {
  const int64_t n = s->results * size;
  int64_t *counts = calloc((size_t)s->data->shape.dim[0] + 1, sizeof *counts);
  double *sums = calloc((size_t)n + 1, sizeof *sums);
  situ_status status = counts && sums ? count_rows(s, counts) : NO_MEMORY();
  if (!status) status = add_gradients(s, divisor, counts, size, sums);
  for (int64_t i = 0; !status && i < n; i++) number_store(s->data->type, to, i, sums[i]);
  free(counts);
  free(sums);
  return status;
}

static situ_status compute_grad(const struct compute *compute, enum divisor divisor) {
  struct segments s;
  void *to = NULL;
  if (compute->in[0]->shape.rank < 1) return INVALID("Shape must be at least rank 1");
  TRY(read_segments(compute, true, &s));
  if (compute->in[3]->shape.rank) return INVALID("output_dim0 should be a scalar.");
  s.results = *(const int32_t *)situ_tensor_data(compute->in[3]);
  if (s.results < 0) return INVALID("Cannot specify a negative value for output_dim0");
  if (s.count && !s.data->shape.dim[0]) return INVALID("Invalid number of segments");
  situ_shape shape = s.data->shape;
  shape.dim[0] = s.results;
  TRY(shape_check(&shape));
  TRY(compute_output(compute, 0, shape, &to));
  return spread(&s, divisor, row_size(&shape), to);
}

static situ_status compute_sum_grad(struct compute *compute) {
  return compute_grad(compute, BY_ONE);
}
static situ_status compute_mean_grad(struct compute *compute) {
  return compute_grad(compute, BY_COUNT);
}
static situ_status compute_sqrt_n_grad(struct compute *compute) {
  return compute_grad(compute, BY_ROOT);
}

/* Gradients */

static struct term gather(struct gradient *g, struct term from, struct term ids) {
  return OP(g, "GatherV2", from, ids, gradient_int(g, 0));
}

static struct term cast(struct gradient *g, struct term term, situ_type type) {
  return gradient_emit(g, "Cast", TERMS(term), ATTRS(situ_attr_type("DstT", type)));
}

static void sum_grad(struct gradient *g) { g->dx[0] = gather(g, g->dy[0], g->in[1]); }

static void mean_grad(struct gradient *g) {
  const struct term counts = OP(g, "SegmentSum", OP(g, "OnesLike", g->in[0]), g->in[1]);
  const struct term scaled =
      OP(g, "RealDiv", gather(g, g->dy[0], g->in[1]), gather(g, counts, g->in[1]));
  g->dx[0] = scaled;
}

/* Equal extremes of a segment share the gradient. */
static void extreme_grad(struct gradient *g) {
  const situ_type type = gradient_type(g, g->in[0]);
  const struct term hit = OP(g, "Equal", g->in[0], gather(g, g->out[0], g->in[1]));
  const struct term counts = OP(g, "SegmentSum", cast(g, hit, type), g->in[1]);
  const struct term share =
      OP(g, "RealDiv", gather(g, g->dy[0], g->in[1]), gather(g, counts, g->in[1]));
  g->dx[0] = OP(g, "SelectV2", hit, share, gradient_zeros(g, share));
}

/* The product of the other elements: by division, or for a zero the product of the nonzero
 * elements; 0 if there is a second zero. */
static void prod_grad(struct gradient *g) {
  const struct term data = g->in[0], ids = g->in[1], none = gradient_zeros(g, data);
  const struct term is_zero = OP(g, "Equal", data, none);
  const struct term zeros = OP(g, "SegmentSum", cast(g, is_zero, SITU_INT32), ids);
  const struct term single = OP(g, "LessEqual", zeros, gradient_int(g, 1));
  const struct term dy = OP(g, "SelectV2", single, g->dy[0], gradient_zeros(g, g->dy[0]));
  const struct term rest = OP(g, "SelectV2", is_zero, OP(g, "OnesLike", data), data);
  const struct term product = gather(g, OP(g, "SegmentProd", rest, ids), ids);
  const struct term others =
      OP(g, "SelectV2", is_zero, product, OP(g, "RealDiv", gather(g, g->out[0], ids), rest));
  g->dx[0] = OP(g, "Mul", gather(g, dy, ids), others);
}

static struct term rows_of(struct gradient *g, struct term term) {
  const struct term shape = gradient_shape_of(g, term);
  return gather(g, shape, gradient_int(g, 0));
}

/* The gradient of each chosen row, as indexed slices. */
static void sparse_slices(struct gradient *g, enum divisor divisor) {
  const situ_type type = gradient_type(g, g->in[0]);
  struct term dy = gather(g, g->dy[0], g->in[2]);
  if (divisor != BY_ONE) {
    const struct term ones = cast(g, OP(g, "OnesLike", g->in[2]), type);
    struct term counts = gather(g, OP(g, "SegmentSum", ones, g->in[2]), g->in[2]);
    if (divisor == BY_ROOT) counts = OP(g, "Sqrt", counts);
    const int rank = gradient_shape(g, g->in[0]).rank;
    if (rank == SITU_ANY) {
      gradient_fail(g, INVALID("sparse_gradient needs data of known rank"));
      return;
    }
    for (int d = 1; d < rank; d++) counts = OP(g, "ExpandDims", counts, gradient_int(g, -1));
    dy = OP(g, "RealDiv", dy, counts);
  }
  g->dx[0] = gradient_slices(g, dy, g->in[1], g->in[0]);
}

static void sparse_grad(struct gradient *g, const char *op, enum divisor divisor) {
  if (gradient_bool(g, "sparse_gradient")) {
    sparse_slices(g, divisor);
    return;
  }
  g->dx[0] = OP(g, op, g->dy[0], g->in[1], g->in[2], rows_of(g, g->in[0]));
}

/* The gradient of a gradient is the forward op, for as many segments as the gradient has rows. */
static void grad_grad(struct gradient *g, const char *op) {
  g->dx[0] = OP(g, op, g->dy[0], g->in[1], g->in[2], rows_of(g, g->in[0]));
}

#define SPARSE_GRADS(name, NAME, DIVISOR)                 \
  static void sparse_##name##_grad(struct gradient *g) {  \
    sparse_grad(g, "SparseSegment" NAME "Grad", DIVISOR); \
  }                                                       \
  static void name##_grad_grad(struct gradient *g) {      \
    grad_grad(g, "SparseSegment" NAME "WithNumSegments"); \
  }
SPARSE_GRADS(sum, "Sum", BY_ONE)
SPARSE_GRADS(mean, "Mean", BY_COUNT)
SPARSE_GRADS(sqrt_n, "SqrtN", BY_ROOT)

#define SEGMENT_ARGS                                                   \
  "data: Tensor whose rows are reduced.\n"                             \
  "segment_ids: Segment of each row, a vector. Must be sorted; empty " \
  "segments have the result "

#define SORTED(NAME, suffix, types, empty, text)                                 \
  {                                                                              \
    .name = "Segment" NAME, .inputs = "data:T[?,...] segment_ids:Tindices[?]",   \
    .outputs = "output:T", .attrs = "T:{" types "} Tindices:{int32 int64}",      \
    .python = "math.segment_" #suffix " segment_" #suffix,                       \
    .doc = text " of the rows of each segment.", .args = SEGMENT_ARGS empty ".", \
    .devices = EVERYWHERE, .shape = segments_shape, .grad = suffix##_grad,       \
    .compute = compute_##suffix                                                  \
  }

#define min_grad extreme_grad
#define max_grad extreme_grad

#define SPARSE_TYPES "Tidx:{int32 int64}=int32 Tsegmentids:{int32 int64}=int32"
#define SPARSE_INPUTS "data:T[?,...] indices:Tidx[n] segment_ids:Tsegmentids[n]"
#define SPARSE_ARGS                                                                           \
  "data: Tensor whose rows are reduced.\n"                                                    \
  "indices: Rows of data, a vector.\n"                                                        \
  "segment_ids: Segment of each of them. Must be sorted; empty segments have the result 0.\n" \
  "sparse_gradient: Whether the gradient of data is IndexedSlices."

#define SPARSE(NAME, suffix, types, text)                                                     \
  {.name = "SparseSegment" NAME,                                                              \
   .inputs = SPARSE_INPUTS,                                                                   \
   .outputs = "output:T",                                                                     \
   .attrs = "T:{" types "} " SPARSE_TYPES " sparse_gradient:bool=false",                      \
   .doc = text " of chosen rows by segment.",                                                 \
   .args = SPARSE_ARGS,                                                                       \
   .devices = EVERYWHERE,                                                                     \
   .shape = segments_shape,                                                                   \
   .grad = sparse_##suffix##_grad,                                                            \
   .compute = compute_sparse_##suffix},                                                       \
      {.name = "SparseSegment" NAME "WithNumSegments",                                        \
       .inputs = SPARSE_INPUTS " num_segments:Tnumsegments[]",                                \
       .outputs = "output:T",                                                                 \
       .attrs = "T:{" types "} " SPARSE_TYPES                                                 \
                " Tnumsegments:{int32 int64}=int32 sparse_gradient:bool=false",               \
       .doc = text " of chosen rows by segment, with the number of segments.",                \
       .args = SPARSE_ARGS "\nnum_segments: Number of segments, a scalar.",                   \
       .devices = EVERYWHERE,                                                                 \
       .shape = with_number_shape,                                                            \
       .grad = sparse_##suffix##_grad,                                                        \
       .compute = compute_sparse_##suffix},                                                   \
  {                                                                                           \
    .name = "SparseSegment" NAME "Grad",                                                      \
    .inputs = "grad:T[?,...] indices:Tidx[n] segment_ids:Tsegmentids[n] output_dim0:int32[]", \
    .outputs = "output:T", .attrs = "T:{" TYPE_NAMES_REAL "} " SPARSE_TYPES,                  \
    .doc = "The gradient of SparseSegment" NAME ".",                                          \
    .args = "grad: Gradient of the output of SparseSegment" NAME                              \
            ".\n"                                                                             \
            "indices: Its indices.\nsegment_ids: Its segment ids.\n"                          \
            "output_dim0: Number of rows of its data.",                                       \
    .devices = EVERYWHERE, .shape = sparse_grad_shape, .grad = suffix##_grad_grad,            \
    .compute = compute_##suffix##_grad                                                        \
  }

static const struct op_def op_defs[] = {
    SORTED("Sum", sum, TYPE_NAMES_NUMBER_COMPLEX, "0", "Sum"),
    SORTED("Mean", mean, TYPE_NAMES_NUMBER_COMPLEX, "0", "Mean"),
    SORTED("Prod", prod, TYPE_NAMES_NUMBER_COMPLEX, "1", "Product"),
    SORTED("Min", min, TYPE_NAMES_NUMBER, "0", "Minimum"),
    SORTED("Max", max, TYPE_NAMES_NUMBER, "0", "Maximum"),
    SPARSE("Sum", sum, TYPE_NAMES_NUMBER, "Sum"),
    SPARSE("Mean", mean, TYPE_NAMES_REAL, "Mean"),
    SPARSE("SqrtN", sqrt_n, TYPE_NAMES_REAL, "Sum divided by the square root of the number"),
};

OP_FAMILY(sorted_segments, op_defs);
