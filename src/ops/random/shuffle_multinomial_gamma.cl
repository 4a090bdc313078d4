/* SPDX-License-Identifier: Apache-2.0
 * shuffle_multinomial_gamma.cl: RandomShuffle, Multinomial, RandomGamma. Uses the random bits in
 * the order of TensorFlow. */
#include "kernel/interrupt.h"
#include "kernel/philox.h"

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES == 8
/* Word k of the generator. */
#ifndef SAMPLING_WORD
#define SAMPLING_WORD
INLINE u32 sampling_word(struct philox p, i64 k) {
  return philox_words(philox_skip(p, (u64)k / 4)).at[k % 4];
}
#endif

/* A random order of n numbers (Fisher and Yates): one item does it all. */
KERNEL(random_order, IN(u32, s), OUT(T, order), SIZE(n)) {
  EACH(i, 1);
  const struct philox p = PHILOX_STATE(s);
  for (i64 k = 0; k < n; k++) order[i + k] = k;
  for (i64 k = 0; k + 1 < n; k++) {
    if (IS_CHECK(k) && INTERRUPTED) return;
    const i64 other = k + (i64)(sampling_word(p, k) % (u32)(n - k)), kept = order[k];
    order[k] = order[other];
    order[other] = kept;
  }
}
#endif

#if T_IS_REAL
/* The running sums of exp(logit - greatest) of each row. */
KERNEL(random_weights, IN(T, logits), OUT(W, sums), SIZE(classes), SIZE(rows)) {
  EACH(row, rows);
  const i64 start = row * classes;
  C greatest = -INFINITY;
  for (i64 k = 0; k < classes; k++) {
    const C value = (C)logits[start + k];
    greatest = value - value == 0 && value > greatest ? value : greatest;
  }
  W total = 0;
  for (i64 k = 0; k < classes; k++) {
    const C value = (C)logits[start + k];
    if (value - value == 0) total += exp((W)value - (W)greatest);
    sums[start + k] = total;
  }
}
#endif

#if T_IS_INTEGER && T_IS_SIGNED && T_BYTES >= 4
/* Output i: the first class whose running sum is above a random part of the whole. */
KERNEL(random_classes, IN(u32, s), IN(W, sums), OUT(T, y), SIZE(classes), SIZE(samples),
       SIZE(n)) {
  EACH(i, n);
  const struct philox p = PHILOX_STATE(s);
  const struct words x = philox_words(philox_skip(p, (u64)i / 2));
  const i64 start = i / samples * classes, half_ = i % 2 * 2;
  const W part =
      philox_wide(x.at[half_], x.at[half_ + 1]) * (classes ? sums[start + classes - 1] : 0);
  i64 low = 0, high = classes;
  while (low < high) {
    const i64 middle = (low + high) / 2;
    if (sums[start + middle] > part)
      high = middle;
    else
      low = middle + 1;
  }
  y[i] = (T)low;
}
#endif

#if T_IS_REAL
/* A stream of numbers of one output: pairs of each block, the last pair first. */
struct JOIN(stream, T_NAME) {
  struct philox p;
  W normal[2], uniform[2];
  int normals, uniforms;
};

INLINE W JOIN(next_uniform, T_NAME)(struct JOIN(stream, T_NAME) * s) {
  if (!s->uniforms) {
    const struct words x = philox_words(s->p);
    s->p = philox_skip(s->p, 1);
    s->uniform[0] = philox_wide(x.at[0], x.at[1]);
    s->uniform[1] = philox_wide(x.at[2], x.at[3]);
    s->uniforms = 2;
  }
  return s->uniform[--s->uniforms];
}

INLINE W JOIN(next_normal, T_NAME)(struct JOIN(stream, T_NAME) * s) {
  if (!s->normals) {
    const struct words x = philox_words(s->p);
    s->p = philox_skip(s->p, 1);
    const W u = philox_wide(x.at[0], x.at[1]), v = philox_wide(x.at[2], x.at[3]);
    const W radius = sqrt(-2 * log(u < (W)1e-7 ? (W)1e-7 : u));
    const W angle = (W)6.283185307179586 * v;
    s->normal[0] = radius * sin(angle);
    s->normal[1] = radius * cos(angle);
    s->normals = 2;
  }
  return s->normal[--s->normals];
}

/* A number of the gamma distribution (Marsaglia and Tsang, 2000). */
INLINE W JOIN(gamma_of, T_NAME)(struct JOIN(stream, T_NAME) * s, W alpha) {
  const bool below = alpha < 1;
  const W d = alpha + (below ? (W)2 / 3 : -(W)1 / 3), c = (W)1 / 3 / sqrt(d);
  if (alpha == 1) return -log1p(-JOIN(next_uniform, T_NAME)(s));
  for (;;) {
    const W x = JOIN(next_normal, T_NAME)(s), t = 1 + c * x, v = t * t * t;
    if (t <= 0) continue;
    const W u = JOIN(next_uniform, T_NAME)(s);
    if (u >= 1 - (W)0.0331 * (x * x) * (x * x) &&
        log(u) >= (W)0.5 * x * x + d * (1 - v + log(v)))
      continue;
    return below ? d * v * pow(JOIN(next_uniform, T_NAME)(s), 1 / alpha) : d * v;
  }
}

/* y has [samples][alphas] numbers; those of one alpha use consecutive blocks. */
KERNEL(random_gamma, IN(u32, s), IN(T, alpha), OUT(T, y), SIZE(alphas), SIZE(samples), SIZE(n)) {
  EACH(i, n);
  const i64 which = i % alphas, number = which * samples + i / alphas;
  const struct philox p = PHILOX_STATE(s);
  struct JOIN(stream, T_NAME) stream = {philox_skip(p, (u64)number * 256), {0, 0}, {0, 0}, 0, 0};
  y[i] = (T)JOIN(gamma_of, T_NAME)(&stream, (W)alpha[which]);
}
#endif
