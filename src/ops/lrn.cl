/* SPDX-License-Identifier: Apache-2.0
 * lrn.cl: local response normalisation and its gradient: every element is divided by a power of
 * the squares of its neighbours among the channels of the same pixel.
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
/* A work-group makes 256 elements; what its items need of those around, which reach further by the
 * radius (lrn.c: 64 at most), they make together. */
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

/* Channels that are done side by side, and the most that the buffers of a row hold. */
#define SIDES 32
#define ROOM 2048
#define REACH 64

/* What rows are done with; the buffers have radius zeros on either side. */
#define LRN_PARTS                                          \
  const i64 wide = (channels + SIDES - 1) / SIDES * SIDES; \
  C squares[ROOM + 2 * REACH], scale[ROOM], power[ROOM]

/* Sums of 2 * radius + 1 neighbours: out[c] = base + factor * sum of a[c] ... a[c + 2 radius]. */
INLINE void JOIN(window_sums, T_NAME)(const C *a, i64 wide, i64 radius, C base, C factor, C *out) {
  for (i64 c = 0; c < wide; c += SIDES) {
    C sum[SIDES];
    for (int s = 0; s < SIDES; s++) sum[s] = a[c + s];
    for (i64 k = 1; k <= 2 * radius; k++)
      for (int s = 0; s < SIDES; s++) sum[s] += a[c + k + s];
    for (int s = 0; s < SIDES; s++) out[c + s] = base + factor * sum[s];
  }
}

/* scale^-0.25: a first guess from the bits, then Newton's steps. */
INLINE float JOIN(lrn_root, T_NAME)(float scale) {
  float root = as_float(0x4f5851ebu - (as_uint(scale) >> 2));
  for (int k = 0; k < 3; k++) {
    const float square = root * root;
    root = root * (1.25f - 0.25f * (scale * (square * square)));
  }
  return root;
}

/* power = scale^-beta, and scale becomes its inverse where `invert` says so. */
INLINE void JOIN(lrn_powers, T_NAME)(C *scale, i64 wide, C beta, const bool invert, C *power) {
  if (beta == (C)0.75 && sizeof(C) == sizeof(float)) {
    INDEPENDENT for (i64 c = 0; c < wide; c++) {
      const C root = (C)JOIN(lrn_root, T_NAME)((float)scale[c]);
      power[c] = root * root * root;
      if (invert) scale[c] = power[c] * root;
    }
  } else if (beta == (C)0.5) {
    INDEPENDENT for (i64 c = 0; c < wide; c++) {
      power[c] = 1 / sqrt(scale[c]);
      if (invert) scale[c] = 1 / scale[c];
    }
  } else {
    INDEPENDENT for (i64 c = 0; c < wide; c++) {
      power[c] = exp(-beta * log(scale[c]));
      if (invert) scale[c] = 1 / scale[c];
    }
  }
}

INLINE void JOIN(lrn_clear, T_NAME)(C *buffer, i64 channels, i64 wide, i64 radius) {
  for (i64 k = 0; k < radius; k++) buffer[k] = 0;
  for (i64 k = radius + channels; k < wide + 2 * radius; k++) buffer[k] = 0;
}

/* Rows that begin in the range; the caller records nothing wider than ROOM or REACH. */
RANGE(lrn, IN(T, x), OUT(T, y), SIZE(channels), SIZE(radius), REAL(bias), REAL(alpha), REAL(beta),
      SIZE(n)) {
  (void)n;
  LRN_PARTS;
  JOIN(lrn_clear, T_NAME)(squares, channels, wide, radius);
  for (i64 i = (begin + channels - 1) / channels * channels; i < end; i += channels) {
    const T *from = x + i;
    T *to = y + i;
    for (i64 c = 0; c < channels; c++) squares[radius + c] = (C)from[c] * (C)from[c];
    JOIN(window_sums, T_NAME)(squares, wide, radius, bias, alpha, scale);
    JOIN(lrn_powers, T_NAME)(scale, wide, beta, false, power);
    INDEPENDENT for (i64 c = 0; c < channels; c++) to[c] = (T)((C)from[c] * power[c]);
  }
}

RANGE(lrn_grad, IN(T, dy), IN(T, x), IN(T, y), OUT(T, dx), SIZE(channels), SIZE(radius), REAL(bias),
      REAL(alpha), REAL(beta), SIZE(n)) {
  (void)n;
  LRN_PARTS, shares[ROOM + 2 * REACH], others[ROOM];
  JOIN(lrn_clear, T_NAME)(squares, channels, wide, radius);
  JOIN(lrn_clear, T_NAME)(shares, channels, wide, radius);
  for (i64 i = (begin + channels - 1) / channels * channels; i < end; i += channels) {
    const T *from = x + i, *made = y + i, *got = dy + i;
    T *to = dx + i;
    for (i64 c = 0; c < channels; c++) squares[radius + c] = (C)from[c] * (C)from[c];
    JOIN(window_sums, T_NAME)(squares, wide, radius, bias, alpha, scale);
    JOIN(lrn_powers, T_NAME)(scale, wide, beta, true, power);
    for (i64 c = 0; c < channels; c++) shares[radius + c] = (C)got[c] * (C)made[c] * scale[c];
    JOIN(window_sums, T_NAME)(shares, wide, radius, 0, -2 * alpha * beta, others);
    INDEPENDENT for (i64 c = 0; c < channels; c++) to[c] =
        (T)((C)got[c] * power[c] + (C)from[c] * others[c]);
  }
}

#undef LRN_PARTS
#undef SIDES
#undef ROOM
#undef REACH
#endif
#endif
