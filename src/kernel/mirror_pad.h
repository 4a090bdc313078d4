/* SPDX-License-Identifier: Apache-2.0
 * mirror_pad.h: index arithmetic of reflect and symmetric padding.
 *
 * In each dimension the padded tensor has size `dim`, the input `own`, and `before` elements of
 * padding precede it. `border` is 1 for reflect padding (the edge is not repeated), 0 for symmetric
 * padding. */
#ifndef SITU_KERNEL_MIRROR_PAD_H
#define SITU_KERNEL_MIRROR_PAD_H

/* Returns the index in the input of element r of the padded tensor. */
INLINE i64 mirror_pad_row(i64 r, const i64 *dim, const i64 *own, const i64 *before, i64 border) {
  i64 row = 0, stride = 1;
  for (int k = 7; k >= 0; k--) {
    i64 at = r % dim[k] - before[k];
    r /= dim[k];
    if (at < 0) at = border - 1 - at;
    if (at >= own[k]) at = 2 * own[k] - 1 - border - at;
    row += at * stride;
    stride *= own[k];
  }
  return row;
}

/* Returns occurrence number `copy` of input index `at` along a dimension, and how often it occurs.
 */
INLINE i64 mirror_pad_place(i64 at, i64 dim, i64 own, i64 before, i64 border, i64 copy,
                            i64 *count) {
  const i64 front = before - 1 + border - at, behind = before + 2 * own - 1 - border - at;
  const bool in_front = front >= 0 && front < before;
  const bool is_behind = behind >= before + own && behind < dim;
  *count = 1 + (in_front ? 1 : 0) + (is_behind ? 1 : 0);
  return copy == 0 ? before + at : copy == 1 && in_front ? front : behind;
}

/* Returns occurrence number `copy` of input element r in the padded tensor, and how often it
 * occurs. */
INLINE i64 mirror_pad_copy(i64 r, const i64 *dim, const i64 *own, const i64 *before, i64 border,
                           i64 copy, i64 *copies) {
  i64 row = 0, stride = 1, count;
  *copies = 1;
  for (int k = 7; k >= 0; k--) {
    mirror_pad_place(r % own[k], dim[k], own[k], before[k], border, 0, &count);
    row += mirror_pad_place(r % own[k], dim[k], own[k], before[k], border, copy % count, &count) *
           stride;
    r /= own[k];
    copy /= count;
    stride *= dim[k];
    *copies *= count;
  }
  return row;
}

#endif
