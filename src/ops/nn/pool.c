/* SPDX-License-Identifier: Apache-2.0
 * pool.c: max and average pooling and their gradients (NHWC). */
#include <string.h>

#include "host/masked_sum.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/nn/window.h"
#include "tensor/shape.h"

/* Keeps results of a window in registers; otherwise gcc creates calls of memcpy. */
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("no-tree-loop-distribute-patterns")
#endif

#define KERNELS "ops/nn/pool.cl"
#include "kernel/types.h"

#define KERNELS "ops/nn/max_pool_argmax.cl"
#include "kernel/sizes.h"

static const struct kernel flat_argmax_kernel = {
    .name = "flat_argmax",
    .file = sizes_file,
    .bits = true,
    .host = {[SITU_INT32] = flat_argmax_32, [SITU_INT64] = flat_argmax_64}};
KERNEL_TABLE(max_pool, NUMBER);
KERNEL_TABLE(max_pool_save, NUMBER);
KERNEL_TABLE(max_pool_backward, NUMBER);
KERNEL_TABLE(max_pool_gather, NUMBER);
KERNEL_TABLE(avg_pool, REAL);
KERNEL_TABLE(avg_pool_grad, REAL);

enum { POOL_GRAIN = 4096 };

/* The arguments of all kernels besides memory; saved argmax values are valid for the same
 * arguments. */
struct sizes {
  int64_t dim[SITU_MAX_RANK], place[SITU_MAX_RANK], step[SITU_MAX_RANK];
};

static struct sizes sizes_of(const struct window *w) {
  struct sizes s = {.dim = {w->oh, w->ow, w->c, w->kh, w->kw}};
  window_place(w, s.place);
  window_steps(w, w->h, w->w, w->c, s.step);
  window_steps(w, w->oh, w->ow, w->c, s.step + 4);
  return s;
}

static situ_status pool_shape(struct call *call) {
  struct window w;
  TRY(window_pool(call, &call->in[0].shape, &w));
  call->out[0].shape = window_shape(&w, w.n, w.oh, w.ow, w.c);
  return NULL;
}

static situ_status max_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape;
  struct window w;
  int64_t depth;
  TRY(window_max_pool(call, x, &w, &depth));
  if (depth <= 1) {
    call->out[0].shape = window_shape(&w, w.n, w.oh, w.ow, depth == 1 ? w.c : SITU_ANY);
    return NULL;
  }
  situ_shape *y = &call->out[0].shape;
  *y = *x;
  if (x->rank == 4 && x->dim[w.channel] != SITU_ANY) y->dim[w.channel] /= depth;
  return NULL;
}

static situ_status record_pool(struct call *call, const struct kernel *kernel,
                               const struct window *w) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const struct sizes s = sizes_of(w);
  return LAUNCH(call, kernel, call->out[0].type, n, POOL_GRAIN, (double)n * (double)(w->kh * w->kw),
                ARG_IN(call, 0), ARG_OUT(call, 0), ARG_INTS(s.dim), ARG_INTS(s.place),
                ARG_INTS(s.step), ARG_INT(n));
}

/* The bytes of an argmax; the highest number means none. */
static int64_t argmax_bytes(const struct window *w) {
  const int64_t most = w->kh * w->kw;
  return most < 0xff ? 1 : most < 0xffff ? 2 : 4;
}

/* Records max pooling of input 0 with the index of each maximum. */
static situ_status find_argmax(struct call *call, const struct window *w, int32_t y,
                               int32_t argmax) {
  const int64_t n = w->n * w->oh * w->ow * w->c;
  const struct sizes s = sizes_of(w);
  return LAUNCH(call, &max_pool_save_kernel, call->in[0].type, n, POOL_GRAIN,
                (double)n * (double)(w->kh * w->kw), ARG_IN(call, 0), ARG_AT(y), ARG_AT(argmax),
                ARG_INTS(s.dim), ARG_INTS(s.place), ARG_INTS(s.step), ARG_INT(argmax_bytes(w)),
                ARG_INT(n));
}

