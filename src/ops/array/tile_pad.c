/* SPDX-License-Identifier: Apache-2.0
 * tile_pad.c: Tile, Pad, OneHot, Range, InvertPermutation. */
#include <math.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/number.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"
#include "tensor/type.h"

#define KERNELS "ops/array/tile_pad.cl"
#include "kernel/sizes.h"
#define KERNELS "ops/array/range.cl"
#include "kernel/types.h"

KERNEL_TABLE(tile, BITS);
KERNEL_TABLE(pad, BITS);
KERNEL_TABLE(one_hot_u8, BITS);
KERNEL_TABLE(one_hot_i8, BITS);
KERNEL_TABLE(one_hot_i32, BITS);
KERNEL_TABLE(one_hot_i64, BITS);
KERNEL_TABLE(range, NUMBER);
KERNEL_TABLE(invert, INTEGER);
KERNEL_TABLE(invert_check, INTEGER);
KERNEL_TABLE(tile_sum, NUMBER);

/* The dimensions, right-aligned in SITU_MAX_RANK arguments, the leading ones `filler`. */
static void right_align(const int64_t *dims, int rank, int64_t filler, int64_t out[SITU_MAX_RANK]) {
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    const int own = d - (SITU_MAX_RANK - rank);
    out[d] = own < 0 ? filler : dims[own];
  }
}

/* Tile */

static situ_status tile_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  TRY(op_host_shape(call, 1, false, out));
  if (out->rank == SITU_ANY || in->rank == SITU_ANY) {
    if (out->rank == SITU_ANY) *out = *in;
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
    return NULL;
  }
  if (out->rank != in->rank)
    return INVALID("Expected multiples argument to be a vector of length %d but got length %d",
                   in->rank, out->rank);
  for (int d = 0; d < out->rank; d++) {
    const int64_t times = out->dim[d];
    if (times == SITU_ANY || in->dim[d] == SITU_ANY)
      out->dim[d] = SITU_ANY;
    else if (__builtin_mul_overflow(times, in->dim[d], &out->dim[d]))
      return INVALID("Dimension %d has %lld elements, too many to repeat %lld times", d,
                     (long long)in->dim[d], (long long)times);
  }
  return shape_check(out);
}

static situ_status record_tile(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  int64_t dim[SITU_MAX_RANK], own[SITU_MAX_RANK];
  right_align(out->dim, out->rank, 1, dim);
  right_align(in->dim, in->rank, 1, own);
  return LAUNCH(call, &tile_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INTS(dim), ARG_INTS(own), ARG_INT(n));
}

/* TileSum and TileGrad: sums over the repetitions */

static situ_status tile_sum_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  TRY(op_host_shape(call, 1, false, out));
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  bool fits = in->rank == SITU_ANY || out->rank == SITU_ANY || in->rank == out->rank;
  for (int d = 0; fits && in->rank != SITU_ANY && d < out->rank; d++)
    fits = out->dim[d] > 0 ? in->dim[d] == SITU_ANY || in->dim[d] % out->dim[d] == 0 : true;
  if (fits) return NULL;
  return INVALID("%s is not a multiple of %s", shape_print(in, a), shape_print(out, b));
}

static situ_status tile_grad_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape, times;
  TRY(op_host_shape(call, 1, false, &times));
  *out = *in;
  if (in->rank != SITU_ANY && times.rank != SITU_ANY && in->rank != times.rank)
    return INVALID("Expected multiples argument to be a vector of length %d but got length %d",
                   in->rank, times.rank);
  for (int d = 0; d < out->rank; d++) {
    const int64_t n = times.rank == SITU_ANY ? SITU_ANY : times.dim[d];
    if (n == 0) return INVALID("Expected multiples[%d] > 0, but got 0", d);
    if (n == SITU_ANY || in->dim[d] == SITU_ANY)
      out->dim[d] = SITU_ANY;
    else if (in->dim[d] % n)
      return INVALID("Dimension %d has %lld elements, which is not a multiple of %lld", d,
                     (long long)in->dim[d], (long long)n);
    else
      out->dim[d] = in->dim[d] / n;
  }
  return NULL;
}

