/* SPDX-License-Identifier: Apache-2.0
 * top_k.cl: top-k along the last dimension. */
#include "kernel/interrupt.h"
#if !T_IS_BOOL

/* Whether element a of a row comes before element b: by decreasing value, then by index; NaN last.
 * */
#define AHEAD(a, b)                                                                             \
  (x[start + (b)] != x[start + (b)]                                                             \
       ? x[start + (a)] == x[start + (a)] || (a) < (b)                                          \
       : x[start + (a)] > x[start + (b)] || (x[start + (a)] == x[start + (b)] && (a) < (b)))

/* Inserts `item` into a heap of m elements with a free root; the root is the last in order. */
#define SINK(heap, m, item)                                          \
  {                                                                  \
    i64 at = 0, child = 1;                                           \
    while (child < (m)) {                                            \
      if (child + 1 < (m) && AHEAD((heap)[child], (heap)[child + 1])) child++; \
      if (AHEAD((heap)[child], item)) break;                         \
      (heap)[at] = (heap)[child];                                    \
      at = child;                                                    \
      child = 2 * at + 1;                                            \
    }                                                                \
    (heap)[at] = item;                                               \
  }

/* The first k elements of a row in that order: a heap of the best k so far, then sorted. */
KERNEL(top_k, IN(T, x), OUT(T, values), OUT(i32, indices), SIZE(width), SIZE(k), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width, first = i * k;
  for (i64 j = 0; j < width && k > 0; j++) {
    if (IS_CHECK(j) && INTERRUPTED) return;
    if (j < k) {
      i64 at = j;
      while (at > 0 && AHEAD(indices[first + (at - 1) / 2], (i32)j)) {
        indices[first + at] = indices[first + (at - 1) / 2];
        at = (at - 1) / 2;
      }
      indices[first + at] = (i32)j;
    } else if (AHEAD((i32)j, indices[first])) {
      SINK(indices + first, k, (i32)j)
    }
  }
  for (i64 m = k - 1; m > 0; m--) {
    if (IS_CHECK(m) && INTERRUPTED) return;
    const i32 item = indices[first + m];
    indices[first + m] = indices[first];
    SINK(indices + first, m, item)
  }
  for (i64 r = 0; r < k; r++) values[first + r] = x[start + indices[first + r]];
}

#endif
#if T_IS_INTEGER

/* Whether fewer than k elements of a row are greater than the one at the target index. */
KERNEL(in_top_k, IN(float, x), IN(T, targets), OUT(uchar, y), SIZE(width), SIZE(k), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width, target = (i64)targets[i];
  const bool inside = target >= 0 && target < width;
  const float own = inside ? x[start + target] : 0;
  bool known = inside && own - own == 0;
  i64 above = 0;
  for (i64 j = 0; j < width; j++) {
    const float v = x[start + j];
    known = known && v - v == 0;
    above += v > own;
  }
  y[i] = (uchar)(known && above < k);
}

#endif
