/* SPDX-License-Identifier: Apache-2.0
 * conv.c: 2-D convolution, plain and depthwise, and gradients. */
#include <string.h>

#include "host/conv.h"
#include "base/interrupt.h"
#include "host/thread_pool.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/nn/window.h"
#include "tensor/shape.h"

#define KERNELS "ops/nn/conv.cl"
#include "kernel/types.h"

enum {
  CONV_GRAIN = 256,
  DEPTH_GRAIN = 4096,
  TILE_ROWS = 128,
  TILE_COLS = 64,
  FEW = 16 /* rows, columns or steps of a product that are not worth tiles */
};

/* The arguments of the kernels in conv.cl: which two operands are read and which is written differs
 * from kernel to kernel. */
struct convolution {
  union arg first, second, result, space;
  union arg dim[SITU_MAX_RANK], place[SITU_MAX_RANK], step[SITU_MAX_RANK];
  union arg n;
};

/* Describes the convolution for host/conv.h; false if that does not support it: groups. */
static bool host_conv(situ_type type, const int64_t dim[SITU_MAX_RANK],
                      const int64_t place[SITU_MAX_RANK], const int64_t step[SITU_MAX_RANK],
                      enum conv_pass want, struct conv *out) {
  *out = (struct conv){.type = type,
                       .n = dim[7],
                       .h = place[0],
                       .w = place[1],
                       .c = dim[5],
                       .oh = dim[0],
                       .ow = dim[1],
                       .o = dim[2],
                       .kh = dim[3],
                       .kw = dim[4],
                       .sh = place[2],
                       .sw = place[3],
                       .dh = place[6],
                       .dw = place[7],
                       .top = place[4],
                       .left = place[5],
                       .is_nchw = step[2] == 1 && step[3] != 1};
  return dim[2] == dim[6] && conv_supported(out, want);
}

static situ_status convolve(situ_type type, enum conv_pass want, host_kernel *portable,
                            const union arg *args) {
  const struct convolution *c = (const struct convolution *)args;
  int64_t dim[SITU_MAX_RANK], place[SITU_MAX_RANK], step[SITU_MAX_RANK];
  struct conv conv;
  for (int i = 0; i < SITU_MAX_RANK; i++) {
    dim[i] = c->dim[i].integer;
    place[i] = c->place[i].integer;
    step[i] = c->step[i].integer;
  }
  if (!host_conv(type, dim, place, step, want, &conv))
    return thread_pool_run(portable, args, c->n.integer, CONV_GRAIN);
  conv.x = want == CONV_BACKWARD_DATA ? c->result.pointer : c->first.pointer;
  conv.filter = want == CONV_BACKWARD_FILTER ? c->result.pointer : c->second.pointer;
  conv.y = want == CONV_FORWARD ? c->result.pointer
                                : (want == CONV_BACKWARD_DATA ? c->first : c->second).pointer;
  conv.workspace = c->space.pointer;
  return conv_run(&conv, want);
}

#define CONV_HOST(name, WANT, TYPE, suffix)                                                    \
  static situ_status name##_host_##suffix(const union arg *args, int64_t begin, int64_t end) { \
    (void)begin;                                                                               \
    (void)end;                                                                                 \
    return convolve(SITU_##TYPE, WANT, name##_##suffix, args);                                 \
  }
#define CONV_ENTRY(name, WANT, TYPE, suffix) [SITU_##TYPE] = name##_host_##suffix,
/* Two kernels each: on a GPU one computes single elements, the other tiles of 128 x 64. */
#define CONV_TABLE(kernel_name, WANT)                        \
  TYPES_REAL(CONV_HOST, kernel_name, WANT)                   \
  static const struct kernel kernel_name##_kernels[] = {     \
      {.name = #kernel_name,                                 \
       .file = types_file,                                   \
       .host = {TYPES_REAL(CONV_ENTRY, kernel_name, WANT)}}, \
      {.name = #kernel_name "_tiles",                        \
       .file = "ops/nn/conv_tiles.cl",                       \
       .host = {TYPES_REAL(CONV_ENTRY, kernel_name, WANT)}}}

