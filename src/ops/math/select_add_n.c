/* SPDX-License-Identifier: Apache-2.0
 * select_add_n.c: Select, AddN, BiasAdd, ClipByValue and other element-wise ops that are not one
 * expression. */
#include "ops/broadcast.h"
#include "ops/collective/collective_ops.h"
#include "ops/gradient.h"
#include "ops/math/cast.h"
#include "ops/ops.h"
#include "tensor/type.h"
#include "ops/array/strided_copy.h"
#include "tensor/shape.h"

#define KERNELS "ops/math/select_add_n.cl"
#include "kernel/types.h"
#define KERNELS "ops/math/select.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(put_number, ANY);
KERNEL_TABLE(sum3, NUMBER);
KERNEL_TABLE(sum4, NUMBER);
KERNEL_TABLE(clip, NUMBER);
KERNEL_TABLE(leaky_relu, REAL);
KERNEL_TABLE(leaky_relu_grad, REAL);
KERNEL_TABLE(choose, BITS);
KERNEL_TABLE(choose_wide, BITS);

static struct broadcast_operand operand_of(const struct operand *operand) {
  return (struct broadcast_operand){operand->slot, &operand->shape};
}

/* Select */

static situ_status select_shape(struct call *call) {
  const situ_shape *c = &call->in[0].shape, *x = &call->in[1].shape, *y = &call->in[2].shape;
  char a[256], b[256];
  if (!shape_compatible(x, y))
    return INVALID("'then' and 'else' must have the same size.  but received: %s vs. %s",
                   shape_print(x, a), shape_print(y, b));
  call->out[0].shape = shape_merge(x, y);
  const bool vector = c->rank == 1 && x->rank > 1;
  const situ_shape first = {1, {x->dim[0]}};
  if (c->rank == SITU_ANY || c->rank == 0 || x->rank == SITU_ANY) return NULL;
  if (shape_compatible(c, vector ? &first : x)) return NULL;
  return INVALID(
      "'then' must have the same shape as 'cond' or its first dimension; "
      "received: %s vs. %s",
      shape_print(x, a), shape_print(c, b));
}

static situ_status record_selection(struct call *call, const situ_shape *condition) {
  const situ_type type = call->out[0].type;
  struct broadcast b;
  broadcast_plan(&call->out[0].shape,
                 (const situ_shape *[]){condition, &call->in[1].shape, &call->in[2].shape}, 3, &b);
  if (b.flat)
    return LAUNCH(call, &choose_kernel, type, b.count, GRAIN, (double)b.count, ARG_IN(call, 0),
                  ARG_IN(call, 1), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INT(b.stride[0][7]),
                  ARG_INT(b.stride[1][7]), ARG_INT(b.stride[2][7]), ARG_INT(b.count));
  return LAUNCH(call, &choose_wide_kernel, type, b.count, GRAIN, (double)b.count, ARG_IN(call, 0),
                ARG_IN(call, 1), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INTS(b.dim),
                ARG_INTS(b.stride[0]), ARG_INTS(b.stride[1]), ARG_INTS(b.stride[2]),
                ARG_INT(b.count));
}

static situ_status record_select_v2(struct call *call) {
  return record_selection(call, &call->in[0].shape);
}

/* A condition of rank 1 selects along the first dimension. */
static situ_status record_select(struct call *call) {
  situ_shape condition = call->in[0].shape;
  if (condition.rank == 1) condition.rank = call->out[0].shape.rank;
  for (int d = 1; d < condition.rank && call->in[0].shape.rank == 1; d++) condition.dim[d] = 1;
  return record_selection(call, &condition);
}

/* Sums */

static situ_status sum_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  for (int i = 1; i < call->n_in; i++) {
    char a[256], b[256];
    if (!shape_compatible(&shape, &call->in[i].shape))
      return INVALID(
          "Inputs to operation %s of type AddN must have the same size and shape.  "
          "Input 0: %s != input %d: %s",
          call->node, shape_print(&call->in[0].shape, a), i, shape_print(&call->in[i].shape, b));
    shape = shape_merge(&shape, &call->in[i].shape);
  }
  call->out[0].shape = shape;
  return NULL;
}

