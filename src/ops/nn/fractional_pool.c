/* SPDX-License-Identifier: Apache-2.0
 * fractional_pool.c: max and average pooling with windows of random sizes, and their gradients. The
 * windows of equal seeds are those of TensorFlow. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/random_seed.h"
#include "kernel/philox_stream.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Shapes */

static situ_status check_ratios(const struct call *call, const struct attr_value **out) {
  const struct attr_value *ratios = *out = call_attr(call, "pooling_ratio");
  if (ratios->reals.count != 4) return INVALID("pooling_ratio field must specify 4 dimensions");
  for (int d = 0; d < 4; d++)
    if (!(ratios->reals.items[d] >= 1))
      return INVALID("pooling_ratio cannot be smaller than 1, got: %g", ratios->reals.items[d]);
  if (ratios->reals.items[0] != 1 || ratios->reals.items[3] != 1)
    return situ_status_create(
        SITU_UNIMPLEMENTED,
        "Fractional pooling is not yet supported on the batch nor channel dimension.");
  if (call_bool(call, "deterministic") ||
      (!call_integer(call, "seed") && !call_integer(call, "seed2")))
    return NULL;
  return INVALID("Both seed and seed2 should be 0 if deterministic is false.");
}

static situ_status pool_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape;
  const struct attr_value *ratios;
  TRY(op_need_rank(call, 0, 4, "value"));
  TRY(check_ratios(call, &ratios));
  situ_shape *out = &call->out[0].shape;
  *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  for (int d = 0; d < 4 && x->rank == 4; d++) {
    if (x->dim[d] == SITU_ANY) continue;
    const double ratio = (double)(float)ratios->reals.items[d];
    if ((double)x->dim[d] < ratio && !call->building)
      return INVALID(
          "Pooling ratio is higher than input dimension size for dimension %d. Input "
          "dim size: %lld pooling ratio: %g",
          d, (long long)x->dim[d], ratio);
    out->dim[d] = (int64_t)floor((double)x->dim[d] / ratio);
  }
  for (int d = 1; d < 3; d++) {
    const int64_t count = out->dim[d];
    call->out[d].shape = (situ_shape){1, {count == SITU_ANY ? SITU_ANY : count + 1}};
  }
  return NULL;
}

static situ_status max_grad_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 4, "orig_input"));
  call->out[0].shape = call->in[0].shape;
  if (call->in[0].shape.rank == SITU_ANY)
    call->out[0].shape = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  return NULL;
}

static situ_status avg_grad_shape(struct call *call) {
  static const char *const names[] = {"Batch", "Rows", "Columns", "Depth"};
  situ_shape *out = &call->out[0].shape;
  TRY(op_host_shape(call, 0, false, out));
  if (out->rank == SITU_ANY) *out = (situ_shape){4, {SITU_ANY, SITU_ANY, SITU_ANY, SITU_ANY}};
  if (out->rank != 4)
    return INVALID("original input tensor shape must be 1-dimensional and 4 elements");
  for (int d = 0; d < 4; d++)
    if (!out->dim[d]) return INVALID("%s dimension of input must not be 0", names[d]);
  return NULL;
}

/* The bounds of the windows along one axis */

/* Windows that begin at ceil(alpha * (i + u)), where one random u keeps the first and the last one
 * from being too large or too small. */
static void pseudo_random_sizes(struct rng *rng, int64_t length, int64_t count, int64_t *bounds) {
  const double alpha = (double)length / (double)count;
  const int64_t k = length / count;
  const double first = (double)(k + 2) / alpha - 1;
  const double last = (double)(length + 1 - k) / alpha - (double)(count - 1);
  const double u = rng_double(rng) * fmin(first, last);
  for (int64_t i = 1; i < count; i++) bounds[i] = (int64_t)ceil(alpha * ((double)i + u)) - 1;
}

