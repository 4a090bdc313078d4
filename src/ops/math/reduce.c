/* SPDX-License-Identifier: Apache-2.0
 * reduce.c: sums, means, products, extremes and truth over dimensions of a tensor.
 *
 * A reduction is recorded as stages over the middle of three dimensions, one for each run of
 * reduced dimensions, the innermost first. A long dimension is cut into pieces, whose results are
 * reduced by the next stage: a fixed tree, so that no result depends on the number of threads, and
 * rounding errors grow with the logarithm of the length. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/type.h"
#include "tensor/shape.h"

#define KERNELS "ops/math/reduce.cl"
#include "kernel/types.h"

KERNEL_TABLE(sum, NUMBER);
KERNEL_TABLE(long_sum, INTEGER);
KERNEL_TABLE(squares, REAL);
KERNEL_TABLE(prod, NUMBER);
KERNEL_TABLE(largest, NUMBER);
static const struct kernel complex_prod_kernel = {
    .name = "complex_prod",
    .file = types_file,
    .host = {[SITU_FLOAT] = complex_prod_float, [SITU_DOUBLE] = complex_prod_double}};
KERNEL_TABLE(smallest, NUMBER);
KERNEL_TABLE(every, BOOL);
KERNEL_TABLE(some, BOOL);
KERNEL_TABLE(narrow, NUMBER);
KERNEL_TABLE(narrow_long, INTEGER);
KERNEL_TABLE(argmax_i32, NUMBER);
KERNEL_TABLE(argmax_i64, NUMBER);
KERNEL_TABLE(argmin_i32, NUMBER);
KERNEL_TABLE(argmin_i64, NUMBER);

enum {
  RUN = 32768,     /* elements of a piece where rows are short, */
  SHORT_ROW = 256, /* that is up to here, */
  TALL = 128,      /* and rows of a piece where they are long */
  UNIT = 32768,    /* elements to reduce that are worth a thread */
};

/* Which dimensions go. */
struct axes {
  bool known;
  bool gone[SITU_MAX_RANK];
};

static situ_status read_axes(const struct call *call, struct axes *out) {
  const situ_shape *in = &call->in[0].shape;
  int64_t items[SITU_MAX_RANK];
  int count;
  *out = (struct axes){0};
  TRY(call_integers(call, 1, items, &count));
  out->known = count != SITU_ANY && in->rank != SITU_ANY;
  for (int i = 0; out->known && i < count; i++) {
    if (items[i] < -in->rank || items[i] >= in->rank)
      return INVALID("Invalid reduction dimension %lld for input with %d dimensions.",
                     (long long)items[i], in->rank);
    const int64_t axis = items[i] < 0 ? items[i] + in->rank : items[i];
    if (out->gone[axis])
      return INVALID("Invalid reduction arguments: Axes contains duplicate dimension: %lld",
                     (long long)axis);
    out->gone[axis] = true;
  }
  return NULL;
}

static situ_status reduce_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  const bool keep = call_bool(call, "keep_dims");
  struct axes axes;
  TRY(read_axes(call, &axes));
  *out = SITU_ANY_SHAPE;
  if (in->rank == SITU_ANY || (!axes.known && !keep)) return NULL;
  out->rank = 0;
  for (int d = 0; d < in->rank; d++) {
    if (!axes.known)
      out->dim[out->rank++] = SITU_ANY;
    else if (!axes.gone[d])
      out->dim[out->rank++] = in->dim[d];
    else if (keep)
      out->dim[out->rank++] = 1;
  }
  return NULL;
}

/* The dimensions of a tensor, adjacent ones that are all reduced or all kept merged: they
 * alternate. */
struct runs {
  int count;
  int64_t dim[SITU_MAX_RANK];
  bool gone[SITU_MAX_RANK];
  int64_t reduced; /* elements per element of the result */
};