/* Adds two to four terms in one launch. */
static situ_status add_terms(struct call *call, const struct launch_arg *terms, int n_terms) {
  const situ_type type = call->out[0].type;
  const int64_t n = situ_shape_count(call->out[0].shape) * (type_is_complex(type) ? 2 : 1);
  struct launch_arg args[8];
  int32_t count = 0;
  for (; count < n_terms; count++) args[count] = terms[count];
  args[count++] = ARG_OUT(call, 0);
  const uint32_t each = (1U << count) - 1;
  for (int i = 0; i < 2 && n_terms == 2; i++) args[count++] = ARG_INT(1); /* strides */
  args[count++] = ARG_INT(n);
  const struct kernel *kernel = n_terms == 4   ? &sum4_kernel
                                : n_terms == 3 ? &sum3_kernel
                                               : elementwise_add[0];
  return call_launch(call, &(struct launch){.kernel = kernel,
                                            .type = type_real(type),
                                            .items = n,
                                            .grain = GRAIN,
                                            .flops = (double)(n_terms - 1) * (double)n,
                                            .elementwise = each,
                                            .args = args,
                                            .n_args = count});
}

/* The first launch adds up to four inputs; each later one adds up to three to the sum. */
static situ_status record_sum(struct call *call) {
  struct launch_arg terms[4] = {ARG_IN(call, 0)};
  if (call->n_in == 1)
    return strided_rows(call, call->out[0].type, call->in[0].slot, call->out[0].slot,
                        &(struct rows){.count = 1, .length = situ_shape_count(call->out[0].shape)});
  for (int i = 1; i < call->n_in;) {
    int n = 1;
    for (; n < 4 && i < call->n_in; i++) terms[n++] = ARG_IN(call, i);
    TRY(add_terms(call, terms, n));
    terms[0] = ARG_OUT(call, 0);
  }
  return NULL;
}

/* Biases */

/* The dimension of the channels. */
static int bias_axis(const struct call *call) {
  const bool first = call_text(call, "data_format")[1] == 'C';
  return first ? 1 : call->in[0].shape.rank - 1;
}

static situ_status bias_shape(struct call *call) {
  const situ_shape *value = &call->in[0].shape, *bias = &call->in[1].shape;
  call->out[0].shape = *value;
  TRY(op_need_rank(call, 1, 1, "Biases must be 1D: they"));
  if (value->rank == SITU_ANY) return NULL;
  if (value->rank < 2) return INVALID("Input tensor must be at least 2D");
  const int64_t size = value->dim[bias_axis(call)];
  if (bias->rank == SITU_ANY || bias->dim[0] == SITU_ANY || size == SITU_ANY) return NULL;
  if (bias->dim[0] == size) return NULL;
  char a[256], b[256];
  return INVALID("Must provide as many biases as the last dimension of the input tensor: %s vs. %s",
                 shape_print(bias, a), shape_print(value, b));
}

static situ_status record_bias(struct call *call) {
  situ_shape bias = {.rank = call->in[0].shape.rank};
  for (int d = 0; d < bias.rank; d++) bias.dim[d] = 1;
  bias.dim[bias_axis(call)] = call->in[1].shape.dim[0];
  return broadcast_record(call, elementwise_add, call->out[0].type, 1, operand_of(&call->in[0]),
                          (struct broadcast_operand){call->in[1].slot, &bias},
                          operand_of(&call->out[0]));
}

static void bias_grad(struct gradient *g) {
  g->dx[0] = g->dy[0];
  if (gradient_wanted(g, 1))
    g->dx[1] =
        gradient_emit(g, "BiasAddGrad", TERMS(g->dy[0]), ATTRS(gradient_keep(g, "data_format")));
}

/* Clipping */

static situ_status clip_shape(struct call *call) {
  TRY(broadcast_shape(call));
  char a[256], b[256];
  if (!shape_compatible(&call->out[0].shape, &call->in[0].shape))
    return INVALID("The bounds must be scalars or have the shape of the input: %s vs. %s",
                   shape_print(&call->out[0].shape, a), shape_print(&call->in[0].shape, b));
  call->out[0].shape = call->in[0].shape;
  return NULL;
}

static situ_status record_clip(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const situ_type type = call->out[0].type;
  const struct broadcast_operand x = operand_of(&call->in[0]), low = operand_of(&call->in[1]),
                                 high = operand_of(&call->in[2]), y = operand_of(&call->out[0]);
  if (situ_shape_count(*low.shape) == 1 && situ_shape_count(*high.shape) == 1)
    return LAUNCH(call, &clip_kernel, type, n, GRAIN, 2.0 * (double)n, ARG_IN(call, 0),
                  ARG_IN(call, 1), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INT(n));
  TRY(broadcast_record(call, elementwise_least, type, 1, x, high, y));
  return broadcast_record(call, elementwise_greatest, type, 1, y, low, y);
}

/* Numbers */

static situ_status record_leaky_relu(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return LAUNCH(call, &leaky_relu_kernel, call->out[0].type, n, GRAIN, (double)n, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_NUM(call_real(call, "alpha")), ARG_INT(n));
}