/* Windows of two sizes in random order. */
static void shuffled_sizes(struct rng *rng, int64_t length, int64_t count, int64_t *bounds) {
  int64_t *sizes = bounds + 1;
  for (int64_t i = 0; i < count; i++) sizes[i] = length / count + (i < length % count);
  for (int64_t i = 0; i + 1 < count; i++) {
    const int64_t other = i + (int64_t)(rng_next(rng) % (u32)(count - i));
    const int64_t size = sizes[i];
    sizes[i] = sizes[other];
    sizes[other] = size;
  }
  for (int64_t i = 1; i <= count; i++) bounds[i] += bounds[i - 1];
}

static void make_bounds(const struct call *call, struct rng *rng, int64_t length, int64_t count,
                        int64_t *bounds) {
  bounds[0] = 0;
  if (call_bool(call, "pseudo_random"))
    pseudo_random_sizes(rng, length, count, bounds);
  else
    shuffled_sizes(rng, length, count, bounds);
  bounds[count] = length;
  rng_align(rng);
}

/* The two axes of a pooling: windows row[i] to row[i + 1], which share their borders if they
 * overlap. */
struct regions {
  const int64_t *row, *column;
  int64_t rows, columns; /* of windows */
  situ_shape x;          /* of the images */
  bool overlapping;
};

/* A window: rows and columns from `first` to before `last`. */
struct cell {
  int64_t first[2], last[2], image, result;
};

static int64_t end_of(const int64_t *bounds, int64_t i, bool overlapping, int64_t size) {
  return min_i64(bounds[i + 1] + overlapping, size);
}

static struct cell cell_at(const struct regions *r, int64_t i) {
  const int64_t column = i % r->columns, row = i / r->columns % r->rows;
  return (struct cell){.first = {r->row[row], r->column[column]},
                       .last = {end_of(r->row, row, r->overlapping, r->x.dim[1]),
                                end_of(r->column, column, r->overlapping, r->x.dim[2])},
                       .image = i / r->columns / r->rows,
                       .result = i};
}

/* The index of channel 0 of a pixel. */
static int64_t pixel_at(const struct regions *r, const struct cell *cell, int64_t row,
                        int64_t column) {
  return ((cell->image * r->x.dim[1] + row) * r->x.dim[2] + column) * r->x.dim[3];
}

/* Elements of all types of these ops */

static bool is_integer(situ_type type) { return type == SITU_INT32 || type == SITU_INT64; }

static bool is_greater(situ_type type, const void *data, int64_t a, int64_t b) {
  if (is_integer(type)) return number_integer_at(type, data, a) > number_integer_at(type, data, b);
  return number_at(type, data, a) > number_at(type, data, b);
}

static void store_integer(situ_type type, void *data, int64_t i, int64_t value) {
  if (type == SITU_INT32)
    ((int32_t *)data)[i] = (int32_t)value;
  else
    ((int64_t *)data)[i] = value;
}

static void add_element(situ_type type, void *out, int64_t i, const void *data, int64_t from) {
  if (is_integer(type))
    store_integer(type, out, i,
                  (int64_t)((uint64_t)number_integer_at(type, out, i) +
                            (uint64_t)number_integer_at(type, data, from)));
  else
    number_store(type, out, i, number_at(type, out, i) + number_at(type, data, from));
}

/* The index of the first maximum of a window in a channel. */
static int64_t winner_of(const struct regions *r, const struct cell *cell, situ_type type,
                         const void *x, int64_t channel) {
  int64_t best = pixel_at(r, cell, cell->first[0], cell->first[1]) + channel;
  for (int64_t row = cell->first[0]; row < cell->last[0]; row++)
    for (int64_t column = cell->first[1]; column < cell->last[1]; column++) {
      const int64_t at = pixel_at(r, cell, row, column) + channel;
      if (is_greater(type, x, at, best)) best = at;
    }
  return best;
}

static int64_t cells_of(const struct regions *r) { return r->x.dim[0] * r->rows * r->columns; }

static void max_pool(const struct regions *r, situ_type type, const void *x, void *out) {
  const int64_t channels = r->x.dim[3];
  const size_t size = situ_type_size(type);
  for (int64_t i = 0; i < cells_of(r) && !interrupt_pending(); i++) {
    const struct cell cell = cell_at(r, i);
    for (int64_t c = 0; c < channels; c++)
      memcpy((char *)out + (size_t)(i * channels + c) * size,
             (const char *)x + (size_t)winner_of(r, &cell, type, x, c) * size, size);
  }
}