/* Saves the argmax for gradients in the same program. */
static situ_status record_max(struct call *call) {
  struct window w;
  int64_t depth;
  int32_t argmax;
  TRY(window_max_pool(call, &call->in[0].shape, &w, &depth));
  if (!call->saves_result) return record_pool(call, &max_pool_kernel, &w);
  const struct sizes s = sizes_of(&w);
  const int64_t n = situ_shape_count(call->out[0].shape);
  TRY(call_save_result(call, &s, sizeof s, (size_t)(n * argmax_bytes(&w)), &argmax));
  return find_argmax(call, &w, call->out[0].slot, argmax);
}

static situ_status argmax_shape(struct call *call) {
  TRY(pool_shape(call));
  call->out[1].shape = call->out[0].shape;
  return NULL;
}

static situ_status record_argmax(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct window w;
  int32_t argmax;
  TRY(window_pool(call, &call->in[0].shape, &w));
  TRY(call_scratch(call, (size_t)(n * argmax_bytes(&w)), &argmax));
  TRY(find_argmax(call, &w, call->out[0].slot, argmax));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &flat_argmax_kernel, call->out[1].type, n, POOL_GRAIN, 0, ARG_AT(argmax),
                ARG_OUT(call, 1), ARG_INTS(s.dim), ARG_INTS(s.place), ARG_INT(argmax_bytes(&w)),
                ARG_INT(call_bool(call, "include_batch_in_index")), ARG_INT(n));
}

/* The indices of the maxima of input 0: saved by the forward op, else recomputed. */
static situ_status get_argmax(struct call *call, const struct window *w, int32_t *argmax) {
  const struct sizes s = sizes_of(w);
  if (call_find_result(call, &s, sizeof s, argmax)) return NULL;
  const int64_t n = w->n * w->oh * w->ow * w->c;
  int32_t y;
  TRY(call_scratch(call, (size_t)n * situ_type_size(call->in[0].type), &y));
  TRY(call_scratch(call, (size_t)(n * argmax_bytes(w)), argmax));
  return find_argmax(call, w, y, *argmax);
}

static situ_status record_avg(struct call *call) {
  struct window w;
  TRY(window_pool(call, &call->in[0].shape, &w));
  return record_pool(call, &avg_pool_kernel, &w);
}

static situ_status need_result(const struct window *w, const situ_shape *shape, const char *what) {
  const situ_shape want = window_shape(w, w->n, w->oh, w->ow, w->c);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (shape_compatible(&want, shape)) return NULL;
  return INVALID("%s must have the shape of the result, %s, but has %s", what,
                 shape_print(&want, a), shape_print(shape, b));
}

static situ_status max_grad_shape(struct call *call) {
  struct window w;
  TRY(window_pool(call, &call->in[0].shape, &w));
  TRY(need_result(&w, &call->in[1].shape, "orig_output"));
  TRY(need_result(&w, &call->in[2].shape, "grad"));
  call->out[0].shape = window_shape(&w, w.n, w.h, w.w, w.c);
  return NULL;
}

static situ_status record_max_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const int64_t results = situ_shape_count(call->in[2].shape);
  struct window w;
  int32_t argmax;
  TRY(window_pool(call, &call->in[0].shape, &w));
  TRY(get_argmax(call, &w, &argmax));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &max_pool_backward_kernel, call->out[0].type, n, POOL_GRAIN,
                (double)results * (double)(w.kh * w.kw), ARG_AT(argmax), ARG_IN(call, 2),
                ARG_OUT(call, 0), ARG_INTS(s.dim), ARG_INTS(s.place), ARG_INTS(s.step),
                ARG_INT(argmax_bytes(&w)), ARG_INT(results), ARG_INT(n));
}

