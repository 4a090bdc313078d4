/* SPDX-License-Identifier: Apache-2.0
 * array_ops.c: constants, placeholders, identity, shape queries, reshape. */
#include "ops/broadcast.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/array/strided_copy.h"
#include "tensor/shape.h"

#define KERNELS "ops/array/array_ops.cl"
#include "kernel/types.h"

KERNEL_TABLE(put_integers, INTEGER);

/* Constants and placeholders */

static situ_status const_shape(struct call *call) {
  const situ_tensor *value = call_attr(call, "value")->tensor;
  if (!value) return INVALID("Attribute 'value' must be a tensor");
  if (situ_tensor_type(value) != call_type(call, "dtype"))
    return INVALID("Inconsistent types: attribute 'dtype' is %s, but 'value' is of %s",
                   situ_type_name(call_type(call, "dtype")),
                   situ_type_name(situ_tensor_type(value)));
  call->out[0].shape = situ_tensor_shape(value);
  return NULL;
}

static situ_status placeholder_shape(struct call *call) {
  call->out[0].shape = *call_attr(call, "shape")->shape;
  return shape_check(&call->out[0].shape);
}

/* The static shape is the attribute; without a feed, the shape of the input. */
static situ_status default_shape(struct call *call) {
  const situ_shape *declared = call_attr(call, "shape")->shape, *have = &call->in[0].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  TRY(shape_check(declared));
  if (!shape_compatible(declared, have))
    return INVALID("The default has the shape %s, but %s was requested", shape_print(have, a),
                   shape_print(declared, b));
  call->out[0].shape = call->building ? *declared : *have;
  return NULL;
}

/* The input must have the shape of the attribute. */
static situ_status ensure_shape(struct call *call) {
  const situ_shape *declared = call_attr(call, "shape")->shape, *have = &call->in[0].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  TRY(shape_check(declared));
  if (!shape_compatible(declared, have))
    return INVALID("Shape of tensor %s is not compatible with expected shape %s.",
                   shape_print(have, a), shape_print(declared, b));
  call->out[0].shape = shape_merge(declared, have);
  return NULL;
}

/* Shapes as values */

struct axes {
  int64_t axis[SITU_MAX_RANK];
  int count;
};

static situ_status shape_shape(struct call *call) {
  const int rank = call->in[0].shape.rank;
  call->out[0].shape = (situ_shape){1, {rank == SITU_ANY ? SITU_ANY : rank}};
  return NULL;
}

static situ_status put_integers(struct call *call, const int64_t *values, int n) {
  return LAUNCH(call, &put_integers_kernel, call->out[0].type, n, 0, 0, ARG_OUT(call, 0),
                ARG_INTS(values), ARG_INT(n));
}

static situ_status record_shape(struct call *call) {
  return put_integers(call, call->in[0].shape.dim, call->in[0].shape.rank);
}

static situ_status record_size(struct call *call) {
  return put_integers(call, (int64_t[SITU_MAX_RANK]){situ_shape_count(call->in[0].shape)}, 1);
}

static situ_status record_rank(struct call *call) {
  return put_integers(call, (int64_t[SITU_MAX_RANK]){call->in[0].shape.rank}, 1);
}

/* BroadcastGradientArgs */

/* The axes along which each of two shapes is broadcast; false if the shapes are not known yet. */
static situ_status repeated_axes(const struct call *call, struct axes axes[2], bool *known) {
  situ_shape shape[2], sum;
  TRY(op_host_shape(call, 0, false, &shape[0]));
  TRY(op_host_shape(call, 1, false, &shape[1]));
  *known = call->in[0].value && call->in[1].value;
  if (!*known) return NULL;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_broadcast(&shape[0], &shape[1], &sum))
    return INVALID("Incompatible shapes: %s vs. %s", shape_print(&shape[0], a),
                   shape_print(&shape[1], b));
  for (int i = 0; i < 2; i++) {
    axes[i].count = 0;
    for (int d = 0; d < sum.rank; d++) {
      const int own = d - (sum.rank - shape[i].rank);
      if (own < 0 || shape[i].dim[own] == 1) axes[i].axis[axes[i].count++] = d;
    }
  }
  return NULL;
}