static void store_mean(const struct regions *r, const struct cell *cell, situ_type type,
                       const void *x, int64_t channel, void *out) {
  const int64_t at = cell->result * r->x.dim[3] + channel;
  int64_t count = 0, whole = 0;
  double sum = 0;
  for (int64_t row = cell->first[0]; row < cell->last[0]; row++)
    for (int64_t column = cell->first[1]; column < cell->last[1]; column++, count++) {
      const int64_t from = pixel_at(r, cell, row, column) + channel;
      if (is_integer(type))
        whole = (int64_t)((uint64_t)whole + (uint64_t)number_integer_at(type, x, from));
      else
        sum += number_at(type, x, from);
    }
  if (is_integer(type))
    store_integer(type, out, at, whole / max_i64(count, 1));
  else
    number_store(type, out, at, sum / (double)count);
}

static void avg_pool(const struct regions *r, situ_type type, const void *x, void *out) {
  for (int64_t i = 0; i < cells_of(r) && !interrupt_pending(); i++) {
    const struct cell cell = cell_at(r, i);
    for (int64_t c = 0; c < r->x.dim[3]; c++) store_mean(r, &cell, type, x, c, out);
  }
}

static situ_status run_pool(struct compute *compute,
                            void (*pool)(const struct regions *, situ_type, const void *, void *)) {
  const struct call *call = compute->call;
  const situ_tensor *x = compute->in[0];
  const situ_shape *shape = &call->out[0].shape;
  uint64_t seeds[] = {(uint64_t)call_integer(call, "seed"), (uint64_t)call_integer(call, "seed2")};
  void *out, *row, *column;
  if (!seeds[0] && !seeds[1]) TRY(random_seed_next(seeds));
  struct rng rng = rng_create((int64_t)seeds[0], (int64_t)seeds[1]);
  TRY(compute_output(compute, 0, *shape, &out));
  TRY(compute_output(compute, 1, call->out[1].shape, &row));
  TRY(compute_output(compute, 2, call->out[2].shape, &column));
  make_bounds(call, &rng, x->shape.dim[1], shape->dim[1], row);
  make_bounds(call, &rng, x->shape.dim[2], shape->dim[2], column);
  const struct regions regions = {.row = row,
                                  .column = column,
                                  .rows = shape->dim[1],
                                  .columns = shape->dim[2],
                                  .x = x->shape,
                                  .overlapping = call_bool(call, "overlapping")};
  if (situ_shape_count(*shape)) pool(&regions, x->type, situ_tensor_data(x), out);
  return NULL;
}

static situ_status compute_max_pool(struct compute *compute) { return run_pool(compute, max_pool); }
static situ_status compute_avg_pool(struct compute *compute) { return run_pool(compute, avg_pool); }

/* Gradients */

static situ_status check_bounds(const situ_tensor *bounds, int64_t count, int64_t size,
                                const char *what) {
  const int64_t *items = situ_tensor_data(bounds);
  for (int64_t i = 0; i < situ_shape_count(bounds->shape); i++)
    if (items[i] < 0)
      return INVALID("%s sequence tensor values must not be negative, got %lld", what,
                     (long long)items[i]);
  if (bounds->shape.rank != 1 || bounds->shape.dim[0] != count + 1)
    return INVALID("%s sequence tensor must have %lld elements, one more than there are windows",
                   what, (long long)count + 1);
  for (int64_t i = 0; i < count; i++)
    if (items[i] >= items[i + 1] || items[i] >= size)
      return INVALID(
          "%s sequence tensor values must increase and be less than %lld: value %lld "
          "is %lld",
          what, (long long)size, (long long)i, (long long)items[i]);
  return NULL;
}