static struct runs find_runs(const situ_shape *shape, const struct axes *axes) {
  struct runs runs = {.reduced = 1};
  for (int d = 0; d < shape->rank; d++) {
    const int64_t dim = shape->dim[d];
    if (axes->gone[d]) runs.reduced *= dim;
    if (dim == 1) continue;
    if (runs.count && runs.gone[runs.count - 1] == axes->gone[d]) {
      runs.dim[runs.count - 1] *= dim;
    } else {
      runs.dim[runs.count] = dim;
      runs.gone[runs.count++] = axes->gone[d];
    }
  }
  return runs;
}

/* A reduction in several stages: the slot of its latest result. */
struct progress {
  struct call *call;
  const struct kernel *kernel;
  situ_type type;       /* of the latest result */
  struct launch_arg at; /* the latest result */
  int64_t divisor;      /* of the last stage; -1: none */
};

/* The type of a kernel's results: sums and products of small types are computed in larger ones. */
static situ_type result_type(const struct kernel *kernel, situ_type type) {
  if (kernel == &long_sum_kernel) return SITU_INT64;
  const bool wider = kernel == &sum_kernel || kernel == &squares_kernel || kernel == &prod_kernel;
  if (!wider) return type;
  if (type == SITU_HALF) return SITU_FLOAT;
  return situ_type_size(type) < 4 ? SITU_INT32 : type;
}

/* Records a stage; the last one goes to the output if it has its type. */
static situ_status stage(struct progress *p, int64_t outer, int64_t length, int64_t inner,
                         int64_t piece, bool last) {
  const int64_t pieces = length ? (length - 1) / piece + 1 : 1, items = outer * pieces * inner;
  const situ_type type = result_type(p->kernel, p->type);
  struct launch_arg to = ARG_OUT(p->call, 0);
  if (!last || type != p->call->out[0].type) {
    int32_t slot;
    TRY(call_scratch(p->call, (size_t)items * situ_type_size(type), &slot));
    to = ARG_AT(slot);
  }
  const int64_t work = min_i64(length, piece), least = max_i64(1, UNIT / max_i64(1, work));
  const int64_t grain = inner > SHORT_ROW ? max_i64(least, min_i64(inner, UNIT)) : least;
  const int64_t lanes = op_lanes_across(work, inner);
  TRY(LAUNCH_LANES(p->call, p->kernel, p->type, items, lanes, grain,
                   (double)outer * (double)(length * inner), p->at, to, ARG_INT(length),
                   ARG_INT(inner), ARG_INT(pieces), ARG_INT(piece), ARG_INT(last ? p->divisor : -1),
                   ARG_INT(items), ARG_INT(lanes)));
  p->at = to;
  p->type = type;
  if (p->kernel == &squares_kernel || p->kernel == &long_sum_kernel)
    p->kernel = &sum_kernel; /* later stages only add */
  return NULL;
}

/* Records the stages of one dimension, until one piece is left. */
static situ_status reduce_run(struct progress *p, int64_t outer, int64_t length, int64_t inner,
                              bool last) {
  const int64_t piece = inner > SHORT_ROW ? TALL : RUN / inner;
  for (; length > piece; length = (length - 1) / piece + 1)
    TRY(stage(p, outer, length, inner, piece, false));
  return stage(p, outer, length, inner, piece, last);
}

/* Brings the last result to the type of the output. */
static situ_status finish(struct progress *p, int64_t n) {
  const situ_type type = p->call->out[0].type;
  if (p->type == type) return NULL;
  const struct kernel *kernel = p->type == SITU_INT64 ? &narrow_long_kernel : &narrow_kernel;
  return LAUNCH(p->call, kernel, type, n, GRAIN, 0, p->at, ARG_OUT(p->call, 0), ARG_INT(n));
}

