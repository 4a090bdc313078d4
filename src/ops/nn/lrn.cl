/* SPDX-License-Identifier: Apache-2.0
 * lrn.cl: local response normalization and its gradient: every element is divided by a power of
 * the squares of its neighbors among the channels of the same pixel.
 *
 * scale = bias + alpha * (sum of squares of the channels c - radius ... c + radius)
 * y = x / scale^beta */
#if T_IS_REAL
#ifndef SITU_HOST

/* bias + alpha * the squares around element i, which is channel c. */
INLINE C lrn_scale(IN(T, x), i64 i, i64 c, i64 channels, i64 radius, C bias, C alpha) {
  const i64 from = i - (c > radius ? radius : c);
  const i64 to = i + (c + radius < channels ? radius + 1 : channels - c);
  C sum = 0;
  for (i64 k = from; k < to; k++) sum += (C)x[k] * (C)x[k];
  return bias + alpha * sum;
}

KERNEL(lrn, IN(T, x), OUT(T, y), SIZE(channels), SIZE(radius), REAL(bias), REAL(alpha), REAL(beta),
       SIZE(n)) {
  EACH(i, n);
  const C scale = lrn_scale(x, i, i % channels, channels, radius, bias, alpha);
  y[i] = (T)((C)x[i] * pow(scale, -beta));
}

#if IS_PICKED(lrn_grad)
/* A work-group computes 256 elements. Its work items first compute the terms of these and of the
 * neighbors within the radius (at most 64, see lrn.c) in local memory. */
GROUP_KERNEL(lrn_grad, IN(T, dy), IN(T, x), IN(T, y), OUT(T, dx), SIZE(channels), SIZE(radius),
             REAL(bias), REAL(alpha), REAL(beta), SIZE(n)) {
  __local C scales[256 + 2 * 64], shares[256 + 2 * 64];
  const int id = (int)get_local_id(0), reach = (int)radius;
  const i64 first = (i64)get_group_id(0) * 256, i = first + id;
  for (int k = id; k < 256 + 2 * reach; k += 256) {
    const i64 j = first - reach + k;
    const bool in = j >= 0 && j < n;
    const C scale = in ? lrn_scale(x, j, j % channels, channels, radius, bias, alpha) : (C)1;
    scales[k] = scale;
    shares[k] = in ? (C)dy[j] * (C)y[j] / scale : (C)0;
  }
  barrier(CLK_LOCAL_MEM_FENCE);
  if (i >= n) return;
  const int c = (int)(i % channels), last = (int)channels - 1, own = id + reach;
  const int to = own + (c + reach < last ? reach : last - c);
  C others = 0;
  for (int k = own - (c > reach ? reach : c); k <= to; k++) others += shares[k];
  const C direct = (C)dy[i] * pow(scales[own], -beta);
  dx[i] = (T)(direct - 2 * alpha * beta * (C)x[i] * others);
}
#endif

#else

#ifdef WIDE_CLONES
#undef CLONES
#define CLONES WIDE_CLONES
#endif

/* The largest radius (lrn.c), and the number of elements per block: rows of pixels that fit into
 * the L1 cache. Each step is a simple loop over the block, so that no load waits for a recent
 * store. */
#define REACH 64
#define ROOM (2048 + 2 * REACH)
#define TOGETHER 512

/* Methods of computing powers: any exponent; 1/2; 3/4; and 3/4 for wide windows, whose last eight
 * elements are added where the sum is used, which saves a pass over the block. */
#define ANY 0
#define HALF 1
#define QUARTERS 2
#define QUARTERS_LATE 3

/* Buffers have `radius` zeros before each row and after the last; rows begin `pitch` elements
 * apart. */
#define LRN JOIN(lrn_call, T_NAME)
struct LRN {
  i64 channels, radius, pitch, together; /* the last: rows */
  C bias, alpha, beta;
};

INLINE struct LRN JOIN(lrn_call, T_NAME)(i64 most, i64 channels, i64 radius, C bias, C alpha,
                                         C beta) {
  const i64 pitch = channels + radius, together = most > pitch ? most / pitch : 1;
  return (struct LRN){channels, radius, pitch, together, bias, alpha, beta};
}

INLINE void JOIN(lrn_clear, T_NAME)(const struct LRN *l, C *buffer) {
  for (i64 r = 0; r <= l->together; r++)
    for (i64 k = 0; k < l->radius; k++) buffer[r * l->pitch + k] = 0;
}