/* The windows that inputs `first` and `first` + 1 describe, of a gradient `dy`. */
static situ_status read_regions(const struct compute *compute, int first, situ_shape x,
                                const situ_tensor *dy, struct regions *out) {
  const situ_tensor *row = compute->in[first], *column = compute->in[first + 1];
  if (dy->shape.rank != 4) return INVALID("out_backprop must be 4-dimensional");
  TRY(check_bounds(row, dy->shape.dim[1], x.dim[1], "Row"));
  TRY(check_bounds(column, dy->shape.dim[2], x.dim[2], "Column"));
  if (dy->shape.dim[0] != x.dim[0] || dy->shape.dim[3] != x.dim[3])
    return INVALID("out_backprop must have the batch size and depth of the input");
  *out = (struct regions){.row = situ_tensor_data(row),
                          .column = situ_tensor_data(column),
                          .rows = dy->shape.dim[1],
                          .columns = dy->shape.dim[2],
                          .x = x,
                          .overlapping = call_bool(compute->call, "overlapping")};
  return NULL;
}

static situ_status compute_max_grad(struct compute *compute) {
  const situ_tensor *x = compute->in[0], *dy = compute->in[2];
  struct regions r;
  void *out;
  TRY(read_regions(compute, 3, x->shape, dy, &r));
  if (!shape_compatible(&compute->in[1]->shape, &dy->shape))
    return INVALID("orig_output and out_backprop must have the same shape");
  TRY(compute_output(compute, 0, x->shape, &out));
  memset(out, 0, (size_t)situ_shape_count(x->shape) * situ_type_size(x->type));
  for (int64_t i = 0; x->shape.dim[3] && i < cells_of(&r) && !interrupt_pending(); i++) {
    const struct cell cell = cell_at(&r, i);
    for (int64_t c = 0; c < x->shape.dim[3]; c++)
      add_element(x->type, out, winner_of(&r, &cell, x->type, situ_tensor_data(x), c),
                  situ_tensor_data(dy), i * x->shape.dim[3] + c);
  }
  return NULL;
}

/* Spreads the gradient of a window over its pixels. */
static void spread(const struct regions *r, const struct cell *cell, const situ_tensor *dy,
                   double *sums) {
  const int64_t channels = r->x.dim[3];
  const double count =
      (double)((cell->last[0] - cell->first[0]) * (cell->last[1] - cell->first[1]));
  for (int64_t row = cell->first[0]; row < cell->last[0]; row++)
    for (int64_t column = cell->first[1]; column < cell->last[1]; column++) {
      double *at = sums + pixel_at(r, cell, row, column);
      for (int64_t c = 0; c < channels; c++) {
        const int64_t from = cell->result * channels + c;
        at[c] +=
            (is_integer(dy->type) ? (double)number_integer_at(dy->type, situ_tensor_data(dy), from)
                                  : number_at(dy->type, situ_tensor_data(dy), from)) /
            count;
      }
    }
}

static situ_status compute_avg_grad(struct compute *compute) {
  const situ_shape shape = compute->call->out[0].shape;
  const situ_tensor *dy = compute->in[1];
  const int64_t n = situ_shape_count(shape);
  struct regions r;
  void *out;
  TRY(read_regions(compute, 2, shape, dy, &r));
  TRY(compute_output(compute, 0, shape, &out));
  double *sums = calloc((size_t)n + 1, sizeof *sums);
  if (!sums) return NO_MEMORY();
  for (int64_t i = 0; i < cells_of(&r) && !interrupt_pending(); i++) {
    const struct cell cell = cell_at(&r, i);
    spread(&r, &cell, dy, sums);
  }
  for (int64_t i = 0; i < n; i++) number_store(dy->type, out, i, sums[i]);
  free(sums);
  return NULL;
}

static void max_pool_grad(struct gradient *g) {
  if (!term_exists(g->dy[0])) return;
  g->dx[0] = gradient_emit(g, "FractionalMaxPoolGrad",
                           TERMS(g->in[0], g->out[0], g->dy[0], g->out[1], g->out[2]),
                           ATTRS(gradient_keep(g, "overlapping")));
}

