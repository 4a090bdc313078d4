/* SPDX-License-Identifier: Apache-2.0
 * concat_split.c: Concat, Pack, Unpack and Split. */
#include <stdlib.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/array/strided_copy.h"
#include "tensor/shape.h"

/* The product of the dimensions from `first` to before `last`. */
static int64_t product(const situ_shape *shape, int first, int last) {
  int64_t result = 1;
  for (int d = first; d < last; d++) result *= shape->dim[d];
  return result;
}

/* Concat */

/* The dimensions from `first` to before `last`. */
static situ_shape dims(const situ_shape *shape, int first, int last) {
  situ_shape part = {.rank = last - first};
  for (int d = first; d < last; d++) part.dim[d - first] = shape->dim[d];
  return part;
}

/* The error of inputs that differ in dimension `d`: while a graph is built that of TensorFlow's
 * shape inference, which compares the dimensions before and after the axis, else that of its
 * kernel. */
static situ_status sizes_differ(const struct call *call, const situ_shape *out,
                                const situ_shape *in, int axis, int d, int i) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!call->building)
    return INVALID(
        "ConcatOp : Dimension %d in both shapes must be equal: shape[0] = %s vs. shape[%d] = %s", d,
        shape_print(out, a), i, shape_print(in, b));
  const int first = d < axis ? 0 : axis + 1, last = d < axis ? axis : out->rank;
  const situ_shape own = dims(out, first, last), other = dims(in, first, last);
  return INVALID(
      "Dimension %d in both shapes must be equal, but are %lld and %lld. Shapes are %s and %s.",
      d - first, (long long)out->dim[d], (long long)in->dim[d], shape_print(&own, a),
      shape_print(&other, b));
}

static situ_status merge_shape(const struct call *call, situ_shape *out, const situ_shape *in,
                               int axis, int i) {
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (in->rank != out->rank && call->building)
    return INVALID("Shape must be rank %d but is rank %d", out->rank, in->rank);
  if (in->rank != out->rank)
    return INVALID(
        "ConcatOp : Ranks of all input tensors should match: shape[0] = %s vs. "
        "shape[%d] = %s",
        shape_print(out, a), i, shape_print(in, b));
  situ_shape other = *in;
  other.dim[axis] = out->dim[axis];
  for (int d = 0; d < out->rank; d++)
    if (out->dim[d] != other.dim[d] && out->dim[d] != SITU_ANY && other.dim[d] != SITU_ANY)
      return sizes_differ(call, out, in, axis, d, i);
  const int64_t size = out->dim[axis] == SITU_ANY || in->dim[axis] == SITU_ANY
                           ? SITU_ANY
                           : out->dim[axis] + in->dim[axis];
  *out = shape_merge(out, &other);
  out->dim[axis] = size;
  return NULL;
}

/* The shape of the concatenation of `n` inputs from number `first` on. */
static situ_status concat(struct call *call, int first, int n, int axis_input) {
  situ_shape *out = &call->out[0].shape;
  int64_t axis = 0;
  bool known;
  int at, ranked = first;
  *out = SITU_ANY_SHAPE;
  TRY(op_host_scalar(call, axis_input, &axis, &known));
  while (ranked < first + n && call->in[ranked].shape.rank == SITU_ANY) ranked++;
  if (ranked == first + n) return NULL;
  const int rank = call->in[ranked].shape.rank;
  if (!known) {
    out->rank = rank;
    for (int d = 0; d < rank; d++) out->dim[d] = SITU_ANY;
    return NULL;
  }
  if (rank == 0)
    return INVALID("ConcatOp : Expected concatenating dimensions in the range [0, 0), but got %lld",
                   (long long)axis);
  TRY(op_wrap_axis(axis, rank, &at));
  for (int i = first; i < first + n; i++) {
    situ_shape in = call->in[i].shape;
    if (in.rank == SITU_ANY) {
      in.rank = rank;
      for (int d = 0; d < rank; d++) in.dim[d] = SITU_ANY;
    }
    if (i == first)
      *out = in;
    else
      TRY(merge_shape(call, out, &in, at, i - first));
  }
  return NULL;
}