/* Complex numbers are pairs of real ones: one more dimension. */
static situ_status record_tile_sum(struct call *call) {
  situ_shape in = call->in[0].shape, out = call->out[0].shape;
  const bool pairs = type_is_complex(call->out[0].type);
  const situ_type type = pairs ? type_real(call->out[0].type) : call->out[0].type;
  if (pairs && in.rank == SITU_MAX_RANK)
    return situ_status_create(SITU_UNIMPLEMENTED, "Sums of complex copies have at most rank %d.",
                              (int)SITU_MAX_RANK - 1);
  if (pairs) in.dim[in.rank++] = out.dim[out.rank++] = 2;
  const int64_t n = situ_shape_count(out);
  int64_t dim[SITU_MAX_RANK], own[SITU_MAX_RANK];
  right_align(in.dim, in.rank, 1, dim);
  right_align(out.dim, out.rank, 1, own);
  return LAUNCH(call, &tile_sum_kernel, type, n, GRAIN, (double)situ_shape_count(in),
                ARG_IN(call, 0), ARG_OUT(call, 0), ARG_INTS(dim), ARG_INTS(own), ARG_INT(n));
}

/* Pad */

static situ_status check_paddings(const struct call *call) {
  const situ_shape *in = &call->in[0].shape, *paddings = &call->in[1].shape;
  char text[256];
  if (paddings->rank == SITU_ANY) return NULL;
  if (paddings->rank != 2 || (paddings->dim[1] != 2 && paddings->dim[1] != SITU_ANY))
    return INVALID("paddings must be a matrix with 2 columns: %s", shape_print(paddings, text));
  if (in->rank != SITU_ANY && paddings->dim[0] != SITU_ANY && paddings->dim[0] != in->rank)
    return INVALID("The first dimension of paddings must be the rank of inputs: %s, rank %d",
                   shape_print(paddings, text), in->rank);
  return NULL;
}

/* Element `i` of the paddings; false if it is not known. */
static bool padding_at(const struct call *call, int i, int64_t *out) {
  const struct operand *in = &call->in[1];
  const situ_tensor *tensor = in->value ? in->value : in->known ? in->known->tensor : NULL;
  if (!tensor || (!in->value && in->known->unknown >> i & 1)) return false;
  *out = number_integer_at(tensor->type, situ_tensor_data(tensor), i);
  return true;
}

static situ_status pad_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape;
  const situ_shape *paddings = &call->in[1].shape;
  *out = call->in[0].shape;
  TRY(check_paddings(call));
  if (out->rank == SITU_ANY && paddings->rank == 2 && paddings->dim[0] != SITU_ANY) {
    if (paddings->dim[0] > SITU_MAX_RANK)
      return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
    out->rank = (int)paddings->dim[0];
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
  }
  if (call->n_in > 2 && call->in[2].shape.rank > 0) {
    char text[SHAPE_STRING_SIZE];
    return INVALID("constant_values must be scalar. Found %s",
                   shape_print(&call->in[2].shape, text));
  }
  for (int d = 0; d < out->rank; d++) {
    int64_t before = 0, behind = 0;
    const bool has_before = padding_at(call, 2 * d, &before);
    const bool has_behind = padding_at(call, 2 * d + 1, &behind);
    if (before < 0 || behind < 0)
      return INVALID("Paddings must be non-negative: %lld %lld", (long long)before,
                     (long long)behind);
    const bool known = has_before && has_behind && out->dim[d] != SITU_ANY;
    int64_t all = SITU_ANY;
    if (known && (__builtin_add_overflow(before, behind, &all) ||
                  __builtin_add_overflow(all, out->dim[d], &all)))
      return INVALID("Paddings are too large: %lld %lld", (long long)before, (long long)behind);
    out->dim[d] = all;
  }
  return shape_check(out);
}

static situ_status record_pad(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  const bool given = call->n_in > 2;
  int64_t dim[SITU_MAX_RANK], own[SITU_MAX_RANK], before[SITU_MAX_RANK];
  right_align(out->dim, out->rank, 1, dim);
  right_align(in->dim, in->rank, 1, own);
  for (int d = 0; d < in->rank; d++) before[d] = call_element(call, 1, 2 * d);
  int64_t first[SITU_MAX_RANK];
  right_align(before, in->rank, 0, first);
  return LAUNCH(call, &pad_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_IN(call, given ? 2 : 0), ARG_OUT(call, 0), ARG_INTS(dim), ARG_INTS(own),
                ARG_INTS(first), ARG_INT(given), ARG_INT(n));
}

/* OneHot */

static situ_status one_hot_axis(const struct call *call, int *at) {
  const int rank = call->in[0].shape.rank;
  const int64_t axis = call_integer(call, "axis");
  if (axis < -1 || axis > rank)
    return INVALID("Expected axis to be -1 or between [0, %d).  But received: %lld", rank + 1,
                   (long long)axis);
  *at = axis < 0 ? rank : (int)axis;
  return NULL;
}