INLINE void JOIN(lrn_squares, T_NAME)(const struct LRN *l, const T *x, i64 rows, C *squares) {
  for (i64 r = 0; r < rows; r++) {
    const T *from = x + r * l->channels;
    C *to = squares + r * l->pitch + l->radius;
    INDEPENDENT for (i64 c = 0; c < l->channels; c++) to[c] = (C)from[c] * (C)from[c];
  }
}

#define EIGHT(a, j)                                            \
  ((((a)[j] + (a)[(j) + 1]) + ((a)[(j) + 2] + (a)[(j) + 3])) + \
   (((a)[(j) + 4] + (a)[(j) + 5]) + ((a)[(j) + 6] + (a)[(j) + 7])))

/* Sums a[j] + ... + a[j + more] for n times j, `more` being even: in `sum`, or a itself. */
INLINE const C *JOIN(lrn_sums, T_NAME)(const C *a, i64 n, i64 more, C *sum) {
  const C *have = a;
  i64 k = 1;
  for (; k + 7 <= more; k += 8, have = sum)
    INDEPENDENT for (i64 j = 0; j < n; j++) sum[j] = have[j] + EIGHT(a + k, j);
  for (; k < more; k += 2, have = sum)
    INDEPENDENT for (i64 j = 0; j < n; j++) sum[j] = have[j] + (a[j + k] + a[j + k + 1]);
  return have;
}

/* scale^-0.25 of a positive normal number: a first guess from the bits, one step of Newton's whose
 * numbers even out the guess's errors (0.12 % remain), and one of the third order. */
INLINE float JOIN(lrn_root, T_NAME)(float scale) {
  float root = as_float(0x4f584000u - (as_uint(scale) >> 2));
  float square = root * root;
  root *= 1.2515281f - 0.25030562f * scale * square * square;
  square = root * root;
  const float left = 1.0f - scale * square * square;
  return root + root * (left * (0.25f + 0.15625f * left));
}

/* scale^-beta, and the inverse of the scale. */
INLINE C JOIN(lrn_power, T_NAME)(C scale, C beta, const int way, C *inverse) {
  if (way >= QUARTERS) {
    const C root =
        sizeof(C) > sizeof(float) ? 1 / sqrt(sqrt(scale)) : (C)JOIN(lrn_root, T_NAME)((float)scale);
    const C power = root * root * root;
    *inverse = power * root;
    return power;
  }
  *inverse = 1 / scale;
  return way == HALF ? 1 / sqrt(scale) : exp(-beta * log(scale));
}

/* The method for n squares. Newton's iteration requires positive, normal and finite numbers. */
INLINE int JOIN(lrn_way, T_NAME)(const struct LRN *l, const C *squares, i64 n) {
  if (l->beta != (C)0.75) return l->beta == (C)0.5 ? HALF : ANY;
  if (sizeof(C) > sizeof(float)) return QUARTERS;
  u32 most = 0; /* of numbers that are not negative the bits have the same order */
  for (i64 j = 0; j < n; j++) {
    const u32 bits = as_uint((float)squares[j]);
    most = bits > most ? bits : most;
  }
  const C largest = l->bias + l->alpha * (C)(2 * l->radius + 1) * (C)as_float(most);
  if (!(l->alpha >= 0 && l->bias > (C)1e-37 && largest < (C)1e38)) return ANY;
  return l->radius >= 4 ? QUARTERS_LATE : QUARTERS;
}

#define WINDOW(sum, last, j) (way == QUARTERS_LATE ? (sum)[j] + EIGHT(last, j) : (sum)[j])

/* Calls a function of windows with a constant method. */
#define EACH_WAY(function, ...)                               \
  do {                                                        \
    if (way == QUARTERS_LATE)                                 \
      JOIN(function, T_NAME)(&l, QUARTERS_LATE, __VA_ARGS__); \
    else if (way == QUARTERS)                                 \
      JOIN(function, T_NAME)(&l, QUARTERS, __VA_ARGS__);      \
    else if (way == HALF)                                     \
      JOIN(function, T_NAME)(&l, HALF, __VA_ARGS__);          \
    else                                                      \
      JOIN(function, T_NAME)(&l, ANY, __VA_ARGS__);           \
  } while (0)

INLINE void JOIN(lrn_make, T_NAME)(const struct LRN *l, const int way, const C *sum, const C *last,
                                   const T *x, i64 rows, T *y) {
  for (i64 r = 0; r < rows; r++) INDEPENDENT for (i64 c = 0; c < l->channels; c++) {
      C inverse;
      const C scale = l->bias + l->alpha * WINDOW(sum, last, r * l->pitch + c);
      const i64 at = r * l->channels + c;
      y[at] = (T)((C)x[at] * JOIN(lrn_power, T_NAME)(scale, l->beta, way, &inverse));
    }
}

