/* SPDX-License-Identifier: Apache-2.0
 * slice.c: Slice, StridedSlice and ReverseV2. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/array/strided_copy.h"
#include "tensor/shape.h"

static situ_status copy_to_output(struct call *call, const struct view *view) {
  return strided_copy(call, call->out[0].type, call->in[0].slot, view, call->out[0].slot);
}

/* Slice */

static situ_status check_lengths(const struct call *call, int n_begin, int n_size) {
  const int rank = call->in[0].shape.rank;
  if (n_begin == n_size && (rank == SITU_ANY || rank == n_begin)) return NULL;
  return INVALID(
      "Expected begin and size arguments to be 1-D tensors of size %d, but got shapes "
      "[%d] and [%d] instead.",
      rank, n_begin, n_size);
}

/* Sets dimension d of a slice; size -1 means the rest of the dimension. */
static situ_status slice_dim(int d, int64_t dim, int64_t begin, int64_t size, int64_t *out) {
  *out = size;
  if (size == -1) *out = dim == SITU_ANY ? SITU_ANY : dim - begin;
  if (begin < 0 && dim == SITU_ANY) return NULL; /* fails when it runs */
  if (begin < 0 || (dim != SITU_ANY && begin > dim))
    return INVALID("Expected begin[%d] in [0, %lld], but got %lld", d, (long long)dim,
                   (long long)begin);
  if (size < -1 || (dim != SITU_ANY && *out > dim - begin))
    return INVALID("Expected size[%d] in [0, %lld], but got %lld", d, (long long)(dim - begin),
                   (long long)size);
  return NULL;
}

/* The same if begin is not known yet, only the size. */
static situ_status size_dim(int d, int64_t dim, int64_t size, int64_t *out) {
  *out = size == -1 ? SITU_ANY : size;
  if (size < -1 || (dim != SITU_ANY && size > dim))
    return INVALID("Expected size[%d] in [0, %lld], but got %lld", d, (long long)dim,
                   (long long)size);
  return NULL;
}

static situ_status slice_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  int64_t begin[SITU_MAX_RANK], size[SITU_MAX_RANK];
  int n_begin, n_size;
  unsigned no_begin, no_size;
  TRY(call_sizes(call, 1, begin, &n_begin, &no_begin));
  TRY(call_sizes(call, 2, size, &n_size, &no_size));
  *out = *in;
  if (n_size == SITU_ANY) {
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
    return NULL;
  }
  if (n_begin == SITU_ANY) no_begin = ~0U;
  TRY(check_lengths(call, n_begin == SITU_ANY ? n_size : n_begin, n_size));
  out->rank = n_size;
  for (int d = 0; d < n_size; d++) {
    const int64_t dim = in->rank == SITU_ANY ? SITU_ANY : in->dim[d];
    out->dim[d] = SITU_ANY;
    if (no_size & 1U << d) continue;
    if (no_begin & 1U << d)
      TRY(size_dim(d, dim, size[d], &out->dim[d]));
    else
      TRY(slice_dim(d, dim, begin[d], size[d], &out->dim[d]));
  }
  return NULL;
}

static situ_status record_slice(struct call *call) {
  struct view view = strided_view(&call->in[0].shape);
  int64_t begin[SITU_MAX_RANK];
  int count;
  TRY(call_integers(call, 1, begin, &count));
  for (int d = 0; d < view.rank; d++) {
    view.start += begin[d] * view.stride[d];
    view.dim[d] = call->out[0].shape.dim[d];
  }
  return copy_to_output(call, &view);
}

/* StridedSlice */

/* The arguments of a StridedSlice. */
struct spec {
  int64_t begin[SITU_MAX_RANK], end[SITU_MAX_RANK], stride[SITU_MAX_RANK];
  int count; /* SITU_ANY: not known yet */
  unsigned begin_mask, end_mask, ellipsis_mask, new_axis_mask, shrink_axis_mask;
};

