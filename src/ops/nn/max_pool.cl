/* SPDX-License-Identifier: Apache-2.0
 * max_pool.cl: max pooling, and the argmax of each window for its gradients (the first maximum).
 * pool.cl includes it.
 *
 * An argmax is the row-major index within the window, including padding. It has `bytes` bytes (1, 2
 * or 4), the lowest first, each in a plane of its own with the layout of the results. All bits are
 * set for a window without elements. */
#define ARGMAX(argmax, at, plane, bytes)                                                     \
  ((i64)(argmax)[at] | ((bytes) > 1 ? (i64)(argmax)[(at) + (plane)] << 8 : 0) |             \
   ((bytes) > 2                                                                               \
        ? (i64)(argmax)[(at) + 2 * (plane)] << 16 | (i64)(argmax)[(at) + 3 * (plane)] << 24 \
        : 0))

#ifndef SITU_HOST

KERNEL(max_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOW(i);
  T best = h0 < h1 && w0 < w1 ? x[start + h0 * step[1] + w0 * step[2]] : (T)0;
  for (i64 r = h0; r < h1; r++)
    for (i64 k = w0; k < w1; k++) {
      const T v = x[start + r * step[1] + k * step[2]];
      best = v > best ? v : best;
    }
  y[at] = best;
}

KERNEL(max_pool_save, IN(T, x), OUT(T, y), OUT(uchar, argmax), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(bytes), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOW(i);
  const bool some = h0 < h1 && w0 < w1;
  T best = some ? x[start + h0 * step[1] + w0 * step[2]] : (T)0;
  i64 index = some ? (h0 - h) * dim[4] + w0 - w : -1;
  for (i64 r = h0; r < h1; r++)
    for (i64 k = w0; k < w1; k++) {
      const T v = x[start + r * step[1] + k * step[2]];
      index = v > best ? (r - h) * dim[4] + k - w : index;
      best = v > best ? v : best;
    }
  y[at] = best;
  for (i64 b = 0; b < bytes; b++) argmax[at + b * n] = (uchar)(index >> (8 * b));
}

/* The gradient of an element: the sum over the windows whose maximum it is. */
KERNEL(max_pool_backward, IN(uchar, argmax), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(bytes), SIZE(plane), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOWS_AROUND(i);
  C sum = 0;
  for (i64 o = o0; o < o1; o++)
    for (i64 p = p0; p < p1; p++) {
      const i64 at = image_ * step[4] + o * step[5] + p * step[6] + channel_ * step[7];
      const i64 r = row_ + place[4] - o * place[2], k = col_ + place[5] - p * place[3];
      if (ARGMAX(argmax, at, plane, bytes) == r * dim[4] + k) sum += (C)dy[at];
    }
  dx[image_ * step[0] + row_ * step[1] + col_ * step[2] + channel_ * step[3]] = (T)sum;
}

#else

/* Whole numbers are pooled too rarely to have code for every instruction set. */
#undef CLONES
#if defined(WIDE_CLONES) && T_IS_REAL
#define CLONES WIDE_CLONES
#else
#define CLONES
#endif

/* Number of adjacent channels that are computed together, for vectorization. */
#define SIDES 32
#define FEW_SIDES 8

/* Windows of `wanted` adjacent channels, `rows` x `cols` pixels each: the maximum, and with
 * `argmax` its index; the first element has index `number`, rows of a window `wide` elements. If
 * the sizes are constant, results stay in registers. */
INLINE void JOIN(sides, T_NAME)(const T *x, T *y, uchar *argmax, const int wanted, i64 rows,
                                i64 cols, const i64 *step, int number, int wide) {
  T best[SIDES];
  int index[SIDES];
  for (int s = 0; s < wanted; s++) best[s] = x[s];
  for (int s = 0; s < wanted; s++) index[s] = number;
  for (i64 r = 0; r < rows; r++)
    for (i64 k = 0; k < cols; k++) {
      const T *from = x + r * step[1] + k * step[2];
      const int own = number + (int)(r * wide + k);
      if (argmax)
        for (int s = 0; s < wanted; s++) index[s] = from[s] > best[s] ? own : index[s];
      for (int s = 0; s < wanted; s++) best[s] = from[s] > best[s] ? from[s] : best[s];
    }
  for (int s = 0; s < wanted; s++) y[s] = best[s];
  if (argmax)
    for (int s = 0; s < wanted; s++) argmax[s] = (uchar)index[s];
}

/* The same for `count` channels, with an argmax of any size; channels that are not adjacent one by
 * one. */
