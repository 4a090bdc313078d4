/* SPDX-License-Identifier: Apache-2.0
 * scan.cl: running sums and products along the middle of [outer][length][inner]; an item does one
 * line. */

#if !T_IS_BOOL
#define SCAN(name, IDENTITY, f)                                                              \
  KERNEL(name, IN(T, x), OUT(T, y), SIZE(length), SIZE(inner), SIZE(exclusive), SIZE(reverse), \
         SIZE(n)) {                                                                          \
    EACH(i, n);                                                                              \
    const i64 start = i / inner * length * inner + i % inner;                                \
    C all = IDENTITY;                                                                        \
    for (i64 k = 0; k < length; k++) {                                                       \
      const i64 at = start + (reverse ? length - 1 - k : k) * inner;                         \
      const C before = all, v = (C)x[at];                                                    \
      all = f;                                                                               \
      y[at] = (T)(exclusive ? before : all);                                                 \
    }                                                                                        \
  }
SCAN(running_sum, 0, all + v)
SCAN(running_product, 1, all * v)
#undef SCAN
#endif
