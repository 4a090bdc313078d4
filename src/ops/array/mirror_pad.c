/* SPDX-License-Identifier: Apache-2.0
 * mirror_pad.c: MirrorPad (reflect, symmetric) and its gradient. */
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"
#include "tensor/type.h"

#define KERNELS "ops/array/mirror_pad.cl"
#include "kernel/sizes.h"
#define KERNELS "ops/array/mirror_pad_grad.cl"
#include "kernel/types.h"

KERNEL_TABLE(mirror, BITS);
KERNEL_TABLE(mirror_sum, NUMBER);

/* reflect: 1, the border is not repeated; symmetric: 0 */
static int64_t border_of(const struct call *call) {
  return strcmp(call_text(call, "mode"), "REFLECT") == 0;
}

static situ_status check_form(const struct call *call) {
  const int rank = call->in[0].shape.rank;
  const situ_shape *paddings = &call->in[1].shape;
  char text[SHAPE_STRING_SIZE];
  if (paddings->rank == SITU_ANY) return NULL;
  if (paddings->rank != 2 || (paddings->dim[1] != 2 && paddings->dim[1] != SITU_ANY))
    return INVALID("paddings must be a matrix with 2 columns: %s", shape_print(paddings, text));
  if (rank != SITU_ANY && paddings->dim[0] != SITU_ANY && paddings->dim[0] != rank)
    return INVALID("The first dimension of paddings must be the rank of inputs: %s, rank %d",
                   shape_print(paddings, text), rank);
  return NULL;
}

/* Padding may not exceed the reflected part; the errors are TensorFlow's. */
static situ_status check_margin(const struct call *call, int64_t before, int64_t behind,
                                int64_t size) {
  const int64_t border = border_of(call);
  if (before < 0 || behind < 0)
    return INVALID("paddings must be non-negative: %lld %lld", (long long)before,
                   (long long)behind);
  if (size == SITU_ANY || (before <= size - border && behind <= size - border)) return NULL;
  if (!before && !behind) return NULL;
  return INVALID("paddings must be %s the dimension size: %lld, %lld %s %lld",
                 border ? "less than" : "no greater than", (long long)before, (long long)behind,
                 border ? "not less than" : "greater than", (long long)size);
}

/* The size with padding, or, for the gradient, without. */
static situ_status padded(const struct call *call, int d, bool backwards, int64_t *size) {
  const int64_t before = call_element(call, 1, 2 * d), behind = call_element(call, 1, 2 * d + 1);
  int64_t padding = 0, all = SITU_ANY;
  if (backwards && *size != SITU_ANY) {
    if (before < 0 || behind < 0 || before > *size || behind > *size - before)
      return INVALID("paddings %lld, %lld exceed %lld elements", (long long)before,
                     (long long)behind, (long long)*size);
    *size -= before + behind;
  }
  TRY(check_margin(call, before, behind, *size));
  if (backwards || *size == SITU_ANY) return NULL;
  if (__builtin_add_overflow(before, behind, &padding) ||
      __builtin_add_overflow(padding, *size, &all))
    return INVALID("Paddings are too large: %lld %lld", (long long)before, (long long)behind);
  *size = all;
  return NULL;
}

static situ_status mirror_shape(struct call *call, bool backwards) {
  situ_shape *out = &call->out[0].shape;
  *out = call->in[0].shape;
  TRY(check_form(call));
  if (out->rank == SITU_ANY && call->in[1].shape.rank == 2 &&
      call->in[1].shape.dim[0] != SITU_ANY) {
    if (call->in[1].shape.dim[0] > SITU_MAX_RANK)
      return INVALID("A tensor has at most %d dimensions", (int)SITU_MAX_RANK);
    out->rank = (int)call->in[1].shape.dim[0];
    for (int d = 0; d < out->rank; d++) out->dim[d] = SITU_ANY;
  }
  for (int d = 0; d < out->rank; d++)
    if (call->in[1].value)
      TRY(padded(call, d, backwards, &out->dim[d]));
    else
      out->dim[d] = SITU_ANY;
  return NULL;
}

static situ_status mirror_pad_shape(struct call *call) { return mirror_shape(call, false); }
static situ_status mirror_grad_shape(struct call *call) { return mirror_shape(call, true); }

/* The dimensions up to the last padded one, right-aligned; `inner` is the number of elements per
 * index of that one. */
struct padding {
  int64_t dim[SITU_MAX_RANK], own[SITU_MAX_RANK], before[SITU_MAX_RANK], inner;
};

