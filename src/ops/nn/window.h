/* SPDX-License-Identifier: Apache-2.0
 * window.h: sliding-window geometry of convolution and pooling: output sizes and padding. */
#ifndef SITU_OPS_NN_WINDOW_H
#define SITU_OPS_NN_WINDOW_H

#include "schema/call.h"

/* Images, a window on them and its results, in either layout. While a graph is built sizes may be
 * SITU_ANY. */
struct window {
  int channel, row, col;  /* the axes; that of the images is 0 */
  int64_t n, h, w, c;     /* the images */
  int64_t kh, kw;         /* the size of the window, */
  int64_t sh, sw, dh, dw; /* its strides and dilations */
  int64_t top, left;      /* leading padding */
  int64_t oh, ow;         /* results */
};

/* Reads the attributes "strides", "padding", "data_format", and, where the op has them, "dilations"
 * or "rates" and "explicit_paddings", for images of shape x under windows of kh x kw. Strides may
 * be an input. */
situ_status window_plan(const struct call *call, const situ_shape *x, int64_t kh, int64_t kw,
                        struct window *out) SITU_MUST_USE;

/* The same with the attribute or input "ksize" for the size of the window, as pooling has it. */
situ_status window_pool(const struct call *call, const situ_shape *x,
                        struct window *out) SITU_MUST_USE;

/* As window_pool; the window may instead cover `depth` channels of one pixel. Unless the graph is
 * being built, the channels then are the rows of images of one column. */
situ_status window_max_pool(const struct call *call, const situ_shape *x, struct window *out,
                            int64_t *depth) SITU_MUST_USE;

/* A shape of images in the window's layout. */
situ_shape window_shape(const struct window *window, int64_t n, int64_t h, int64_t w, int64_t c);

/* Arguments of kernels: {h, w, sh, sw, top, left, dh, dw}; and the strides {n, h, w, c} of images
 * of h x w pixels of c channels in the window's layout. */
void window_place(const struct window *window, int64_t out[SITU_MAX_RANK]);
void window_steps(const struct window *window, int64_t h, int64_t w, int64_t c, int64_t out[4]);

#endif
