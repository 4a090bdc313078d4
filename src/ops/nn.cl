/* SPDX-License-Identifier: Apache-2.0
 * nn.cl: softmax and its logarithm, a row at a time. The largest element is taken off first, so
 * that nothing overflows. Both may work in place. */
#if T_IS_REAL
#ifndef SITU_HOST

KERNEL(softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width;
  C largest = -INFINITY, sum = 0;
  for (i64 k = 0; k < width; k++) largest = fmax(largest, (C)x[start + k]);
  for (i64 k = 0; k < width; k++) sum += exp((C)x[start + k] - largest);
  const C share = 1 / sum;
  for (i64 k = 0; k < width; k++) y[start + k] = (T)(exp((C)x[start + k] - largest) * share);
}

KERNEL(log_softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n)) {
  EACH(i, n);
  const i64 start = i * width;
  C largest = -INFINITY, sum = 0;
  for (i64 k = 0; k < width; k++) largest = fmax(largest, (C)x[start + k]);
  for (i64 k = 0; k < width; k++) sum += exp((C)x[start + k] - largest);
  const C all = log(sum);
  for (i64 k = 0; k < width; k++) y[start + k] = (T)((C)x[start + k] - largest - all);
}

#else

/* Side by side, so that the compiler makes vectors of them. */
#define SIDES 32

/* Here exp is the work, so CPUs with wider vectors get a version of their own. */
#ifdef WIDE_CLONES
#undef CLONES
#define CLONES WIDE_CLONES
#endif

INLINE C JOIN(row_largest, T_NAME)(const T *x, i64 width) {
  C side[SIDES], largest = (C)-INFINITY;
  i64 k = 0;
  for (int s = 0; s < SIDES; s++) side[s] = (C)-INFINITY;
  for (; k + SIDES <= width; k += SIDES)
    for (int s = 0; s < SIDES; s++) side[s] = (C)x[k + s] > side[s] ? (C)x[k + s] : side[s];
  for (; k < width; k++) largest = (C)x[k] > largest ? (C)x[k] : largest;
  for (int s = 0; s < SIDES; s++) largest = side[s] > largest ? side[s] : largest;
  return largest;
}

/* The sum of exp(x - largest); y becomes exp(x - largest) where `store` (a constant) says so. */
INLINE C JOIN(row_exp, T_NAME)(const T *x, T *y, const bool store, i64 width, C largest) {
  C side[SIDES], sum = 0;
  i64 k = 0;
  for (int s = 0; s < SIDES; s++) side[s] = 0;
  for (; k + SIDES <= width; k += SIDES)
    INDEPENDENT for (int s = 0; s < SIDES; s++) {
      const C e = EXP_BELOW((C)x[k + s] - largest);
      if (store) y[k + s] = (T)e;
      side[s] += e;
    }
  for (; k < width; k++) {
    const C e = EXP_BELOW((C)x[k] - largest);
    if (store) y[k] = (T)e;
    sum += e;
  }
  for (int s = SIDES / 2; s > 0; s /= 2)
    for (int t = 0; t < s; t++) side[t] += side[t + s];
  return sum + side[0];
}

RANGE(softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n)) {
  const bool exact = sizeof(T) == sizeof(C); /* else y cannot hold what exp gives */
  (void)n;
  for (i64 i = begin; i < end; i++) {
    const T *from = x + i * width;
    T *to = y + i * width;
    const C largest = JOIN(row_largest, T_NAME)(from, width);
    const C share = 1 / JOIN(row_exp, T_NAME)(from, to, exact, width, largest);
    if (exact) {
      INDEPENDENT for (i64 k = 0; k < width; k++) to[k] = (T)((C)to[k] * share);
    } else {
      INDEPENDENT for (i64 k = 0; k < width; k++) 
        to[k] = (T)(EXP_BELOW((C)from[k] - largest) * share);
    }
  }
}

RANGE(log_softmax, IN(T, x), OUT(T, y), SIZE(width), SIZE(n)) {
  (void)n;
  for (i64 i = begin; i < end; i++) {
    const T *from = x + i * width;
    T *to = y + i * width;
    const C largest = JOIN(row_largest, T_NAME)(from, width);
    const C all = log(JOIN(row_exp, T_NAME)(from, to, false, width, largest));
    INDEPENDENT for (i64 k = 0; k < width; k++) to[k] = (T)((C)from[k] - largest - all);
  }
}

#undef SIDES
#endif
#endif