static situ_status max_grad_grad_shape(struct call *call) {
  struct window w;
  TRY(window_pool(call, &call->in[0].shape, &w));
  TRY(need_result(&w, &call->in[1].shape, "orig_output"));
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!shape_compatible(&call->in[0].shape, &call->in[2].shape))
    return INVALID("grad must have the shape of orig_input, %s, but has %s",
                   shape_print(&call->in[0].shape, a), shape_print(&call->in[2].shape, b));
  call->out[0].shape = window_shape(&w, w.n, w.oh, w.ow, w.c);
  return NULL;
}

static situ_status record_max_grad_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct window w;
  int32_t argmax;
  TRY(window_pool(call, &call->in[0].shape, &w));
  TRY(get_argmax(call, &w, &argmax));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &max_pool_gather_kernel, call->out[0].type, n, POOL_GRAIN, (double)n,
                ARG_AT(argmax), ARG_IN(call, 2), ARG_OUT(call, 0), ARG_INTS(s.dim),
                ARG_INTS(s.place), ARG_INTS(s.step), ARG_INT(argmax_bytes(&w)), ARG_INT(n));
}

/* The images' shape is a value. */
static situ_status plan_avg_grad(const struct call *call, struct window *w) {
  situ_shape x;
  TRY(op_host_shape(call, 0, false, &x));
  TRY(window_pool(call, &x, w));
  return need_result(w, &call->in[1].shape, "grad");
}

static situ_status avg_grad_shape(struct call *call) {
  struct window w;
  TRY(plan_avg_grad(call, &w));
  call->out[0].shape = window_shape(&w, w.n, w.h, w.w, w.c);
  return NULL;
}

static situ_status record_avg_grad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  struct window w;
  TRY(plan_avg_grad(call, &w));
  const struct sizes s = sizes_of(&w);
  return LAUNCH(call, &avg_pool_grad_kernel, call->out[0].type, n, POOL_GRAIN,
                (double)n * (double)(w.kh * w.kw), ARG_IN(call, 1), ARG_OUT(call, 0),
                ARG_INTS(s.dim), ARG_INTS(s.place), ARG_INTS(s.step), ARG_INT(n));
}

/* Gradients */

static struct term emit(struct gradient *g, const char *op, const struct term *in, int n_in) {
  const situ_attr attrs[] = {gradient_keep(g, "ksize"), gradient_keep(g, "strides"),
                             gradient_keep(g, "padding"), gradient_keep(g, "data_format"),
                             gradient_attr(g, "explicit_paddings")
                                 ? gradient_keep(g, "explicit_paddings")
                                 : gradient_keep(g, "padding")};
  return gradient_emit(g, op, in, n_in, attrs, gradient_attr(g, "explicit_paddings") ? 5 : 4);
}

static struct term emit_v2(struct gradient *g, const char *op, const struct term *in, int n_in) {
  return gradient_emit(g, op, in, n_in,
                       ATTRS(gradient_keep(g, "padding"), gradient_keep(g, "data_format")));
}

/* Equal windows have equal results. */
static void argmax_grad(struct gradient *g) {
  if (!term_exists(g->dy[0])) return;
  g->dx[0] = gradient_emit(
      g, "MaxPoolGrad", TERMS(g->in[0], g->out[0], g->dy[0]),
      ATTRS(gradient_keep(g, "ksize"), gradient_keep(g, "strides"), gradient_keep(g, "padding")));
}

static void max_grad(struct gradient *g) {
  g->dx[0] = emit(g, "MaxPoolGrad", TERMS(g->in[0], g->out[0], g->dy[0]));
}

/* The sizes of the windows and their strides are inputs. */
static void max_v2_grad(struct gradient *g) {
  g->dx[0] = emit_v2(g, "MaxPoolGradV2", TERMS(g->in[0], g->out[0], g->dy[0], g->in[1], g->in[2]));
}

static void max_grad_v2_grad(struct gradient *g) {
  g->dx[0] = g->dx[1] = ZERO_TERM;
  g->dx[2] =
      emit_v2(g, "MaxPoolGradGradV2", TERMS(g->in[0], g->in[1], g->dy[0], g->in[3], g->in[4]));
}