static situ_status record_over(struct call *call, const struct kernel *kernel, bool mean,
                               const struct axes *axes) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  if (!n) return NULL;
  const struct runs runs = find_runs(&call->in[0].shape, axes);
  struct progress p = {.call = call,
                       .kernel = kernel,
                       .type = call->in[0].type,
                       .at = ARG_IN(call, 0),
                       .divisor = mean ? runs.reduced : -1};
  int64_t inner = 1;
  int first = runs.count; /* the run that is reduced last */
  for (int i = runs.count - 1; i >= 0; i--)
    if (runs.gone[i]) first = i;
  for (int i = runs.count - 1; i >= first; i--) {
    int64_t outer = 1;
    for (int d = 0; d < i; d++) outer *= runs.dim[d];
    if (runs.gone[i])
      TRY(reduce_run(&p, outer, runs.dim[i], inner, i == first));
    else
      inner *= runs.dim[i];
  }
  /* Nothing to reduce is a reduction over a dimension of one element. */
  if (first == runs.count) TRY(reduce_run(&p, 1, 1, n, true));
  return finish(&p, n);
}

/* The operand with the parts of its numbers as an additional dimension. */
static situ_status parts_of(const struct operand *operand, struct operand *out) {
  *out = *operand;
  out->type = type_real(operand->type);
  if (operand->shape.rank == SITU_MAX_RANK)
    return situ_status_create(SITU_UNIMPLEMENTED, "Sums of complex numbers have at most rank %d.",
                              (int)SITU_MAX_RANK - 1);
  out->shape.dim[out->shape.rank++] = 2;
  return NULL;
}

/* Adds real and imaginary parts separately. */
static situ_status record_parts(struct call *call, const struct kernel *kernel, bool mean,
                                const struct axes *axes) {
  struct operand in, out;
  struct call parts = *call;
  TRY(parts_of(&call->in[0], &in));
  TRY(parts_of(&call->out[0], &out));
  parts.in = &in;
  parts.out = &out;
  parts.n_in = 1;
  return record_over(&parts, kernel, mean, axes);
}

static situ_status record(struct call *call, const struct kernel *kernel, bool mean) {
  struct axes axes;
  TRY(read_axes(call, &axes));
  if (type_is_complex(call->in[0].type)) return record_parts(call, kernel, mean, &axes);
  return record_over(call, kernel, mean, &axes);
}

/* Multiplies complex numbers, one run of dimensions after the other. */
static situ_status record_complex_prod(struct call *call) {
  const situ_type part = type_real(call->in[0].type);
  const int64_t result = situ_shape_count(call->out[0].shape);
  struct axes axes;
  TRY(read_axes(call, &axes));
  const struct runs runs = find_runs(&call->in[0].shape, &axes);
  struct launch_arg from = ARG_IN(call, 0);
  int64_t inner = 1, left = 0;
  for (int i = 0; i < runs.count; i++) left += runs.gone[i];
  for (int i = runs.count; i >= 0 && result; i--) {
    if (i < runs.count && !runs.gone[i]) inner *= runs.dim[i];
    const bool none = i == runs.count && !left; /* a copy is a product over one element */
    if (!none && (i == runs.count || !runs.gone[i])) continue;
    int64_t n = none ? result : inner;
    for (int d = 0; d < i && !none; d++) n *= runs.dim[d];
    struct launch_arg to = ARG_OUT(call, 0);
    int32_t slot;
    if (!none && --left) {
      TRY(call_scratch(call, 2 * (size_t)n * situ_type_size(part), &slot));
      to = ARG_AT(slot);
    }
    const int64_t length = none ? 1 : runs.dim[i];
    TRY(LAUNCH(call, &complex_prod_kernel, part, n, max_i64(1, GRAIN / max_i64(1, length)),
               (double)n * (double)length, from, to, ARG_INT(length), ARG_INT(none ? 1 : inner),
               ARG_INT(n)));
    from = to;
  }
  return NULL;
}

static situ_status record_sum(struct call *call) { return record(call, &sum_kernel, false); }
static situ_status record_mean(struct call *call) {
  const situ_type type = call->in[0].type;
  const bool real = type_is_real(type) || type_is_complex(type);
  return record(call, real ? &sum_kernel : &long_sum_kernel, true);
}
static situ_status record_prod(struct call *call) {
  if (type_is_complex(call->in[0].type)) return record_complex_prod(call);
  return record(call, &prod_kernel, false);
}
static situ_status record_max(struct call *call) { return record(call, &largest_kernel, false); }
static situ_status record_min(struct call *call) { return record(call, &smallest_kernel, false); }
static situ_status record_all(struct call *call) { return record(call, &every_kernel, false); }
static situ_status record_any(struct call *call) { return record(call, &some_kernel, false); }