static situ_status read_spec(const struct call *call, struct spec *spec) {
  int n[3];
  TRY(call_integers(call, 1, spec->begin, &n[0]));
  TRY(call_integers(call, 2, spec->end, &n[1]));
  TRY(call_integers(call, 3, spec->stride, &n[2]));
  spec->begin_mask = (unsigned)call_integer(call, "begin_mask");
  spec->end_mask = (unsigned)call_integer(call, "end_mask");
  spec->ellipsis_mask = (unsigned)call_integer(call, "ellipsis_mask");
  spec->new_axis_mask = (unsigned)call_integer(call, "new_axis_mask");
  spec->shrink_axis_mask = (unsigned)call_integer(call, "shrink_axis_mask");
  spec->count = n[0] == SITU_ANY || n[1] == SITU_ANY ? SITU_ANY : n[2];
  if (spec->count != SITU_ANY && (n[0] != n[1] || n[1] != n[2]))
    return INVALID(
        "Expected begin, end, and strides to be 1D equal size tensors, but got shapes "
        "[%d], [%d], and [%d] instead.",
        n[0], n[1], n[2]);
  if (spec->ellipsis_mask & (spec->ellipsis_mask - 1))
    return INVALID("Multiple ellipses in slice spec not allowed");
  return NULL;
}

/* The result of parsing a slice: a view of the input and the shape of the output. */
struct sliced {
  const situ_shape *in;
  struct view all, view; /* the dimensions of the view, and those of the output */
  int next;              /* dimension of the input */
};

