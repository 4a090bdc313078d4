/* SPDX-License-Identifier: Apache-2.0
 * morphology.c: grayscale dilation of images by a filter (Dilation2D) and its gradients. */
#include "ops/gradient.h"
#include "ops/nn/window.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/nn/morphology.cl"
#include "kernel/types.h"

KERNEL_TABLE(dilation, NUMBER);
KERNEL_TABLE(dilation_argmax, NUMBER);
KERNEL_TABLE(dilation_input_grad, NUMBER);
KERNEL_TABLE(dilation_filter_grad, NUMBER);

enum { DILATION_GRAIN = 4096 };

static int64_t dim_of(const situ_shape *shape, int d) {
  return shape->rank == SITU_ANY ? SITU_ANY : shape->dim[d];
}

/* The window of the filter on the images, inputs 1 and 0. */
static situ_status plan_dilation(const struct call *call, struct window *w) {
  const situ_shape *x = &call->in[0].shape, *filter = &call->in[1].shape;
  TRY(op_need_rank(call, 0, 4, "input"));
  TRY(op_need_rank(call, 1, 3, "filter"));
  TRY(window_plan(call, x, dim_of(filter, 0), dim_of(filter, 1), w));
  const int64_t depth = dim_of(filter, 2);
  if (w->c != SITU_ANY && depth != SITU_ANY && w->c != depth)
    return INVALID(
        "input and filter must have the same depth: %lld vs %lld. Dimensions must be "
        "equal, but are %lld and %lld",
        (long long)w->c, (long long)depth, (long long)w->c, (long long)depth);
  if (w->c == SITU_ANY) w->c = depth;
  return NULL;
}

static situ_status dilation_shape(struct call *call) {
  struct window w;
  TRY(plan_dilation(call, &w));
  call->out[0].shape = window_shape(&w, w.n, w.oh, w.ow, w.c);
  return NULL;
}

static situ_status grad_shape(struct call *call, int like) {
  struct window w;
  TRY(plan_dilation(call, &w));
  const situ_shape want = window_shape(&w, w.n, w.oh, w.ow, w.c);
  if (!shape_compatible(&want, &call->in[2].shape))
    return INVALID("out_backprop has incompatible size.");
  call->out[0].shape = call->in[like].shape;
  return NULL;
}

static situ_status input_grad_shape(struct call *call) { return grad_shape(call, 0); }
static situ_status filter_grad_shape(struct call *call) { return grad_shape(call, 1); }

struct sizes {
  int64_t dim[SITU_MAX_RANK], place[SITU_MAX_RANK];
};

static struct sizes sizes_of(const struct window *w) {
  struct sizes s = {.dim = {w->oh, w->ow, w->c, w->kh, w->kw}};
  window_place(w, s.place);
  return s;
}

static double flops_of(const struct window *w, int64_t results) {
  return 2 * (double)results * (double)(w->kh * w->kw);
}

static situ_status record_dilation(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct window w;
  TRY(plan_dilation(call, &w));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &dilation_kernel, call->out[0].type, n, DILATION_GRAIN, flops_of(&w, n),
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_OUT(call, 0), ARG_INTS(s.dim),
                ARG_INTS(s.place), ARG_INT(n));
}

static situ_status find_argmax(struct call *call, const struct window *w, int32_t *argmax) {
  const int64_t n = situ_shape_count(call->in[2].shape);
  const struct sizes s = sizes_of(w);
  TRY(call_scratch(call, (size_t)n * sizeof(int64_t), argmax));
  return LAUNCH(call, &dilation_argmax_kernel, call->in[0].type, n, DILATION_GRAIN, flops_of(w, n),
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_AT(*argmax), ARG_INTS(s.dim),
                ARG_INTS(s.place), ARG_INT(n));
}

static situ_status record_input_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct window w;
  int32_t argmax;
  TRY(plan_dilation(call, &w));
  TRY(find_argmax(call, &w, &argmax));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &dilation_input_grad_kernel, call->out[0].type, n, DILATION_GRAIN,
                flops_of(&w, n), ARG_AT(argmax), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INTS(s.dim),
                ARG_INTS(s.place), ARG_INT(n));
}

