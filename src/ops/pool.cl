/* SPDX-License-Identifier: Apache-2.0
 * pool.cl: the largest element and the mean of windows on images, and their gradients.
 *
 * dim is {rows and columns of results, channels, rows and columns of the window}; place is what
 * window_place makes; step holds the strides {n, h, w, c} of the images, then of the results. Items
 * are elements in the order n, h, w, c whatever the layout is. */
#if !T_IS_BOOL

/* The part of a window that begins at `at`, with elements `apart` from each other, which lies in
 * 0 <= i < size: elements from <= k < to. */
#define FROM(at, apart) ((at) < 0 ? (-(at) + (apart)-1) / (apart) : 0)
#define TO(at, apart, size, k)                                                                \
  ((at) >= (size)                                                                             \
       ? 0                                                                                    \
       : (((size) - (at) + (apart)-1) / (apart) < (k) ? ((size) - (at) + (apart)-1) / (apart) \
                                                      : (k)))

/* The windows from <= o < to that hold element i, where windows have k elements. */
#define FIRST_WINDOW(i, pad, k, stride) ((i) + (pad) < (k) ? 0 : ((i) + (pad) - (k)) / (stride) + 1)
#define BEHIND_WINDOW(i, pad, stride, count) \
  (((i) + (pad)) / (stride) + 1 < (count) ? ((i) + (pad)) / (stride) + 1 : (count))

/* Reads where item i lies among images of h x w pixels with c channels. */
#define DECODE(i, h, w, c)                                                 \
  const i64 channel_ = (i) % (c), pixel_ = (i) / (c), col_ = pixel_ % (w), \
            row_ = pixel_ / (w) % (h), image_ = pixel_ / (w) / (h)

#ifndef SITU_HOST

KERNEL(max_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  DECODE(i, dim[0], dim[1], dim[2]);
  const i64 h = row_ * place[2] - place[4], w = col_ * place[3] - place[5];
  const i64 h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);
  const i64 w0 = w + FROM(w, 1), w1 = w + TO(w, 1, place[1], dim[4]);
  const i64 start = image_ * step[0] + channel_ * step[3];
  T best = h0 < h1 && w0 < w1 ? x[start + h0 * step[1] + w0 * step[2]] : (T)0;
  for (i64 r = h0; r < h1; r++)
    for (i64 k = w0; k < w1; k++) {
      const T v = x[start + r * step[1] + k * step[2]];
      best = v > best ? v : best;
    }
  y[image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7]] = best;
}

/* An element gets the gradients of the windows whose first largest element it is. */
KERNEL(max_pool_grad, IN(T, x), IN(T, y), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  DECODE(i, place[0], place[1], dim[2]);
  const i64 start = image_ * step[0] + channel_ * step[3];
  const i64 result = image_ * step[4] + channel_ * step[7];
  const i64 o0 = FIRST_WINDOW(row_, place[4], dim[3], place[2]);
  const i64 o1 = BEHIND_WINDOW(row_, place[4], place[2], dim[0]);
  const i64 p0 = FIRST_WINDOW(col_, place[5], dim[4], place[3]);
  const i64 p1 = BEHIND_WINDOW(col_, place[5], place[3], dim[1]);
  const T own = x[start + row_ * step[1] + col_ * step[2]];
  C sum = 0;
  for (i64 o = o0; o < o1; o++)
    for (i64 p = p0; p < p1; p++) {
      const i64 at = result + o * step[5] + p * step[6];
      const i64 h = o * place[2] - place[4], w = p * place[3] - place[5];
      bool first = own == y[at];
      for (i64 r = h + FROM(h, 1); r <= row_ && first; r++)
        for (i64 k = w + FROM(w, 1); k < w + TO(w, 1, place[1], dim[4]) && first; k++)
          first = (r == row_ && k >= col_) || x[start + r * step[1] + k * step[2]] != y[at];
      if (first) sum += (C)dy[at];
    }
  dx[start + row_ * step[1] + col_ * step[2]] = (T)sum;
}

#else

#ifdef WIDE_CLONES
#undef CLONES
#define CLONES WIDE_CLONES
#endif

/* Channels that are done side by side, so that the compiler makes vectors of them. */
#define SIDES 32

/* The largest of each of `count` neighbouring channels over a box of pixels. */
INLINE void JOIN(largest_channels, T_NAME)(const T *x, T *y, i64 count, i64 rows, i64 cols,
                                           const i64 *step) {
  i64 c = 0;
  for (; c + SIDES <= count; c += SIDES) {
    T best[SIDES];
    for (int s = 0; s < SIDES; s++) best[s] = x[c + s];
    for (i64 r = 0; r < rows; r++)
      for (i64 k = 0; k < cols; k++) {
        const T *from = x + r * step[1] + k * step[2] + c;
        for (int s = 0; s < SIDES; s++) best[s] = from[s] > best[s] ? from[s] : best[s];
      }
    for (int s = 0; s < SIDES; s++) y[c + s] = best[s];
  }
  for (; c < count; c++) {
    T best = x[c * step[3]];
    for (i64 r = 0; r < rows; r++)
      for (i64 k = 0; k < cols; k++) {
        const T v = x[r * step[1] + k * step[2] + c * step[3]];
        best = v > best ? v : best;
      }
    y[c * step[7]] = best;
  }
}