static situ_status broadcast_args_shape(struct call *call) {
  struct axes axes[2] = {{.count = SITU_ANY}, {.count = SITU_ANY}};
  bool known;
  TRY(repeated_axes(call, axes, &known));
  for (int i = 0; i < 2; i++) call->out[i].shape = (situ_shape){1, {axes[i].count}};
  return NULL;
}

static situ_status record_broadcast_args(struct call *call) {
  struct axes axes[2] = {{.count = 0}};
  bool known;
  TRY(repeated_axes(call, axes, &known));
  for (int i = 0; i < 2; i++)
    TRY(LAUNCH(call, &put_integers_kernel, call->out[i].type, axes[i].count, 0, 0, ARG_OUT(call, i),
               ARG_INTS(axes[i].axis), ARG_INT(axes[i].count)));
  return NULL;
}

/* Other shapes of the same elements */

/* The product of the known dimensions, and the index of the last unknown one, or -1. */
static int64_t known_product(const situ_shape *shape, int *unknown) {
  int64_t product = 1;
  *unknown = -1;
  for (int d = 0; d < shape->rank; d++) {
    if (shape->dim[d] == SITU_ANY)
      *unknown = d;
    else
      product *= shape->dim[d];
  }
  return product;
}

static situ_status reshape_shape(struct call *call) {
  situ_shape *out = &call->out[0].shape;
  int open, first = -1, given = 0;
  TRY(op_host_shape(call, 1, true, out));
  if (out->rank == SITU_ANY) return NULL;
  for (int d = out->rank - 1; d >= 0; d--)
    if (out->dim[d] == SITU_ANY) first = d, given++;
  const bool all_known = !out->rank || call->in[1].value;
  if (!all_known && (given > 1 || !call->in[1].known)) return NULL;
  for (int d = first + 1; d < out->rank && given > 1; d++)
    if (out->dim[d] == SITU_ANY)
      return INVALID("Only one input size may be -1, not both %d and %d", first, d);
  const int64_t count = situ_shape_count(call->in[0].shape), product = known_product(out, &open);
  if (count == SITU_ANY) return NULL;
  if (open >= 0 && product > 0 && count % product == 0) out->dim[open] = count / product;
  if (open >= 0 && product == 0 && count == 0) out->dim[open] = 0;
  if (situ_shape_count(*out) == count) return NULL;
  if (open >= 0)
    return INVALID(
        "Input to reshape is a tensor with %lld values, but the requested shape "
        "requires a multiple of %lld",
        (long long)count, (long long)product);
  if (call->building) {
    char text[SHAPE_STRING_SIZE];
    return INVALID("Cannot reshape a tensor with %lld elements to shape %s (%lld elements)",
                   (long long)count, shape_print(out, text), (long long)product);
  }
  return INVALID("Input to reshape is a tensor with %lld values, but the requested shape has %lld",
                 (long long)count, (long long)product);
}

static situ_status expand_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  int64_t axis = 0;
  bool known;
  int at;
  *out = SITU_ANY_SHAPE;
  TRY(op_host_scalar(call, 1, &axis, &known));
  if (!known || in->rank == SITU_ANY) return NULL;
  if (in->rank == SITU_MAX_RANK)
    return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
  TRY(op_wrap_axis(axis, in->rank + 1, &at));
  out->rank = in->rank + 1;
  for (int d = 0; d < out->rank; d++) out->dim[d] = d == at ? 1 : in->dim[d - (d > at)];
  return NULL;
}

