/* SPDX-License-Identifier: Apache-2.0
 * poisson_binomial.cl: samples of Poisson and binomial distributions. Uses the random bits in the
 * order of TensorFlow. */
#include "kernel/philox.h"

#if T_IS_REAL && T_BYTES == 8 && HAS_DOUBLE
/* Uniform numbers of one output: pairs of each block, the last pair first. */
struct uniform_stream {
  struct philox p;
  T pair[2];
  int left;
};

INLINE T stream_next(struct uniform_stream *s) {
  if (!s->left) {
    const struct words x = philox_words(s->p);
    s->p = philox_skip(s->p, 1);
    s->pair[0] = philox_wide(x.at[0], x.at[1]);
    s->pair[1] = philox_wide(x.at[2], x.at[3]);
    s->left = 2;
  }
  return s->pair[--s->left];
}

/* Counts factors until their product is at most exp(-rate) (Knuth). */
INLINE T poisson_small(struct uniform_stream *s, T rate) {
  const T limit = exp(-rate);
  T product = 1, count = 0;
  for (;; count += 1) {
    product *= stream_next(s);
    if (!(product > limit)) return count;
  }
}

/* Transformed rejection (Hoermann, 1993). */
INLINE T poisson_large(struct uniform_stream *s, T rate) {
  const T b = (T)0.931 + (T)2.53 * sqrt(rate), a = (T)-0.059 + (T)0.02483 * b;
  const T inverse_alpha = (T)1.1239 + (T)1.1328 / (b - (T)3.4), log_rate = log(rate);
  for (;;) {
    const T u = stream_next(s) - (T)0.5, v = stream_next(s), shifted = (T)0.5 - fabs(u);
    const T k = floor((2 * a / shifted + b) * u + rate + (T)0.43);
    if (shifted >= (T)0.07 && v <= (T)0.9277 - (T)3.6224 / (b - 2)) return k;
    if (k < 0 || (shifted < (T)0.013 && v > shifted)) continue;
    const T bound = k * log_rate - rate - lgamma(k + 1);
    if (log(v * inverse_alpha / (a / (shifted * shifted) + b)) <= bound) return k;
  }
}

/* y has [samples][rates] numbers; those of one rate use consecutive blocks. */
KERNEL(random_poisson, IN(u32, s), IN(T, rates), OUT(T, y), SIZE(n_rates), SIZE(samples),
       SIZE(n)) {
  EACH(i, n);
  const i64 which = i % n_rates, number = which * samples + i / n_rates;
  const struct philox p = PHILOX_STATE(s);
  struct uniform_stream stream = {philox_skip(p, (u64)number * 256), {0, 0}, 0};
  const T rate = rates[which];
  if (rate > 0 && !(rate - rate == 0))
    y[i] = INFINITY;
  else if (!(rate >= 0))
    y[i] = NAN;
  else
    y[i] = rate < 10 ? poisson_small(&stream, rate) : poisson_large(&stream, rate);
}

/* Sums geometric numbers until the sum exceeds the count. */
INLINE T binomial_small(struct uniform_stream *s, T count, T prob) {
  T sum = 0, successes = 0;
  for (;; successes += 1) {
    sum += ceil(log(stream_next(s)) / log1p(-prob));
    if (!(sum <= count)) return successes;
  }
}

/* The error of Stirling's approximation of log(k!). */
INLINE T stirling_tail(T k) {
  const T square = (k + 1) * (k + 1);
  if (k > 9)
    return ((T)1 / 12 - ((T)1 / 360 - (T)1 / 1260 / square) / square) / (k + 1);
  const T small[10] = {(T)0.0810614667953272,  (T)0.0413406959554092,  (T)0.0276779256849983,
                       (T)0.02079067210376509, (T)0.0166446911898211,  (T)0.0138761288230707,
                       (T)0.0118967099458917,  (T)0.0104112652619720,  (T)0.00925546218271273,
                       (T)0.00833056343336287};
  return small[k > 0 ? (int)k : 0];
}

/* Transformed rejection (Hoermann, 1993), for count * prob >= 10. */
INLINE T binomial_large(struct uniform_stream *s, T count, T prob) {
  const T stddev = sqrt(count * prob * (1 - prob)), b = (T)1.15 + (T)2.53 * stddev;
  const T a = (T)-0.0873 + (T)0.0248 * b + (T)0.01 * prob, c = count * prob + (T)0.5;
  const T r = prob / (1 - prob), alpha = ((T)2.83 + (T)5.1 / b) * stddev;
  const T m = floor((count + 1) * prob);
  for (;;) {
    const T u = stream_next(s), v = stream_next(s);
    const T centered = u - (T)0.5, shifted = (T)0.5 - fabs(centered);
    const T k = floor((2 * a / shifted + b) * centered + c);
    if (shifted >= (T)0.07 && v <= (T)0.92 - (T)4.2 / b) return k;
    if (k < 0 || k > count) continue;
    const T bound = (m + (T)0.5) * log((m + 1) / (r * (count - m + 1))) +
                    (count + 1) * log((count - m + 1) / (count - k + 1)) +
                    (k + (T)0.5) * log(r * (count - k + 1) / (k + 1)) + stirling_tail(m) +
                    stirling_tail(count - m) - stirling_tail(k) - stirling_tail(count - k);
    if (log(v * alpha / (a / (shifted * shifted) + b)) <= bound) return k;
  }
}

INLINE T binomial_below_half(struct philox p, i64 number, T count, T prob) {
  const bool large = count * prob >= 10;
  struct uniform_stream stream = {philox_skip(p, (u64)number * (large ? 256 : 42)), {0, 0}, 0};
  return large ? binomial_large(&stream, count, prob) : binomial_small(&stream, count, prob);
}

/* y has [samples][batches] numbers; counts and probs are repeated to fill a batch. */
KERNEL(random_binomial, IN(u32, s), IN(T, counts), IN(T, probs), OUT(T, y), SIZE(batches),
       SIZE(samples), SIZE(n)) {
  EACH(i, n);
  const i64 which = i % batches, number = which * samples + i / batches;
  const T count = counts[which], prob = probs[which];
  const struct philox p = PHILOX_STATE(s);
  if (count <= 0 || prob <= 0)
    y[i] = 0;
  else if (prob >= 1)
    y[i] = count;
  else if (!(prob == prob) || !(count - count == 0))
    y[i] = NAN;
  else if (prob <= (T)0.5)
    y[i] = binomial_below_half(p, number, count, prob);
  else
    y[i] = count - binomial_below_half(p, number, count, 1 - prob);
}
#endif
