/* SPDX-License-Identifier: Apache-2.0
 * select_add_n.cl: element-wise kernels with more than two operands or with scalar parameters. */

/* y = v everywhere. */
KERNEL(put_number, OUT(T, y), REAL(v), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)v;
}

#if T_IS_REAL || T_IS_INTEGER
KERNEL(sum3, IN(T, a), IN(T, b), IN(T, c), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)((C)a[i] + (C)b[i] + (C)c[i]);
}

KERNEL(sum4, IN(T, a), IN(T, b), IN(T, c), IN(T, d), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)((C)a[i] + (C)b[i] + (C)c[i] + (C)d[i]);
}

/* Between two numbers; NaN stays NaN. */
KERNEL(clip, IN(T, x_), IN(T, low_), IN(T, high_), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  const C x = (C)x_[i], low = (C)low_[0], high = (C)high_[0];
  const C least = high < x ? high : x;
  y[i] = (T)(least < low ? low : least);
}
#endif

#if T_IS_REAL
KERNEL(leaky_relu, IN(T, x_), OUT(T, y), REAL(alpha), SIZE(n)) {
  EACH(i, n);
  const C x = (C)x_[i];
  y[i] = (T)(x > 0 ? x : alpha * x);
}

KERNEL(leaky_relu_grad, IN(T, dy), IN(T, x), OUT(T, dx), REAL(alpha), SIZE(n)) {
  EACH(i, n);
  const C d = (C)dy[i];
  dx[i] = (T)((C)x[i] > 0 ? d : alpha * d);
}
#endif