static void max_grad_grad_v2_grad(struct gradient *g) {
  g->dx[0] = g->dx[1] = ZERO_TERM;
  g->dx[2] = emit_v2(g, "MaxPoolGradV2", TERMS(g->in[0], g->in[1], g->dy[0], g->in[3], g->in[4]));
}

/* Selects the gradient at the argmax of each window; the argmax does not change. */
static void max_grad_grad(struct gradient *g) {
  g->dx[0] = g->dx[1] = ZERO_TERM;
  g->dx[2] = emit(g, "MaxPoolGradGrad", TERMS(g->in[0], g->in[1], g->dy[0]));
}

static void max_grad_grad_grad(struct gradient *g) {
  g->dx[0] = g->dx[1] = ZERO_TERM;
  g->dx[2] = emit(g, "MaxPoolGrad", TERMS(g->in[0], g->in[1], g->dy[0]));
}

static void avg_grad(struct gradient *g) {
  g->dx[0] = emit(g, "AvgPoolGrad", TERMS(gradient_shape_of(g, g->in[0]), g->dy[0]));
}

static void avg_grad_grad(struct gradient *g) { g->dx[1] = emit(g, "AvgPool", TERMS(g->dy[0])); }

#define FORMATS "data_format:{'NHWC','NCHW'}='NHWC'"
#define WINDOWS "ksize:list(int) strides:list(int) "
#define GRAD_ATTRS                                                              \
  WINDOWS                                                                       \
  "padding:{'SAME','VALID','EXPLICIT'} explicit_paddings:list(int)=[] " FORMATS \
  " T:{" TYPE_NAMES_NUMBER "}=float"
#define V2_ATTRS "padding:{'SAME','VALID'} " FORMATS " T:{" TYPE_NAMES_NUMBER "}=float"
#define V2_ARGS                                                  \
  "ksize: Size of the window in each dimension of the images.\n" \
  "strides: Stride of the window in each dimension."
#define POOL_SAMPLE "ksize=[1,3,3,1] strides=[1,2,2,1] padding="
#define POOL_PLANES "data_format='NCHW' ksize=[1,1,2,3] strides=[1,1,2,1] padding="

