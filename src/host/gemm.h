/* SPDX-License-Identifier: Apache-2.0
 * gemm.h: GEMM on the host.
 *
 * Every element of the result is summed in an order that depends on the sizes and the processor
 * alone, not on the number of threads.
 */
#ifndef SITU_HOST_GEMM_H
#define SITU_HOST_GEMM_H

#include "base/base.h"
#include "situ/tensor.h"

/* c[i * c_row + j * c_col] = sum over p of a[i * a_row + p * a_col] * b[p * b_row + j * b_col] for
 * i < m, j < n, p < k: strides, in elements, say which operand is transposed. One stride of each
 * operand is 1, and c_col is; matrices of HALF lie in one piece. */
struct gemm {
  situ_type type; /* FLOAT, DOUBLE, HALF, INT32 or INT64 */
  int64_t m, n, k;
  const void *a, *b;
  void *c; /* overlaps neither operand */
  int64_t a_row, a_col, b_row, b_col, c_row, c_col;
  void *space; /* gemm_workspace_size bytes, aligned to 64; what it holds does not matter */
};

/* Bytes of space that gemm_run needs for such a product; 0 for the small ones, which run in the
 * calling thread alone. */
size_t gemm_workspace_size(situ_type type, int64_t m, int64_t n, int64_t k);

/* Computes the product, with the pool's help where it is large. */
situ_status gemm_run(const struct gemm *gemm) SITU_MUST_USE;

/* Which kernels this process uses for a type: "avx2", "avx512", "portable" or "onednn". */
const char *gemm_kind(situ_type type);

#endif
