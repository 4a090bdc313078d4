/* SPDX-License-Identifier: Apache-2.0
 * conv_tiles.cl: convolutions and their gradients for GPUs as implicit matrix products: the
 * elements of the matrix are gathered from the images for each tile. The arguments are those of
 * conv.cl, whose kernels handle small sizes and groups. conv.c checks that numbers of pixels and of
 * filter taps have at most 31 bits. */
#if T_IS_REAL && !defined(SITU_HOST)
#define TILE_ROWS 128
#define TILE_COLS 64
#define ITEM_ROWS 8
#define ITEM_COLS 4
#include "kernel/tile.h"

#define PIXEL_OF(pixel, rows, cols)                                      \
  const int col_ = (pixel) % (cols), row_ = (pixel) / (cols) % (rows), \
            image_ = (pixel) / (cols) / (rows)

#if IS_PICKED(conv_tiles)
/* Pixels of results x channels of results; a slice runs over taps and channels of the images. */
GROUP_KERNEL(conv_tiles, IN(T, x), IN(T, filter), OUT(T, y), OUT(T, space), SIZES(dim),
             SIZES(place), SIZES(step), SIZE(n)) {
  TILE_MEMORY();
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  const int rows = (int)dim[0], cols = (int)dim[1], out = (int)dim[2], wide = (int)dim[4];
  const int channels = (int)dim[5], depth = (int)dim[3] * wide * channels;
  const int pixels = (int)(n / dim[2]);
  int image[TILE_LEFT], h0[TILE_LEFT], w0[TILE_LEFT];
  TILE_BEGIN(get_group_id(0), (out + TILE_COLS - 1) / TILE_COLS);
  UNROLL for (int q = 0; q < TILE_LEFT; q++) {
    const int pixel = (int)top_ + TILE_ITEM(q) / TILE_DEPTH;
    PIXEL_OF(pixel, rows, cols);
    image[q] = image_;
    h0[q] = pixel < pixels ? row_ * (int)place[2] - (int)place[4] : -(1 << 30);
    w0[q] = col_ * (int)place[3] - (int)place[5];
  }
  for (int first = 0; first < depth; first += TILE_DEPTH) {
    const int at = first + id_ % TILE_DEPTH, tap = at / channels, channel = at % channels;
    const int r = tap / wide * (int)place[6], k = tap % wide * (int)place[7];
    UNROLL for (int q = 0; q < TILE_LEFT; q++) {
      const int h = h0[q] + r, w = w0[q] + k;
      const bool in = at < depth && h >= 0 && h < place[0] && w >= 0 && w < place[1];
      left[id_ % TILE_DEPTH][TILE_ITEM(q) / TILE_DEPTH] =
          in ? (C)x[image[q] * step[0] + h * step[1] + w * step[2] + channel * step[3]] : (C)0;
    }
    for (int q = 0; q < TILE_RIGHT; q++) {
      const int p = TILE_ITEM(q) / TILE_COLS, j = TILE_ITEM(q) % TILE_COLS;
      const bool in = left_ + j < out && first + p < depth;
      right[p][j] = in ? (C)filter[(i64)(first + p) * out + left_ + j] : (C)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    TILE_ADD();
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  TILE_EACH(i, j, value, pixels, out) {
    PIXEL_OF((int)i, rows, cols);
    y[image_ * step[4] + row_ * step[5] + col_ * step[6] + j * step[7]] = (T)value;
  }
}
#endif

#if IS_PICKED(conv_images_tiles)
/* Pixels of images x their channels; a slice runs over taps and channels of the results. */
GROUP_KERNEL(conv_images_tiles, IN(T, dy), IN(T, filter), OUT(T, dx), OUT(T, space), SIZES(dim),
             SIZES(place), SIZES(step), SIZE(n)) {
  TILE_MEMORY();
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  const int rows = (int)place[0], cols = (int)place[1], out = (int)dim[2], wide = (int)dim[4];
  const int channels = (int)dim[5], depth = (int)dim[3] * wide * out;
  const int pixels = (int)(n / dim[5]), sh = (int)place[2], sw = (int)place[3];
  int image[TILE_LEFT], h0[TILE_LEFT], w0[TILE_LEFT];
  TILE_BEGIN(get_group_id(0), (channels + TILE_COLS - 1) / TILE_COLS);
  UNROLL for (int q = 0; q < TILE_LEFT; q++) {
    const int pixel = (int)top_ + TILE_ITEM(q) / TILE_DEPTH;
    PIXEL_OF(pixel, rows, cols);
    image[q] = image_;
    h0[q] = pixel < pixels ? row_ + (int)place[4] : -(1 << 30);
    w0[q] = col_ + (int)place[5];
  }
  for (int first = 0; first < depth; first += TILE_DEPTH) {
    const int at = first + id_ % TILE_DEPTH, tap = at / out, channel = at % out;
    const int r = tap / wide * (int)place[6], k = tap % wide * (int)place[7];
    UNROLL for (int q = 0; q < TILE_LEFT; q++) {
      const int h = h0[q] - r, w = w0[q] - k;
      const bool in = at < depth && h >= 0 && w >= 0 && h % sh == 0 && w % sw == 0 &&
                      h / sh < dim[0] && w / sw < dim[1];
      const i64 from = image[q] * step[4] + h / sh * step[5] + w / sw * step[6] + channel * step[7];
      left[id_ % TILE_DEPTH][TILE_ITEM(q) / TILE_DEPTH] = in ? (C)dy[from] : (C)0;
    }
    for (int q = 0; q < TILE_RIGHT; q++) {
      const int j = TILE_ITEM(q) / TILE_DEPTH;
      const bool in = at < depth && left_ + j < channels;
      right[id_ % TILE_DEPTH][j] =
          in ? (C)filter[(tap * (i64)channels + left_ + j) * out + channel] : (C)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    TILE_ADD();
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  TILE_EACH(i, j, value, pixels, channels) {
    PIXEL_OF((int)i, rows, cols);
    dx[image_ * step[0] + row_ * step[1] + col_ * step[2] + j * step[3]] = (T)value;
  }
}
#endif

#if IS_PICKED(conv_filter_tiles)
/* Taps and channels of the images x channels of results; a slice runs over pixels of results. */
GROUP_KERNEL(conv_filter_tiles, IN(T, x), IN(T, dy), OUT(T, df), OUT(T, space), SIZES(dim),
             SIZES(place), SIZES(step), SIZE(n)) {
  TILE_MEMORY();
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  (void)space;
  const int rows = (int)dim[0], cols = (int)dim[1], out = (int)dim[2], wide = (int)dim[4];
  const int channels = (int)dim[5], depth = (int)dim[7] * rows * cols, taps = (int)(n / dim[2]);
  TILE_BEGIN(get_group_id(0), (out + TILE_COLS - 1) / TILE_COLS);
  const int lane = id_ % TILE_ROWS, mine = (int)top_ + lane; /* the tap and channel it reads */
  const int tap = mine / channels, channel = mine % channels;
  const int r = tap / wide * (int)place[6] - (int)place[4];
  const int k = tap % wide * (int)place[7] - (int)place[5];
  for (int first = 0; first < depth; first += TILE_DEPTH) {
    for (int q = 0; q < TILE_LEFT; q++) {
      const int p = TILE_ITEM(q) / TILE_ROWS;
      PIXEL_OF(first + p, rows, cols);
      const int h = row_ * (int)place[2] + r, w = col_ * (int)place[3] + k;
      const bool in = first + p < depth && mine < taps && h >= 0 && h < place[0] && w >= 0 &&
                      w < place[1];
      left[p][lane] =
          in ? (C)x[image_ * step[0] + h * step[1] + w * step[2] + channel * step[3]] : (C)0;
    }
    for (int q = 0; q < TILE_RIGHT; q++) {
      const int p = TILE_ITEM(q) / TILE_COLS, j = TILE_ITEM(q) % TILE_COLS;
      PIXEL_OF(first + p, rows, cols);
      const i64 at = image_ * step[4] + row_ * step[5] + col_ * step[6] + (left_ + j) * step[7];
      right[p][j] = first + p < depth && left_ + j < out ? (C)dy[at] : (C)0;
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    TILE_ADD();
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  TILE_EACH(i, j, value, taps, out) df[i * out + j] = (T)value;
}
#endif
#undef PIXEL_OF
#endif
