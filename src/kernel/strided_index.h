/* SPDX-License-Identifier: Apache-2.0
 * strided_index.h: index arithmetic of strided operands: of one item for GPUs, row by row for the
 * host.
 *
 * A result of up to SITU_MAX_RANK dimensions `dim` (padded in front with 1) is made in row-major
 * order; an operand has `stride` elements from one index to the next in each dimension. */
#ifndef SITU_KERNEL_STRIDED_INDEX_H
#define SITU_KERNEL_STRIDED_INDEX_H

/* Where element i of the result lies in an operand. */
INLINE i64 strided_offset(i64 i, const i64 *dim, const i64 *stride) {
  i64 offset = 0;
  for (int k = 7; k >= 0; k--) {
    offset += i % dim[k] * stride[k];
    i /= dim[k];
  }
  return offset;
}

#ifdef SITU_HOST
enum { STRIDED_INDEX_INPUTS = 3 };

/* Makes a wide kernel of a flat one: calls it for every row of begin <= i < end.
 *   wide: n inputs, the output, SIZES(dim), n times SIZES(stride)
 *   flat: n inputs, the output, n times SIZE(stride), SIZE(elements)
 * `size` has the bytes of an element of each input and of the output. */
situ_status strided_for_rows(const union arg *args, int64_t begin, int64_t end, host_kernel *flat,
                             int n, const size_t *size) SITU_MUST_USE;
#endif

#endif
