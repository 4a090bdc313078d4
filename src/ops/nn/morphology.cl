/* SPDX-License-Identifier: Apache-2.0
 * morphology.cl: grayscale dilation of images by a filter, and its gradients, NHWC.
 *
 * dim is {rows and columns of results, channels, rows and columns of the filter}; place is what
 * window_place makes. An argmax is the index of the filter element with the largest sum, -1 where
 * the filter lies in padding; of equal sums the first. */
#if !T_IS_BOOL
#include "ops/math/type_limits.cl"

/* The argmax of result i and its sum. */
#define DILATION_ARGMAX(i)                                                                      \
  const i64 channel_ = (i) % dim[2], pixel_ = (i) / dim[2], col_ = pixel_ % dim[1];             \
  const i64 row_ = pixel_ / dim[1] % dim[0], image_ = pixel_ / dim[1] / dim[0];                 \
  i64 index = -1;                                                                               \
  T best = (T)LOWEST_FINITE;                                                                    \
  for (i64 k = 0; k < dim[3] * dim[4]; k++) {                                                   \
    const i64 h = row_ * place[2] - place[4] + k / dim[4] * place[6];                           \
    const i64 w = col_ * place[3] - place[5] + k % dim[4] * place[7];                           \
    if (h < 0 || h >= place[0] || w < 0 || w >= place[1]) continue;                             \
    const T v = (T)((C)x[((image_ * place[0] + h) * place[1] + w) * dim[2] + channel_] +        \
                    (C)filter[k * dim[2] + channel_]);                                          \
    if (v > best) {                                                                             \
      best = v;                                                                                 \
      index = k;                                                                                \
    }                                                                                           \
  }

KERNEL(dilation, IN(T, x), IN(T, filter), OUT(T, y), SIZES(dim), SIZES(place), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  DILATION_ARGMAX(i);
  y[i] = index < 0 ? (T)LOWEST_FINITE : best;
}

KERNEL(dilation_argmax, IN(T, x), IN(T, filter), OUT(i64, argmax), SIZES(dim), SIZES(place),
       SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  DILATION_ARGMAX(i);
  argmax[i] = index;
}

/* An element of the images gets the gradients of the results whose sum it is in. */
KERNEL(dilation_input_grad, IN(i64, argmax), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
       SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  const i64 channel = i % dim[2], pixel = i / dim[2], col = pixel % place[1];
  const i64 row = pixel / place[1] % place[0], image = pixel / place[1] / place[0];
  C sum = 0;
  for (i64 k = 0; k < dim[3] * dim[4]; k++) {
    const i64 h = row + place[4] - k / dim[4] * place[6];
    const i64 w = col + place[5] - k % dim[4] * place[7];
    if (h < 0 || w < 0 || h % place[2] || w % place[3]) continue;
    if (h / place[2] >= dim[0] || w / place[3] >= dim[1]) continue;
    const i64 at = ((image * dim[0] + h / place[2]) * dim[1] + w / place[3]) * dim[2] + channel;
    if (argmax[at] == k) sum += (C)dy[at];
  }
  dx[i] = (T)sum;
}

/* An element of the filter gets the gradients of the results that it won. */
KERNEL(dilation_filter_grad, IN(i64, argmax), IN(T, dy), OUT(T, dx), SIZE(channels),
       SIZE(results), SIZE(n)) {
  EACH(i, n);
  const i64 channel = i % channels, k = i / channels;
  C sum = 0;
  for (i64 at = channel; at < results; at += channels)
    if (argmax[at] == k) sum += (C)dy[at];
  dx[i] = (T)sum;
}

#undef DILATION_ARGMAX
#undef HIGHEST_FINITE
#undef HIGHEST_BFLOAT16
#undef LOWEST_FINITE
#endif
