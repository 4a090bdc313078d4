/* SPDX-License-Identifier: Apache-2.0
 * cross_entropy.cl: cross-entropies of softmax, a row at a time. The largest logit is taken off
 * first, so that nothing overflows.
 *
 * cross_entropy: loss = sum of labels * (log(sum(exp(x))) - x), backprop = softmax(x) - labels;
 * strides of 0 let logits or labels be broadcast. sparse_cross_entropy_*: the same where a row's
 * label is the number of its class. */
#if T_IS_REAL

#define DENSE_ARGS                                                                              \
  IN(T, logits), IN(T, labels), OUT(T, loss), OUT(T, backprop), SIZE(width), SIZE(x_row),       \
      SIZE(x_col), SIZE(l_row), SIZE(l_col), SIZE(n), SIZE(lanes)
#define SPARSE_ARGS(INDEX)                                                                      \
  IN(T, logits), IN(INDEX, labels), OUT(T, loss), OUT(T, backprop), SIZE(width), SIZE(n),       \
      SIZE(lanes)
#define LARGER(a, b) ((a) > (b) ? (a) : (b))
/* A label of 0 counts nothing, whatever the logit is. */
#define SHARE_OF_LOSS(label, less, all) ((label) == 0 ? (C)0 : (label) * ((all) - (less)))

#ifdef SITU_HOST

KERNEL(cross_entropy, DENSE_ARGS) {
  EACH(i, n);
  (void)lanes;
  const i64 x = i * x_row, l = i * l_row, start = i * width;
  C largest = -INFINITY, sum = 0, total = 0;
  for (i64 k = 0; k < width; k++) largest = LARGER((C)logits[x + k * x_col], largest);
  for (i64 k = 0; k < width; k++) sum += EXP_BELOW((C)logits[x + k * x_col] - largest);
  const C all = log(sum), share = 1 / sum;
  for (i64 k = 0; k < width; k++) {
    const C less = (C)logits[x + k * x_col] - largest, label = (C)labels[l + k * l_col];
    total += SHARE_OF_LOSS(label, less, all);
    backprop[start + k] = (T)(EXP_BELOW(less) * share - label);
  }
  loss[i] = (T)total;
}

#define SPARSE_CROSS_ENTROPY(name, INDEX)                                                    \
  KERNEL(name, SPARSE_ARGS(INDEX)) {                                                         \
    EACH(i, n);                                                                              \
    (void)lanes;                                                                             \
    const i64 start = i * width, label = (i64)labels[i];                                     \
    if (label < 0 || label >= width) FAIL(LABEL, label, width, i);                           \
    C largest = -INFINITY, sum = 0;                                                          \
    for (i64 k = 0; k < width; k++) largest = LARGER((C)logits[start + k], largest);         \
    for (i64 k = 0; k < width; k++) sum += EXP_BELOW((C)logits[start + k] - largest);        \
    const C share = 1 / sum;                                                                 \
    loss[i] = (T)(log(sum) - ((C)logits[start + label] - largest));                          \
    for (i64 k = 0; k < width; k++)                                                          \
      backprop[start + k] =                                                                  \
          (T)(EXP_BELOW((C)logits[start + k] - largest) * share - (C)(k == label ? 1 : 0));  \
  }
SPARSE_CROSS_ENTROPY(sparse_cross_entropy_i32, i32)
SPARSE_CROSS_ENTROPY(sparse_cross_entropy_i64, i64)
#undef SPARSE_CROSS_ENTROPY

#else
#include "kernel/lanes.h"

/* Per-lane results for a row of logits at `x`: the maximum, and the sum of exp(logit - maximum). */
#define ROW_SUMS(x, x_col)                                                                   \
  const i64 count = item_ < n ? width : 0, start = item_ * width;                            \
  C largest = -INFINITY, sum = 0;                                                            \
  for (i64 k = lane_; k < count; k += lanes)                                                 \
    largest = LARGER((C)logits[(x) + k * (x_col)], largest);                                 \
  LANES_REDUCE(part, largest, LARGER);                                                         \
  for (i64 k = lane_; k < count; k += lanes) sum += exp((C)logits[(x) + k * (x_col)] - largest); \
  LANES_REDUCE(part, sum, LANES_SUM);                                                          \
  const C all = log(sum), share = 1 / sum

#if IS_PICKED(cross_entropy)
GROUP_KERNEL(cross_entropy, DENSE_ARGS) {
  __local C part[256];
  LANES_BEGIN(lanes, true);
  const i64 x = item_ * x_row, l = item_ * l_row;
  ROW_SUMS(x, x_col);
  C total = 0;
  for (i64 k = lane_; k < count; k += lanes) {
    const C less = (C)logits[x + k * x_col] - largest, label = (C)labels[l + k * l_col];
    total += SHARE_OF_LOSS(label, less, all);
    backprop[start + k] = (T)(exp(less) * share - label);
  }
  LANES_REDUCE(part, total, LANES_SUM);
  if (lane_ == 0 && item_ < n) loss[item_] = (T)total;
}
#endif

/* An invalid label, which a GPU cannot report, makes the row NaN, as in TensorFlow. */
#define SPARSE_BODY                                                                          \
  {                                                                                          \
    __local C part[256];                                                                     \
    LANES_BEGIN(lanes, true);                                                                \
    const i64 label = item_ < n ? (i64)labels[item_] : 0;                                    \
    const bool is_class = label >= 0 && label < width;                                       \
    ROW_SUMS(item_ * width, 1);                                                              \
    for (i64 k = lane_; k < count; k += lanes) {                                             \
      const C less = (C)logits[start + k] - largest;                                         \
      const C change = exp(less) * share - (C)(k == label ? 1 : 0);                          \
      backprop[start + k] = (T)(is_class ? change : (C)NAN);                                 \
      if (k == (is_class ? label : 0)) loss[item_] = (T)(is_class ? all - less : (C)NAN);    \
    }                                                                                        \
  }
#if IS_PICKED(sparse_cross_entropy_i32)
GROUP_KERNEL(sparse_cross_entropy_i32, SPARSE_ARGS(i32)) SPARSE_BODY
#endif
#if IS_PICKED(sparse_cross_entropy_i64)
GROUP_KERNEL(sparse_cross_entropy_i64, SPARSE_ARGS(i64)) SPARSE_BODY
#endif
#undef SPARSE_BODY
#undef ROW_SUMS
#endif

#undef DENSE_ARGS
#undef SPARSE_ARGS
#undef LARGER
#undef SHARE_OF_LOSS
#endif
