/* SPDX-License-Identifier: Apache-2.0
 * gemm.h: matrix multiplication on the host.
 *
 * The order of summation depends on the sizes and the processor only, not on the number of threads.
 */
#ifndef SITU_HOST_GEMM_H
#define SITU_HOST_GEMM_H

#include "base/base.h"
#include "situ/tensor.h"

/* c[i * c_row + j * c_col] = sum over p < k of a[i * a_row + p * a_col] * b[p * b_row + j * b_col]
 * for i < m, j < n. Strides are in elements and express transposition: one stride of each operand
 * is 1, c_col is 1, and HALF matrices are contiguous. */
struct gemm {
  situ_type type; /* FLOAT, DOUBLE, HALF, INT32 or INT64 */
  int64_t m, n, k;
  const void *a, *b;
  void *c; /* must not overlap a or b */
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  void *workspace; /* gemm_workspace_size bytes, aligned to 64, uninitialized */
};

/* Returns the workspace size of gemm_run in bytes; 0 for small products, which run in the calling
 * thread only. */
size_t gemm_workspace_size(situ_type type, int64_t m, int64_t n, int64_t k);

/* Computes the product, with the thread pool if it is large. */
situ_status gemm_run(const struct gemm *gemm) SITU_MUST_USE;

#endif