static situ_status record_l2_loss(struct call *call) {
  struct progress p = {.call = call,
                       .kernel = &squares_kernel,
                       .type = call->in[0].type,
                       .at = ARG_IN(call, 0),
                       .divisor = 2};
  TRY(reduce_run(&p, 1, situ_shape_count(call->in[0].shape), 1, true));
  return finish(&p, 1);
}

/* BiasAddGrad: the sum over all dimensions but that of the channels */

static int channel_axis(const struct call *call) {
  const bool first = call_text(call, "data_format")[1] == 'C';
  return first ? 1 : call->in[0].shape.rank - 1;
}

static situ_status bias_grad_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  call->out[0].shape = SITU_SHAPE(SITU_ANY);
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank < 2) return INVALID("Shape must be at least rank 2 but is rank %d", in->rank);
  call->out[0].shape.dim[0] = in->dim[channel_axis(call)];
  return NULL;
}

static situ_status record_bias_grad(struct call *call) {
  struct axes axes = {.known = true};
  for (int d = 0; d < call->in[0].shape.rank; d++) axes.gone[d] = d != channel_axis(call);
  if (type_is_complex(call->in[0].type)) return record_parts(call, &sum_kernel, false, &axes);
  return record_over(call, &sum_kernel, false, &axes);
}

static void bias_grad_grad(struct gradient *g) {
  g->dx[0] = gradient_emit(g, "BiasAdd", TERMS(gradient_zeros(g, g->in[0]), g->dy[0]),
                           ATTRS(gradient_keep(g, "data_format")));
}

static void l2_loss_grad(struct gradient *g) { g->dx[0] = OP(g, "Mul", g->in[0], g->dy[0]); }

/* ArgMax, ArgMin */

static situ_status place_axis(const struct call *call, int *axis) {
  const situ_shape *in = &call->in[0].shape;
  int64_t given = 0;
  bool known;
  *axis = -1;
  TRY(op_host_scalar(call, 1, &given, &known));
  return known && in->rank != SITU_ANY ? op_wrap_axis(given, in->rank, axis) : NULL;
}

/* Nothing is the greatest of none. The axis may be known only when kernels are recorded. */
static situ_status place_check(const situ_shape *in, int axis) {
  char text[256];
  return in->dim[axis]
             ? NULL
             : INVALID("Reduction axis %d is empty in shape %s", axis, shape_print(in, text));
}

static situ_status place_shape(struct call *call) {
  const situ_shape *in = &call->in[0].shape;
  situ_shape *out = &call->out[0].shape;
  int axis;
  *out = SITU_ANY_SHAPE;
  TRY(place_axis(call, &axis));
  if (in->rank == SITU_ANY) return NULL;
  if (in->rank == 0) return INVALID("A scalar has no dimension to look along");
  out->rank = in->rank - 1;
  for (int d = 0; d < out->rank; d++)
    out->dim[d] = axis < 0 ? SITU_ANY : in->dim[d < axis ? d : d + 1];
  return axis >= 0 ? place_check(in, axis) : NULL;
}

static situ_status record_place(struct call *call, const struct kernel *narrow,
                                const struct kernel *wide) {
  const situ_shape *in = &call->in[0].shape;
  const int64_t n = situ_shape_count(call->out[0].shape);
  const struct kernel *kernel = call->out[0].type == SITU_INT32 ? narrow : wide;
  int64_t inner = 1;
  int axis;
  TRY(place_axis(call, &axis));
  TRY(place_check(in, axis));
  for (int d = axis + 1; d < in->rank; d++) inner *= in->dim[d];
  const int64_t length = in->dim[axis], lanes = op_lanes_across(length, inner);
  const situ_type type = call->in[0].type == SITU_BOOL ? SITU_UINT8 : call->in[0].type;
  return LAUNCH_LANES(call, kernel, type, n, lanes, max_i64(1, UNIT / length),
                      (double)n * (double)length, ARG_IN(call, 0), ARG_OUT(call, 0),
                      ARG_INT(length), ARG_INT(inner), ARG_INT(n), ARG_INT(lanes));
}

