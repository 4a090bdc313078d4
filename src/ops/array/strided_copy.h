/* SPDX-License-Identifier: Apache-2.0
 * strided_copy.h: records copies of elements between strided layouts. */
#ifndef SITU_OPS_ARRAY_STRIDED_COPY_H
#define SITU_OPS_ARRAY_STRIDED_COPY_H

#include "schema/call.h"

/* Elements of a memory as a tensor of `rank` dimensions: where the first lies, and how far it is
 * from one index to the next, in elements. */
struct view {
  int rank;
  int64_t start;
  int64_t dim[SITU_MAX_RANK], stride[SITU_MAX_RANK];
};

/* All elements of a dense tensor. */
struct view strided_view(const situ_shape *shape);

/* Records a copy of the view of one slot to another one, where it is dense. */
situ_status strided_copy(struct call *call, situ_type type, int32_t from, const struct view *view,
                         int32_t to) SITU_MUST_USE;

/* Records the way back: zeros, and the dense elements of one slot at the view of another, which has
 * `count` elements. */
situ_status strided_paste(struct call *call, situ_type type, int32_t from, const struct view *view,
                          int32_t to, int64_t count) SITU_MUST_USE;

/* Records a copy of the elements of one slot's view to those of another's, which has the same
 * sizes. Strides of `from` may be 0. */
situ_status strided_move(struct call *call, situ_type type, int32_t from, const struct view *source,
                         int32_t to, const struct view *view) SITU_MUST_USE;

/* Rows of elements: in each memory they begin at `start`, and `pitch` apart. */
struct rows {
  int64_t count, length;
  int64_t from_start, from_pitch, to_start, to_pitch;
};

/* Records a copy of rows. */
situ_status strided_rows(struct call *call, situ_type type, int32_t from, int32_t to,
                         const struct rows *rows) SITU_MUST_USE;

/* Records that all `count` elements of slot `to` become the one of slot `from`. */
situ_status strided_fill(struct call *call, situ_type type, int32_t from, int32_t to,
                         int64_t count) SITU_MUST_USE;

#endif
