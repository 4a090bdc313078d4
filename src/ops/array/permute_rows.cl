/* SPDX-License-Identifier: Apache-2.0
 * permute_rows.cl: permutes the first dimension of a tensor. */

/* Row r of y is row order[r] of x, or 0 where that is negative. */
KERNEL(reorder_rows, IN(T, x), IN(i64, order), OUT(T, y), SIZE(inner), SIZE(n)) {
  EACH(i, n);
  const i64 row = order[i / inner];
  y[i] = row < 0 ? ZERO : x[row * inner + i % inner];
}