static struct padding padding_of(const struct call *call, const situ_shape *whole,
                                 const situ_shape *small) {
  struct padding m = {.inner = 1};
  int rank = small->rank;
  while (rank > 0 && whole->dim[rank - 1] == small->dim[rank - 1]) m.inner *= small->dim[--rank];
  for (int k = 0; k < SITU_MAX_RANK; k++) {
    const int d = k - (SITU_MAX_RANK - rank);
    m.dim[k] = d < 0 ? 1 : whole->dim[d];
    m.own[k] = d < 0 ? 1 : small->dim[d];
    m.before[k] = d < 0 ? 0 : call_element(call, 1, 2 * d);
  }
  return m;
}

static situ_status record_mirror_pad(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  const struct padding m = padding_of(call, &call->out[0].shape, &call->in[0].shape);
  return LAUNCH(call, &mirror_kernel, call->out[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INTS(m.dim), ARG_INTS(m.own), ARG_INTS(m.before),
                ARG_INT(border_of(call)), ARG_INT(m.inner), ARG_INT(n));
}

static situ_status record_mirror_grad(struct call *call) {
  const situ_type type = call->out[0].type;
  const int64_t parts =
      type_is_complex(type) ? 2 : 1; /* a complex number is two real ones, not padded */
  const int64_t n = parts * situ_shape_count(call->out[0].shape);
  const struct padding m = padding_of(call, &call->in[0].shape, &call->out[0].shape);
  return LAUNCH(call, &mirror_sum_kernel, type_real(type), n, GRAIN,
                (double)situ_shape_count(call->in[0].shape), ARG_IN(call, 0), ARG_OUT(call, 0),
                ARG_INTS(m.dim), ARG_INTS(m.own), ARG_INTS(m.before), ARG_INT(border_of(call)),
                ARG_INT(parts * m.inner), ARG_INT(n));
}

static void mirror_pad_grad(struct gradient *g) {
  g->dx[0] =
      gradient_emit(g, "MirrorPadGrad", TERMS(g->dy[0], g->in[1]), ATTRS(gradient_keep(g, "mode")));
}

static void mirror_grad_grad(struct gradient *g) {
  g->dx[0] =
      gradient_emit(g, "MirrorPad", TERMS(g->dy[0], g->in[1]), ATTRS(gradient_keep(g, "mode")));
}

#define MIRROR_ATTRS " Tpaddings:{int32 int64}=int32 mode:{'REFLECT','SYMMETRIC'}"

static const struct op_def op_defs[] = {
    {.name = "MirrorPad",
     .inputs = "input:T paddings:Tpaddings[?,2]",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "}" MIRROR_ATTRS,
     .doc = "Pads a tensor by reflecting it at its borders.",
     .args = "input: Input tensor.\n"
             "mode: REFLECT does not repeat the border, SYMMETRIC does.",
     .samples =
         "mode='REFLECT' [3,4] [2,2]=1,2,0,3; mode='SYMMETRIC' [3,4] [2,2]=3,1,4,0; "
         "mode='REFLECT' [2,3,2] [3,2]=1,1,0,2,0,0; mode='SYMMETRIC' Tpaddings=int64 [2,3,2] "
         "[3,2]=0,0,1,0,0,0; mode='REFLECT' [3] [1,2]=0,0; mode='SYMMETRIC' [0,3] "
         "[2,2]=0,0,1,2",
     .host = "paddings",
     .devices = MOVABLE,
     .shape = mirror_pad_shape,
     .record = record_mirror_pad,
     .grad = mirror_pad_grad},
    {.name = "MirrorPadGrad",
     .inputs = "input:T paddings:Tpaddings[?,2]",
     .outputs = "output:T",
     .attrs = "T:{" TYPE_NAMES_NUMBER_COMPLEX "}" MIRROR_ATTRS,
     .doc = "The gradient of MirrorPad: each element is the sum of its copies.",
     .args = "input: Gradient of the output of MirrorPad.\n"
             "mode: Mode of MirrorPad.",
     .samples =
         "mode='REFLECT' [6,7] [2,2]=1,2,0,3; mode='SYMMETRIC' [7,8] [2,2]=3,1,4,0; "
         "mode='REFLECT' [4,5,2] [3,2]=1,1,0,2,0,0; mode='SYMMETRIC' Tpaddings=int64 [2,4,2] "
         "[3,2]=0,0,1,0,0,0; mode='REFLECT' [11] [1,2]=4,2",
     .host = "paddings",
     .devices = EVERYWHERE,
     .shape = mirror_grad_shape,
     .record = record_mirror_grad,
     .grad = mirror_grad_grad},
};

OP_FAMILY(mirror_pad, op_defs);
