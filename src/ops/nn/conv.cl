/* SPDX-License-Identifier: Apache-2.0
 * conv.cl: convolutions of images with filters [kh][kw][channels in][channels out], and their
 * gradients; also depthwise ones, whose filters are [kh][kw][channels][multiplier]. On the host
 * conv.c takes host/conv.h where it can.
 *
 * dim is {rows and columns of results, channels of results, rows and columns of the filter,
 * channels that a filter sees, results of a group of channels, images}; place is what window_place
 * makes; step holds the strides {n, h, w, c} of the images, then of the results. Items are elements
 * in the order n, h, w, c whatever the layout is. */
#include "kernel/interrupt.h"
#if T_IS_REAL

/* Ends the kernel at the beginning of a row of results, if the program is interrupted. */
#define CHECK_ROW() \
  if (channel_ == 0 && col_ == 0 && INTERRUPTED) return

#define DECODE(i, h, w, c)                                                 \
  const i64 channel_ = (i) % (c), pixel_ = (i) / (c), col_ = pixel_ % (w), \
            row_ = pixel_ / (w) % (h), image_ = pixel_ / (w) / (h)

KERNEL(conv, IN(T, x), IN(T, filter), OUT(T, y), OUT(T, space), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  DECODE(i, dim[0], dim[1], dim[2]);
  CHECK_ROW();
  const i64 start = image_ * step[0] + channel_ / dim[6] * dim[5] * step[3];
  C sum = 0;
  for (i64 r = 0; r < dim[3]; r++) {
    const i64 h = row_ * place[2] - place[4] + r * place[6];
    for (i64 k = 0; k < dim[4] && h >= 0 && h < place[0]; k++) {
      const i64 w = col_ * place[3] - place[5] + k * place[7];
      if (w < 0 || w >= place[1]) continue;
      const i64 at = start + h * step[1] + w * step[2];
      const i64 tap = (r * dim[4] + k) * dim[5] * dim[2] + channel_;
      for (i64 c = 0; c < dim[5]; c++) sum += (C)x[at + c * step[3]] * (C)filter[tap + c * dim[2]];
    }
  }
  y[image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7]] = (T)sum;
}

KERNEL(conv_images, IN(T, dy), IN(T, filter), OUT(T, dx), OUT(T, space), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  const i64 channels = dim[2] / dim[6] * dim[5];
  DECODE(i, place[0], place[1], channels);
  CHECK_ROW();
  const i64 first = channel_ / dim[5] * dim[6]; /* of the results that see this channel */
  C sum = 0;
  for (i64 r = 0; r < dim[3]; r++) {
    const i64 h = row_ + place[4] - r * place[6];
    if (h < 0 || h % place[2] || h / place[2] >= dim[0]) continue;
    for (i64 k = 0; k < dim[4]; k++) {
      const i64 w = col_ + place[5] - k * place[7];
      if (w < 0 || w % place[3] || w / place[3] >= dim[1]) continue;
      const i64 at = image_ * step[4] + h / place[2] * step[5] + w / place[3] * step[6];
      const i64 tap = ((r * dim[4] + k) * dim[5] + channel_ % dim[5]) * dim[2];
      for (i64 o = first; o < first + dim[6]; o++)
        sum += (C)dy[at + o * step[7]] * (C)filter[tap + o];
    }
  }
  dx[image_ * step[0] + row_ * step[1] + col_ * step[2] + channel_ * step[3]] = (T)sum;
}

KERNEL(conv_filter, IN(T, x), IN(T, dy), OUT(T, df), OUT(T, space), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  const i64 o = i % dim[2], c = i / dim[2] % dim[5], tap = i / dim[2] / dim[5];
  const i64 r = tap / dim[4], k = tap % dim[4];
  C sum = 0;
  for (i64 image = 0; image < dim[7]; image++)
    for (i64 row = 0; row < dim[0]; row++) {
      if (INTERRUPTED) break;
      const i64 h = row * place[2] - place[4] + r * place[6];
      for (i64 col = 0; col < dim[1] && h >= 0 && h < place[0]; col++) {
        const i64 w = col * place[3] - place[5] + k * place[7];
        if (w < 0 || w >= place[1]) continue;
        const i64 channel = o / dim[6] * dim[5] + c;
        sum += (C)x[image * step[0] + h * step[1] + w * step[2] + channel * step[3]] *
               (C)dy[image * step[4] + row * step[5] + col * step[6] + o * step[7]];
      }
    }
  df[i] = (T)sum;
}

/* A depthwise convolution has groups of one channel: its filter [kh][kw][c][m] has the layout of
 * [kh][kw][1][c * m]. The inner loops below run over channels. */
#ifdef SITU_HOST

/* Channels that are done at a time. */
#define ROOM 256