static situ_status record_leaky_relu_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  return LAUNCH(call, &leaky_relu_grad_kernel, call->out[0].type, n, GRAIN, (double)n,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_OUT(call, 0),
                ARG_NUM(call_real(call, "alpha")), ARG_INT(n));
}

static situ_status put_number(struct call *call, double number) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const situ_type type = call->out[0].type, real = type_real(type);
  int32_t slot = call->out[0].slot;
  if (real != type) TRY(call_scratch(call, (size_t)n * situ_type_size(real), &slot));
  TRY(LAUNCH(call, &put_number_kernel, real, n, GRAIN, 0, ARG_AT(slot), ARG_NUM(number),
             ARG_INT(n)));
  return real == type ? NULL : cast_record(call, real, slot, type, call->out[0].slot, n);
}

static situ_status record_zeros(struct call *call) { return put_number(call, 0); }
static situ_status record_ones(struct call *call) { return put_number(call, 1); }

/* Gradients */

static void select_grad(struct gradient *g) {
  const struct term zeros = gradient_zeros(g, g->in[1]);
  g->dx[1] = OP(g, "Select", g->in[0], g->dy[0], zeros);
  g->dx[2] = OP(g, "Select", g->in[0], zeros, g->dy[0]);
}

static void select_v2_grad(struct gradient *g) {
  const struct term zero = gradient_number(g, gradient_type(g, g->dy[0]), 0);
  const struct term t = OP(g, "SelectV2", g->in[0], g->dy[0], zero);
  const struct term e = OP(g, "SelectV2", g->in[0], zero, g->dy[0]);
  g->dx[1] = gradient_sum_to(g, t, g->in[1], g->out[0]);
  g->dx[2] = gradient_sum_to(g, e, g->in[2], g->out[0]);
}

static void add_n_grad(struct gradient *g) {
  for (int i = 0; i < g->n_in; i++) g->dx[i] = g->dy[0];
}

static void clip_grad(struct gradient *g) {
  const struct term x = g->in[0], low = g->in[1], high = g->in[2], dy = g->dy[0];
  const struct term zero = gradient_number(g, gradient_type(g, dy), 0);
  const struct term below = OP(g, "Less", x, low), above = OP(g, "Greater", x, high);
  const struct term outside = OP(g, "LogicalOr", below, above);
  g->dx[0] = OP(g, "SelectV2", outside, zero, dy);
  if (gradient_wanted(g, 1))
    g->dx[1] = gradient_sum_to(g, OP(g, "SelectV2", below, dy, zero), low, g->out[0]);
  if (gradient_wanted(g, 2))
    g->dx[2] = gradient_sum_to(g, OP(g, "SelectV2", above, dy, zero), high, g->out[0]);
}

static void leaky_relu_gradient(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "LeakyReluGrad", TERMS(g->dy[0], g->in[0]),
                           ATTRS(gradient_keep(g, "alpha")));
}

static void leaky_relu_grad_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "LeakyReluGrad", TERMS(g->dy[0], g->in[1]),
                           ATTRS(gradient_keep(g, "alpha")));
  g->dx[1] = ZERO_TERM;
}

