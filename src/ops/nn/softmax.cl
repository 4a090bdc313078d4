/* SPDX-License-Identifier: Apache-2.0
 * softmax.cl: softmax and log-softmax along the last dimension, in place or not; subtracts the
 * maximum first to avoid overflow. */
#if T_IS_REAL
#ifndef SITU_HOST

#include "kernel/lanes.h"

/* Per-lane results for a row: the maximum, and the sum of exp(x - maximum). */
#define ROW_SUMS()                                                                     \
  __local C part[256];                                                                 \
  LANES_BEGIN(lanes, true);                                                            \
  const i64 start = item_ * width, count = item_ < n ? width : 0;                      \
  C largest = -INFINITY, sum = 0;                                                      \
  for (i64 k = lane_; k < count; k += lanes) largest = fmax(largest, (C)x[start + k]); \
  LANES_REDUCE(part, largest, fmax);                                                     \
  for (i64 k = lane_; k < count; k += lanes) sum += exp((C)x[start + k] - largest);    \
  LANES_REDUCE(part, sum, LANES_SUM)

#if IS_PICKED(softmax)
GROUP_KERNEL(softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n), SIZE(lanes)) {
  ROW_SUMS();
  const C share = 1 / sum;
  for (i64 k = lane_; k < count; k += lanes)
    y[start + k] = (T)(exp((C)x[start + k] - largest) * share);
}
#endif

#if IS_PICKED(log_softmax)
GROUP_KERNEL(log_softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n), SIZE(lanes)) {
  ROW_SUMS();
  const C all = log(sum);
  for (i64 k = lane_; k < count; k += lanes) y[start + k] = (T)((C)x[start + k] - largest - all);
}
#endif
#undef ROW_SUMS

#else

/* Exponentials dominate, so there is a version for CPUs with wider vectors. */
#ifdef WIDE_CLONES
#undef CLONES
#define CLONES WIDE_CLONES
#endif

/* Number of elements that are computed together, for vectorization. As many shorter rows as fit
 * into ROOM are computed together. */
#define SIDES 32
#define ROOM 1024

INLINE C JOIN(row_largest, T_NAME)(const T *x, i64 width) {
  C side[SIDES], largest = (C)-INFINITY;
  i64 k = 0;
  if (width >= SIDES) {
    for (int s = 0; s < SIDES; s++) side[s] = (C)x[s];
    for (k = SIDES; k + SIDES <= width; k += SIDES)
      for (int s = 0; s < SIDES; s++) side[s] = (C)x[k + s] > side[s] ? (C)x[k + s] : side[s];
    for (int s = 0; s < SIDES; s++) largest = side[s] > largest ? side[s] : largest;
  }
  for (; k < width; k++) largest = (C)x[k] > largest ? (C)x[k] : largest;
  return largest;
}

/* The sum of exp(x - largest); with `store` (a constant), y is set to exp(x - largest). Prefetches
 * the next row. */
INLINE C JOIN(row_exp, T_NAME)(const T *x, T *y, const bool store, i64 width, C largest) {
  C side[SIDES], sum = 0;
  i64 k = 0;
  for (int s = 0; s < SIDES; s++) side[s] = 0;
  for (; k + SIDES <= width; k += SIDES) {
    for (int line = 0; line < SIDES * (int)sizeof(T); line += 64) {
      __builtin_prefetch((const char *)(x + width + k) + line);
      if (store) __builtin_prefetch((const char *)(y + width + k) + line, 1);
    }
    INDEPENDENT for (int s = 0; s < SIDES; s++) {
      const C e = EXP_BELOW((C)x[k + s] - largest);
      if (store) y[k + s] = (T)e;
      side[s] += e;
    }
  }
  for (; k < width; k++) {
    const C e = EXP_BELOW((C)x[k] - largest);
    if (store) y[k] = (T)e;
    sum += e;
  }
  for (int h = SIDES / 2; h > 0; h /= 2)
    for (int s = 0; s < h; s++) side[s] += side[s + h];
  return sum + side[0];
}

/* Computes x - largest and its exp, for several rows. */
INLINE void JOIN(short_rows, T_NAME)(const T *x, i64 rows, i64 width, C *less, C *exps) {
  for (i64 r = 0; r < rows; r++) {
    const C largest = JOIN(row_largest, T_NAME)(x + r * width, width);
    for (i64 k = 0; k < width; k++) less[r * width + k] = (C)x[r * width + k] - largest;
  }
  INDEPENDENT for (i64 k = 0; k < rows * width; k++) exps[k] = EXP_BELOW(less[k]);
}

INLINE void JOIN(softmax_row, T_NAME)(const T *x, T *y, i64 width) {
  const bool exact = sizeof(T) == sizeof(C); /* otherwise y cannot hold the result of exp */
  const C largest = JOIN(row_largest, T_NAME)(x, width);
  const C share = 1 / JOIN(row_exp, T_NAME)(x, y, exact, width, largest);
  if (exact) {
    INDEPENDENT for (i64 k = 0; k < width; k++) y[k] = (T)((C)y[k] * share);
  } else {
    INDEPENDENT for (i64 k = 0; k < width; k++) y[k] = (T)(EXP_BELOW((C)x[k] - largest) * share);
  }
}

INLINE void JOIN(log_softmax_row, T_NAME)(const T *x, T *y, i64 width) {
  const C largest = JOIN(row_largest, T_NAME)(x, width);
  const C all = log(JOIN(row_exp, T_NAME)(x, y, false, width, largest));
  INDEPENDENT for (i64 k = 0; k < width; k++) y[k] = (T)((C)x[k] - largest - all);
}

INLINE C JOIN(short_sum, T_NAME)(const C *exps, i64 width) {
  C sum = 0;
  for (i64 k = 0; k < width; k++) sum += exps[k];
  return sum;
}

RANGE(softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n), SIZE(lanes)) {
  C less[ROOM], exps[ROOM];
  (void)n;
  (void)lanes;
  for (i64 i = begin; i < end && width >= SIDES; i++)
    JOIN(softmax_row, T_NAME)(x + i * width, y + i * width, width);
  for (i64 i = begin, rows; i < end && width < SIDES; i += rows) {
    rows = end - i < ROOM / width ? end - i : ROOM / width;
    JOIN(short_rows, T_NAME)(x + i * width, rows, width, less, exps);
    for (i64 r = 0; r < rows; r++) {
      const C share = 1 / JOIN(short_sum, T_NAME)(exps + r * width, width);
      for (i64 k = 0; k < width; k++) y[(i + r) * width + k] = (T)(exps[r * width + k] * share);
    }
  }
}

RANGE(log_softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n), SIZE(lanes)) {
  C less[ROOM], exps[ROOM];
  (void)n;
  (void)lanes;
  for (i64 i = begin; i < end && width >= SIDES; i++)
    JOIN(log_softmax_row, T_NAME)(x + i * width, y + i * width, width);
  for (i64 i = begin, rows; i < end && width < SIDES; i += rows) {
    rows = end - i < ROOM / width ? end - i : ROOM / width;
    JOIN(short_rows, T_NAME)(x + i * width, rows, width, less, exps);
    for (i64 r = 0; r < rows; r++) {
      const C all = log(JOIN(short_sum, T_NAME)(exps + r * width, width));
      for (i64 k = 0; k < width; k++) y[(i + r) * width + k] = (T)(less[r * width + k] - all);
    }
  }
}

#undef ROOM
#undef SIDES
#endif
#endif