static situ_status record_joined(struct call *call, int first, int n, int axis) {
  const situ_shape *out = &call->out[0].shape;
  const int64_t pitch = product(out, axis, out->rank);
  struct rows rows = {.count = product(out, 0, axis), .to_pitch = pitch};
  for (int i = first; i < first + n; i++) {
    rows.length = rows.from_pitch = product(&call->in[i].shape, axis, out->rank);
    TRY(strided_rows(call, call->out[0].type, call->in[i].slot, call->out[0].slot, &rows));
    rows.to_start += rows.length;
  }
  return NULL;
}

static situ_status concat_shape(struct call *call) { return concat(call, 1, call->n_in - 1, 0); }

static situ_status concat_v2_shape(struct call *call) {
  return concat(call, 0, call->n_in - 1, call->n_in - 1);
}

static situ_status record_concat_at(struct call *call, int first, int axis_input) {
  int64_t axis = 0;
  bool known;
  int at;
  TRY(op_host_scalar(call, axis_input, &axis, &known));
  TRY(op_wrap_axis(axis, call->out[0].shape.rank, &at));
  return record_joined(call, first, call->n_in - 1, at);
}

static situ_status record_concat(struct call *call) { return record_concat_at(call, 1, 0); }
static situ_status record_concat_v2(struct call *call) {
  return record_concat_at(call, 0, call->n_in - 1);
}

/* Pack */

static situ_status pack_shape(struct call *call) {
  situ_shape in = call->in[0].shape, *out = &call->out[0].shape;
  char a[256], b[256];
  int at;
  *out = SITU_ANY_SHAPE;
  for (int i = 1; i < call->n_in; i++) {
    if (!shape_compatible(&in, &call->in[i].shape))
      return INVALID(
          "Shapes of all inputs must match: values[0].shape = %s != values[%d].shape = "
          "%s",
          shape_print(&call->in[0].shape, a), i, shape_print(&call->in[i].shape, b));
    in = shape_merge(&in, &call->in[i].shape);
  }
  if (in.rank == SITU_ANY) return NULL;
  if (in.rank == SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  TRY(op_wrap_axis(call_integer(call, "axis"), in.rank + 1, &at));
  out->rank = in.rank + 1;
  for (int d = 0; d < out->rank; d++) out->dim[d] = d == at ? call->n_in : in.dim[d - (d > at)];
  return NULL;
}

static situ_status record_pack(struct call *call) {
  const situ_shape *out = &call->out[0].shape;
  int at;
  TRY(op_wrap_axis(call_integer(call, "axis"), out->rank, &at));
  const int64_t length = product(out, at + 1, out->rank);
  struct rows rows = {.count = product(out, 0, at),
                      .length = length,
                      .from_pitch = length,
                      .to_pitch = length * call->n_in};
  for (int i = 0; i < call->n_in; i++) {
    rows.to_start = i * length;
    TRY(strided_rows(call, call->out[0].type, call->in[i].slot, call->out[0].slot, &rows));
  }
  return NULL;
}

/* Split */

/* Records copies of parts of `in` along the axis, `length[i]` elements for output i. */
static situ_status record_parts(struct call *call, int in, int axis) {
  const situ_shape *shape = &call->in[in].shape;
  const int64_t inner = product(shape, axis + 1, shape->rank);
  struct rows rows = {.count = product(shape, 0, axis), .from_pitch = inner * shape->dim[axis]};
  for (int i = 0; i < call->n_out; i++) {
    const int64_t size = situ_shape_count(call->out[i].shape);
    rows.length = rows.to_pitch = rows.count ? size / rows.count : 0;
    TRY(strided_rows(call, call->in[in].type, call->in[in].slot, call->out[i].slot, &rows));
    rows.from_start += rows.length;
  }
  return NULL;
}

/* The axis of a Split, or -1 while it is not known. */
static situ_status split_axis(const struct call *call, int axis_input, int rank, int *at) {
  int64_t axis = 0;
  bool known;
  *at = -1;
  const int64_t count = situ_shape_count(call->in[axis_input].shape);
  if (count != SITU_ANY && count != 1)
    return INVALID("split_dim_tensor must have exactly one element.");
  TRY(op_host_scalar(call, axis_input, &axis, &known));
  return known && rank != SITU_ANY ? op_wrap_axis(axis, rank, at) : NULL;
}

/* All outputs get the rank of the input and no known dimensions. */
static void parts_unknown(struct call *call, const situ_shape *in) {
  for (int i = 0; i < call->n_out; i++) {
    call->out[i].shape = *in;
    for (int d = 0; d < in->rank; d++) call->out[i].shape.dim[d] = SITU_ANY;
  }
}

static situ_status split_shape(struct call *call) {
  const situ_shape *in = &call->in[1].shape;
  int at;
  parts_unknown(call, in);
  TRY(split_axis(call, 0, in->rank, &at));
  if (at < 0) return NULL;
  if (in->dim[at] != SITU_ANY && in->dim[at] % call->n_out)
    return INVALID(
        "Number of ways to split should evenly divide the split dimension, but got "
        "split_dim %d (size = %lld) and num_split %d",
        at, (long long)in->dim[at], call->n_out);
  for (int i = 0; i < call->n_out; i++) {
    call->out[i].shape = *in;
    if (in->dim[at] != SITU_ANY) call->out[i].shape.dim[at] = in->dim[at] / call->n_out;
  }
  return NULL;
}

static situ_status record_split(struct call *call) {
  int at;
  TRY(split_axis(call, 0, call->in[1].shape.rank, &at));
  return record_parts(call, 1, at);
}

/* Checks the sizes of a SplitV; *rest is the size that -1 means. */
static situ_status check_sizes(const struct call *call, int64_t dim, int64_t *rest) {
  int64_t sum = 0;
  int open = 0;
  for (int i = 0; i < call->n_out; i++) {
    const int64_t size = call_element(call, 1, i);
    if (size < -1)
      return INVALID("Split size at index %d must be >= 0. Got: %lld", i, (long long)size);
    open += size == -1;
    sum += size == -1 ? 0 : size;
  }
  if (open > 1) return INVALID("There can only be one -1 in the input.");
  *rest = dim == SITU_ANY ? SITU_ANY : dim - sum;
  if (dim == SITU_ANY || (open ? sum <= dim : sum == dim)) return NULL;
  return INVALID(
      "Determined shape must either match input shape along split_dim exactly if fully "
      "specified, or be less than the size of the input along split_dim if not fully "
      "specified.  Got: %lld",
      (long long)sum);
}

static situ_status split_v_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape, *sizes = &call->in[1].shape;
  int64_t rest;
  int at;
  parts_unknown(call, in);
  TRY(op_need_rank(call, 1, 1, "size_splits"));
  TRY(split_axis(call, 2, in->rank, &at));
  if (at < 0 || !call->in[1].value) return NULL;
  if (sizes->dim[0] != call->n_out)
    return INVALID("size_splits has %lld elements, but num_split is %d", (long long)sizes->dim[0],
                   call->n_out);
  TRY(check_sizes(call, in->dim[at], &rest));
  for (int i = 0; i < call->n_out; i++) {
    const int64_t size = call_element(call, 1, i);
    call->out[i].shape = *in;
    call->out[i].shape.dim[at] = size == -1 ? rest : size;
  }
  return NULL;
}