static situ_status record_argmax(struct call *call) {
  return record_place(call, &argmax_i32_kernel, &argmax_i64_kernel);
}

static situ_status record_argmin(struct call *call) {
  return record_place(call, &argmin_i32_kernel, &argmin_i64_kernel);
}

/* Gradients */

/* A term in the shape of the output with the reduced dimensions of size 1. */
static struct term with_kept(struct gradient *g, struct term term) {
  int64_t axes[SITU_MAX_RANK];
  int count;
  situ_shape in;
  if (gradient_bool(g, "keep_dims")) return term;
  if (gradient_known(g, g->in[0], &in) && gradient_integers(g, g->in[1], axes, &count)) {
    for (int i = 0; i < count; i++) in.dim[axes[i] < 0 ? axes[i] + in.rank : axes[i]] = 1;
    return OP(g, "Reshape", term, gradient_ints(g, in.dim, in.rank));
  }
  const struct term kept =
      gradient_emit(g, "Sum", TERMS(g->in[0], g->in[1]), ATTRS(situ_attr_bool("keep_dims", true)));
  return OP(g, "Reshape", term, OP(g, "Shape", kept));
}

static struct term spread(struct gradient *g, struct term term) {
  return OP(g, "BroadcastTo", with_kept(g, term), gradient_shape_of(g, g->in[0]));
}

static void sum_grad(struct gradient *g) { g->dx[0] = spread(g, g->dy[0]); }

/* The number of elements that one element of the output is the mean of. */
static struct term mean_divisor(struct gradient *g) {
  situ_shape in, out;
  const situ_type type = gradient_type(g, g->dy[0]);
  if (gradient_known(g, g->in[0], &in) && gradient_known(g, g->out[0], &out)) {
    const int64_t n = situ_shape_count(out), each = n ? situ_shape_count(in) / n : 1;
    return gradient_number(g, type, (double)each);
  }
  const struct term from = OP(g, "Size", g->in[0]), to = OP(g, "Size", g->out[0]);
  const struct term count = OP(g, "FloorDiv", from, OP(g, "Maximum", to, gradient_int(g, 1)));
  return gradient_emit(g, "Cast", TERMS(count), ATTRS(situ_attr_type("DstT", type)));
}

static void mean_grad(struct gradient *g) {
  g->dx[0] = spread(g, OP(g, "RealDiv", g->dy[0], mean_divisor(g)));
}

/* Distributes the gradient equally among the extreme elements. */
static void extreme_grad(struct gradient *g) {
  const struct term found = OP(g, "Equal", with_kept(g, g->out[0]), g->in[0]);
  const struct term ones = gradient_emit(g, "Cast", TERMS(found),
                                         ATTRS(situ_attr_type("DstT", gradient_type(g, g->dy[0]))));
  const struct term many =
      gradient_emit(g, "Sum", TERMS(ones, g->in[1]), ATTRS(situ_attr_bool("keep_dims", true)));
  g->dx[0] = OP(g, "Mul", OP(g, "RealDiv", ones, many), with_kept(g, g->dy[0]));
}

static void max_grad(struct gradient *g) { extreme_grad(g); }
static void min_grad(struct gradient *g) { extreme_grad(g); }

/* The product of all other elements along the first dimension. */
static struct term product_without_self(struct gradient *g, struct term x) {
  const struct term axis = gradient_int(g, 0);
  const struct term before =
      gradient_emit(g, "Cumprod", TERMS(x, axis), ATTRS(situ_attr_bool("exclusive", true)));
  const struct term behind =
      gradient_emit(g, "Cumprod", TERMS(x, axis),
                    ATTRS(situ_attr_bool("exclusive", true), situ_attr_bool("reverse", true)));
  return OP(g, "Mul", before, behind);
}