/* Rows that begin in the range; the caller records nothing wider than ROOM or REACH. */
RANGE(lrn, IN(T, x), OUT(T, y), SIZE(channels), SIZE(radius), REAL(bias), REAL(alpha), REAL(beta),
      SIZE(n)) {
  (void)n;
  C squares[ROOM], buffer[ROOM];
  const struct LRN l = JOIN(lrn_call, T_NAME)(TOGETHER, channels, radius, bias, alpha, beta);
  const i64 behind = (end + channels - 1) / channels;
  JOIN(lrn_clear, T_NAME)(&l, squares);
  for (i64 row = (begin + channels - 1) / channels; row < behind; row += l.together) {
    const i64 rows = l.together < behind - row ? l.together : behind - row;
    const i64 size = rows * l.pitch - radius;
    const T *from = x + row * channels;
    T *to = y + row * channels;
    JOIN(lrn_squares, T_NAME)(&l, from, rows, squares);
    const int way = JOIN(lrn_way, T_NAME)(&l, squares, size);
    const i64 more = 2 * radius - (way == QUARTERS_LATE ? 8 : 0);
    const C *sum = JOIN(lrn_sums, T_NAME)(squares, size, more, buffer), *last = squares + more + 1;
    EACH_WAY(lrn_make, sum, last, from, rows, to);
  }
}

/* The gradient of each channel before it is weighted: dy * y / scale. */
INLINE void JOIN(lrn_share, T_NAME)(const struct LRN *l, const int way, const C *sum, const C *last,
                                    const T *dy, const T *y, i64 rows, C *power, C *shares) {
  for (i64 r = 0; r < rows; r++) INDEPENDENT for (i64 c = 0; c < l->channels; c++) {
      C inverse;
      const C scale = l->bias + l->alpha * WINDOW(sum, last, r * l->pitch + c);
      const i64 at = r * l->channels + c;
      power[at] = JOIN(lrn_power, T_NAME)(scale, l->beta, way, &inverse);
      shares[r * l->pitch + l->radius + c] = (C)dy[at] * (C)y[at] * inverse;
    }
}

RANGE(lrn_grad, IN(T, dy), IN(T, x), IN(T, y), OUT(T, dx), SIZE(channels), SIZE(radius), REAL(bias),
      REAL(alpha), REAL(beta), SIZE(n)) {
  (void)n;
  C squares[ROOM], shares[ROOM], buffer[ROOM], power[ROOM];
  const struct LRN l = JOIN(lrn_call, T_NAME)(TOGETHER / 2, channels, radius, bias, alpha, beta);
  const i64 behind = (end + channels - 1) / channels;
  const C factor = -2 * alpha * beta;
  JOIN(lrn_clear, T_NAME)(&l, squares);
  JOIN(lrn_clear, T_NAME)(&l, shares);
  for (i64 row = (begin + channels - 1) / channels; row < behind; row += l.together) {
    const i64 rows = l.together < behind - row ? l.together : behind - row;
    const i64 size = rows * l.pitch - radius;
    const T *from = x + row * channels, *got = dy + row * channels, *made = y + row * channels;
    T *to = dx + row * channels;
    JOIN(lrn_squares, T_NAME)(&l, from, rows, squares);
    const int way = JOIN(lrn_way, T_NAME)(&l, squares, size);
    const i64 more = 2 * radius - (way == QUARTERS_LATE ? 8 : 0);
    const C *sum = JOIN(lrn_sums, T_NAME)(squares, size, more, buffer), *last = squares + more + 1;
    EACH_WAY(lrn_share, sum, last, got, made, rows, power, shares);
    const C *others = JOIN(lrn_sums, T_NAME)(shares, size, 2 * radius, buffer);
    for (i64 r = 0; r < rows; r++) INDEPENDENT for (i64 c = 0; c < channels; c++) {
        const i64 at = r * channels + c;
        to[at] = (T)((C)got[at] * power[at] + factor * (C)from[at] * others[r * l.pitch + c]);
      }
  }
}

#undef REACH
#undef ROOM
#undef TOGETHER
#undef ANY
#undef HALF
#undef QUARTERS
#undef QUARTERS_LATE
#undef LRN
#undef EIGHT
#undef WINDOW
#undef EACH_WAY
#endif
#endif