static situ_status one_hot_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  int64_t depth = SITU_ANY;
  bool known;
  int at;
  *out = SITU_ANY_SHAPE;
  TRY(op_host_scalar(call, 1, &depth, &known));
  TRY(op_need_rank(call, 2, 0, "on_value"));
  TRY(op_need_rank(call, 3, 0, "off_value"));
  if (known && depth < 0) return INVALID("depth must be non-negative, got: %lld", (long long)depth);
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank == SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  TRY(one_hot_axis(call, &at));
  out->rank = in->rank + 1;
  for (int d = 0; d < out->rank; d++) out->dim[d] = d == at ? depth : in->dim[d - (d > at)];
  return shape_check(out);
}

static situ_status record_one_hot(struct call *call) {
  const situ_shape *out = &call->out[0].shape;
  const int64_t n = situ_shape_count(*out);
  const situ_type type = call->in[0].type;
  int64_t suffix = 1;
  int at;
  TRY(one_hot_axis(call, &at));
  for (int d = at + 1; d < out->rank; d++) suffix *= out->dim[d];
  const struct kernel *kernel = type == SITU_UINT8   ? &one_hot_u8_kernel
                                : type == SITU_INT8  ? &one_hot_i8_kernel
                                : type == SITU_INT32 ? &one_hot_i32_kernel
                                                     : &one_hot_i64_kernel;
  return LAUNCH(call, kernel, call->out[0].type, n, GRAIN / 4, 0, ARG_IN(call, 0), ARG_IN(call, 2),
                ARG_IN(call, 3), ARG_OUT(call, 0), ARG_INT(out->dim[at]), ARG_INT(suffix),
                ARG_INT(n));
}

/* Range */

/* The number of elements; -1 if delta leads away from the limit. */
static int64_t count_integers(int64_t start, int64_t limit, int64_t delta) {
  if (delta > 0 ? start > limit : start < limit) return -1;
  const uint64_t span =
      delta > 0 ? (uint64_t)limit - (uint64_t)start : (uint64_t)start - (uint64_t)limit;
  const uint64_t step = delta > 0 ? (uint64_t)delta : 0 - (uint64_t)delta;
  const uint64_t count = span / step + (span % step != 0);
  return (int64_t)(count < INT64_MAX ? count : INT64_MAX);
}

/* The same in the arithmetic of the type, in which 0.3 / 0.1 is 3; INT64_MAX if there are more. */
static int64_t count_reals(situ_type type, double start, double limit, double delta) {
  if (delta > 0 ? !(start <= limit) : !(start >= limit)) return -1;
  const double count = ceil(number_as(type, number_as(type, limit - start) / delta));
  return count < 9e18 ? (int64_t)count : INT64_MAX;
}

static situ_status range_shape(struct call *call) {
  static const char *const names[] = {"start", "limit", "delta"};
  const bool whole = call->in[0].type == SITU_INT32 || call->in[0].type == SITU_INT64;
  double v[3] = {0, 0, 1};
  bool all = true, known;
  for (int i = 0; i < 3; i++) {
    TRY(op_need_rank(call, i, 0, names[i]));
    TRY(op_host_number(call, i, &v[i], &known));
    all = all && known;
  }
  call->out[0].shape = (situ_shape){1, {SITU_ANY}};
  if (!all) return NULL;
  if (v[2] == 0) return INVALID("Requires delta != 0: 0");
  const int64_t count = whole ? count_integers(call_element(call, 0, 0), call_element(call, 1, 0),
                                               call_element(call, 2, 0))
                              : count_reals(call->in[0].type, v[0], v[1], v[2]);
  if (count < 0)
    return INVALID("Requires start %s limit when delta %s 0: %g/%g",
                   v[2] > 0 ? "<=" : ">=", v[2] > 0 ? ">" : "<", v[0], v[1]);
  if (count == INT64_MAX && !whole)
    return INVALID("Requires ((limit - start) / delta) <= %lld", (long long)INT64_MAX);
  call->out[0].shape.dim[0] = count;
  return shape_check(&call->out[0].shape);
}

