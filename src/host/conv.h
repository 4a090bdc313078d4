/* SPDX-License-Identifier: Apache-2.0
 * conv.h: direct 2-D convolution on the host and its gradients, without im2col: a register tile of
 * adjacent outputs of one row is the product of input read in place and the packed filter. Taps
 * that cover only padding are skipped.
 *
 * The order of summation depends on the sizes and the processor only, not on the number of
 * threads. */
#ifndef SITU_HOST_CONV_H
#define SITU_HOST_CONV_H

#include "base/base.h"
#include "situ/tensor.h"

/* y = conv(x, filter): input x[n][h][w][c], output y[n][oh][ow][o], filter [kh][kw][c][o]. Output
 * (i, j) reads the pixels (i * sh - top + r * dh, j * sw - left + k * dw). */
struct conv {
  situ_type type; /* FLOAT or DOUBLE */
  int64_t n, h, w, c, oh, ow, o;
  int64_t kh, kw, sh, sw, dh, dw, top, left;
  bool is_nchw; /* layout is x[n][c][h][w], y[n][o][oh][ow] */
  void *x, *filter, *y;
  void *workspace; /* conv_workspace_size bytes, aligned to 64, uninitialized */
};

/* Which of y, x (gradient) and filter (gradient) is computed from the other two. */
enum conv_pass { CONV_FORWARD, CONV_BACKWARD_DATA, CONV_BACKWARD_FILTER };

/* Returns whether conv_run supports the arguments: backward data with both stride and dilation is
 * not supported. */
bool conv_supported(const struct conv *conv, enum conv_pass pass);

/* Returns the workspace size of conv_run in bytes; ignores the pointers. */
size_t conv_workspace_size(const struct conv *conv, enum conv_pass pass);

/* Computes the output, the gradient of the input or the gradient of the filter with the thread
 * pool. */
situ_status conv_run(const struct conv *conv, enum conv_pass pass) SITU_MUST_USE;

#endif
