/* SPDX-License-Identifier: Apache-2.0
 * loss.cl: cross-entropies of softmax, a row at a time. The largest logit is taken off first, so
 * that nothing overflows. */
#if T_IS_REAL

#define LARGER(a, b) ((a) > (b) ? (a) : (b))
#ifdef SITU_HOST
#define LOSS_EXP(x) EXP_BELOW(x)
#else
#define LOSS_EXP(x) exp(x)
#endif

/* loss = sum of labels * (log(sum(exp(x))) - x), backprop = softmax(x) - labels; strides of 0 let
 * logits or labels be broadcast. */
KERNEL(cross_entropy, IN(T, logits), IN(T, labels), OUT(T, loss), OUT(T, backprop), SIZE(width),
       SIZE(x_row), SIZE(x_col), SIZE(l_row), SIZE(l_col), SIZE(n)) {
  EACH(i, n);
  const i64 x = i * x_row, l = i * l_row, start = i * width;
  C largest = -INFINITY, sum = 0, total = 0;
  for (i64 k = 0; k < width; k++) largest = LARGER((C)logits[x + k * x_col], largest);
  for (i64 k = 0; k < width; k++) sum += LOSS_EXP((C)logits[x + k * x_col] - largest);
  const C all = log(sum), share = 1 / sum;
  for (i64 k = 0; k < width; k++) {
    const C less = (C)logits[x + k * x_col] - largest, label = (C)labels[l + k * l_col];
    /* A label of 0 counts nothing, whatever the logit is. */
    total += label == 0 ? (C)0 : label * (all - less);
    backprop[start + k] = (T)(LOSS_EXP(less) * share - label);
  }
  loss[i] = (T)total;
}

/* The same where a row's label is the number of its class. */
#define SPARSE_CROSS_ENTROPY(name, INDEX)                                                     \
  KERNEL(name, IN(T, logits), IN(INDEX, labels), OUT(T, loss), OUT(T, backprop), SIZE(width), \
         SIZE(n)) {                                                                           \
    EACH(i, n);                                                                               \
    const i64 start = i * width, label = (i64)labels[i];                                      \
    if (label < 0 || label >= width) FAIL(LABEL, label, width, i);                            \
    C largest = -INFINITY, sum = 0;                                                           \
    for (i64 k = 0; k < width; k++) largest = LARGER((C)logits[start + k], largest);          \
    for (i64 k = 0; k < width; k++) sum += LOSS_EXP((C)logits[start + k] - largest);          \
    const C share = 1 / sum;                                                                  \
    loss[i] = (T)(log(sum) - ((C)logits[start + label] - largest));                           \
    for (i64 k = 0; k < width; k++)                                                           \
      backprop[start + k] =                                                                   \
          (T)(LOSS_EXP((C)logits[start + k] - largest) * share - (C)(k == label ? 1 : 0));    \
  }

SPARSE_CROSS_ENTROPY(sparse_cross_entropy_i32, i32)
SPARSE_CROSS_ENTROPY(sparse_cross_entropy_i64, i64)

#undef SPARSE_CROSS_ENTROPY
#undef LOSS_EXP
#undef LARGER
#endif