static situ_status record_split_v(struct call *call) {
  int at;
  TRY(split_axis(call, 2, call->in[0].shape.rank, &at));
  return record_parts(call, 0, at);
}

/* Unpack */

static situ_status unpack_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape out = SITU_ANY_SHAPE;
  int at;
  if (in->rank != SITU_ANY) {
    TRY(op_wrap_axis(call_integer(call, "axis"), in->rank, &at));
    if (in->dim[at] != SITU_ANY && in->dim[at] != call->n_out)
      return INVALID("Input shape axis %d must equal %d, got shape %lld", at, call->n_out,
                     (long long)in->dim[at]);
    out.rank = in->rank - 1;
    for (int d = 0; d < out.rank; d++) out.dim[d] = in->dim[d + (d >= at)];
  }
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = out;
  return NULL;
}

static situ_status record_unpack(struct call *call) {
  int at;
  TRY(op_wrap_axis(call_integer(call, "axis"), call->in[0].shape.rank, &at));
  return record_parts(call, 0, at);
}

/* Gradients */

/* The sizes of `count` inputs from `first` on along an axis, as a vector. */
static struct term sizes_of(struct gradient *g, int first, int count, struct term axis) {
  const struct term one = gradient_ints(g, (const int64_t[]){1}, 1);
  const struct term rank = gradient_rank_of(g, g->dy[0]);
  const struct term place = OP(g, "ExpandDims", OP(g, "FloorMod", axis, rank), gradient_int(g, 0));
  struct term *sizes = malloc(((size_t)count + 1) * sizeof *sizes);
  if (!sizes) gradient_fail(g, NO_MEMORY());
  for (int i = 0; sizes && i < count; i++)
    sizes[i] = OP(g, "Slice", gradient_shape_of(g, g->in[first + i]), place, one);
  if (sizes) sizes[count] = gradient_int(g, 0);
  const struct term all =
      sizes ? gradient_emit(g, "ConcatV2", sizes, count + 1, NO_ATTRS) : NO_TERM;
  free(sizes);
  return all;
}