RANGE(depthwise, IN(T, x), IN(T, filter), OUT(T, y), OUT(T, space), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(n)) {
  (void)space;
  (void)n;
  for (i64 i = begin, count; i < end; i += count) {
    DECODE(i, dim[0], dim[1], dim[2]);
    CHECK_ROW();
    C sum[ROOM];
    count = end - i < dim[2] - channel_ ? end - i : dim[2] - channel_;
    count = count < ROOM ? count : ROOM;
    for (i64 j = 0; j < count; j++) sum[j] = 0;
    for (i64 r = 0; r < dim[3]; r++) {
      const i64 h = row_ * place[2] - place[4] + r * place[6];
      for (i64 k = 0; k < dim[4] && h >= 0 && h < place[0]; k++) {
        const i64 w = col_ * place[3] - place[5] + k * place[7];
        if (w < 0 || w >= place[1]) continue;
        const T *from = x + image_ * step[0] + h * step[1] + w * step[2];
        const T *tap = filter + (r * dim[4] + k) * dim[2] + channel_;
        if (dim[6] == 1 && step[3] == 1) {
          from += channel_;
          INDEPENDENT for (i64 j = 0; j < count; j++) sum[j] += (C)from[j] * (C)tap[j];
        } else {
          for (i64 j = 0; j < count; j++)
            sum[j] += (C)from[(channel_ + j) / dim[6] * step[3]] * (C)tap[j];
        }
      }
    }
    T *to = y + image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7];
    for (i64 j = 0; j < count; j++) to[j * step[7]] = (T)sum[j];
  }
}

RANGE(depthwise_images, IN(T, dy), IN(T, filter), OUT(T, dx), OUT(T, space), SIZES(dim),
      SIZES(place), SIZES(step), SIZE(n)) {
  (void)space;
  (void)n;
  const i64 channels = dim[2] / dim[6], each = dim[6];
  for (i64 i = begin, count; i < end; i += count) {
    DECODE(i, place[0], place[1], channels);
    CHECK_ROW();
    C sum[ROOM];
    count = end - i < channels - channel_ ? end - i : channels - channel_;
    count = count < ROOM ? count : ROOM;
    for (i64 j = 0; j < count; j++) sum[j] = 0;
    for (i64 r = 0; r < dim[3]; r++) {
      const i64 h = row_ + place[4] - r * place[6];
      if (h < 0 || h % place[2] || h / place[2] >= dim[0]) continue;
      for (i64 k = 0; k < dim[4]; k++) {
        const i64 w = col_ + place[5] - k * place[7];
        if (w < 0 || w % place[3] || w / place[3] >= dim[1]) continue;
        const T *from = dy + image_ * step[4] + h / place[2] * step[5] + w / place[3] * step[6] +
                        channel_ * each * step[7];
        const T *tap = filter + (r * dim[4] + k) * dim[2] + channel_ * each;
        if (each == 1 && step[7] == 1) {
          INDEPENDENT for (i64 j = 0; j < count; j++) sum[j] += (C)from[j] * (C)tap[j];
        } else {
          for (i64 j = 0; j < count * each; j++) sum[j / each] += (C)from[j * step[7]] * (C)tap[j];
        }
      }
    }
    T *to = dx + image_ * step[0] + row_ * step[1] + col_ * step[2] + channel_ * step[3];
    for (i64 j = 0; j < count; j++) to[j * step[3]] = (T)sum[j];
  }
}

RANGE(depthwise_filter, IN(T, x), IN(T, dy), OUT(T, df), OUT(T, space), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(n)) {
  (void)space;
  (void)n;
  for (i64 i = begin, count; i < end; i += count) {
    const i64 o = i % dim[2], tap = i / dim[2], r = tap / dim[4], k = tap % dim[4];
    C sum[ROOM];
    count = end - i < dim[2] - o ? end - i : dim[2] - o;
    count = count < ROOM ? count : ROOM;
    for (i64 j = 0; j < count; j++) sum[j] = 0;
    for (i64 image = 0; image < dim[7]; image++)
      for (i64 row = 0; row < dim[0]; row++) {
        if (INTERRUPTED) break;
        const i64 h = row * place[2] - place[4] + r * place[6];
        for (i64 col = 0; col < dim[1] && h >= 0 && h < place[0]; col++) {
          const i64 w = col * place[3] - place[5] + k * place[7];
          if (w < 0 || w >= place[1]) continue;
          const T *from = x + image * step[0] + h * step[1] + w * step[2];
          const T *got = dy + image * step[4] + row * step[5] + col * step[6] + o * step[7];
          if (dim[6] == 1 && step[3] == 1 && step[7] == 1) {
            INDEPENDENT for (i64 j = 0; j < count; j++) sum[j] += (C)from[o + j] * (C)got[j];
          } else {
            for (i64 j = 0; j < count; j++)
              sum[j] += (C)from[(o + j) / dim[6] * step[3]] * (C)got[j * step[7]];
          }
        }
      }
    for (i64 j = 0; j < count; j++) df[i + j] = (T)sum[j];
  }
}

#undef ROOM
#endif
#undef DECODE
#undef CHECK_ROW
#endif