INLINE void JOIN(largest, T_NAME)(const T *x, T *y, uchar *argmax, i64 count, i64 rows, i64 cols,
                                  const i64 *step, i64 number, i64 wide, i64 bytes, i64 plane) {
  const int first = (int)number, across = (int)wide;
  i64 c = 0;
  while (bytes <= 1 && count - c >= FEW_SIDES) {
    uchar *to = argmax ? argmax + c : NULL;
    const bool many = count - c >= SIDES;
    if (many)
      JOIN(sides, T_NAME)(x + c, y + c, to, SIDES, rows, cols, step, first, across);
    else
      JOIN(sides, T_NAME)(x + c, y + c, to, FEW_SIDES, rows, cols, step, first, across);
    c += many ? SIDES : FEW_SIDES;
  }
  for (; c < count; c++) {
    T best = x[c];
    i64 index = number;
    for (i64 r = 0; r < rows; r++)
      for (i64 k = 0; k < cols; k++) {
        const T v = x[r * step[1] + k * step[2] + c];
        index = v > best ? number + r * wide + k : index;
        best = v > best ? v : best;
      }
    y[c] = best;
    for (i64 b = 0; b < bytes; b++) argmax[c + b * plane] = (uchar)(index >> (8 * b));
  }
}

/* Implementation of both kernels; without argmax, `argmax` is NULL and `bytes` 0. */
INLINE void JOIN(pool_windows, T_NAME)(i64 begin, i64 end, const T *x, T *y, uchar *argmax,
                                       const i64 *dim, const i64 *place, const i64 *step, i64 bytes,
                                       i64 plane) {
  const bool neighbors = step[3] == 1 && step[7] == 1;
  const i64 fresh = neighbors ? place[3] * step[2] * (i64)sizeof(T) : 64; /* bytes of a row */
  /* More than the caches near a core hold, but few bytes per row. */
  const bool large = plane * (i64)sizeof(T) >= 1 << 19 && place[2] * fresh <= 1 << 14;
  /* The position is incremented, not divided: a division takes as long as a window. */
  i64 channel_ = begin % dim[2], pixel = begin / dim[2], col_ = pixel % dim[1];
  i64 row_ = pixel / dim[1] % dim[0], image_ = pixel / dim[1] / dim[0];
  for (i64 i = begin, count; i < end; i += count) {
    WINDOW_HERE();
    count = !neighbors ? 1 : end - i < dim[2] - channel_ ? end - i : dim[2] - channel_;
    const i64 number = (h0 - h) * dim[4] + w0 - w, rows = h1 - h0, cols = w1 - w0;
    const T *from = x + start + h0 * step[1] + w0 * step[2];
    uchar *to = argmax ? argmax + at : NULL;
    /* Rows that the next windows begin to see are on their way meanwhile. */
    for (i64 r = h1; r < h1 + place[2] && large; r++) {
      const char *next = (const char *)(x + start + r * step[1] + w0 * step[2]);
      for (i64 b = 0; b < fresh; b += 64) __builtin_prefetch(next + b, 0, 2);
    }
    if (rows <= 0 || cols <= 0)
      for (i64 c = 0; c < count; c++) {
        y[at + c] = (T)0;
        for (i64 b = 0; b < bytes; b++) to[c + b * plane] = 255;
      }
    else if (rows == 3 && cols == 3)
      JOIN(largest, T_NAME)(from, y + at, to, count, 3, 3, step, number, dim[4], bytes, plane);
    else if (rows == 2 && cols == 2)
      JOIN(largest, T_NAME)(from, y + at, to, count, 2, 2, step, number, dim[4], bytes, plane);
    else
      JOIN(largest, T_NAME)
    (from, y + at, to, count, rows, cols, step, number, dim[4], bytes, plane);
    channel_ += count;
    if (channel_ < dim[2]) continue;
    channel_ = 0;
    if (++col_ < dim[1]) continue;
    col_ = 0;
    if (++row_ < dim[0]) continue;
    row_ = 0;
    image_++;
  }
}

RANGE(max_pool, IN(T, x), OUT(T, y), SIZES(dim), SIZES(place), SIZES(step), SIZE(n)) {
  JOIN(pool_windows, T_NAME)(begin, end, x, y, NULL, dim, place, step, 0, n);
}

RANGE(max_pool_save, IN(T, x), OUT(T, y), OUT(uchar, argmax), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(bytes), SIZE(n)) {
  JOIN(pool_windows, T_NAME)(begin, end, x, y, argmax, dim, place, step, bytes, n);
}

/* Up to MOST windows that contain a pixel: their argmax and gradients, and the index of the pixel
 * in each; and the sum of gradients that adjacent channels of the pixel get from the first `count`.
 * */
#define MOST MASKED_SUM_TERMS
#define SHARE JOIN(pool_share, T_NAME)
#if T_IS_REAL && T_BYTES == 4
#define pool_share_float masked_sum
#define give_pixel_float masked_sum_run
#else
struct SHARE {
  const uchar *which[MOST];
  const T *from[MOST];
  uchar number[MOST];
};