/* The same as a constant, where shapes and axis are known. */
static struct term known_sizes(struct gradient *g, int first, int count, struct term axis) {
  int64_t at[SITU_MAX_RANK], sizes[64];
  int n;
  situ_shape shape;
  if (count > (int)COUNT_OF(sizes) || !gradient_integers(g, axis, at, &n)) return NO_TERM;
  for (int i = 0; i < count; i++) {
    if (!gradient_known(g, g->in[first + i], &shape)) return NO_TERM;
    sizes[i] = shape.dim[at[0] < 0 ? at[0] + shape.rank : at[0]];
  }
  return gradient_ints(g, sizes, count);
}

static void join_grad(struct gradient *g, int first, struct term axis) {
  const int count = g->n_in - 1;
  struct term sizes = known_sizes(g, first, count, axis);
  if (gradient_type(g, axis) != SITU_INT32)
    axis = gradient_emit(g, "Cast", TERMS(axis), ATTRS(situ_attr_type("DstT", SITU_INT32)));
  if (!term_exists(sizes)) sizes = sizes_of(g, first, count, axis);
  const struct term parts = gradient_emit(g, "SplitV", TERMS(g->dy[0], sizes, axis),
                                          ATTRS(situ_attr_int("num_split", count)));
  for (int i = 0; i < count; i++) g->dx[first + i] = gradient_output(parts, i);
}

static void concat_grad(struct gradient *g) { join_grad(g, 1, g->in[0]); }
static void concat_v2_grad(struct gradient *g) { join_grad(g, 0, g->in[g->n_in - 1]); }

static void pack_grad(struct gradient *g) {
  const struct term parts = gradient_emit(
      g, "Unpack", TERMS(g->dy[0]), ATTRS(situ_attr_int("num", g->n_in), gradient_keep(g, "axis")));
  for (int i = 0; i < g->n_in; i++) g->dx[i] = gradient_output(parts, i);
}

/* Concatenates the gradients of all outputs; zeros for outputs without one. */
static struct term joined(struct gradient *g, const char *op, struct term axis,
                          const situ_attr *attrs, int n_attrs) {
  const int count = g->n_out + term_exists(axis);
  struct term *parts = malloc((size_t)count * sizeof *parts);
  if (!parts) gradient_fail(g, NO_MEMORY());
  for (int i = 0; parts && i < g->n_out; i++) parts[i] = gradient_or_zeros(g, g->dy[i], g->out[i]);
  if (parts && term_exists(axis)) parts[g->n_out] = axis;
  const struct term whole = parts ? gradient_emit(g, op, parts, count, attrs, n_attrs) : NO_TERM;
  free(parts);
  return whole;
}

static void unpack_grad(struct gradient *g) {
  g->dx[0] = joined(g, "Pack", NO_TERM, ATTRS(gradient_keep(g, "axis")));
}

static void split_grad(struct gradient *g, int input, int axis) {
  g->dx[input] = g->n_out == 1 ? g->dy[0] : joined(g, "ConcatV2", g->in[axis], NO_ATTRS);
}

static void split_equal_grad(struct gradient *g) { split_grad(g, 1, 0); }
static void split_sizes_grad(struct gradient *g) { split_grad(g, 0, 2); }