/* The same with the reduced dimensions transposed to the front and merged: exact also for elements
 * equal to 0. */
static struct term product_without_self_over(struct gradient *g, const situ_shape *in,
                                             const bool *gone) {
  int64_t forth[SITU_MAX_RANK], back[SITU_MAX_RANK], turned[SITU_MAX_RANK], count = 1;
  int n = 0;
  for (int pass = 1; pass >= 0; pass--)
    for (int d = 0; d < in->rank; d++)
      if (gone[d] == pass) forth[n++] = d;
  for (int d = 0; d < n; d++) {
    back[forth[d]] = d;
    turned[d] = in->dim[forth[d]];
    if (gone[forth[d]]) count *= turned[d];
  }
  const int64_t rest = count ? situ_shape_count(*in) / count : 0;
  const struct term front = OP(g, "Transpose", g->in[0], gradient_ints(g, forth, n));
  const struct term flat =
      OP(g, "Reshape", front, gradient_ints(g, (const int64_t[]){count, rest}, 2));
  const struct term others =
      OP(g, "Reshape", product_without_self(g, flat), gradient_ints(g, turned, n));
  return OP(g, "Transpose", others, gradient_ints(g, back, n));
}

static void prod_grad(struct gradient *g) {
  int64_t axes[SITU_MAX_RANK];
  bool gone[SITU_MAX_RANK] = {false};
  int count;
  situ_shape in;
  const struct term dy = with_kept(g, g->dy[0]);
  const bool known = gradient_known(g, g->in[0], &in) && situ_shape_count(in) > 0 &&
                     gradient_integers(g, g->in[1], axes, &count);
  if (!known) { /* where elements are 0, this is not a number */
    g->dx[0] = OP(g, "RealDiv", OP(g, "Mul", dy, with_kept(g, g->out[0])), g->in[0]);
    return;
  }
  for (int i = 0; i < count; i++) gone[axes[i] < 0 ? axes[i] + in.rank : axes[i]] = true;
  const struct term others = product_without_self_over(g, &in, gone);
  const bool is_complex = type_is_complex(gradient_type(g, g->in[0]));
  g->dx[0] = OP(g, "Mul", dy, is_complex ? OP(g, "Conj", others) : others);
}

/* Every reduction has the same inputs and samples. */
#define REDUCTION(NAME, suffix, input_, type_attr, devices_, grad_, text)                 \
  {                                                                                       \
    .name = #NAME, .inputs = "input:" input_ " reduction_indices:Tidx",                   \
    .outputs = "output:" input_,                                                          \
    .attrs = "keep_dims:bool=false " type_attr "Tidx:{int32 int64}=int32",                \
    .python = "reduce_" #suffix " math.reduce_" #suffix, .doc = text " over dimensions.", \
    .args =                                                                               \
        "input: Tensor to reduce.\n"                                                      \
        "reduction_indices: Dimensions to reduce; negative values count from the end.\n"  \
        "keep_dims: Keep the reduced dimensions with size 1.",                            \
    .samples =                                                                            \
        "[3,4] [1]=0; [3,4] [1]=1; [3,4] [2]=0,1; [3,4] []=-1; keep_dims=true [2,3,4] "   \
        "[1]=1; Tidx=int64 [2,3,4] [2]=0,2; [2,3,4,2] [2]=1,-1; [5] [0]=; [0,3] [1]=1; "  \
        "[] [0]=; [7,300] [1]=0; [3,70] [1]=1; keep_dims=true [2,1,3] [3]=0,1,2; "        \
        "[2,40,3] [1]=1",                                                                 \
    .host = "reduction_indices", .devices = devices_, .shape = reduce_shape,              \
    .record = record_##suffix, .grad = grad_                                              \
  }
#define NUMBERS "T:{" TYPE_NAMES_NUMBER "} "
#define NUMBERS_COMPLEX "T:{" TYPE_NAMES_NUMBER_COMPLEX "} "