CONV_TABLE(conv, CONV_FORWARD);
CONV_TABLE(conv_images, CONV_BACKWARD_DATA);
CONV_TABLE(conv_filter, CONV_BACKWARD_FILTER);
/* On a GPU the plain kernels do for depthwise ones, too: they are named so. */
#define DEPTH_TABLE(kernel_name, plain)               \
  static const struct kernel kernel_name##_kernel = { \
      .name = #plain, .file = types_file, .host = {TYPES_REAL(TABLE_ENTRY, kernel_name)}}
DEPTH_TABLE(depthwise, conv);
DEPTH_TABLE(depthwise_images, conv_images);
DEPTH_TABLE(depthwise_filter, conv_filter);

/* A convolution: its window, and the number of groups. */
struct plan {
  struct window window;
  bool depthwise;
  int64_t o;     /* channels of the results */
  int64_t seen;  /* channels that a filter sees */
  int64_t group; /* results that see the same channels */
};

static int64_t dim_of(const situ_shape *shape, int d) {
  return shape->rank == SITU_ANY ? SITU_ANY : shape->dim[d];
}

static situ_status check_channels(const struct plan *p, int64_t in) {
  const int64_t c = p->window.c;
  if (c == SITU_ANY || in == SITU_ANY) return NULL;
  if (p->depthwise ? c != in : in == 0 || c == 0 || c % in || (p->o != SITU_ANY && p->o % (c / in)))
    return INVALID("Depth of input (%lld) is not a multiple of input depth of filter (%lld)",
                   (long long)c, (long long)in);
  return NULL;
}

/* Reads a convolution of images of shape x with a filter. */
static situ_status plan_shapes(const struct call *call, const situ_shape *x,
                               const situ_shape *filter, bool depthwise, struct plan *out) {
  *out = (struct plan){.depthwise = depthwise};
  if (filter->rank != SITU_ANY && filter->rank != 4)
    return INVALID("Shape must be rank 4 but is rank %d", filter->rank);
  TRY(window_plan(call, x, dim_of(filter, 0), dim_of(filter, 1), &out->window));
  const int64_t in = dim_of(filter, 2), last = dim_of(filter, 3), c = out->window.c;
  out->o = depthwise && last != SITU_ANY ? (in == SITU_ANY ? SITU_ANY : in * last) : last;
  if (depthwise && last == SITU_ANY) out->o = SITU_ANY;
  TRY(check_channels(out, in));
  const bool known = c != SITU_ANY && in != SITU_ANY && out->o != SITU_ANY && c > 0;
  out->seen = depthwise ? 1 : in;
  out->group = depthwise ? last : known ? out->o / (c / in) : SITU_ANY;
  return NULL;
}

static situ_shape result_shape(const struct plan *p) {
  const struct window *w = &p->window;
  return window_shape(w, w->n, w->oh, w->ow, p->o);
}

static situ_status check_result(const struct plan *p, const situ_shape *y) {
  const situ_shape want = result_shape(p);
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (shape_compatible(&want, y)) return NULL;
  return INVALID("out_backprop must have the shape of the result, %s, but has %s",
                 shape_print(&want, a), shape_print(y, b));
}

/* Reads any of the six calls: images and filter are shapes of inputs, or values. */
static situ_status plan_call(const struct call *call, enum conv_pass want, bool depthwise,
                             struct plan *out) {
  situ_shape x = call->in[0].shape, filter = call->in[1].shape;
  if (want == CONV_BACKWARD_DATA) TRY(op_host_shape(call, 0, false, &x));
  if (want == CONV_BACKWARD_FILTER) TRY(op_host_shape(call, 1, false, &filter));
  TRY(plan_shapes(call, &x, &filter, depthwise, out));
  return want == CONV_FORWARD ? NULL : check_result(out, &call->in[2].shape);
}