RANGE(max_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  (void)n;
  const bool neighbours = step[3] == 1 && step[7] == 1;
  for (i64 i = begin, count; i < end; i += count) {
    DECODE(i, dim[0], dim[1], dim[2]);
    const i64 h = row_ * place[2] - place[4], w = col_ * place[3] - place[5];
    const i64 h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);
    const i64 w0 = w + FROM(w, 1), w1 = w + TO(w, 1, place[1], dim[4]);
    T *to = y + image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7];
    count = !neighbours ? 1 : end - i < dim[2] - channel_ ? end - i : dim[2] - channel_;
    const i64 start = image_ * step[0] + h0 * step[1] + w0 * step[2] + channel_ * step[3];
    if (h0 < h1 && w0 < w1)
      JOIN(largest_channels, T_NAME)(x + start, to, count, h1 - h0, w1 - w0, step);
    else
      for (i64 c = 0; c < count; c++) to[c] = (T)0;
  }
}

/* Adds the gradients of a pixel of results to the first largest elements of a box of pixels. */
INLINE void JOIN(give_channels, T_NAME)(const T *x, const T *y, const T *dy, T *dx, i64 channels,
                                        i64 rows, i64 cols, const i64 *step) {
  i64 c = 0;
  for (; c + SIDES <= channels && step[3] == 1; c += SIDES) {
    T left[SIDES], best[SIDES]; /* what is not given yet */
    for (int s = 0; s < SIDES; s++) left[s] = dy[c + s], best[s] = y[c + s];
    for (i64 r = 0; r < rows; r++)
      for (i64 k = 0; k < cols; k++) {
        const T *from = x + r * step[1] + k * step[2] + c;
        T *to = dx + r * step[1] + k * step[2] + c;
        INDEPENDENT for (int s = 0; s < SIDES; s++) {
          const T give = from[s] == best[s] ? left[s] : (T)0;
          left[s] = from[s] == best[s] ? (T)0 : left[s];
          to[s] = (T)(to[s] + give);
        }
      }
  }
  for (; c < channels; c++) {
    bool given = false;
    for (i64 r = 0; r < rows && !given; r++)
      for (i64 k = 0; k < cols && !given; k++) {
        const i64 at = r * step[1] + k * step[2] + c * step[3];
        given = x[at] == y[c * step[7]];
        if (given) dx[at] = (T)((C)dx[at] + (C)dy[c * step[7]]);
      }
  }
}

/* Whole images: those that begin in the range. */
RANGE(max_pool_grad, IN(T, x), IN(T, y), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(n)) {
  (void)n;
  for (i64 image = (begin + step[0] - 1) / step[0]; image * step[0] < end; image++) {
    const T *from = x + image * step[0];
    T *to = dx + image * step[0];
    for (i64 k = 0; k < step[0]; k++) to[k] = (T)0;
    for (i64 o = 0; o < dim[0]; o++)
      for (i64 p = 0; p < dim[1]; p++) {
        const i64 h = o * place[2] - place[4], w = p * place[3] - place[5];
        const i64 h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);
        const i64 w0 = w + FROM(w, 1), w1 = w + TO(w, 1, place[1], dim[4]);
        const i64 at = h0 * step[1] + w0 * step[2];
        const i64 result = image * step[4] + o * step[5] + p * step[6];
        if (h0 < h1 && w0 < w1) JOIN(give_channels, T_NAME)
        (from + at, y + result, dy + result, to + at, dim[2], h1 - h0, w1 - w0, step);
      }
  }
}

#undef SIDES
#endif

#if T_IS_REAL

KERNEL(avg_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  DECODE(i, dim[0], dim[1], dim[2]);
  const i64 h = row_ * place[2] - place[4], w = col_ * place[3] - place[5];
  const i64 h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);
  const i64 w0 = w + FROM(w, 1), w1 = w + TO(w, 1, place[1], dim[4]);
  const i64 start = image_ * step[0] + channel_ * step[3];
  C sum = 0;
  for (i64 r = h0; r < h1; r++)
    for (i64 k = w0; k < w1; k++) sum += (C)x[start + r * step[1] + k * step[2]];
  y[image_ * step[4] + row_ * step[5] + col_ * step[6] + channel_ * step[7]] =
      (T)(sum / (C)((h1 - h0) * (w1 - w0)));
}

KERNEL(avg_pool_grad, IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  DECODE(i, place[0], place[1], dim[2]);
  const i64 o0 = FIRST_WINDOW(row_, place[4], dim[3], place[2]);
  const i64 o1 = BEHIND_WINDOW(row_, place[4], place[2], dim[0]);
  const i64 p0 = FIRST_WINDOW(col_, place[5], dim[4], place[3]);
  const i64 p1 = BEHIND_WINDOW(col_, place[5], place[3], dim[1]);
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
#endif