static situ_status record_filter_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const int64_t results = situ_shape_count(call->in[2].shape);
  struct window w;
  int32_t argmax;
  TRY(plan_dilation(call, &w));
  TRY(find_argmax(call, &w, &argmax));
  return LAUNCH(call, &dilation_filter_grad_kernel, call->out[0].type, n, 1, (double)results,
                ARG_AT(argmax), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INT(w.c), ARG_INT(results),
                ARG_INT(n));
}

static void dilation_grad(struct gradient *g) {
  static const char *const ops[] = {"Dilation2DBackpropInput", "Dilation2DBackpropFilter"};
  for (int i = 0; i < 2; i++)
    if (gradient_wanted(g, i))
      g->dx[i] = gradient_emit(g, ops[i], TERMS(g->in[0], g->in[1], g->dy[0]),
                               ATTRS(gradient_keep(g, "strides"), gradient_keep(g, "rates"),
                                     gradient_keep(g, "padding")));
}

#define DILATION_ATTRS \
  "T:{" TYPE_NAMES_NUMBER "} strides:list(int)>=4 rates:list(int)>=4 padding:{'SAME','VALID'}"
#define DILATION_ARGS                                                    \
  "input: Images [batch, height, width, channels].\n"                    \
  "filter: What is added under the window, [height, width, channels].\n" \
  "strides: Strides of the window: [1, rows, columns, 1].\n"             \
  "rates: Distances between elements of the window: [1, rows, columns, 1]."
#define GRAD_ARGS DILATION_ARGS "\nout_backprop: Gradient of the output of Dilation2D."
#define SAMPLE "strides=[1,1,1,1] rates=[1,1,1,1] padding='VALID' "
#define SAMPLE_FAR "strides=[1,2,1,1] rates=[1,1,2,1] padding='SAME' "

static const struct op_def op_defs[] = {
    {.name = "Dilation2D",
     .inputs = "input:T[b,h,w,c] filter:T[?,?,c]",
     .outputs = "output:T",
     .attrs = DILATION_ATTRS,
     .python = "",
     .doc = "Grayscale dilation of images: the maximum of the sums of a window and a filter.",
     .args = DILATION_ARGS,
     .samples =
         SAMPLE "[1,3,3,2] [2,2,2]; " SAMPLE_FAR "[2,5,4,3] [2,3,3]; " SAMPLE "[0,3,3,2] [2,2,2]",
     .devices = EVERYWHERE,
     .shape = dilation_shape,
     .record = record_dilation,
     .grad = dilation_grad},
    {.name = "Dilation2DBackpropInput",
     .inputs = "input:T[b,h,w,c] filter:T[?,?,c] out_backprop:T[b,?,?,c]",
     .outputs = "in_backprop:T",
     .attrs = DILATION_ATTRS,
     .python = "",
     .doc = "The gradient of Dilation2D with respect to the images; it goes to the first of equal "
            "sums.",
     .args = GRAD_ARGS,
     .samples = SAMPLE "[1,3,3,2] [2,2,2] [1,2,2,2]; " SAMPLE_FAR "[2,5,4,3] [2,3,3] [2,3,4,3]",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = input_grad_shape,
     .record = record_input_grad},
    {.name = "Dilation2DBackpropFilter",
     .inputs = "input:T[b,h,w,c] filter:T[?,?,c] out_backprop:T[b,?,?,c]",
     .outputs = "filter_backprop:T",
     .attrs = DILATION_ATTRS,
     .python = "",
     .doc = "The gradient of Dilation2D with respect to the filter; it goes to the first of equal "
            "sums.",
     .args = GRAD_ARGS,
     .samples = SAMPLE "[1,3,3,2] [2,2,2] [1,2,2,2]; " SAMPLE_FAR "[2,5,4,3] [2,3,3] [2,3,4,3]",
     .devices = EVERYWHERE,
     .flags = OP_NO_GRADIENT,
     .shape = filter_grad_shape,
     .record = record_filter_grad},
};

OP_FAMILY(morphology, op_defs);
