/* SPDX-License-Identifier: Apache-2.0
 * conv_common.h: helpers of the convolution algorithms: index arithmetic, padding of inputs, sizes
 * of packed filters. */
#ifndef SITU_HOST_CONV_COMMON_H
#define SITU_HOST_CONV_COMMON_H

#include "device/backend.h"
#include "host/conv_kernels.h"

/* Returns a / b, rounded up, for b > 0. */
static inline int64_t conv_ceil(int64_t a, int64_t b) {
  return a > 0 ? (a + b - 1) / b : -(-a / b);
}

static inline int64_t conv_clamp(int64_t v, int64_t low, int64_t high) {
  return v < low ? low : v > high ? high : v;
}

/* Returns the size of a workspace section in bytes, rounded up to the alignment of the next one. */
static inline size_t conv_aligned(int64_t elements, size_t size) {
  return round_up((size_t)elements * size, 64);
}

/* Returns the range from <= i < to within 0 <= i < count for which 0 <= i * stride + at < size. */
static inline void conv_valid_range(int64_t at, int64_t stride, int64_t size, int64_t count,
                                    int64_t *from, int64_t *to) {
  const bool is_unit_stride = stride == 1; /* avoids two divisions */
  *from = conv_clamp(is_unit_stride ? -at : conv_ceil(-at, stride), 0, count);
  *to = conv_clamp(is_unit_stride ? size - at : conv_ceil(size - at, stride), *from, count);
}

/* Zeroes a tile unless it accumulates. */
void conv_clear_tile(const struct conv_tile *tile, size_t size, int64_t rows, int64_t cols);

/* Returns whether the input has so few channels that it is copied with its horizontal padding, so
 * that the taps of a row are contiguous; the width of such an input; its size in bytes (0
 * otherwise). */
bool conv_few_channels(const struct conv *conv);
int64_t conv_padded_width(const struct conv *conv);
size_t conv_padded_bytes(const struct conv *conv);
situ_status conv_pad_images(const struct conv *conv, char *to) SITU_MUST_USE;

/* Returns whether wide tiles divide the columns; they are faster for inputs with few channels. */
static inline bool conv_is_wide(const struct conv_kernels *kernels, int64_t columns) {
  return kernels->wide_rows && columns % kernels->wide_cols == 0;
}

/* Returns the number of elements of a packed filter. */
int64_t conv_packed_elements(const struct conv_kernels *kernels, int64_t taps, int64_t depth,
                             int64_t columns);

/* All passes in NCHW layout, and the workspace in front of conv_run's own: conv_nchw.c. */
situ_status conv_nchw_run(const struct conv *conv, enum conv_pass pass) SITU_MUST_USE;
size_t conv_nchw_workspace_size(const struct conv *conv);

/* Forward and backward data: conv_direct.c; backward filter: conv_filter.c. */
situ_status conv_forward(const struct conv_kernels *kernels, const struct conv *conv) SITU_MUST_USE;
situ_status conv_backward_data(const struct conv_kernels *kernels,
                               const struct conv *conv) SITU_MUST_USE;
situ_status conv_backward_filter(const struct conv_kernels *kernels,
                                 const struct conv *conv) SITU_MUST_USE;
size_t conv_backward_filter_workspace_size(const struct conv_kernels *kernels,
                                           const struct conv *conv);

#endif