INLINE void JOIN(give_pixel, T_NAME)(const struct SHARE *s, int count, bool add, T *dx,
                                     i64 channels) {
  for (i64 c = 0; c < channels; c++) {
    C sum = add ? (C)dx[c] : (C)0;
    for (int j = 0; j < count; j++) sum += s->which[j][c] == s->number[j] ? (C)s->from[j][c] : (C)0;
    dx[c] = (T)sum;
  }
}
#endif

/* A row of pixels with adjacent channels; `dx` is the row, `argmax` and `dy` the image. The first
 * window of a pixel and the index of the pixel in it are incremented with the column. */
INLINE void JOIN(give_row, T_NAME)(const uchar *argmax, const T *dy, T *dx, i64 row,
                                   const i64 *dim, const i64 *place, const i64 *step) {
  const i64 width = dim[4], stride = place[3], down = place[2] * width, next = step[6];
  const i64 o0 = FIRST_WINDOW(row, place[4], dim[3], place[2]);
  const i64 o1 = BEHIND_WINDOW(row, place[4], place[2], dim[0]);
  i64 p0 = 0, p1 = 0, at0 = o0 * step[5];
  i64 number0 = (row + place[4]) * width - o0 * down + place[5];
  for (i64 col = 0; col < place[1]; col++, number0++, dx += step[2]) {
    while (p1 < dim[1] && p1 * stride <= col + place[5]) p1++;
    for (; p0 < p1 && p0 * stride + width <= col + place[5]; p0++, at0 += next) number0 -= stride;
    struct SHARE s;
    int count = 0;
    bool add = false;
    for (i64 o = o0, at = at0, number = number0; o < o1; o++, at += step[5], number -= down)
      for (i64 p = p0; p < p1; p++) {
        if (count == MOST) {
          JOIN(give_pixel, T_NAME)(&s, count, add, dx, dim[2]);
          add = true;
          count = 0;
        }
        s.which[count] = argmax + at + (p - p0) * next;
        s.from[count] = dy + at + (p - p0) * next;
        s.number[count++] = (uchar)(number - (p - p0) * stride);
      }
    if (count || !add) JOIN(give_pixel, T_NAME)(&s, count, add, dx, dim[2]);
  }
}

/* The same element by element, in any layout. */
INLINE void JOIN(give_any, T_NAME)(const uchar *argmax, const T *dy, T *dx, i64 row,
                                   const i64 *dim, const i64 *place, const i64 *step, i64 bytes,
                                   i64 plane) {
  const i64 o0 = FIRST_WINDOW(row, place[4], dim[3], place[2]);
  const i64 o1 = BEHIND_WINDOW(row, place[4], place[2], dim[0]);
  for (i64 col = 0; col < place[1]; col++) {
    const i64 p0 = FIRST_WINDOW(col, place[5], dim[4], place[3]);
    const i64 p1 = BEHIND_WINDOW(col, place[5], place[3], dim[1]);
    for (i64 c = 0; c < dim[2]; c++) {
      C sum = 0;
      for (i64 o = o0; o < o1; o++)
        for (i64 p = p0; p < p1; p++) {
          const i64 at = o * step[5] + p * step[6] + c * step[7];
          const i64 r = row + place[4] - o * place[2], k = col + place[5] - p * place[3];
          if (ARGMAX(argmax, at, plane, bytes) == r * dim[4] + k) sum += (C)dy[at];
        }
      dx[col * step[2] + c * step[3]] = (T)sum;
    }
  }
}

/* Rows of pixels: those that begin in the range. */
RANGE(max_pool_backward, IN(uchar, argmax), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(bytes), SIZE(plane), SIZE(n)) {
  (void)n;
  const i64 width = place[1] * dim[2];
  for (i64 i = (begin + width - 1) / width; i * width < end; i++) {
    const i64 image = i / place[0], row = i % place[0], from = image * step[4];
    T *to = dx + image * step[0] + row * step[1];
    if (step[3] == 1 && bytes == 1)
      JOIN(give_row, T_NAME)(argmax + from, dy + from, to, row, dim, place, step);
    else
      JOIN(give_any, T_NAME)
    (argmax + from, dy + from, to, row, dim, place, step, bytes, plane);
  }
}

#undef SHARE
#undef MOST
#undef SIDES
#undef FEW_SIDES
#endif

/* The gradient of the gradient: the elements of x at the argmax. */
KERNEL(max_pool_gather, IN(uchar, argmax), IN(T, x), OUT(T, y), SIZES(dim), SIZES(place),
       SIZES(step), SIZE(bytes), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(place);
  UNPACK(step);
  WINDOW(i);
  const bool some = h0 < h1 && w0 < w1;
  const i64 index = some ? ARGMAX(argmax, at, n, bytes) : 0;
  const i64 r = h + index / dim[4], k = w + index % dim[4];
  y[at] = some ? x[start + r * step[1] + k * step[2]] : (T)0;
}

#undef WINNER
