/* SPDX-License-Identifier: Apache-2.0
 * conv.h: convolutions of images on the host, without copies of the images: a tile of neighbouring
 * results of one row is a product of a part of the image, read in place, and the packed filter.
 * Taps that meet only padding are left out.
 *
 * Every element of the result is summed in an order that depends on the sizes and the processor
 * alone, not on the number of threads. */
#ifndef SITU_HOST_CONV_H
#define SITU_HOST_CONV_H

#include "base/base.h"
#include "situ/tensor.h"

/* y = x convolved with the filter: images x[n][h][w][c], results y[n][oh][ow][o], filter
 * [kh][kw][c][o]; result (i, j) sees the pixels (i * sh - top + r * dh, j * sw - left + k * dw). */
struct conv {
  situ_type type; /* FLOAT or DOUBLE */
  int64_t n, h, w, c, oh, ow, o;
  int64_t kh, kw, sh, sw, dh, dw, top, left;
  bool planes; /* images are x[n][c][h][w], results y[n][o][oh][ow] */
  void *x, *filter, *y;
  void *space; /* conv_workspace_size bytes, aligned to 64; what it holds does not matter */
};

/* Which of the three is computed from the other two. */
enum conv_pass { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_FILTER };

/* Whether conv_run can: not every stride goes with every dilation. */
bool conv_supported(const struct conv *conv, enum conv_pass want);

/* Bytes of space that conv_run needs; pointers do not matter. */
size_t conv_workspace_size(const struct conv *conv, enum conv_pass want);

/* Computes one of results, gradient of the images, gradient of the filter, with the pool's help. */
situ_status conv_run(const struct conv *conv, enum conv_pass want) SITU_MUST_USE;

#endif
