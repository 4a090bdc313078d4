/* SPDX-License-Identifier: Apache-2.0
 * conv_common.h: what the parts of conv.c share. */
#ifndef SITU_HOST_CONV_COMMON_H
#define SITU_HOST_CONV_COMMON_H

#include "device/backend.h"
#include "host/conv_kernels.h"

/* a / b, rounded up, for b > 0. */
static inline int64_t conv_ceil(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static inline int64_t conv_clip(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Bytes of so many elements, up to where the next part of the space begins. */
static inline size_t conv_aligned(int64_t elements, size_t size) {
  return round_up((size_t)elements * size, 64);
}

/* The places from <= i < to, among 0 <= i < count, for which 0 <= i * stride + at < size. */
static inline void conv_valid(int64_t at, int64_t stride, int64_t size, int64_t count,
                              int64_t *from, int64_t *to) {
  const bool each = stride == 1; /* divisions take long */
  *from = conv_clip(each ? -at : conv_ceil(-at, stride), 0, count);
  *to = conv_clip(each ? size - at : conv_ceil(size - at, stride), *from, count);
}

/* Clears a tile that nothing is added to. */
void conv_clear_tile(const struct conv_tile *tile, size_t size, int64_t rows, int64_t cols);

/* Whether images have so few channels that they get their padding at the sides, so that the taps of
 * a row are one run; the columns that such images then have; their bytes (0 otherwise). */
bool conv_few_channels(const struct conv *conv);
int64_t conv_padded_width(const struct conv *conv);
size_t conv_padded_bytes(const struct conv *conv);
situ_status conv_pad_images(const struct conv *conv, char *to) SITU_MUST_USE;

/* Whether wide tiles fit so many columns: for images with few channels they are the better ones. */
static inline bool conv_is_wide(const struct conv_kernels *kernels, int64_t columns) {
  return kernels->wide_rows && columns % kernels->wide_cols == 0;
}

/* The elements of a packed filter. */
int64_t conv_packed(const struct conv_kernels *kernels, int64_t taps, int64_t depth,
                    int64_t columns);

/* Any of the three for images kept channel by channel, and the space that it takes in front of
 * conv_run's own: conv_nchw.c. */
situ_status conv_nchw_run(const struct conv *conv, enum conv_pass want) SITU_MUST_USE;
size_t conv_nchw_space(const struct conv *conv);

/* Results and gradient of the images, conv_direct.c; gradient of the filter, conv_filter.c. */
situ_status conv_result(const struct conv_kernels *kernels, const struct conv *conv) SITU_MUST_USE;
situ_status conv_images(const struct conv_kernels *kernels, const struct conv *conv) SITU_MUST_USE;
situ_status conv_filter(const struct conv_kernels *kernels, const struct conv *conv) SITU_MUST_USE;
size_t conv_filter_space(const struct conv_kernels *kernels, const struct conv *conv);

#endif
