/* SPDX-License-Identifier: Apache-2.0
 * cross_entropy.c: softmax cross-entropy with dense and sparse labels; each also returns its
 * gradient. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/nn/cross_entropy.cl"
#include "kernel/types.h"

KERNEL_TABLE(cross_entropy, REAL);
KERNEL_TABLE(sparse_cross_entropy_i32, REAL);
KERNEL_TABLE(sparse_cross_entropy_i64, REAL);

enum { LOSS_GRAIN = 4096, LOSS_FLOPS = 20 };

static situ_status dense_shape(struct call *call) {
  const situ_shape *logits = &call->in[0].shape, *labels = &call->in[1].shape;
  situ_shape all;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_broadcast(logits, labels, &all))
    return INVALID("logits and labels must be broadcastable: logits_size=%s labels_size=%s",
                   shape_print(logits, a), shape_print(labels, b));
  if (all.rank != SITU_ANY && all.rank != 2)
    return INVALID("logits must be 2-dimensional, but logits and labels are %s and %s",
                   shape_print(logits, a), shape_print(labels, b));
  if (all.rank == SITU_ANY) all = SITU_SHAPE(SITU_ANY, SITU_ANY);
  call->out[0].shape = SITU_SHAPE(all.dim[0]);
  call->out[1].shape = all;
  return NULL;
}

/* The strides of rows and columns of an operand in the broadcast matrix. */
static void steps(const situ_shape *shape, int64_t *row, int64_t *col) {
  const int64_t width = shape->rank ? shape->dim[shape->rank - 1] : 1;
  *col = width > 1;
  *row = shape->rank == 2 && shape->dim[0] > 1 ? width : 0;
}

static situ_status record_dense(struct call *call) {
  const situ_shape *all = &call->out[1].shape;
  const int64_t rows = all->dim[0], width = all->dim[1];
  int64_t x_row, x_col, l_row, l_col;
  steps(&call->in[0].shape, &x_row, &x_col);
  steps(&call->in[1].shape, &l_row, &l_col);
  const int64_t lanes = op_lanes(width);
  return LAUNCH_LANES(call, &cross_entropy_kernel, call->in[0].type, rows, lanes,
                      max_i64(1, LOSS_GRAIN / max_i64(1, width)),
                      LOSS_FLOPS * (double)(rows * width), ARG_IN(call, 0), ARG_IN(call, 1),
                      ARG_OUT(call, 0), ARG_OUT(call, 1), ARG_INT(width), ARG_INT(x_row),
                      ARG_INT(x_col), ARG_INT(l_row), ARG_INT(l_col), ARG_INT(rows),
                      ARG_INT(lanes));
}

static situ_status sparse_shape(struct call *call) {
  const situ_shape *logits = &call->in[0].shape, *labels = &call->in[1].shape;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  TRY(op_need_rank(call, 0, 2, "logits"));
  TRY(op_need_rank(call, 1, 1, "labels"));
  int64_t rows = logits->rank == SITU_ANY ? SITU_ANY : logits->dim[0];
  const int64_t width = logits->rank == SITU_ANY ? SITU_ANY : logits->dim[1];
  const int64_t count = labels->rank == SITU_ANY ? SITU_ANY : labels->dim[0];
  if (rows != SITU_ANY && count != SITU_ANY && rows != count)
    return INVALID(
        "logits and labels must have the same first dimension, got logits shape %s and labels "
        "shape %s",
        shape_print(logits, a), shape_print(labels, b));
  if (width == 0)
    return INVALID("Must have at least one class, but got logits shape %s", shape_print(logits, a));
  if (rows == SITU_ANY) rows = count;
  call->out[0].shape = SITU_SHAPE(rows);
  call->out[1].shape = SITU_SHAPE(rows, width);
  return NULL;
}