static const struct op_def op_defs[] = {
    {.name = "Concat",
     .inputs = "concat_dim:int32 values:N*T",
     .outputs = "output:T",
     .attrs = "N:int>=2 T:{" ALL_TYPES "}",
     .doc = "Concatenates tensors along a dimension.",
     .args = "concat_dim: Dimension along which to concatenate, a scalar.\n"
             "values: Tensors whose shapes agree in all other dimensions.",
     .samples = "[]=0 [2,3] [4,3]; []=1 [2,3] [2,1] [2,2]; []=0 [0,2] [3,2]",
     .host = "concat_dim",
     .devices = MOVABLE,
     .shape = concat_shape,
     .record = record_concat,
     .grad = concat_grad},
    {.name = "ConcatV2",
     .inputs = "values:N*T axis:Tidx",
     .outputs = "output:T",
     .attrs = "N:int>=2 T:{" ALL_TYPES "} Tidx:{int32 int64}=int32",
     .python = "concat",
     .doc = "Concatenates tensors along an axis.",
     .args = "values: Tensors whose shapes agree in all other dimensions.\n"
             "axis: Axis along which to concatenate, a scalar; negative values count from the end.",
     .samples = "[2,3] [4,3] []=0; [2,3] [2,1] [2,2] []=-1; Tidx=int64 [2,2,3] [2,5,3] []=1; "
                "[3] [4] []=0",
     .host = "axis",
     .devices = MOVABLE,
     .shape = concat_v2_shape,
     .record = record_concat_v2,
     .grad = concat_v2_grad},
    {.name = "Pack",
     .inputs = "values:N*T",
     .outputs = "output:T",
     .attrs = "N:int>=1 T:{" ALL_TYPES "} axis:int=0",
     .python = "stack",
     .doc = "Stacks tensors of one shape along a new axis.",
     .args =
         "values: Tensors of one shape and type.\n"
         "axis: Index of the new axis; negative values count from the end of the result's shape.",
     .samples = "[3,4] [3,4]; axis=1 [3,4] [3,4] [3,4]; axis=-1 [3,4] [3,4]; [] [] []; [2]",
     .devices = MOVABLE,
     .shape = pack_shape,
     .record = record_pack,
     .grad = pack_grad},
    {.name = "Unpack",
     .inputs = "value:T",
     .outputs = "output:num*T",
     .attrs = "num:int>=0 T:{" ALL_TYPES "} axis:int=0",
     .python = "unstack",
     .doc = "Splits a tensor into slices along an axis and removes that axis.",
     .args = "value: Tensor of rank 1 or more.\n"
             "num: Number of slices, the size of the axis.\n"
             "axis: Axis to unstack; negative values count from the end.",
     .samples = "num=3 [3,4]; num=4 axis=1 [3,4]; num=2 axis=-1 [2,3,2]; num=3 [3]",
     .devices = MOVABLE,
     .shape = unpack_shape,
     .record = record_unpack,
     .grad = unpack_grad},
    {.name = "Split",
     .inputs = "split_dim:int32 value:T",
     .outputs = "output:num_split*T",
     .attrs = "num_split:int>=1 T:{" ALL_TYPES "}",
     .doc = "Splits a tensor into equal parts along a dimension.",
     .args = "split_dim: Dimension to split, a scalar; negative values count from the end.\n"
             "value: Tensor to split.\n"
             "num_split: Number of parts; must divide the size of the dimension.",
     .samples = "num_split=2 []=0 [4,3]; num_split=3 []=1 [2,6]; num_split=2 []=-1 [2,3,4]",
     .host = "split_dim",
     .devices = MOVABLE,
     .shape = split_shape,
     .record = record_split,
     .grad = split_equal_grad},
    {.name = "SplitV",
     .inputs = "value:T size_splits:Tlen[?] split_dim:int32",
     .outputs = "output:num_split*T",
     .attrs = "num_split:int>=1 T:{" ALL_TYPES "} Tlen:{int8 int32 int64}=int64",
     .doc = "Splits a tensor into parts of given sizes along a dimension.",
     .args =
         "value: Tensor to split.\n"
         "size_splits: Vector with the size of each part; one may be -1 and gets the remainder.\n"
         "split_dim: Dimension to split, a scalar; negative values count from the end.\n"
         "num_split: Number of parts.",
     .samples = "num_split=2 [4,3] [2]=1,3 []=0; num_split=3 Tlen=int32 [2,6] [3]=2,-1,1 []=1",
     .host = "size_splits split_dim",
     .devices = MOVABLE,
     .shape = split_v_shape,
     .record = record_split_v,
     .grad = split_sizes_grad},
};

OP_FAMILY(concat_split, op_defs);
