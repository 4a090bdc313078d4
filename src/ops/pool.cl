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
#define ROOM ((i64)(65536 / sizeof(T))) /* elements of the rows that are kept */
#define FEW 8                           /* channels: fewer are not worth the vectors */

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

/* The same of a box whose sizes are constant inside: what is the largest stays in registers. */
INLINE void JOIN(largest_window, T_NAME)(const T *x, T *y, i64 count, const int rows,
                                         const int cols, const i64 *step) {
  const i64 down = step[1], next = step[2];
  INDEPENDENT for (i64 c = 0; c < count; c++) {
    T best = x[c];
    for (int r = 0; r < rows; r++)
      for (int k = 0; k < cols; k++) {
        const T v = x[r * down + k * next + c];
        best = v > best ? v : best;
      }
    y[c] = best;
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
    if (neighbours && h1 - h0 == 3 && w1 - w0 == 3)
      JOIN(largest_window, T_NAME)(x + start, to, count, 3, 3, step);
    else if (neighbours && h1 - h0 == 2 && w1 - w0 == 2)
      JOIN(largest_window, T_NAME)(x + start, to, count, 2, 2, step);
    else if (h0 < h1 && w0 < w1)
      JOIN(largest_channels, T_NAME)(x + start, to, count, h1 - h0, w1 - w0, step);
    else
      for (i64 c = 0; c < count; c++) to[c] = (T)0;
  }
}

/* A gradient is made row of windows by row of windows, of as many channels as fit: the rows of
 * pixels that it reaches are kept in a ring, and written once when no window comes any more, past
 * the cache where the result is too large for it. */
#define GRAD JOIN(pool_grad, T_NAME)
struct GRAD {
  const i64 *dim, *place, *step;
  i64 wide, kept; /* channels, elements of a row of the ring */
  T *ring, *left;
  bool stream;
};

/* What `from` has left for `count` neighbours in a row goes to those that are the largest. */
INLINE void JOIN(give_taps, T_NAME)(const struct GRAD *g, const int count, const T *x,
                                    const T *best, const T *from, T *dx) {
  const i64 next = g->step[2], wide = g->wide;
  T *left = g->left;
  INDEPENDENT for (i64 c = 0; c < wide; c++) {
    const T most = best[c];
    T rest = from[c];
    for (int k = 0; k < count; k++) {
      const T value = x[k * next + c], give = value == most ? rest : (T)0;
      rest = value == most ? (T)0 : rest;
      dx[k * wide + c] = (T)(dx[k * wide + c] + give);
    }
    left[c] = rest;
  }
}

/* A whole window, for sizes that are constant inside; its rows lie in the ring at `to`. */
INLINE void JOIN(give_window, T_NAME)(const struct GRAD *g, const int rows, const int cols,
                                      const T *x, const T *best, const T *from, T *const *to) {
  const i64 next = g->step[2], down = g->step[1], wide = g->wide;
  INDEPENDENT for (i64 c = 0; c < wide; c++) {
    const T most = best[c];
    T rest = from[c];
    for (int r = 0; r < rows; r++)
      for (int k = 0; k < cols; k++) {
        const T value = x[r * down + k * next + c], give = value == most ? rest : (T)0;
        rest = value == most ? (T)0 : rest;
        to[r][k * wide + c] = (T)(to[r][k * wide + c] + give);
      }
  }
}

/* A part of a row of a window, three neighbours at a time. */
INLINE void JOIN(give_row, T_NAME)(const struct GRAD *g, i64 count, const T *x, const T *best,
                                   const T *from, T *dx) {
  for (i64 k = 0; k < count; k += 3, from = g->left) {
    const T *at = x + k * g->step[2];
    T *to = dx + k * g->wide;
    if (count - k >= 3)
      JOIN(give_taps, T_NAME)(g, 3, at, best, from, to);
    else if (count - k == 2)
      JOIN(give_taps, T_NAME)(g, 2, at, best, from, to);
    else
      JOIN(give_taps, T_NAME)(g, 1, at, best, from, to);
  }
}

INLINE T *JOIN(ring_row, T_NAME)(const struct GRAD *g, i64 row) {
  return g->ring + row % g->dim[3] * g->kept;
}

/* Writes a row of pixels. */
INLINE void JOIN(flush_row, T_NAME)(const struct GRAD *g, const T *from, T *dx) {
  const size_t bytes = (size_t)g->wide * sizeof(T);
  for (i64 k = 0; k < g->place[1]; k++)
    if (g->stream)
      stream_copy(dx + k * g->step[2], from + k * g->wide, bytes);
    else
      memcpy(dx + k * g->step[2], from + k * g->wide, bytes);
}