static situ_status record_range(struct call *call) {
  const int64_t n = call->out[0].shape.dim[0];
  const situ_type type = call->out[0].type;
  double start = 0, delta = 1;
  bool known;
  if (type == SITU_INT32 || type == SITU_INT64)
    return LAUNCH(call, &range_kernel, type, n, GRAIN, (double)n, ARG_OUT(call, 0),
                  ARG_INT(call_element(call, 0, 0)), ARG_INT(call_element(call, 2, 0)), ARG_INT(n));
  TRY(op_host_number(call, 0, &start, &known));
  TRY(op_host_number(call, 2, &delta, &known));
  return LAUNCH(call, &range_kernel, type, n, GRAIN, (double)n, ARG_OUT(call, 0), ARG_NUM(start),
                ARG_NUM(delta), ARG_INT(n));
}

/* InvertPermutation */

static situ_status invert_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 1, "x"));
  return op_same_shape(call);
}

static situ_status record_invert(struct call *call) {
  const int64_t n = situ_shape_count(call->in[0].shape);
  TRY(LAUNCH(call, &invert_kernel, call->in[0].type, n, GRAIN, (double)n, ARG_IN(call, 0),
             ARG_OUT(call, 0), ARG_INT(n)));
  return LAUNCH(call, &invert_check_kernel, call->in[0].type, n, GRAIN, (double)n, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INT(n));
}

/* Gradients */

static void tile_grad(struct gradient *g) {
  g->dx[0] = OP(g, "TileSum", g->dy[0], gradient_shape_of(g, g->in[0]));
}

static void tile_grad_grad(struct gradient *g) { g->dx[0] = OP(g, "Tile", g->dy[0], g->in[1]); }

static void tile_sum_grad(struct gradient *g) {
  const struct term own = OP(g, "Maximum", g->in[1], gradient_int(g, 1));
  g->dx[0] = OP(g, "Tile", g->dy[0], OP(g, "FloorDiv", gradient_shape_of(g, g->in[0]), own));
}

/* The unpadded part. */
static void pad_grad(struct gradient *g) {
  const struct term zeros = gradient_ints(g, (const int64_t[]){0, 0}, 2);
  const struct term sizes = gradient_ints(g, (const int64_t[]){-1, 1}, 2);
  const struct term flat = gradient_ints(g, (const int64_t[]){-1}, 1);
  const struct term paddings =
      gradient_emit(g, "Cast", TERMS(g->in[1]), ATTRS(situ_attr_type("DstT", SITU_INT32)));
  const struct term begin = OP(g, "Reshape", OP(g, "Slice", paddings, zeros, sizes), flat);
  g->dx[0] = OP(g, "Slice", g->dy[0], begin, gradient_shape_of(g, g->in[0]));
}

/* The gradient of the constant is the sum over the padding. */
static void pad_v2_grad(struct gradient *g) {
  pad_grad(g);
  if (!gradient_wanted(g, 2)) return;
  const struct term axes = gradient_axes_of(g, g->dy[0]);
  g->dx[2] = OP(g, "Sub", OP(g, "Sum", g->dy[0], axes), OP(g, "Sum", g->dx[0], axes));
}

