/* SPDX-License-Identifier: Apache-2.0
 * top.cl: the largest elements of rows. */
#if !T_IS_BOOL

/* The k largest elements of a row, the largest first; of equal ones that with the lower index. Each
 * is the best of those that come behind the one before. */
KERNEL(top_k, IN(T, x), OUT(T, values), OUT(i32, indices), SIZE(width), SIZE(k), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width;
  i64 last = -1;
  for (i64 r = 0; r < k; r++) {
    i64 best = -1;
    for (i64 j = 0; j < width; j++) {
      const bool left = last < 0 || x[start + j] < x[start + last] ||
                        (x[start + j] == x[start + last] && j > last);
      if (left && (best < 0 || x[start + j] > x[start + best])) best = j;
    }
    last = best < 0 ? last : best;
    values[i * k + r] = last < 0 ? (T)0 : x[start + last];
    indices[i * k + r] = last < 0 ? 0 : (i32)last;
  }
}

#endif
#if T_IS_INTEGER

/* Whether fewer than k elements of a row are above the one that the target names. */
KERNEL(in_top_k, IN(float, x), IN(T, targets), OUT(uchar, y), SIZE(width), SIZE(k), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width, target = (i64)targets[i];
  const bool inside = target >= 0 && target < width;
  const float own = inside ? x[start + target] : 0;
  bool known = inside && own - own == 0;
  i64 above = 0;
  for (i64 j = 0; j < width; j++) {
    const float v = x[start + j];
    known = known && v - v == 0;
    above += v > own;
  }
  y[i] = (uchar)(known && above < k);
}

#endif
