/* SPDX-License-Identifier: Apache-2.0
 * tile_pad.cl: kernels of Tile, Pad and OneHot. */

#ifdef SITU_HOST
/* The offset in a tensor of dimensions `own` of row `row` of a result of dimensions `dim`. Index k
 * of the result is index k modulo the size (`wrap`) or k - before; -1 if that is out of range. */
INLINE i64 JOIN(row_start, T_NAME)(i64 row, const i64 *dim, const i64 *own, const i64 *before,
                                   bool wrap) {
  i64 start = 0, stride = own[7];
  for (int k = 6; k >= 0; k--) {
    i64 at = row % dim[k] - (wrap ? 0 : before[k]);
    row /= dim[k];
    if (wrap) at %= own[k];
    if (at < 0 || at >= own[k]) return -1;
    start += at * stride;
    stride *= own[k];
  }
  return start;
}

/* y[i] = x[i modulo own], in every dimension. */
RANGE(tile, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own)) {
  i64 at = begin % dim[7];
  for (i64 i = begin, m; i < end; i += m, at = 0) {
    const T *from = x + JOIN(row_start, T_NAME)(i / dim[7], dim, own, own, true);
    m = dim[7] - at < end - i ? dim[7] - at : end - i;
    for (i64 k = 0, step; k < m; k += step) {
      const i64 first = (at + k) % own[7];
      step = own[7] - first < m - k ? own[7] - first : m - k;
      memcpy(y + i + k, from + first, (size_t)step * sizeof(T));
    }
  }
}

/* y[i] = x[i - before], and v[0] (or 0) where that is out of range. */
RANGE(pad, IN(T, x), IN(T, v), OUT(T, y), SIZES(dim), SIZES(own), SIZES(before), SIZE(given)) {
  const T value = given ? v[0] : ZERO;
  i64 at = begin % dim[7];
  for (i64 i = begin, m; i < end; i += m, at = 0) {
    const i64 start = JOIN(row_start, T_NAME)(i / dim[7], dim, own, before, false);
    m = dim[7] - at < end - i ? dim[7] - at : end - i;
    for (i64 k = 0; k < m; k++) {
      const i64 from = at + k - before[7];
      y[i + k] = start < 0 || from < 0 || from >= own[7] ? value : x[start + from];
    }
  }
}
#else
KERNEL(tile, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(own);
  i64 rest = i, start = 0, stride = 1;
  for (int k = 7; k >= 0; k--) {
    start += rest % dim[k] % own[k] * stride;
    rest /= dim[k];
    stride *= own[k];
  }
  y[i] = x[start];
}

KERNEL(pad, IN(T, x), IN(T, v), OUT(T, y), SIZES(dim), SIZES(own), SIZES(before), SIZE(given),
       SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(own);
  UNPACK(before);
  i64 rest = i, start = 0, stride = 1;
  bool inside = true;
  for (int k = 7; k >= 0; k--) {
    const i64 at = rest % dim[k] - before[k];
    inside = inside && at >= 0 && at < own[k];
    start += at * stride;
    rest /= dim[k];
    stride *= own[k];
  }
  y[i] = inside ? x[start] : given ? v[0] : ZERO;
}
#endif

/* Element (p, d, s) is on[0] where index (p, s) is d, else off[0]. */
#define ONE_HOT(I)                                                                                 \
  KERNEL(one_hot_##I, IN(I, index), IN(T, on), IN(T, off), OUT(T, y), SIZE(depth), SIZE(suffix),   \
         SIZE(n)) {                                                                                \
    EACH(i, n);                                                                                    \
    const i64 s = i % suffix, d = i / suffix % depth, p = i / suffix / depth;                      \
    y[i] = (i64)index[p * suffix + s] == d ? on[0] : off[0];                                       \
  }
ONE_HOT(u8)
ONE_HOT(i8)
ONE_HOT(i32)
ONE_HOT(i64)
#undef ONE_HOT