static void avg_pool_grad(struct gradient *g) {
  if (!term_exists(g->dy[0])) return;
  const struct term shape = gradient_emit(g, "Cast", TERMS(gradient_shape_of(g, g->in[0])),
                                          ATTRS(situ_attr_type("DstT", SITU_INT64)));
  g->dx[0] = gradient_emit(g, "FractionalAvgPoolGrad", TERMS(shape, g->dy[0], g->out[1], g->out[2]),
                           ATTRS(gradient_keep(g, "overlapping")));
}

#define POOL_TYPES "T:{float double int32 int64}"
#define POOL_OUTPUTS "output:T row_pooling_sequence:int64 col_pooling_sequence:int64"
#define POOL_ATTRS                                                                \
  "pooling_ratio:list(float)>=4 pseudo_random:bool=false overlapping:bool=false " \
  "deterministic:bool=false seed:int=0 seed2:int=0 " POOL_TYPES
#define POOL_ARGS                                                                               \
  "value: Images [batch, height, width, channels].\n"                                           \
  "pooling_ratio: How many times smaller each dimension becomes: 1 for batch and channels.\n"   \
  "pseudo_random: The borders of the windows follow from one random number; else the order of " \
  "their sizes is random.\n"                                                                    \
  "overlapping: The last row and column of a window are in the next one, too.\n"                \
  "deterministic: Every call has the same windows."
#define SEQUENCE_ARGS                                                   \
  "row_pooling_sequence: First row of each window, and the height.\n"   \
  "col_pooling_sequence: First column of each window, and the width.\n" \
  "overlapping: Whether the windows overlap."

static const struct op_def op_defs[] = {
    {.name = "FractionalMaxPool",
     .inputs = "value:T[b,h,w,c]",
     .outputs = POOL_OUTPUTS,
     .attrs = POOL_ATTRS,
     .python = "",
     .doc = "Max pooling with windows of random sizes; also returns their borders.",
     .args = POOL_ARGS,
     .devices = "CPU",
     .flags = OP_STATEFUL,
     .shape = pool_shape,
     .compute = compute_max_pool,
     .grad = max_pool_grad},
    {.name = "FractionalAvgPool",
     .inputs = "value:T[b,h,w,c]",
     .outputs = POOL_OUTPUTS,
     .attrs = POOL_ATTRS,
     .python = "",
     .doc = "Average pooling with windows of random sizes; also returns their borders.",
     .args = POOL_ARGS,
     .devices = "CPU",
     .flags = OP_STATEFUL,
     .shape = pool_shape,
     .compute = compute_avg_pool,
     .grad = avg_pool_grad},
    {.name = "FractionalMaxPoolGrad",
     .inputs = "orig_input:T[b,h,w,c] orig_output:T[b,?,?,c] out_backprop:T[b,?,?,c] "
               "row_pooling_sequence:int64[?] col_pooling_sequence:int64[?]",
     .outputs = "output:T",
     .attrs = "overlapping:bool=false " POOL_TYPES,
     .python = "",
     .doc = "The gradient of FractionalMaxPool; it goes to the first maximum of each window.",
     .args = "orig_input: Input of FractionalMaxPool.\n"
             "orig_output: Output of FractionalMaxPool.\n"
             "out_backprop: Gradient of the output.\n" SEQUENCE_ARGS,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = max_grad_shape,
     .compute = compute_max_grad},
    {.name = "FractionalAvgPoolGrad",
     .inputs = "orig_input_tensor_shape:int64 out_backprop:T[b,?,?,c] "
               "row_pooling_sequence:int64[?] col_pooling_sequence:int64[?]",
     .outputs = "output:T",
     .attrs = "overlapping:bool=false " POOL_TYPES,
     .python = "",
     .doc = "The gradient of FractionalAvgPool.",
     .args = "orig_input_tensor_shape: Shape of the input of FractionalAvgPool.\n"
             "out_backprop: Gradient of the output.\n" SEQUENCE_ARGS,
     .host = "orig_input_tensor_shape",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = avg_grad_shape,
     .compute = compute_avg_grad},
};

OP_FAMILY(fractional_pool, op_defs);