static situ_status squeeze_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  const struct attr_value *dims = call_attr(call, "squeeze_dims");
  situ_shape *out = &call->out[0].shape;
  unsigned marked = 0;
  bool unknown = false;
  *out = SITU_ANY_SHAPE;
  if (in->rank == SITU_ANY) return NULL;
  for (int64_t i = 0; i < dims->list.count; i++) {
    int at;
    TRY(op_wrap_axis(dims->list.items[i], in->rank, &at));
    if (in->dim[at] != 1 && in->dim[at] != SITU_ANY)
      return INVALID("Can not squeeze dim[%d], expected a dimension of 1, got %lld", at,
                     (long long)in->dim[at]);
    marked |= 1u << at;
  }
  out->rank = 0;
  for (int d = 0; d < in->rank; d++) {
    unknown = unknown || (dims->list.count == 0 && in->dim[d] == SITU_ANY);
    const bool squeezed = dims->list.count ? marked >> d & 1 : in->dim[d] == 1;
    if (!squeezed) out->dim[out->rank++] = in->dim[d];
  }
  if (unknown) *out = SITU_ANY_SHAPE;
  return NULL;
}

/* Repetition */

static situ_status fill_shape(struct call *call) {
  TRY(op_need_rank(call, 1, 0, "value"));
  return op_host_shape(call, 0, false, &call->out[0].shape);
}

static situ_status record_fill(struct call *call) {
  return strided_fill(call, call->out[0].type, call->in[1].slot, call->out[0].slot,
                      situ_shape_count(call->out[0].shape));
}

static situ_status broadcast_to_shape(struct call *call) {
  situ_shape met;
  char a[256], b[256];
  TRY(op_host_shape(call, 1, false, &call->out[0].shape));
  const situ_shape *in = &call->in[0].shape, *out = &call->out[0].shape;
  if (shape_broadcast(in, out, &met) && shape_compatible(&met, out)) return NULL;
  return INVALID("Incompatible shapes: %s vs. %s: Unable to broadcast tensor of shape %s to %s",
                 shape_print(in, a), shape_print(out, b), a, b);
}

static situ_status record_broadcast_to(struct call *call) {
  struct broadcast b;
  struct view view = {.rank = SITU_MAX_RANK};
  broadcast_plan(&call->out[0].shape, (const situ_shape *[]){&call->in[0].shape}, 1, &b);
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    view.dim[d] = b.dim[d];
    view.stride[d] = b.stride[0][d];
  }
  return strided_copy(call, call->out[0].type, call->in[0].slot, &view, call->out[0].slot);
}

/* Gradients */

static void identity_grad(struct gradient *g) { g->dx[0] = g->dy[0]; }

static situ_status each_shape(struct call *call) {
  for (int i = 0; i < call->n_in; i++) call->out[i].shape = call->in[i].shape;
  return NULL;
}

static situ_status record_each(struct call *call) {
  for (int i = 0; i < call->n_in; i++) {
    const struct view all = strided_view(&call->in[i].shape);
    TRY(strided_copy(call, call->in[i].type, call->in[i].slot, &all, call->out[i].slot));
  }
  return NULL;
}

static void each_grad(struct gradient *g) {
  for (int i = 0; i < g->n_in; i++) g->dx[i] = g->dy[i];
}

static void reshape_grad(struct gradient *g) {
  g->dx[0] = gradient_reshape_as(g, g->dy[0], g->in[0]);
}

static void fill_grad(struct gradient *g) {
  g->dx[1] = OP(g, "Sum", g->dy[0], gradient_axes_of(g, g->dy[0]));
}

static void broadcast_to_grad(struct gradient *g) {
  g->dx[0] = gradient_sum_to(g, g->dy[0], g->in[0], g->out[0]);
}

#define ALL_DEVICES "CPU GPU(" NUMERIC ")"

