/* SPDX-License-Identifier: Apache-2.0
 * strided_index.h: index arithmetic of strided operands: per item on GPUs, row by row on the host.
 *
 * The output has up to SITU_MAX_RANK dimensions `dim` (padded in front with 1) in row-major order;
 * `stride` are the strides of an operand in elements. */
#ifndef SITU_KERNEL_STRIDED_INDEX_H
#define SITU_KERNEL_STRIDED_INDEX_H

/* Returns the offset in an operand of output element i. */
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

/* Applies a one-dimensional kernel to every row of the range begin <= i < end of a strided one.
 * strided: n inputs, the output, SIZES(dim), n times SIZES(stride). flat: n inputs, the output, n
 * times SIZE(stride), SIZE(elements). `size` has the element sizes of each input and of the output
 * in bytes. */
situ_status strided_for_rows(const union arg *args, int64_t begin, int64_t end, host_kernel *flat,
                             int n, const size_t *size) SITU_MUST_USE;
#endif

#endif