INLINE void JOIN(give_image, T_NAME)(const struct GRAD *g, const T *x, const T *y, const T *dy,
                                     T *dx) {
  const i64 *dim = g->dim, *place = g->place, *step = g->step;
  i64 done = 0, clear = 0; /* rows that are written; that were cleared in the ring */
  for (i64 o = 0; o < dim[0]; o++) {
    const i64 h = o * place[2] - place[4], h0 = h + FROM(h, 1), h1 = h + TO(h, 1, place[0], dim[3]);
    if (h0 >= h1) continue; /* padding only */
    for (; clear < h1; clear++) {
      if (clear - done == dim[3]) {
        JOIN(flush_row, T_NAME)(g, JOIN(ring_row, T_NAME)(g, done), dx + done * step[1]);
        done++;
      }
      T *row = JOIN(ring_row, T_NAME)(g, clear);
      for (i64 k = 0; k < g->kept; k++) row[k] = (T)0;
    }
    const i64 first = h0 % dim[3];
    T *const top[] = {g->ring + first * g->kept, JOIN(ring_row, T_NAME)(g, h0 + 1),
                      JOIN(ring_row, T_NAME)(g, h0 + 2)};
    for (i64 p = 0; p < dim[1]; p++) {
      const i64 w = p * place[3] - place[5], w0 = w + FROM(w, 1);
      const i64 count = w + TO(w, 1, place[1], dim[4]) - w0, at = o * step[5] + p * step[6];
      /* Rows that the next windows begin to see are on their way meanwhile. */
      for (i64 r = h1; r < h1 + place[2]; r++)
        for (i64 k = w0; k < w0 + place[3]; k++)
          for (i64 c = 0; c < g->wide; c += 64 / (i64)sizeof(T))
            __builtin_prefetch(x + r * step[1] + k * step[2] + c);
      const T *from = x + h0 * step[1] + w0 * step[2];
      T *const to[] = {top[0] + w0 * g->wide, top[1] + w0 * g->wide, top[2] + w0 * g->wide};
      if (h1 - h0 == 3 && count == 3) {
        JOIN(give_window, T_NAME)(g, 3, 3, from, y + at, dy + at, to);
        continue;
      }
      if (h1 - h0 == 2 && count == 2) {
        JOIN(give_window, T_NAME)(g, 2, 2, from, y + at, dy + at, to);
        continue;
      }
      for (i64 r = 0, turn = first; r < h1 - h0; r++, turn = turn + 1 < dim[3] ? turn + 1 : 0) {
        T *row = g->ring + turn * g->kept + w0 * g->wide;
        JOIN(give_row, T_NAME)
        (g, count, from + r * step[1], y + at, r ? g->left : dy + at, row);
      }
    }
  }
  for (; done < place[0]; done++) {
    T *row = JOIN(ring_row, T_NAME)(g, done);
    for (i64 k = 0; k < g->kept && done >= clear; k++) row[k] = (T)0;
    JOIN(flush_row, T_NAME)(g, row, dx + done * step[1]);
  }
}

/* A channel of an image, element by element, in any layout. */
INLINE void JOIN(give_channel, T_NAME)(const struct GRAD *g, const T *x, const T *y, const T *dy,
                                       T *dx) {
  const i64 *dim = g->dim, *place = g->place, *step = g->step;
  for (i64 r = 0; r < place[0]; r++)
    for (i64 k = 0; k < place[1]; k++) dx[r * step[1] + k * step[2]] = (T)0;
  for (i64 o = 0; o < dim[0]; o++)
    for (i64 p = 0; p < dim[1]; p++) {
      const i64 h = o * place[2] - place[4], w = p * place[3] - place[5];
      const i64 h1 = h + TO(h, 1, place[0], dim[3]), w1 = w + TO(w, 1, place[1], dim[4]);
      const i64 result = o * step[5] + p * step[6];
      bool given = false;
      for (i64 r = h + FROM(h, 1); r < h1 && !given; r++)
        for (i64 k = w + FROM(w, 1); k < w1 && !given; k++) {
          const i64 at = r * step[1] + k * step[2];
          given = x[at] == y[result];
          if (given) dx[at] = (T)((C)dx[at] + (C)dy[result]);
        }
    }
}

/* Whole images: those that begin in the range. */
RANGE(max_pool_grad, IN(T, x), IN(T, y), IN(T, dy), OUT(T, dx), SIZES(dim), SIZES(place),
      SIZES(step), SIZE(n)) {
  _Alignas(64) T ring[65536 / sizeof(T)];
  _Alignas(64) T left[16384 / sizeof(T)];
  struct GRAD g = {.dim = dim, .place = place, .step = step, .ring = ring, .left = left};
  i64 most = ROOM / (dim[3] * place[1]); /* channels */
  most = step[3] != 1 || dim[2] < FEW ? 0 : most > ROOM / 4 ? ROOM / 4 : most;
  if (most > SIDES) most = most / SIDES * SIDES;
  const bool stream = CAN_STREAM && n * (i64)sizeof(T) >= STREAM_BYTES &&
                      ((uintptr_t)dx | (size_t)dim[2] * sizeof(T)) % 64 == 0;
  for (i64 image = (begin + step[0] - 1) / step[0]; image * step[0] < end; image++) {
    const T *from = x + image * step[0], *made = y + image * step[4], *got = dy + image * step[4];
    T *to = dx + image * step[0];
    i64 c = 0;
    for (; most > 0 && c < dim[2]; c += g.wide) {
      g.wide = most < dim[2] - c ? most : dim[2] - c;
      g.kept = place[1] * g.wide;
      g.stream = stream && (size_t)g.wide * sizeof(T) % 64 == 0 && c * (i64)sizeof(T) % 64 == 0;
      JOIN(give_image, T_NAME)(&g, from + c, made + c, got + c, to + c);
    }
    for (; c < dim[2]; c++) {
      const i64 at = c * step[3], result = c * step[7];
      JOIN(give_channel, T_NAME)(&g, from + at, made + result, got + result, to + at);
    }
  }
  if (stream) STREAM_END();
}

#undef GRAD
#undef SIDES
#undef ROOM
#undef FEW
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