static situ_status set_shape(struct call *call, enum conv_pass want, bool depthwise) {
  struct plan p;
  TRY(plan_call(call, want, depthwise, &p));
  const struct window *w = &p.window;
  if (want == CONV_FORWARD) call->out[0].shape = result_shape(&p);
  if (want == CONV_BACKWARD_DATA) call->out[0].shape = window_shape(w, w->n, w->h, w->w, w->c);
  if (want == CONV_BACKWARD_FILTER) TRY(op_host_shape(call, 1, false, &call->out[0].shape));
  return shape_check(&call->out[0].shape);
}

/* The work items of the form with tiles; 0: the plain form is the better one. */
static int64_t tile_items(const struct plan *p, enum conv_pass want) {
  const struct window *w = &p->window;
  const int64_t results = w->n * w->oh * w->ow, images = w->n * w->h * w->w;
  const int64_t taps = w->kh * w->kw, most = INT32_MAX / 2;
  const int64_t rows = want == CONV_FORWARD         ? results
                       : want == CONV_BACKWARD_DATA ? images
                                                    : taps * w->c;
  const int64_t cols = want == CONV_BACKWARD_DATA ? w->c : p->o;
  const int64_t depth = want == CONV_FORWARD         ? taps * w->c
                        : want == CONV_BACKWARD_DATA ? taps * p->o
                                                     : results;
  if (p->depthwise || p->group != p->o || rows < FEW || cols < FEW || depth < FEW) return 0;
  if (rows > most || cols > most || depth > most) return 0;
  return (rows + TILE_ROWS - 1) / TILE_ROWS * ((cols + TILE_COLS - 1) / TILE_COLS) * GROUP_ITEMS;
}

static situ_status record(struct call *call, enum conv_pass want, bool depthwise,
                          const struct kernel *kernels) {
  struct plan p;
  TRY(plan_call(call, want, depthwise, &p));
  const struct window *w = &p.window;
  const int64_t dim[SITU_MAX_RANK] = {w->oh, w->ow, p.o, w->kh, w->kw, p.seen, p.group, w->n};
  const int64_t n = situ_shape_count(call->out[0].shape);
  int64_t place[SITU_MAX_RANK], step[SITU_MAX_RANK];
  int32_t space = call->out[0].slot;
  struct conv conv;
  window_place(w, place);
  window_steps(w, w->h, w->w, w->c, step);
  window_steps(w, w->oh, w->ow, p.o, step + 4);
  const situ_type type = call->out[0].type;
  if (n && !depthwise && host_conv(type, dim, place, step, want, &conv)) {
    const size_t bytes = conv_workspace_size(&conv, want);
    if (bytes) TRY(call_scratch(call, bytes, &space));
  }
  const double flops =
      2.0 * (double)(w->n * w->oh * w->ow) * (double)(p.o * p.seen) * (double)(w->kh * w->kw);
  const int first = want == CONV_BACKWARD_DATA ? 2 : 0,
            second = want == CONV_BACKWARD_FILTER ? 2 : 1;
  const int64_t tiled = n ? tile_items(&p, want) : 0;
  return LAUNCH(call, &kernels[tiled ? 1 : 0], type, tiled ? tiled : n, depthwise ? DEPTH_GRAIN : 0,
                flops, ARG_IN(call, first), ARG_IN(call, second), ARG_OUT(call, 0), ARG_AT(space),
                ARG_INTS(dim), ARG_INTS(place), ARG_INTS(step), ARG_INT(n));
}

#define CONV_CALL(suffix, WANT, depthwise, kernels)       \
  static situ_status suffix##_shape(struct call *call) {  \
    return set_shape(call, WANT, depthwise);              \
  }                                                       \
  static situ_status suffix##_record(struct call *call) { \
    return record(call, WANT, depthwise, kernels);        \
  }
CONV_CALL(plain, CONV_FORWARD, false, conv_kernels)
CONV_CALL(plain_images, CONV_BACKWARD_DATA, false, conv_images_kernels)
CONV_CALL(plain_filter, CONV_BACKWARD_FILTER, false, conv_filter_kernels)
CONV_CALL(depth, CONV_FORWARD, true, &depthwise_kernel)
CONV_CALL(depth_images, CONV_BACKWARD_DATA, true, &depthwise_images_kernel)
CONV_CALL(depth_filter, CONV_BACKWARD_FILTER, true, &depthwise_filter_kernel)