static const struct op_def op_defs[] = {
    REDUCTION(Sum, sum, "T", NUMBERS_COMPLEX, EVERYWHERE, sum_grad, "Sum of elements"),
    REDUCTION(Mean, mean, "T", NUMBERS_COMPLEX, GPU_FLOATING_COMPLEX, mean_grad,
              "Mean of elements"),
    REDUCTION(Prod, prod, "T", NUMBERS_COMPLEX, EVERYWHERE, prod_grad, "Product of elements"),
    REDUCTION(Max, max, "T", NUMBERS, EVERYWHERE, max_grad, "Maximum of elements"),
    REDUCTION(Min, min, "T", NUMBERS, EVERYWHERE, min_grad, "Minimum of elements"),
    REDUCTION(All, all, "bool", "", EVERYWHERE, NULL, "Logical AND of elements"),
    REDUCTION(Any, any, "bool", "", EVERYWHERE, NULL, "Logical OR of elements"),
    {.name = "L2Loss",
     .inputs = "t:T",
     .outputs = "output:T",
     .attrs = "T:{bfloat16 half float double}",
     .python = "nn.l2_loss",
     .doc = "Half the sum of the squares of all elements, a scalar.",
     .args = "t: Tensor of any shape.",
     .samples = "[3,4]; [9000]; []; [0]",
     .devices = EVERYWHERE,
     .shape = op_scalar_shape,
     .record = record_l2_loss,
     .grad = l2_loss_grad},
    {.name = "BiasAddGrad",
     .inputs = "out_backprop:T",
     .outputs = "output:T",
     .attrs = NUMBERS_COMPLEX "data_format:{'NHWC','NCHW'}='NHWC'",
     .doc = "The gradient of BiasAdd with respect to the bias: the sum over all dimensions but the "
            "channels.",
     .args = "out_backprop: Gradient of the output of BiasAdd.",
     .samples = "[2,3]; [2,4,5,3]; data_format='NCHW' [2,3,4,5]; data_format='NCHW' [2,3]; [0,3]; "
                "[2,9,10,33]",
     .devices = EVERYWHERE,
     .shape = bias_grad_shape,
     .record = record_bias_grad,
     .grad = bias_grad_grad},
    {.name = "ArgMax",
     .inputs = "input:T dimension:Tidx",
     .outputs = "output:output_type",
     .attrs =
         "T:{" TYPE_NAMES_ANY "} Tidx:{int16 int32 int64}=int32 output_type:{int32 int64}=int64",
     .python = "argmax math.argmax",
     .doc = "The index of the largest element along a dimension; the first one of equal elements.",
     .args = "input: Tensor of rank 1 or more.\n"
             "dimension: Dimension to search, which the result does not have; negative values "
             "count from the end.\n"
             "output_type: Integer type of the indices.",
     .samples = "[3,4] []=0; [3,4] []=1; [3,4] []=-1; output_type=int32 [2,3,4] []=1; "
                "Tidx=int64 [5] []=0; [0,3] []=1; [2,300] []=1; [70,5] []=0",
     .host = "dimension",
     .devices = GPU_FLOATING,
     .shape = place_shape,
     .record = record_argmax},
    {.name = "ArgMin",
     .inputs = "input:T dimension:Tidx",
     .outputs = "output:output_type",
     .attrs =
         "T:{" TYPE_NAMES_ANY "} Tidx:{int16 int32 int64}=int32 output_type:{int32 int64}=int64",
     .python = "argmin math.argmin",
     .doc = "The index of the smallest element along a dimension; the first one of equal elements.",
     .args = "input: Tensor of rank 1 or more.\n"
             "dimension: Dimension to search, which the result does not have; negative values "
             "count from the end.\n"
             "output_type: Integer type of the indices.",
     .samples = "[3,4] []=0; [3,4] []=1; [3,4] []=-1; output_type=int32 [2,3,4] []=1; "
                "Tidx=int64 [5] []=0; [0,3] []=1; [2,300] []=1; [70,5] []=0",
     .host = "dimension",
     .devices = GPU_FLOATING,
     .shape = place_shape,
     .record = record_argmin},
};

OP_FAMILY(reduce, op_defs);
