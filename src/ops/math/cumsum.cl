/* SPDX-License-Identifier: Apache-2.0
 * cumsum.cl: cumulative sums and products along the middle of [outer][length][inner]; one work item
 * per line. On a GPU the lanes of an item compute a parallel prefix sum (Hillis and Steele) of one
 * element per lane, then add the total of all previous ones. */
#if !T_IS_BOOL
#define SCAN_SUM(a, b) ((a) + (b))
#define SCAN_PRODUCT(a, b) ((a) * (b))
/* log(exp(a) + exp(b)); equal ones first: the difference of infinities is NaN. */
#define SCAN_LOGSUMEXP(a, b) scan_logsumexp((C)(a), (C)(b))
#define SCAN_ARGS                                                                               \
  IN(T, x), OUT(T, y), SIZE(length), SIZE(inner), SIZE(exclusive), SIZE(reverse), SIZE(n), \
      SIZE(lanes)
#if T_IS_REAL
#define scan_logsumexp JOIN(scan_logsumexp_of, T_NAME)
INLINE C scan_logsumexp(C a, C b) {
  if (a == b) return a + (C)0.69314718055994531;
  return a > b ? a + log1p(exp(b - a)) : b + log1p(exp(a - b));
}
#endif
#ifdef SITU_HOST

#define SCAN(name, IDENTITY, TWO)                                      \
  KERNEL(name, SCAN_ARGS) {                                            \
    EACH(i, n);                                                        \
    (void)lanes;                                                       \
    const i64 start = i / inner * length * inner + i % inner;          \
    C all = IDENTITY;                                                  \
    for (i64 k = 0; k < length; k++) {                                 \
      const i64 at = start + (reverse ? length - 1 - k : k) * inner;   \
      const C before = all;                                            \
      all = TWO(all, (C)x[at]);                                        \
      y[at] = (T)(exclusive ? before : all);                           \
    }                                                                  \
  }
SCAN(running_sum, 0, SCAN_SUM)
SCAN(running_product, 1, SCAN_PRODUCT)
#if T_IS_REAL
SCAN(running_logsumexp, (C)-INFINITY, SCAN_LOGSUMEXP)
#endif
#else
#include "kernel/lanes.h"

#define SCAN(name, IDENTITY, TWO)                                                    \
  GROUP_KERNEL(name, SCAN_ARGS) {                                                    \
    __local C part[256];                                                             \
    LANES_BEGIN(lanes, inner == 1);                                                  \
    const i64 start = item_ / inner * length * inner + item_ % inner;                \
    C before = IDENTITY;                                                             \
    for (i64 first = 0; first < length; first += n_lanes_) {                         \
      const i64 k = first + lane_;                                                   \
      const i64 at = start + (reverse ? length - 1 - k : k) * inner;                 \
      const bool in = item_ < n && k < length;                                       \
      C all = in ? (C)x[at] : (C)IDENTITY;                                           \
      part[id_] = all;                                                               \
      barrier(CLK_LOCAL_MEM_FENCE);                                                  \
      for (int step_ = 1; step_ < n_lanes_; step_ *= 2) {                            \
        const C other = lane_ >= step_ ? part[id_ - step_ * stride_] : (C)IDENTITY;  \
        barrier(CLK_LOCAL_MEM_FENCE);                                                \
        part[id_] = all = TWO(other, all);                                           \
        barrier(CLK_LOCAL_MEM_FENCE);                                                \
      }                                                                              \
      const C left = lane_ ? part[id_ - stride_] : (C)IDENTITY;                      \
      const C total = part[id_ + (n_lanes_ - 1 - lane_) * stride_];                  \
      barrier(CLK_LOCAL_MEM_FENCE);                                                  \
      if (in) y[at] = (T)TWO(before, exclusive ? left : all);                        \
      before = TWO(before, total);                                                   \
    }                                                                                \
  }

#if IS_PICKED(running_sum)
SCAN(running_sum, 0, SCAN_SUM)
#endif
#if IS_PICKED(running_product)
SCAN(running_product, 1, SCAN_PRODUCT)
#endif
#if T_IS_REAL && IS_PICKED(running_logsumexp)
SCAN(running_logsumexp, -INFINITY, SCAN_LOGSUMEXP)
#endif
#endif

#if T_IS_REAL
#undef scan_logsumexp
#endif
#undef SCAN
#undef SCAN_ARGS
#undef SCAN_SUM
#undef SCAN_PRODUCT
#undef SCAN_LOGSUMEXP
#endif

/* The same of complex numbers, which are pairs; the steps follow each other on every device. */
#if T_IS_REAL && T_BYTES >= 4
KERNEL(complex_running_product, IN(T, x), OUT(T, y), SIZE(length), SIZE(inner), SIZE(exclusive),
       SIZE(reverse), SIZE(n)) {
  EACH(i, n);
  const i64 start = i / inner * length * inner + i % inner;
  T re = 1, im = 0;
  for (i64 k = 0; k < length; k++) {
    const i64 at = 2 * (start + (reverse ? length - 1 - k : k) * inner);
    const T a = x[at], b = x[at + 1], product = re * a - im * b, cross = re * b + im * a;
    y[at] = exclusive ? re : product;
    y[at + 1] = exclusive ? im : cross;
    re = product;
    im = cross;
  }
}
#endif