/* Gradients: each of the three is bilinear in two things, whose gradients are the other two. */

static struct term emit(struct gradient *g, const char *op, struct term a, struct term b,
                        struct term c) {
  const situ_attr attrs[] = {gradient_keep(g, "strides"), gradient_keep(g, "padding"),
                             gradient_keep(g, "explicit_paddings"), gradient_keep(g, "data_format"),
                             gradient_keep(g, "dilations")};
  const struct term in[] = {a, b, c};
  return gradient_emit(g, op, in, term_exists(c) ? 3 : 2, attrs, (int)COUNT_OF(attrs));
}

static void grad_of(struct gradient *g, const char *images, const char *filter) {
  if (gradient_wanted(g, 0))
    g->dx[0] = emit(g, images, gradient_shape_of(g, g->in[0]), g->in[1], g->dy[0]);
  if (gradient_wanted(g, 1))
    g->dx[1] = emit(g, filter, g->in[0], gradient_shape_of(g, g->in[1]), g->dy[0]);
}

static void grad_of_images(struct gradient *g, const char *result, const char *filter) {
  if (gradient_wanted(g, 1))
    g->dx[1] = emit(g, filter, g->dy[0], gradient_shape_of(g, g->in[1]), g->in[2]);
  if (gradient_wanted(g, 2)) g->dx[2] = emit(g, result, g->dy[0], g->in[1], NO_TERM);
}

static void grad_of_filter(struct gradient *g, const char *result, const char *images) {
  if (gradient_wanted(g, 0))
    g->dx[0] = emit(g, images, gradient_shape_of(g, g->in[0]), g->dy[0], g->in[2]);
  if (gradient_wanted(g, 2)) g->dx[2] = emit(g, result, g->in[0], g->dy[0], NO_TERM);
}

#define PLAIN "Conv2D"
#define PLAIN_IMAGES "Conv2DBackpropInput"
#define PLAIN_FILTER "Conv2DBackpropFilter"
#define DEPTH "DepthwiseConv2dNative"
#define DEPTH_IMAGES "DepthwiseConv2dNativeBackpropInput"
#define DEPTH_FILTER "DepthwiseConv2dNativeBackpropFilter"
static void plain_grad(struct gradient *g) { grad_of(g, PLAIN_IMAGES, PLAIN_FILTER); }
static void plain_images_grad(struct gradient *g) { grad_of_images(g, PLAIN, PLAIN_FILTER); }
static void plain_filter_grad(struct gradient *g) { grad_of_filter(g, PLAIN, PLAIN_IMAGES); }
static void depth_grad(struct gradient *g) { grad_of(g, DEPTH_IMAGES, DEPTH_FILTER); }
static void depth_images_grad(struct gradient *g) { grad_of_images(g, DEPTH, DEPTH_FILTER); }
static void depth_filter_grad(struct gradient *g) { grad_of_filter(g, DEPTH, DEPTH_IMAGES); }

#define TYPE_ATTR "T:{" TYPE_NAMES_REAL "} strides:list(int) "
#define REST_ATTRS                                                      \
  "padding:{'SAME','VALID','EXPLICIT'} explicit_paddings:list(int)=[] " \
  "data_format:{'NHWC','NCHW'}='NHWC' dilations:list(int)=[1,1,1,1]"
#define PLAIN_ATTRS TYPE_ATTR "use_cudnn_on_gpu:bool=true " REST_ATTRS
#define DEPTH_ATTRS TYPE_ATTR REST_ATTRS
#define S1 "strides=[1,1,1,1] "
#define S2 "strides=[1,2,2,1] "
#define SAME "padding='SAME' "
#define VALID "padding='VALID' "
#define PLANES "data_format='NCHW' "
#define GIVEN "padding='EXPLICIT' explicit_paddings=[0,0,2,1,0,3,0,0] "
#define APART "dilations=[1,2,3,1] "