static situ_status add_dim(struct sliced *s, int64_t size, int64_t stride) {
  if (s->view.rank == SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  s->view.dim[s->view.rank] = size;
  s->view.stride[s->view.rank++] = stride;
  return NULL;
}

static situ_status take_all(struct sliced *s) {
  const int d = s->next++;
  return add_dim(s, s->in->dim[d], s->all.stride[d]);
}

static int64_t clamp(int64_t value, int64_t low, int64_t high) {
  return value < low ? low : value > high ? high : value;
}

/* Applies a single index, which removes the dimension. */
static situ_status take_index(struct sliced *s, const struct spec *spec, int i) {
  const int d = s->next++;
  const int64_t dim = s->in->dim[d], at = spec->begin[i] + (spec->begin[i] < 0 ? dim : 0);
  if (dim == SITU_ANY) return NULL;
  if (spec->stride[i] < 0) return INVALID("only stride 1 allowed on non-range indexing.");
  if (at < 0 || at >= dim)
    return INVALID("slice index %lld of dimension %d out of bounds.", (long long)spec->begin[i], d);
  s->view.start += at * s->all.stride[d];
  return NULL;
}

static situ_status take_range(struct sliced *s, const struct spec *spec, int i) {
  const int d = s->next++;
  const int64_t dim = s->in->dim[d], step = spec->stride[i];
  if (step == 0) return INVALID("strides[%d] must be non-zero", i);
  if (dim == SITU_ANY) return add_dim(s, SITU_ANY, 0);
  const int64_t low = step > 0 ? 0 : -1, high = step > 0 ? dim : dim - 1;
  int64_t begin = clamp(spec->begin[i] + (spec->begin[i] < 0 ? dim : 0), low, high);
  int64_t end = clamp(spec->end[i] + (spec->end[i] < 0 ? dim : 0), low, high);
  if (spec->begin_mask >> i & 1) begin = step > 0 ? 0 : dim - 1;
  if (spec->end_mask >> i & 1) end = step > 0 ? dim : -1;
  const int64_t span = end - begin, size = span / step + (span % step != 0);
  s->view.start += begin * s->all.stride[d];
  return add_dim(s, (span < 0) == (step < 0) && span != 0 ? size : 0, step * s->all.stride[d]);
}

/* The number of dimensions that the parts of a spec after part i use. */
static int dims_behind(const struct spec *spec, int i) {
  int count = 0;
  for (int k = i + 1; k < spec->count; k++) count += !(spec->new_axis_mask >> k & 1);
  return count;
}

static situ_status walk_spec(const struct call *call, const struct spec *spec, struct sliced *s) {
  s->in = &call->in[0].shape;
  s->all = strided_view(s->in);
  for (int i = 0; i < spec->count; i++) {
    if (spec->ellipsis_mask >> i & 1) {
      const int end = s->in->rank - dims_behind(spec, i);
      while (s->next < end) TRY(take_all(s));
    } else if (spec->new_axis_mask >> i & 1) {
      TRY(add_dim(s, 1, 0));
    } else if (s->next >= s->in->rank) {
      return INVALID("Index out of range using input dim %d; input has only %d dims", s->next,
                     s->in->rank);
    } else if (spec->shrink_axis_mask >> i & 1) {
      TRY(take_index(s, spec, i));
    } else {
      TRY(take_range(s, spec, i));
    }
  }
  while (s->next < s->in->rank) TRY(take_all(s));
  return NULL;
}

static situ_status strided_slice(const struct call *call, struct sliced *s) {
  struct spec spec;
  TRY(read_spec(call, &spec));
  s->view.rank = SITU_ANY;
  if (spec.count == SITU_ANY || call->in[0].shape.rank == SITU_ANY) return NULL;
  s->view.rank = 0;
  return walk_spec(call, &spec, s);
}

static situ_status strided_slice_shape(struct call *call) {
  struct sliced s = {0};
  TRY(strided_slice(call, &s));
  call->out[0].shape.rank = s.view.rank;
  for (int d = 0; d < s.view.rank; d++) call->out[0].shape.dim[d] = s.view.dim[d];
  return NULL;
}

static situ_status record_strided_slice(struct call *call) {
  struct sliced s = {0};
  TRY(strided_slice(call, &s));
  return copy_to_output(call, &s.view);
}

/* StridedSliceGrad: its input 0 is the shape of what was sliced */

static situ_status slice_grad_shape(struct call *call) {
  TRY(op_host_shape(call, 0, false, &call->out[0].shape));
  if (!shape_is_known(&call->out[0].shape)) return NULL;
  struct sliced s = {0};
  struct operand in[4] = {{.type = call->in[4].type, .shape = call->out[0].shape},
                          call->in[1],
                          call->in[2],
                          call->in[3]};
  struct call slice = *call;
  slice.in = in;
  TRY(strided_slice(&slice, &s));
  situ_shape part = {.rank = s.view.rank};
  for (int d = 0; d < part.rank; d++) part.dim[d] = s.view.dim[d];
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (shape_compatible(&part, &call->in[4].shape)) return NULL;
  return INVALID("shape of dy was %s instead of %s", shape_print(&call->in[4].shape, a),
                 shape_print(&part, b));
}

static situ_status record_slice_grad(struct call *call) {
  struct sliced s = {0};
  struct operand in[4] = {{.type = call->in[4].type, .shape = call->out[0].shape},
                          call->in[1],
                          call->in[2],
                          call->in[3]};
  struct call slice = *call;
  slice.in = in;
  TRY(strided_slice(&slice, &s));
  return strided_paste(call, call->out[0].type, call->in[4].slot, &s.view, call->out[0].slot,
                       situ_shape_count(call->out[0].shape));
}

/* StridedSliceAssign and similar ops: input 4 is broadcast to a part of input 0 */

/* The strides of input 4 in the dimensions of the part: 0 where it is broadcast. */
static situ_status spread(const struct call *call, const struct view *part, struct view *from) {
  const situ_shape *given = &call->in[4].shape;
  const struct view dense = strided_view(given);
  situ_shape want = {.rank = part->rank};
  bool fits = given->rank <= part->rank;
  *from = (struct view){.rank = part->rank};
  for (int d = 0; d < part->rank; d++) want.dim[d] = from->dim[d] = part->dim[d];
  for (int d = 0; fits && d < given->rank; d++) {
    const int at = part->rank - given->rank + d;
    if (given->dim[d] == SITU_ANY) continue;
    fits = given->dim[d] == 1 || given->dim[d] == part->dim[at];
    from->stride[at] = given->dim[d] == 1 ? 0 : dense.stride[d];
  }
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (fits) return NULL;
  return INVALID("Cannot broadcast input shape %s into final shape %s", shape_print(given, a),
                 shape_print(&want, b));
}

static situ_status slice_assign_shape(struct call *call) {
  struct sliced s = {0};
  struct view from;
  TRY(strided_slice(call, &s));
  if (call->n_out) call->out[0].shape = call->in[0].shape;
  if (s.view.rank == SITU_ANY || call->in[4].shape.rank == SITU_ANY) return NULL;
  for (int d = 0; d < s.view.rank; d++)
    if (s.view.dim[d] == SITU_ANY) return NULL;
  return spread(call, &s.view, &from);
}

static situ_status record_part(struct call *call, int32_t to) {
  struct sliced s = {0};
  struct view from;
  TRY(strided_slice(call, &s));
  TRY(spread(call, &s.view, &from));
  return strided_move(call, call->in[4].type, call->in[4].slot, &from, to, &s.view);
}

static situ_status record_slice_assign(struct call *call) {
  return record_part(call, call->in[0].slot);
}

static situ_status record_slice_update(struct call *call) {
  const struct view all = strided_view(&call->in[0].shape);
  TRY(copy_to_output(call, &all));
  return record_part(call, call->out[0].slot);
}

/* Reverse */

static situ_status reversed(const struct call *call, struct view *view) {
  int64_t axes[SITU_MAX_RANK];
  int count, at;
  unsigned seen = 0;
  TRY(call_integers(call, 1, axes, &count));
  for (int i = 0; i < count && call->in[0].shape.rank != SITU_ANY; i++) {
    TRY(op_wrap_axis(axes[i], call->in[0].shape.rank, &at));
    if (seen >> at & 1) return INVALID("axis %d specified more than once.", at);
    seen |= 1u << at;
    view->start += view->stride[at] * (view->dim[at] - 1);
    view->stride[at] = -view->stride[at];
  }
  return NULL;
}

static situ_status reverse_shape(struct call *call) {
  struct view view = strided_view(&call->in[0].shape);
  call->out[0].shape = call->in[0].shape;
  return reversed(call, &view);
}

static situ_status record_reverse(struct call *call) {
  struct view view = strided_view(&call->in[0].shape);
  TRY(reversed(call, &view));
  return copy_to_output(call, &view);
}

/* Gradients */

/* A vector as a column. */
static struct term column(struct gradient *g, struct term vector) {
  const struct term one =
      gradient_emit(g, "Cast", TERMS(vector), ATTRS(situ_attr_type("DstT", SITU_INT32)));
  return OP(g, "ExpandDims", one, gradient_int(g, 1));
}

/* Pads the gradient of a slice with zeros. */
static void slice_grad(struct gradient *g) {
  int64_t begin[SITU_MAX_RANK];
  int32_t paddings[SITU_MAX_RANK][2];
  situ_shape in, out;
  int count;
  struct term around;
  if (gradient_known(g, g->in[0], &in) && gradient_known(g, g->out[0], &out) &&
      gradient_integers(g, g->in[1], begin, &count)) {
    for (int d = 0; d < count; d++) {
      paddings[d][0] = (int32_t)begin[d];
      paddings[d][1] = (int32_t)(in.dim[d] - out.dim[d] - begin[d]);
    }
    around = gradient_constant(g, SITU_INT32, SITU_SHAPE(count, 2), paddings);
  } else {
    const struct term before = column(g, g->in[1]), all = column(g, OP(g, "Shape", g->in[0]));
    const struct term taken = column(g, OP(g, "Shape", g->out[0]));
    const struct term behind = OP(g, "Sub", OP(g, "Sub", all, taken), before);
    around = OP(g, "ConcatV2", before, behind, gradient_int(g, 1));
  }
  g->dx[0] = OP(g, "Pad", g->dy[0], around);
}

#define SLICE_MASKS(keep)                                                                         \
  keep(g, "begin_mask"), keep(g, "end_mask"), keep(g, "ellipsis_mask"), keep(g, "new_axis_mask"), \
      keep(g, "shrink_axis_mask")

static void strided_slice_grad(struct gradient *g) {
  struct term shape = gradient_shape_of(g, g->in[0]);
  if (gradient_type(g, g->in[1]) != SITU_INT32)
    shape = gradient_emit(g, "Cast", TERMS(shape), ATTRS(gradient_keep_as(g, "Index", "DstT")));
  g->dx[0] =
      gradient_emit(g, "StridedSliceGrad", TERMS(shape, g->in[1], g->in[2], g->in[3], g->dy[0]),
                    ATTRS(SLICE_MASKS(gradient_keep)));
}

static void slice_grad_grad(struct gradient *g) {
  g->dx[4] = gradient_emit(g, "StridedSlice", TERMS(g->dy[0], g->in[1], g->in[2], g->in[3]),
                           ATTRS(SLICE_MASKS(gradient_keep)));
}

/* The gradient of the tensor is zero in the assigned part; that of the value is this part. */
static void slice_update_grad(struct gradient *g) {
  const struct term part =
      gradient_emit(g, "StridedSlice", TERMS(g->dy[0], g->in[1], g->in[2], g->in[3]),
                    ATTRS(SLICE_MASKS(gradient_keep)));
  g->dx[0] = gradient_emit(g, "TensorStridedSliceUpdate",
                           TERMS(g->dy[0], g->in[1], g->in[2], g->in[3], OP(g, "ZerosLike", part)),
                           ATTRS(SLICE_MASKS(gradient_keep)));
  g->dx[4] = gradient_sum_to(g, part, g->in[4], part);
}

static void reverse_grad(struct gradient *g) { g->dx[0] = OP(g, "ReverseV2", g->dy[0], g->in[1]); }

#define SLICE_ATTRS                                                                              \
  "Index:{int32 int64}=int32 begin_mask:int=0 end_mask:int=0 ellipsis_mask:int=0 new_axis_mask:" \
  "int=0 shrink_axis_mask:int=0"

/* Assignment to a part of a variable, by reference or by handle. */
#define SLICE_ARGS                                                                          \
  "begin: Vector with the first index of each slice; negative values count from the end.\n" \
  "end: Vector with the end of each slice, which is not included.\n"                        \
  "strides: Vector with the step of each slice; may be negative, not 0.\n"
#define SLICE_ASSIGN(NAME, ref_, outputs_, text)                                               \
  {                                                                                            \
    .name = NAME, .inputs = ref_ " begin:Index[k] end:Index[k] strides:Index[k] value:T",      \
    .outputs = outputs_, .attrs = "T:{" NUMERIC "} " SLICE_ATTRS, .host = "begin end strides", \
    .doc = "Assigns a value to the slice ref[begin:end:strides, ...] of a variable" text ".",  \
    .args = SLICE_ARGS "value: New elements, broadcast to the shape of the slice.",            \
    .devices = EVERYWHERE, .flags = OP_NO_GRADIENT | OP_STATEFUL | OP_UPDATES,                 \
    .shape = slice_assign_shape, .record = record_slice_assign                                 \
  }

static const struct op_def op_defs[] = {
    {.name = "Slice",
     .inputs = "input:T begin:Index[k] size:Index[k]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Index:{int32 int64}=int32",
     .python = "slice",
     .doc = "A contiguous slice: `size` elements from `begin` on in each dimension.",
     .args = "input: Input tensor.\n"
             "begin: Vector with the first index in each dimension.\n"
             "size: Vector with the size of the slice; -1 extends to the end of the dimension.",
     .samples = "[4,5] [2]=1,2 [2]=2,3; [4,5] [2]=0,1 [2]=-1,-1; Index=int64 [3,4,5] [3]=1,0,2 "
                "[3]=2,4,1; [] [0]= [0]=; [4] [1]=4 [1]=0",
     .host = "begin size",
     .devices = MOVABLE,
     .shape = slice_shape,
     .record = record_slice,
     .grad = slice_grad},
    {.name = "StridedSlice",
     .inputs = "input:T begin:Index[k] end:Index[k] strides:Index[k]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} " SLICE_ATTRS,
     .python = "strided_slice",
     .doc = "A slice with strides, as input[begin:end:strides, ...] in NumPy.",
     .args = SLICE_ARGS "input: Input tensor.",
     .samples = "[4,5] [2]=1,0 [2]=4,5 [2]=2,3; [4,5] [2]=-1,4 [2]=0,0 [2]=-1,-2; "
                "begin_mask=1 end_mask=3 [4,5] [2]=0,1 [2]=0,0 [2]=1,1; "
                "shrink_axis_mask=1 [4,5] [1]=-2 [1]=-1 [1]=1; "
                "ellipsis_mask=1 shrink_axis_mask=2 [2,3,4] [2]=0,1 [2]=0,2 [2]=1,1; "
                "new_axis_mask=1 [3] [2]=0,1 [2]=0,3 [2]=1,1; "
                "begin_mask=1 end_mask=1 [5] [1]=0 [1]=0 [1]=-1; Index=int64 [5] [1]=3 [1]=3 [1]=1",
     .host = "begin end strides",
     .devices = MOVABLE,
     .shape = strided_slice_shape,
     .record = record_strided_slice,
     .grad = strided_slice_grad},
    {.name = "StridedSliceGrad",
     .inputs = "shape:Index begin:Index[k] end:Index[k] strides:Index[k] dy:T",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} " SLICE_ATTRS,
     .doc = "The gradient of StridedSlice: zeros of the given shape, with dy at the slice.",
     .args = SLICE_ARGS "shape: Shape of the input of StridedSlice.\n"
                        "dy: Gradient of the slice.",
     .samples = "[2]=4,5 [2]=1,0 [2]=4,5 [2]=2,3 [2,2]; "
                "begin_mask=1 end_mask=1 [1]=5 [1]=0 [1]=0 [1]=-1 [5]; "
                "shrink_axis_mask=1 [2]=4,5 [1]=-2 [1]=-1 [1]=1 [5]; "
                "new_axis_mask=1 Index=int64 [1]=3 [2]=0,1 [2]=0,3 [2]=1,1 [1,2]; "
                "ellipsis_mask=1 shrink_axis_mask=2 [3]=2,3,4 [2]=0,1 [2]=0,2 [2]=1,1 [2,3]",
     .host = "shape begin end strides",
     .devices = MOVABLE,
     .shape = slice_grad_shape,
     .record = record_slice_grad,
     .grad = slice_grad_grad},
    SLICE_ASSIGN("StridedSliceAssign", "ref:&T", "output_ref:&T", "; returns the variable"),
    SLICE_ASSIGN("ResourceStridedSliceAssign", "ref:@T", "", ""),
    {.name = "TensorStridedSliceUpdate",
     .inputs = "input:T begin:Index[k] end:Index[k] strides:Index[k] value:T",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} " SLICE_ATTRS,
     .doc = "A copy of the input in which the slice input[begin:end:strides, ...] is replaced.",
     .args = SLICE_ARGS "input: Input tensor.\n"
                        "value: New elements, broadcast to the shape of the slice.",
     .samples = "[4,5] [2]=1,0 [2]=4,5 [2]=2,3 [2,2]; [4,5] [2]=1,0 [2]=4,5 [2]=2,3 [2,1]; "
                "[4,5] [2]=-1,4 [2]=0,0 [2]=-1,-2 []; "
                "shrink_axis_mask=1 [4,5] [1]=-2 [1]=-1 [1]=1 [5]; "
                "new_axis_mask=1 Index=int64 [3] [2]=0,1 [2]=0,3 [2]=1,1 [2]; "
                "ellipsis_mask=1 shrink_axis_mask=2 [2,3,4] [2]=0,1 [2]=0,2 [2]=1,1 [2,3]; "
                "[5] [1]=3 [1]=3 [1]=1 [1]",
     .host = "begin end strides",
     .devices = MOVABLE,
     .shape = slice_assign_shape,
     .record = record_slice_update,
     .grad = slice_update_grad},
    {.name = "ReverseV2",
     .inputs = "tensor:T axis:Tidx[?]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tidx:{int32 int64}=int32",
     .python = "reverse",
     .doc = "Reverses the order of elements along axes.",
     .args = "tensor: Input tensor.\n"
             "axis: Vector of the axes to reverse, each at most once; negative values count from "
             "the end.",
     .samples = "[3,4] [1]=0; [3,4] [2]=1,0; [3,4] [1]=-1; [5] [0]=; Tidx=int64 [2,3,4] [2]=2,0",
     .host = "axis",
     .devices = MOVABLE,
     .shape = reverse_shape,
     .record = record_reverse,
     .grad = reverse_grad},
};

OP_FAMILY(slice, op_defs);
