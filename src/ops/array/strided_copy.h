/* SPDX-License-Identifier: Apache-2.0
 * strided_copy.h: records copies of elements between strided layouts. */
#ifndef SITU_OPS_ARRAY_STRIDED_COPY_H
#define SITU_OPS_ARRAY_STRIDED_COPY_H

#include "schema/call.h"

/* A view of memory as a tensor of `rank` dimensions: the offset of the first element and the stride
 * of each dimension, in elements. */
struct view {
  int rank;
  int64_t start;
  int64_t dim[SITU_MAX_RANK], stride[SITU_MAX_RANK];
};

/* All elements of a dense tensor. */
struct view strided_view(const situ_shape *shape);

/* Records a copy of the view of one slot to another slot, where it is dense. */
situ_status strided_copy(struct call *call, situ_type type, int32_t from, const struct view *view,
                         int32_t to) SITU_MUST_USE;

/* Records the inverse: fills a slot of `count` elements with zeros and copies dense elements to the
 * view. */
situ_status strided_paste(struct call *call, situ_type type, int32_t from, const struct view *view,
                          int32_t to, int64_t count) SITU_MUST_USE;

/* Records a copy between views of the same sizes. Strides of `from` may be 0. */
situ_status strided_move(struct call *call, situ_type type, int32_t from, const struct view *source,
                         int32_t to, const struct view *view) SITU_MUST_USE;

/* Rows of contiguous elements: the first begins at `start`, each other one `pitch` after the last.
 * */
struct rows {
  int64_t count, length;
  int64_t from_start, from_pitch, to_start, to_pitch;
};

/* Records a copy of rows. */
situ_status strided_rows(struct call *call, situ_type type, int32_t from, int32_t to,
                         const struct rows *rows) SITU_MUST_USE;

/* Records that all `count` elements of slot `to` are set to the element of slot `from`. */
situ_status strided_fill(struct call *call, situ_type type, int32_t from, int32_t to,
                         int64_t count) SITU_MUST_USE;

#endif