static const struct op_def op_defs[] = {
    {.name = PLAIN,
     .inputs = "input:T filter:T",
     .outputs = "output:T",
     .attrs = PLAIN_ATTRS,
     .doc = "2-D convolution of a batch of images with a filter [height, width, in_channels, "
            "out_channels].",
     .args = "input: Images, 4-D.\n"
             "filter: Filter [height, width, in_channels, out_channels].",
     .samples = S1 SAME
     "[2,5,6,3]:unit [3,3,3,4]:unit; " S2 VALID "[2,7,6,3]:unit [3,2,3,4]:unit; " S1 SAME
     "[1,6,13,17]:unit [5,5,17,2]:unit; " S2 SAME "[1,7,8,20]:unit [3,3,20,35]:unit; " PLANES
     "strides=[1,1,2,1] " SAME "[2,3,5,6]:unit [3,3,3,4]:unit; " S1 GIVEN
     "[1,4,5,2]:unit [3,3,2,3]:unit; " S1 VALID APART "[1,8,9,2]:unit [3,3,2,3]:unit; " S1 SAME
     "[2,3,4,5]:unit [1,1,5,6]:unit; " S1 VALID "[1,5,5,4]:unit [3,3,2,4]:unit; " S1 SAME
     "[0,5,5,2] [3,3,2,4]; strides=[1,3,3,1] " SAME "[1,5,8,2]:unit [1,2,2,3]:unit",
     .devices = EVERYWHERE,
     .shape = plain_shape,
     .record = plain_record,
     .grad = plain_grad},
    {.name = PLAIN_IMAGES,
     .inputs = "input_sizes:int32 filter:T out_backprop:T",
     .outputs = "output:T",
     .attrs = PLAIN_ATTRS,
     .doc = "The gradient of Conv2D with respect to its input.",
     .args = "input_sizes: Shape of the input of Conv2D.\n"
             "filter: Filter [height, width, in_channels, out_channels].\n"
             "out_backprop: Gradient of the output of the convolution.",
     .samples =
         S1 SAME "[4]=2,5,6,3 [3,3,3,4]:unit [2,5,6,4]:unit; " S2 VALID
                 "[4]=2,7,6,3 [3,2,3,4]:unit [2,3,3,4]:unit; " S2 SAME
                 "[4]=1,7,8,20 [3,3,20,35]:unit [1,4,4,35]:unit; " PLANES "strides=[1,1,2,1] " SAME
                 "[4]=2,3,5,6 [3,3,3,4]:unit [2,4,3,6]:unit; " S1 GIVEN
                 "[4]=1,4,5,2 [3,3,2,3]:unit [1,5,6,3]:unit; " S1 VALID APART
                 "[4]=1,8,9,2 [3,3,2,3]:unit [1,4,3,3]:unit; " S2 SAME APART
                 "[4]=1,8,9,2 [3,3,2,3]:unit [1,4,5,3]:unit; " S1 SAME
                 "[4]=2,3,4,5 [1,1,5,6]:unit [2,3,4,6]:unit; " S1 VALID
                 "[4]=1,5,5,4 [3,3,2,4]:unit [1,3,3,4]:unit; "
                 "strides=[1,3,3,1] " SAME "[4]=1,5,8,2 [1,2,2,3]:unit [1,2,3,3]:unit",
     .host = "input_sizes",
     .devices = EVERYWHERE,
     .shape = plain_images_shape,
     .record = plain_images_record,
     .grad = plain_images_grad},
    {.name = PLAIN_FILTER,
     .inputs = "input:T filter_sizes:int32 out_backprop:T",
     .outputs = "output:T",
     .attrs = PLAIN_ATTRS,
     .doc = "The gradient of Conv2D with respect to its filter.",
     .args = "input: Images, 4-D.\n"
             "filter_sizes: Shape of the filter of Conv2D.\n"
             "out_backprop: Gradient of the output of the convolution.",
     .samples =
         S1 SAME "[2,5,6,3]:unit [4]=3,3,3,4 [2,5,6,4]:unit; " S2 VALID
                 "[2,7,6,3]:unit [4]=3,2,3,4 [2,3,3,4]:unit; " S2 SAME
                 "[1,7,8,20]:unit [4]=3,3,20,35 [1,4,4,35]:unit; " S1 SAME
                 "[2,3,4,40]:unit [4]=5,5,40,70 [2,3,4,70]:unit; " PLANES "strides=[1,1,2,1] " SAME
                 "[2,3,5,6]:unit [4]=3,3,3,4 [2,4,3,6]:unit; " S1 GIVEN
                 "[1,4,5,2]:unit [4]=3,3,2,3 [1,5,6,3]:unit; " S1 VALID APART
                 "[1,8,9,2]:unit [4]=3,3,2,3 [1,4,3,3]:unit; " S1 SAME
                 "[2,3,4,5]:unit [4]=1,1,5,6 [2,3,4,6]:unit; " S1 VALID
                 "[1,5,5,4]:unit [4]=3,3,2,4 [1,3,3,4]:unit",
     .host = "filter_sizes",
     .devices = EVERYWHERE,
     .shape = plain_filter_shape,
     .record = plain_filter_record,
     .grad = plain_filter_grad},
    {.name = DEPTH,
     .inputs = "input:T filter:T",
     .outputs = "output:T",
     .attrs = DEPTH_ATTRS,
     .doc = "2-D depthwise convolution: convolves each channel with its own filters.",
     .args = "input: Images, 4-D.\n"
             "filter: Filter [height, width, in_channels, channel_multiplier].",
     .samples =
         S1 SAME "[2,5,6,3]:unit [3,3,3,1]:unit; " S2 VALID "[2,7,6,3]:unit [3,2,3,2]:unit; " PLANES
                 "strides=[1,1,2,1] " SAME "[2,3,5,6]:unit [3,3,3,2]:unit; " S1 VALID APART
                 "[1,8,9,40]:unit [3,3,40,1]:unit",
     .devices = EVERYWHERE,
     .shape = depth_shape,
     .record = depth_record,
     .grad = depth_grad},
    {.name = DEPTH_IMAGES,
     .inputs = "input_sizes:int32 filter:T out_backprop:T",
     .outputs = "output:T",
     .attrs = DEPTH_ATTRS,
     .doc = "The gradient of DepthwiseConv2dNative with respect to its input.",
     .args = "input_sizes: Shape of the input of DepthwiseConv2dNative.\n"
             "filter: Filter [height, width, in_channels, channel_multiplier].\n"
             "out_backprop: Gradient of the output of the convolution.",
     .samples = S1 SAME "[4]=2,5,6,3 [3,3,3,1]:unit [2,5,6,3]:unit; " S2 VALID
                        "[4]=2,7,6,3 [3,2,3,2]:unit [2,3,3,6]:unit; " PLANES
                        "strides=[1,1,2,1] " SAME "[4]=2,3,5,6 [3,3,3,2]:unit [2,6,3,6]:unit",
     .host = "input_sizes",
     .devices = EVERYWHERE,
     .shape = depth_images_shape,
     .record = depth_images_record,
     .grad = depth_images_grad},
    {.name = DEPTH_FILTER,
     .inputs = "input:T filter_sizes:int32 out_backprop:T",
     .outputs = "output:T",
     .attrs = DEPTH_ATTRS,
     .doc = "The gradient of DepthwiseConv2dNative with respect to its filter.",
     .args = "input: Images, 4-D.\n"
             "filter_sizes: Shape of the filter of DepthwiseConv2dNative.\n"
             "out_backprop: Gradient of the output of the convolution.",
     .samples = S1 SAME "[2,5,6,3]:unit [4]=3,3,3,1 [2,5,6,3]:unit; " S2 VALID
                        "[2,7,6,3]:unit [4]=3,2,3,2 [2,3,3,6]:unit; " PLANES
                        "strides=[1,1,2,1] " SAME "[2,3,5,6]:unit [4]=3,3,3,2 [2,6,3,6]:unit",
     .host = "filter_sizes",
     .devices = EVERYWHERE,
     .shape = depth_filter_shape,
     .record = depth_filter_record,
     .grad = depth_filter_grad},
};

OP_FAMILY(conv, op_defs);
