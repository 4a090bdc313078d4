/* SPDX-License-Identifier: Apache-2.0
 * order.cl: rows in another order. */

/* Row r of y is row order[r] of x. */
KERNEL(reorder_rows, IN(T, x), IN(i64, order), OUT(T, y), SIZE(inner), SIZE(n)) {
  EACH(i, n);
  y[i] = x[order[i / inner] * inner + i % inner];
}