static const struct op_def op_defs[] = {
    {.name = "Const",
     .outputs = "output:dtype",
     .attrs = "value:tensor dtype:type",
     .doc = "A constant tensor.",
     .args = "value: Value of the constant.",
     .devices = ALL_DEVICES,
     .flags = OP_CONSTANT,
     .shape = const_shape},
    {.name = "Placeholder",
     .outputs = "output:dtype",
     .attrs = "dtype:type shape:shape=<unknown>",
     .doc = "A value that every run must feed.",
     .args = "shape: Static shape; unknown dimensions accept any size.",
     .devices =
         "CPU GPU(" NUMERIC " variant)", /* the list is in host memory, its elements need not be */
     .flags = OP_FED,
     .shape = placeholder_shape},
    {.name = "PlaceholderWithDefault",
     .inputs = "input:dtype",
     .outputs = "output:dtype",
     .attrs = "dtype:type shape:shape",
     .doc = "A value that a run may feed; the input is the default.",
     .args = "input: Default value, used when the output is not fed.\n"
             "shape: Static shape; unknown dimensions accept any size.",
     .samples = "shape=[3,4] [3,4]; shape=[] []",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS | OP_OPTIONAL,
     .shape = default_shape,
     .grad = identity_grad},
    {.name = "Identity",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:type",
     .python = "identity",
     .doc = "Returns the input unchanged.",
     .args = "input: Tensor of any type and shape.",
     .samples = "[3,4]; []",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS,
     .shape = op_same_shape,
     .grad = identity_grad},
    {.name = "IdentityN",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:list(type)",
     .doc = "Returns the inputs unchanged, after all of them have been computed.",
     .args = "input: Tensors of any types and shapes.",
     .devices = EVERYWHERE,
     .shape = each_shape,
     .record = record_each,
     .grad = each_grad},
    {.name = "EnsureShape",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:type shape:shape",
     .doc = "Returns the input and verifies that it has the given shape.",
     .args = "input: Tensor of any type.\n"
             "shape: Expected shape; unknown dimensions match any size. A mismatch is an error.",
     .samples = "shape=[3,4] [3,4]; shape=[?,4] [3,4]; shape=<unknown> [3]",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS,
     .shape = ensure_shape,
     .grad = identity_grad},
    {.name = "StopGradient",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:type",
     .python = "stop_gradient",
     .doc = "Returns the input unchanged and blocks its gradient.",
     .args = "input: Tensor that gradients treat as a constant.",
     .samples = "[3,4]",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS | OP_NO_GRADIENT,
     .shape = op_same_shape},
    {.name = "NoOp",
     .python = "no_op",
     .doc = "Does nothing; used as a target of control dependencies.",
     .devices = EVERYWHERE,
     .shape = op_no_shape},
    {.name = "Shape",
     .inputs = "input:T",
     .outputs = "output:out_type",
     .attrs = "T:type out_type:{int32 int64}=int32",
     .python = "shape",
     .doc = "The shape of the input as a vector.",
     .args = "input: Tensor of any type and shape.\n"
             "out_type: Element type of the result.",
     .samples = "[3,4]; []; out_type=int64 [2,0,5]",
     .devices = EVERYWHERE,
     .flags = OP_SHAPE_ONLY,
     .shape = shape_shape,
     .record = record_shape},
    {.name = "VariableShape",
     .inputs = "input:@resource",
     .outputs = "output:out_type",
     .attrs = "out_type:{int32 int64}=int32",
     .doc = "The shape of a variable as a vector.",
     .args = "input: Handle of the variable.\n"
             "out_type: Element type of the result.",
     .devices = EVERYWHERE,
     .flags = OP_SHAPE_ONLY,
     .shape = shape_shape,
     .record = record_shape},
    {.name = "Size",
     .inputs = "input:T",
     .outputs = "output:out_type",
     .attrs = "T:type out_type:{int32 int64}=int32",
     .python = "",
     .doc = "The number of elements of the input, a scalar.",
     .args = "input: Tensor of any type and shape.\n"
             "out_type: Element type of the result.",
     .samples = "[3,4]; []; out_type=int64 [2,0,5]",
     .devices = EVERYWHERE,
     .flags = OP_SHAPE_ONLY,
     .shape = op_scalar_shape,
     .record = record_size},
    {.name = "Rank",
     .inputs = "input:T",
     .outputs = "output:int32",
     .attrs = "T:type",
     .python = "",
     .doc = "The number of dimensions of the input, a scalar.",
     .args = "input: Tensor of any type and shape.",
     .samples = "[3,4]; []",
     .devices = EVERYWHERE,
     .flags = OP_SHAPE_ONLY,
     .shape = op_scalar_shape,
     .record = record_rank},
    {.name = "Reshape",
     .inputs = "tensor:T shape:Tshape",
     .outputs = "output:T",
     .attrs = "T:type Tshape:{int32 int64}=int32",
     .python = "reshape",
     .doc = "Changes the shape of a tensor without moving its elements.",
     .args = "tensor: Input tensor.\n"
             "shape: Vector with the new shape. One dimension may be -1; its size follows from the "
             "others.",
     .samples = "[3,4] [2]=2,6; [3,4] [2]=-1,2; [1] [0]=; Tshape=int64 [2,0] [2]=0,5",
     .host = "shape",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS,
     .shape = reshape_shape,
     .grad = reshape_grad},
    {.name = "ExpandDims",
     .inputs = "input:T dim:Tdim",
     .outputs = "output:T",
     .attrs = "T:type Tdim:{int32 int64}=int32",
     .python = "expand_dims",
     .doc = "Inserts a dimension of size 1.",
     .args = "input: Input tensor.\n"
             "dim: Index of the new dimension; negative values count from the end, -1 appends.",
     .samples = "[3,4] []=0; [3,4] []=-1; [3,4] []=1; Tdim=int64 [] []=0",
     .host = "dim",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS,
     .shape = expand_shape,
     .grad = reshape_grad},
    {.name = "Squeeze",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:type squeeze_dims:list(int)=[]",
     .python = "squeeze",
     .doc = "Removes dimensions of size 1.",
     .args = "input: Input tensor.\n"
             "squeeze_dims: Dimensions to remove, each of size 1; empty removes all dimensions of "
             "size 1.",
     .samples = "[1,3,1,4]; squeeze_dims=[0] [1,3,1]; squeeze_dims=[-1] [1,3,1]",
     .devices = ALL_DEVICES,
     .flags = OP_ALIAS,
     .shape = squeeze_shape,
     .grad = reshape_grad},
    {.name = "Fill",
     .inputs = "dims:index_type[?] value:T[]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} index_type:{int32 int64}=int32",
     .python = "fill",
     .doc = "A tensor filled with one value.",
     .args = "dims: Vector with the shape of the result.\n"
             "value: Scalar that every element gets.",
     .samples = "[2]=3,4 []; [0]= []; index_type=int64 [1]=5 []; [2]=3,0 []",
     .host = "dims",
     .devices = MOVABLE,
     .shape = fill_shape,
     .record = record_fill,
     .grad = fill_grad},
    {.name = "BroadcastTo",
     .inputs = "input:T shape:Tidx[?]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tidx:{int32 int64}=int32",
     .python = "broadcast_to",
     .doc = "Broadcasts a tensor to a shape by the rules of NumPy.",
     .args = "input: Tensor whose shape is compatible with the result.\n"
             "shape: Vector with the shape of the result.",
     .samples = "[3,1] [2]=3,4; [] [2]=2,3; Tidx=int64 [4] [3]=2,3,4; [2,1,3,1] [4]=2,5,3,4",
     .host = "shape",
     .devices = MOVABLE,
     .shape = broadcast_to_shape,
     .record = record_broadcast_to,
     .grad = broadcast_to_grad},
    {.name = "BroadcastGradientArgs",
     .inputs = "s0:T[?] s1:T[?]",
     .outputs = "r0:T r1:T",
     .attrs = "T:{int32 int64}=int32",
     .doc = "The axes to sum over in the gradients of a broadcast: those along which each shape is "
            "repeated.",
     .args = "s0: Shape of the first operand.\n"
             "s1: Shape of the second operand.",
     .samples = "[2]=2,3 [1]=3; [2]=2,1 [2]=2,5; [0]= [2]=4,4; [3]=1,1,3 [3]=2,1,3",
     .host = "s0 s1",
     .devices = EVERYWHERE,
     .shape = broadcast_args_shape,
     .record = record_broadcast_args},
};

OP_FAMILY(array_ops, op_defs);