static const struct op_def op_defs[] = {
    {.name = "Select",
     .inputs = "condition:bool t:T e:T",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "}",
     .doc = "Selects elements of t where the condition is true and of e elsewhere.",
     .args = "condition: Mask of the shape of t; or a scalar; or a vector that selects along the "
             "first dimension of t.\n"
             "t: Values where the condition is true.\n"
             "e: Values where the condition is false, of the shape of t.",
     .samples = "[3,4] [3,4] [3,4]; [] [3,4] [3,4]; [3] [3,4] [3,4]; [2,0] [2,0] [2,0]",
     .devices = MOVABLE,
     .flags = OP_INPLACE,
     .shape = select_shape,
     .record = record_select,
     .grad = select_grad},
    {.name = "SelectV2",
     .inputs = "condition:bool t:T e:T",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "}",
     .python = "where",
     .doc =
         "Selects elements of t where the condition is true and of e elsewhere, with broadcasting.",
     .args = "condition: Mask, broadcast with t and e.\n"
             "t: Values where the condition is true.\n"
             "e: Values where the condition is false.",
     .samples = "[3,4] [3,4] [3,4]; [3,1] [4] []; [2,3,1] [1,4] [3,1]; [] [] []; [4] [3,4] [1]",
     .devices = MOVABLE,
     .flags = OP_INPLACE,
     .shape = broadcast_shape,
     .record = record_select_v2,
     .grad = select_v2_grad},
    {.name = "AddN",
     .inputs = "inputs:N*T",
     .outputs = "sum:T",
     .attrs = "N:int>=1 T:{" TYPE_NAMES_NUMBER_COMPLEX "}",
     .python = "add_n math.add_n",
     .doc = "The element-wise sum of all inputs.",
     .args = "inputs: Tensors of one shape and type.",
     .samples = "[3,4]; [3,4] [3,4]; [5] [5] [5]; [5] [5] [5] [5]; [2,2] [2,2] [2,2] [2,2] [2,2] "
                "[2,2]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE_FIRST,
     .shape = sum_shape,
     .record = record_sum,
     .grad = add_n_grad},
    {.name = COLLECTIVE_SUM,
     .inputs = "inputs:N*T",
     .outputs = "sum:T",
     .attrs = "N:int>=1 T:{" TYPE_NAMES_NUMBER_COMPLEX "}",
     .python = "",
     .doc = "The element-wise sum of all inputs, in any order; several devices that add the same "
            "inputs "
            "may use one all-reduce (NCCL).",
     .args = "inputs: Tensors of one shape and type.",
     .samples = "[3,4]; [3,4] [3,4]; [5] [5] [5]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE_FIRST | OP_ALL_REDUCE,
     .shape = sum_shape,
     .record = record_sum,
     .grad = add_n_grad},
    {.name = "BiasAdd",
     .inputs = "value:T bias:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER_COMPLEX "} data_format:{'NHWC','NCHW'}='NHWC'",
     .python = "nn.bias_add",
     .doc = "Adds a bias to each channel, the last dimension (NHWC) or the second (NCHW).",
     .args = "value: Tensor of rank 2 or more.\n"
             "bias: Vector with one element per channel.",
     .samples = "[2,3] [3]; [2,4,5,3] [3]; data_format='NCHW' [2,3,4,5] [3]; "
                "data_format='NCHW' [2,3] [3]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE_FIRST,
     .shape = bias_shape,
     .record = record_bias,
     .grad = bias_grad},
    {.name = "ClipByValue",
     .inputs = "t:T clip_value_min:T clip_value_max:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER "}",
     .doc = "Limits elements to a range.",
     .args = "t: Input tensor.\n"
             "clip_value_min: Lower limit, a scalar or of the shape of t.\n"
             "clip_value_max: Upper limit, a scalar or of the shape of t.",
     .samples = "[3,4] []=1 []=3; [3,4] [3,4]:unit [3,4]:pos; [3,4] [4]:unit []=2",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE_FIRST,
     .shape = clip_shape,
     .record = record_clip,
     .grad = clip_grad},
    {.name = "LeakyRelu",
     .inputs = "features:T",
     .outputs = "activations:T",
     .attrs = "alpha:float=0.2 T:{" TYPE_NAMES_REAL "}=float",
     .python = "nn.leaky_relu",
     .doc = "Leaky ReLU: x where x > 0, alpha * x elsewhere.",
     .args = "features: Input tensor.\n"
             "alpha: Slope for negative inputs.",
     .samples = "[3,5]; alpha=0.5 [4]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE,
     .shape = op_same_shape,
     .record = record_leaky_relu,
     .grad = leaky_relu_gradient},
    {.name = "LeakyReluGrad",
     .inputs = "gradients:T features:T",
     .outputs = "backprops:T",
     .attrs = "alpha:float=0.2 T:{" TYPE_NAMES_REAL "}=float",
     .doc = "The gradient of LeakyRelu: gradients where features > 0, alpha * gradients elsewhere.",
     .args = "features: Input of LeakyRelu, or its output.\n"
             "alpha: Slope for negative inputs.",
     .samples = "[3,5] [3,5]; alpha=0.5 [4] [4]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE,
     .shape = op_equal_shapes,
     .record = record_leaky_relu_grad,
     .grad = leaky_relu_grad_grad},
    {.name = "ZerosLike",
     .inputs = "x:T",
     .outputs = "y:T",
     .attrs = "T:{" ALL_TYPES "}",
     .python = "zeros_like",
     .doc = "A tensor of zeros of the shape and type of the input.",
     .args = "x: Tensor whose shape and type the result has.",
     .samples = "[3,5]; []; [0]",
     .devices = MOVABLE,
     .flags = OP_NO_GRADIENT | OP_INPLACE,
     .shape = op_same_shape,
     .record = record_zeros},
    {.name = "OnesLike",
     .inputs = "x:T",
     .outputs = "y:T",
     .attrs = "T:{" NUMERIC "}",
     .python = "ones_like",
     .doc = "A tensor of ones of the shape and type of the input.",
     .args = "x: Tensor whose shape and type the result has.",
     .samples = "[3,5]; []; [0]",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT | OP_INPLACE,
     .shape = op_same_shape,
     .record = record_ones},
};

OP_FAMILY(select_add_n, op_defs);
