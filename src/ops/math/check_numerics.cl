/* SPDX-License-Identifier: Apache-2.0
 * check_numerics.cl: counts NaN and infinite elements; a work item handles `length` elements. */

#if T_IS_REAL
/* Item i writes three counts at first + 3 * i: NaN, +Inf, -Inf. */
KERNEL(count_odd, IN(T, x), OUT(i32, counts), SIZE(first), SIZE(length), SIZE(total), SIZE(n)) {
  EACH(i, n);
  const i64 begin = i * length, end = begin + length < total ? begin + length : total;
  i32 nans = 0, highs = 0, lows = 0;
  for (i64 k = begin; k < end; k++) {
    const C v = (C)x[k];
    const i32 odd = v - v != 0;
    nans += v != v;
    highs += odd & (v > 0);
    lows += odd & (v < 0);
  }
  counts[first + 3 * i] = nans;
  counts[first + 3 * i + 1] = highs;
  counts[first + 3 * i + 2] = lows;
}
#endif
