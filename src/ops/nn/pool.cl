/* SPDX-License-Identifier: Apache-2.0
 * pool.cl: max and average pooling and their gradients (NHWC).
 *
 * dim is {rows and columns of results, channels, rows and columns of the window}; place is the
 * result of window_place; step has the strides {n, h, w, c} of the images, then of the results.
 * Items are elements in the order n, h, w, c in any layout. */
#if !T_IS_BOOL

/* The elements from <= k < to of a window that are within 0 <= i < size; it begins at `at` with
 * elements `dilation` from each other. */
#define WINDOW_STEPS(length, dilation) (((length) + (dilation)-1) / (dilation))
#define FROM(at, dilation) ((at) < 0 ? WINDOW_STEPS(-(at), dilation) : 0)
#define TO(at, dilation, size, k)                              \
  ((at) >= (size)                                              \
       ? 0                                                     \
       : (WINDOW_STEPS((size) - (at), dilation) < (k)          \
              ? WINDOW_STEPS((size) - (at), dilation)          \
              : (k)))

/* The windows from <= o < to that contain element i; windows have k elements. */
#define FIRST_WINDOW(i, pad, k, stride) ((i) + (pad) < (k) ? 0 : ((i) + (pad) - (k)) / (stride) + 1)
#define BEHIND_WINDOW(i, pad, stride, count) \
  (((i) + (pad)) / (stride) + 1 < (count) ? ((i) + (pad)) / (stride) + 1 : (count))

/* Decomposes item i into indices of images of h x w pixels with c channels. */
#define DECODE(i, h, w, c)                                                 \
  const i64 channel_ = (i) % (c), pixel_ = (i) / (c), col_ = pixel_ % (w), \
            row_ = pixel_ / (w) % (h), image_ = pixel_ / (w) / (h)

/* The window of result i: rows h0 <= r < h1 and columns w0 <= k < w1 of an image, from element
 * `start` of the images on; the result is element `at`. */
#define WINDOW(i)                    \
  DECODE(i, dim[0], dim[1], dim[2]); \
  WINDOW_HERE()

/* The same for the current result. */
#define WINDOW_HERE()                                                       \
  const i64 h = row_ * place[2] - place[4], w = col_ * place[3] - place[5]; \
  const i64 h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);       \
  const i64 w0 = w + FROM(w, 1), w1 = w + TO(w, 1, place[1], dim[4]);       \
  const i64 start = image_ * step[0] + channel_ * step[3];                  \
  const i64 at = image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7]

/* The windows that hold element i of the images: rows o0 <= o < o1 and columns p0 <= p < p1 of
 * results. */
#define WINDOWS_AROUND(i)                                         \
  DECODE(i, place[0], place[1], dim[2]);                          \
  const i64 o0 = FIRST_WINDOW(row_, place[4], dim[3], place[2]);  \
  const i64 o1 = BEHIND_WINDOW(row_, place[4], place[2], dim[0]); \
  const i64 p0 = FIRST_WINDOW(col_, place[5], dim[4], place[3]);  \
  const i64 p1 = BEHIND_WINDOW(col_, place[5], place[3], dim[1])

#include "ops/nn/max_pool.cl"

#if T_IS_REAL

KERNEL(avg_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOW(i);
  C sum = 0;
  for (i64 r = h0; r < h1; r++)
    for (i64 k = w0; k < w1; k++) sum += (C)x[start + r * step[1] + k * step[2]];
  y[at] = (T)(sum / (C)((h1 - h0) * (w1 - w0)));
}

KERNEL(avg_pool_grad, IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOWS_AROUND(i);
  C sum = 0;
  for (i64 o = o0; o < o1; o++)
    for (i64 p = p0; p < p1; p++) {
      const i64 h = o * place[2] - place[4], w = p * place[3] - place[5];
      const i64 rows = TO(h, 1, place[0], dim[3]) - FROM(h, 1);
      const i64 cols = TO(w, 1, place[1], dim[4]) - FROM(w, 1);
      sum += (C)dy[image_ * step[4] + o * step[5] + p * step[6] + channel_ * step[7]] /
             (C)(rows * cols);
    }
  dx[image_ * step[0] + row_ * step[1] + col_ * step[2] + channel_ * step[3]] = (T)sum;
}

#endif
#undef FROM
#undef TO
#undef FIRST_WINDOW
#undef BEHIND_WINDOW
#undef DECODE
#undef WINDOW
#undef WINDOW_HERE
#undef WINDOWS_AROUND
#endif