static const struct op_def op_defs[] = {
    {.name = "Tile",
     .inputs = "input:T multiples:Tmultiples[?]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tmultiples:{int32 int64}=int32",
     .python = "tile",
     .doc = "Repeats a tensor along each dimension.",
     .args = "input: Tensor of rank 1 or more.\n"
             "multiples: Vector with the number of repetitions per dimension.",
     .samples = "[2,3] [2]=2,3; [4] [1]=1; Tmultiples=int64 [2,1,3] [3]=1,4,2; [2,3] [2]=0,2; "
                "[2,2,2,2,2] [5]=2,1,2,2,2",
     .host = "multiples",
     .devices = MOVABLE,
     .shape = tile_shape,
     .record = record_tile,
     .grad = tile_grad},
    {.name = "TileGrad",
     .inputs = "input:T multiples:int32[?]",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER_COMPLEX "}",
     .doc = "The gradient of Tile: the sum of all repetitions.",
     .args = "input: Gradient of the output of Tile.\n"
             "multiples: Vector with the number of repetitions per dimension, 1 or more.",
     .samples = "[4] [1]=2; [4,6] [2]=2,3; [2,3,2] [3]=1,3,2; [2,0] [2]=2,1; [3,4] [2]=1,1",
     .host = "multiples",
     .devices = EVERYWHERE,
     .shape = tile_grad_shape,
     .record = record_tile_sum,
     .grad = tile_grad_grad},
    {.name = "TileSum",
     .inputs = "input:T shape:int32[?]",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER_COMPLEX "}",
     .doc = "As TileGrad, by the shape of the result, which dimensions without repetitions need.",
     .args = "input: Gradient of the output of Tile.\n"
             "shape: Shape of the input of Tile.",
     .samples = "[4] [1]=2; [4,6] [2]=2,2; [2,3,2] [3]=2,1,1; [2,0] [2]=1,0; [3,4] [2]=3,4; "
                "[0,4] [2]=3,2",
     .host = "shape",
     .devices = EVERYWHERE,
     .shape = tile_sum_shape,
     .record = record_tile_sum,
     .grad = tile_sum_grad},
    {.name = "Pad",
     .inputs = "input:T paddings:Tpaddings[?,2]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tpaddings:{int32 int64}=int32",
     .doc = "Pads a tensor with zeros.",
     .args = "input: Input tensor.",
     .samples = "[2,3] [2,2]=1,0,2,1; [3] [1,2]=0,0; Tpaddings=int64 [2,2] [2,2]=0,1,1,0; "
                "[0,2] [2,2]=1,1,0,0",
     .host = "paddings",
     .devices = MOVABLE,
     .shape = pad_shape,
     .record = record_pad,
     .grad = pad_grad},
    {.name = "PadV2",
     .inputs = "input:T paddings:Tpaddings[?,2] constant_values:T[]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tpaddings:{int32 int64}=int32",
     .doc = "Pads a tensor with a constant.",
     .args = "input: Input tensor.\n"
             "constant_values: Scalar to pad with.",
     .samples = "[2,3] [2,2]=1,0,2,1 []; [2,1,2] [3,2]=0,1,1,1,2,0 []",
     .host = "paddings",
     .devices = MOVABLE,
     .shape = pad_shape,
     .record = record_pad,
     .grad = pad_v2_grad},
    {.name = "OneHot",
     .inputs = "indices:TI depth:int32[] on_value:T[] off_value:T[]",
     .outputs = "output:T",
     .attrs = "axis:int=-1 T:{" ALL_TYPES "} TI:{uint8 int8 int32 int64}=int64",
     .python = "one_hot",
     .doc = "One-hot encoding: a new axis of size depth with on_value at the index and off_value "
            "elsewhere.",
     .args = "indices: Indices of any shape; an index outside 0 <= i < depth yields off_value "
             "everywhere.\n"
             "depth: Size of the new axis, a scalar.\n"
             "on_value: Scalar at the index.\n"
             "off_value: Scalar elsewhere.\n"
             "axis: Position of the new axis; -1 appends it.",
     .samples = "[3]=0,2,5 []=4 [] []; TI=int32 axis=0 [2,2]=0,1,3,-1 []=4 [] []; "
                "TI=uint8 axis=1 [2,3]=0,1,2,2,1,0 []=3 [] []",
     .host = "depth",
     .devices = GPU_TYPES("half bfloat16 float double complex64 complex128 int32 int64 bool"),
     .flags = OP_NO_GRADIENT,
     .shape = one_hot_shape,
     .record = record_one_hot},
    {.name = "Range",
     .inputs = "start:Tidx[] limit:Tidx[] delta:Tidx[]",
     .outputs = "output:Tidx",
     .attrs = "Tidx:{bfloat16 half float double int32 int64}=int32",
     .python = "range",
     .doc = "A vector of evenly spaced numbers: start, start + delta, ... before limit.",
     .args = "start: First number, a scalar.\n"
             "limit: End of the range, a scalar, which is not included.\n"
             "delta: Difference of neighbors, a scalar; may be negative, not 0.",
     .samples = "[]=0 []=5 []=1; []=3 []=18 []=3; []=3 []=1 []=-1; []=2 []=2 []=1",
     .host = "start limit delta",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = range_shape,
     .record = record_range},
    {.name = "InvertPermutation",
     .inputs = "x:T[n]",
     .outputs = "y:T",
     .attrs = "T:{int32 int64}=int32",
     .python = "math.invert_permutation invert_permutation",
     .doc = "The inverse of a permutation: y[x[i]] = i.",
     .args = "x: Vector with each of 0, 1, ..., n - 1 once.",
     .samples = "T=int32 [4]=2,0,3,1; T=int64 [3]=0,1,2; T=int32 [0]=",
     .devices = EVERYWHERE,
     .shape = invert_shape,
     .record = record_invert},
};

OP_FAMILY(tile_pad, op_defs);
