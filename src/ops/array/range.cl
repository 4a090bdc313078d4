/* SPDX-License-Identifier: Apache-2.0
 * range.cl: kernel of Range: evenly spaced numbers. */
#if T_IS_INTEGER
KERNEL(range, OUT(T, y), SIZE(start), SIZE(delta), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)(start + i * delta);
}
#elif T_IS_REAL
KERNEL(range, OUT(T, y), REAL(start), REAL(delta), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)(start + (C)i * delta);
}
#endif

#if T_IS_INTEGER
/* y[x[i]] = i. */
KERNEL(invert, IN(T, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  const i64 at = (i64)x[i];
  if (at < 0 || at >= n) FAIL(INDEX, i, at, n);
  y[at] = (T)i;
}

/* Counts whether each number of a permutation occurs: if two are equal, one is missing. */
KERNEL(invert_check, IN(T, x), IN(T, y), SIZE(n)) {
  EACH(i, n);
  const i64 at = (i64)x[i];
  if (at >= 0 && at < n && (i64)y[at] != i) FAIL(TWICE, at, 0, 0);
}
#endif

#if T_IS_REAL || T_IS_INTEGER
/* y[i] is the sum of all x[j] whose index is i modulo `own` in every dimension. */
KERNEL(tile_sum, IN(T, x), OUT(T, y), SIZES(dim), SIZES(own), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(own);
  i64 rest = i, start = 0, stride = 1, copies = 1;
  for (int k = 7; k >= 0; k--) {
    start += rest % own[k] * stride;
    rest /= own[k];
    stride *= dim[k];
    copies *= dim[k] / own[k];
  }
  C sum = 0;
  for (i64 copy = 0; copy < copies; copy++) {
    i64 at = start, left = copy;
    stride = 1;
    for (int k = 7; k >= 0; k--) {
      at += left % (dim[k] / own[k]) * own[k] * stride;
      left /= dim[k] / own[k];
      stride *= dim[k];
    }
    sum += (C)x[at];
  }
  y[i] = (T)sum;
}
#endif