static situ_status record_sparse(struct call *call) {
  const situ_shape *all = &call->out[1].shape;
  const int64_t rows = all->dim[0], width = all->dim[1];
  const struct kernel *kernel = call->in[1].type == SITU_INT32 ? &sparse_cross_entropy_i32_kernel
                                                               : &sparse_cross_entropy_i64_kernel;
  const int64_t lanes = op_lanes(width);
  return LAUNCH_LANES(call, kernel, call->in[0].type, rows, lanes, max_i64(1, LOSS_GRAIN / width),
                      LOSS_FLOPS * (double)(rows * width), ARG_IN(call, 0), ARG_IN(call, 1),
                      ARG_OUT(call, 0), ARG_OUT(call, 1), ARG_INT(width), ARG_INT(rows),
                      ARG_INT(lanes));
}

/* Gradients: the op has computed the gradient of its logits as an output. */

/* A value for each row, along the classes. */
static struct term for_classes(struct gradient *g, struct term rows, struct term matrix) {
  return OP(g, "Mul", OP(g, "ExpandDims", rows, gradient_int(g, -1)), matrix);
}

/* The gradient of the logits, also through `backprop`, which is softmax minus a constant. */
static struct term for_logits(struct gradient *g) {
  struct term sum = NO_TERM;
  if (term_exists(g->dy[0])) sum = for_classes(g, g->dy[0], g->out[1]);
  if (!term_exists(g->dy[1])) return sum;
  const struct term softmax = OP(g, "Softmax", g->in[0]);
  const struct term share =
      gradient_emit(g, "Sum", TERMS(OP(g, "Mul", g->dy[1], softmax), gradient_int(g, -1)),
                    ATTRS(situ_attr_bool("keep_dims", true)));
  const struct term more = OP(g, "Mul", OP(g, "Sub", g->dy[1], share), softmax);
  return term_exists(sum) ? OP(g, "Add", sum, more) : more;
}

static void dense_grad(struct gradient *g) {
  if (gradient_wanted(g, 0)) g->dx[0] = gradient_sum_to(g, for_logits(g), g->in[0], g->in[1]);
  if (!gradient_wanted(g, 1)) return;
  struct term labels = NO_TERM;
  if (term_exists(g->dy[0]))
    labels = for_classes(g, OP(g, "Neg", g->dy[0]), OP(g, "LogSoftmax", g->in[0]));
  if (term_exists(g->dy[1]))
    labels = term_exists(labels) ? OP(g, "Sub", labels, g->dy[1]) : OP(g, "Neg", g->dy[1]);
  g->dx[1] = gradient_sum_to(g, labels, g->in[1], g->in[0]);
}

static void sparse_grad(struct gradient *g) { g->dx[0] = for_logits(g); }

static const struct op_def op_defs[] = {
    {.name = "SoftmaxCrossEntropyWithLogits",
     .inputs = "features:T labels:T",
     .outputs = "loss:T backprop:T",
     .attrs = "T:{" TYPE_NAMES_REAL "}",
     .doc = "Softmax cross-entropy between logits and label distributions, per example, and its "
            "gradient.",
     .args = "features: Logits [batch, classes].\n"
             "labels: Probabilities [batch, classes]; each example should add up to 1.",
     .samples = "[3,4] [3,4]:share; [5,40] [5,40]:share; [1,4] [3,4]:share; "
                "[3,4] [3,1]=0.25,0.25,0.25; [0,3] [0,3]; "
                "[2,3] [2,3]=0,1,0,0,0,1",
     .devices = EVERYWHERE,
     .shape = dense_shape,
     .record = record_dense,
     .grad = dense_grad},
    {.name = "SparseSoftmaxCrossEntropyWithLogits",
     .inputs = "features:T[b,c] labels:Tlabels[b]",
     .outputs = "loss:T backprop:T",
     .attrs = "T:{" TYPE_NAMES_REAL "} Tlabels:{int32 int64}=int64",
     .doc =
         "Softmax cross-entropy between logits and class indices, per example, and its gradient.",
     .args = "features: Logits [batch, classes].\n"
             "labels: Class indices [batch], 0 <= i < classes.",
     .samples = "[3,4] [3]=0,3,1; Tlabels=int32 [2,5] [2]=4,2; [0,3] [0]=; [4,60] [4]=59,0,7,31",
     .devices = EVERYWHERE,
     .shape = sparse_shape,
     .record = record_sparse,
     .grad = sparse_grad},
};

OP_FAMILY(cross_entropy, op_defs);
