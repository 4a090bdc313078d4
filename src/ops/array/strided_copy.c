/* SPDX-License-Identifier: Apache-2.0
 * strided_copy.c: see strided_copy.h. */
#include "ops/array/strided_copy.h"

#include <string.h>

#include "ops/ops.h"

#define KERNELS "ops/array/strided_copy.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(put_value, BITS);
KERNEL_TABLE(copy_view, BITS);
KERNEL_TABLE(put_zeros, BITS);
KERNEL_TABLE(paste_view, BITS);
KERNEL_TABLE(move_view, BITS);
KERNEL_TABLE(copy_block, BITS);

struct view strided_view(const situ_shape *shape) {
  struct view view = {.rank = shape->rank};
  int64_t stride = 1;
  for (int d = shape->rank - 1; d >= 0; d--) {
    view.dim[d] = shape->dim[d];
    view.stride[d] = stride;
    stride *= shape->dim[d];
  }
  return view;
}

/* Merges dimensions where possible; right-aligned, the leading ones are 1. */
static struct view merge(const struct view *view, int64_t *count) {
  struct view out = {.rank = SITU_MAX_RANK, .start = view->start};
  int k = SITU_MAX_RANK;
  *count = 1;
  for (int d = 0; d < SITU_MAX_RANK; d++) out.dim[d] = 1;
  for (int d = view->rank - 1; d >= 0; d--) {
    *count *= view->dim[d];
    if (view->dim[d] == 1) continue;
    if (k == SITU_MAX_RANK || view->stride[d] != out.stride[k] * out.dim[k])
      out.stride[--k] = view->stride[d];
    out.dim[k] *= view->dim[d];
  }
  return out;
}

situ_status strided_copy(struct call *call, situ_type type, int32_t from, const struct view *view,
                         int32_t to) {
  int64_t n;
  const struct view v = merge(view, &n);
  return LAUNCH(call, &copy_view_kernel, type, n, GRAIN, 0, ARG_AT(from), ARG_AT(to),
                ARG_INTS(v.dim), ARG_INTS(v.stride), ARG_INT(v.start), ARG_INT(n));
}

/* Whether a merged view consists of contiguous rows. */
static bool as_rows(const struct view *v, struct rows *out) {
  const int last = SITU_MAX_RANK - 1;
  for (int d = 0; d < last - 1; d++)
    if (v->dim[d] != 1) return false;
  if (v->dim[last] > 1 && v->stride[last] != 1) return false;
  *out = (struct rows){.count = v->dim[last - 1],
                       .length = v->dim[last],
                       .from_pitch = v->dim[last],
                       .to_start = v->start,
                       .to_pitch = v->stride[last - 1]};
  return true;
}

situ_status strided_paste(struct call *call, situ_type type, int32_t from, const struct view *view,
                          int32_t to, int64_t count) {
  int64_t n;
  const struct view v = merge(view, &n);
  TRY(LAUNCH(call, &put_zeros_kernel, type, count, GRAIN, 0, ARG_AT(to), ARG_INT(count)));
  struct rows rows;
  if (as_rows(&v, &rows)) return strided_rows(call, type, from, to, &rows);
  return LAUNCH(call, &paste_view_kernel, type, n, GRAIN, 0, ARG_AT(from), ARG_AT(to),
                ARG_INTS(v.dim), ARG_INTS(v.stride), ARG_INT(v.start), ARG_INT(n));
}

/* The same view in SITU_MAX_RANK dimensions; the leading ones have size 1. */
static struct view widen(const struct view *view) {
  const int extra = SITU_MAX_RANK - view->rank;
  struct view out = {.rank = SITU_MAX_RANK, .start = view->start};
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    out.dim[d] = d < extra ? 1 : view->dim[d - extra];
    out.stride[d] = d < extra ? 0 : view->stride[d - extra];
  }
  return out;
}

situ_status strided_move(struct call *call, situ_type type, int32_t from, const struct view *source,
                         int32_t to, const struct view *view) {
  const struct view a = widen(source), b = widen(view);
  int64_t n = 1;
  for (int d = 0; d < SITU_MAX_RANK; d++) n *= b.dim[d];
  return LAUNCH(call, &move_view_kernel, type, n, GRAIN, 0, ARG_AT(from), ARG_AT(to),
                ARG_INTS(b.dim), ARG_INTS(a.stride), ARG_INTS(b.stride), ARG_INT(a.start),
                ARG_INT(b.start), ARG_INT(n));
}

situ_status strided_rows(struct call *call, situ_type type, int32_t from, int32_t to,
                         const struct rows *rows) {
  const int64_t n = rows->count * rows->length;
  return LAUNCH(call, &copy_block_kernel, type, n, GRAIN, 0, ARG_AT(from), ARG_AT(to),
                ARG_INT(rows->length), ARG_INT(rows->from_pitch), ARG_INT(rows->from_start),
                ARG_INT(rows->to_pitch), ARG_INT(rows->to_start), ARG_INT(n));
}

situ_status strided_fill(struct call *call, situ_type type, int32_t from, int32_t to,
                         int64_t count) {
  return LAUNCH(call, &put_value_kernel, type, count, GRAIN, 0, ARG_AT(from), ARG_AT(to),
                ARG_INT(count));
}