static const struct op_def op_defs[] = {
    {.name = "MaxPool",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER "}=float " WINDOWS
              "padding:{'SAME','VALID','EXPLICIT'} explicit_paddings:list(int)=[] " FORMATS,
     .doc = "2-D max pooling of a batch of images.",
     .args = "input: Images, 4-D.",
     .samples = POOL_SAMPLE "'SAME' [2,7,8,3]; " POOL_SAMPLE "'VALID' [2,7,8,3]; " POOL_PLANES
                            "'SAME' [2,3,5,4]; " POOL_SAMPLE "'VALID' [1,9,7,40]; " POOL_SAMPLE
                            "'EXPLICIT' explicit_paddings=[0,0,1,0,2,1,0,0] [1,5,6,2]; " POOL_SAMPLE
                            "'SAME' [0,4,4,1]",
     .devices = GPU_FLOATING,
     .shape = max_shape,
     .record = record_max,
     .grad = max_grad},
    {.name = "MaxPoolV2",
     .inputs = "input:T ksize:int32[4] strides:int32[4]",
     .outputs = "output:T",
     .attrs = V2_ATTRS,
     .doc = "2-D max pooling whose windows and strides are tensors.",
     .args = "input: Images, 4-D.\n" V2_ARGS,
     .samples = "padding='SAME' [2,7,8,3] [4]=1,3,3,1 [4]=1,2,2,1; padding='VALID' [2,7,8,3] "
                "[4]=1,2,3,1 [4]=1,1,2,1",
     .host = "ksize strides",
     .devices = GPU_FLOATING,
     .shape = max_shape,
     .record = record_max,
     .grad = max_v2_grad},
    {.name = "MaxPoolGradV2",
     .inputs = "orig_input:T orig_output:T grad:T ksize:int32[4] strides:int32[4]",
     .outputs = "output:T",
     .attrs = V2_ATTRS,
     .doc = "The gradient of MaxPoolV2; it goes to the first maximum of each window.",
     .args = "orig_input: Input of MaxPoolV2.\n"
             "orig_output: Output of MaxPoolV2.\n"
             "grad: Gradient of the output of MaxPoolV2.\n" V2_ARGS,
     .samples = "padding='VALID' [1,3,3,1]=1,5,2,5,3,4,0,7,6 [1,2,2,1]=5,5,7,7 [1,2,2,1] "
                "[4]=1,2,2,1 [4]=1,1,1,1",
     .host = "ksize strides",
     .devices = GPU_FLOATING,
     .shape = max_grad_shape,
     .record = record_max_grad,
     .grad = max_grad_v2_grad},
    {.name = "MaxPoolGradGradV2",
     .inputs = "orig_input:T orig_output:T grad:T ksize:int32[4] strides:int32[4]",
     .outputs = "output:T",
     .attrs = V2_ATTRS,
     .doc = "The gradient of MaxPoolGradV2: grad at the first maximum of each window.",
     .args = "orig_input: Input of MaxPoolV2.\n"
             "orig_output: Output of MaxPoolV2.\n"
             "grad: Gradient of the output of MaxPoolGradV2.\n" V2_ARGS,
     .samples = "padding='VALID' [1,3,3,1]=1,5,2,5,3,4,0,7,6 [1,2,2,1]=5,5,7,7 [1,3,3,1] "
                "[4]=1,2,2,1 [4]=1,1,1,1",
     .host = "ksize strides",
     .devices = EVERYWHERE,
     .shape = max_grad_grad_shape,
     .record = record_max_grad_grad,
     .grad = max_grad_grad_v2_grad},
    {.name = "AvgPool",
     .inputs = "value:T",
     .outputs = "output:T",
     .attrs = WINDOWS "padding:{'SAME','VALID'} " FORMATS " T:{" TYPE_NAMES_REAL "}",
     .doc = "2-D average pooling of a batch of images; padding does not count.",
     .args = "value: Images, 4-D.",
     .samples = POOL_SAMPLE "'SAME' [2,7,8,3]; " POOL_SAMPLE "'VALID' [2,7,8,3]; " POOL_PLANES
                            "'SAME' [2,3,5,4]; " POOL_SAMPLE "'SAME' [1,5,5,40]",
     .devices = EVERYWHERE,
     .shape = pool_shape,
     .record = record_avg,
     .grad = avg_grad},
    {.name = "MaxPoolGrad",
     .inputs = "orig_input:T orig_output:T grad:T",
     .outputs = "output:T",
     .attrs = GRAD_ATTRS,
     .doc = "The gradient of MaxPool; it goes to the first maximum of each window.",
     .args = "orig_input: Input of MaxPool.\n"
             "orig_output: Output of MaxPool.\n"
             "grad: Gradient of the output of MaxPool.",
     .samples = "ksize=[1,2,2,1] strides=[1,1,1,1] padding='VALID' [1,3,3,1]=1,5,2,5,3,4,0,7,6 "
                "[1,2,2,1]=5,5,7,7 [1,2,2,1]; "
                "ksize=[1,2,2,1] strides=[1,2,2,1] padding='SAME' [1,3,3,1]=1,5,2,5,3,4,0,7,6 "
                "[1,2,2,1]=5,4,7,6 [1,2,2,1]; "
                "data_format='NCHW' ksize=[1,1,2,2] strides=[1,1,2,2] padding='VALID' "
                "[1,2,2,2]=1,5,2,5,3,4,0,7 [1,2,1,1]=5,7 [1,2,1,1]; "
                "ksize=[1,3,3,1] strides=[1,1,1,1] padding='SAME' [1,3,3,1]=1,5,2,6,3,4,0,7,8 "
                "[1,3,3,1]=6,6,5,7,8,8,7,8,8 [1,3,3,1]; "
                "ksize=[1,1,300,1] strides=[1,1,300,1] padding='SAME' [1,1,3,1]=1,5,2 "
                "[1,1,1,1]=5 [1,1,1,1]",
     .forward_op = "MaxPool",
     .devices = GPU_FLOATING,
     .shape = max_grad_shape,
     .record = record_max_grad,
     .grad = max_grad_grad},
    {.name = "MaxPoolGradGrad",
     .inputs = "orig_input:T orig_output:T grad:T",
     .outputs = "output:T",
     .attrs = GRAD_ATTRS,
     .doc = "The gradient of MaxPoolGrad: grad at the first maximum of each window.",
     .args = "orig_input: Input of MaxPool.\n"
             "orig_output: Output of MaxPool.\n"
             "grad: Gradient of the output of MaxPoolGrad.",
     .samples = "ksize=[1,2,2,1] strides=[1,1,1,1] padding='VALID' [1,3,3,1]=1,5,2,5,3,4,0,7,6 "
                "[1,2,2,1]=5,5,7,7 [1,3,3,1]; "
                "ksize=[1,2,2,1] strides=[1,2,2,1] padding='SAME' [1,3,3,1]=1,5,2,5,3,4,0,7,6 "
                "[1,2,2,1]=5,4,7,6 [1,3,3,1]; "
                "data_format='NCHW' ksize=[1,1,2,2] strides=[1,1,2,2] padding='VALID' "
                "[1,2,2,2]=1,5,2,5,3,4,0,7 [1,2,1,1]=5,7 [1,2,2,2]",
     .forward_op = "MaxPool",
     .devices = EVERYWHERE,
     .shape = max_grad_grad_shape,
     .record = record_max_grad_grad,
     .grad = max_grad_grad_grad},
    {.name = "AvgPoolGrad",
     .inputs = "orig_input_shape:int32 grad:T",
     .outputs = "output:T",
     .attrs = WINDOWS "padding:{'SAME','VALID'} " FORMATS " T:{" TYPE_NAMES_REAL "}",
     .doc = "The gradient of AvgPool.",
     .args = "orig_input_shape: Shape of the input of AvgPool.\n"
             "grad: Gradient of the output of AvgPool.",
     .samples =
         POOL_SAMPLE "'SAME' [4]=2,7,8,3 [2,4,4,3]; " POOL_SAMPLE
                     "'VALID' [4]=2,7,8,3 [2,3,3,3]; " POOL_PLANES "'SAME' [4]=2,3,5,4 [2,3,3,4]",
     .host = "orig_input_shape",
     .devices = EVERYWHERE,
     .shape = avg_grad_shape,
     .record = record_avg_grad,
     .grad = avg_grad_grad},
    {.name = "MaxPoolWithArgmax",
     .inputs = "input:T",
     .outputs = "output:T argmax:Targmax",
     .attrs = "T:{" TYPE_NAMES_NUMBER "} " WINDOWS
              "Targmax:{int32 int64}=int64 padding:{'SAME','VALID'} "
              "include_batch_in_index:bool=false",
     .doc = "2-D max pooling that also returns the flat index of each maximum, the first of equal "
            "elements.",
     .args =
         "input: Images [batch, height, width, channels].\n"
         "Targmax: Integer type of the indices.\n"
         "include_batch_in_index: Count the indices over the whole batch, else within each image.",
     .samples =
         POOL_SAMPLE "'SAME' [2,7,8,3]; " POOL_SAMPLE
                     "'VALID' include_batch_in_index=true Targmax=int32 [2,7,8,3]; "
                     "ksize=[1,1,300,1] strides=[1,1,300,1] padding='SAME' [1,1,3,1]; " POOL_SAMPLE
                     "'SAME' [0,4,4,1]",
     .devices = EVERYWHERE,
     .shape = argmax_shape,
     .record = record_argmax,
     .grad = argmax_grad},
};

OP_FAMILY(pool, op_defs);
