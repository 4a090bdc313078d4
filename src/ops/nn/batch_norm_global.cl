/* SPDX-License-Identifier: Apache-2.0
 * batch_norm_global.cl: batch normalization with given moments, channels last. */

#if T_IS_REAL
/* y = (t - m) * rsqrt(v + epsilon) * gamma + beta; without `scale`, gamma counts as 1. */
KERNEL(norm_global, IN(T, t), IN(T, m), IN(T, v), IN(T, beta), IN(T, gamma), OUT(T, y),
       SIZE(channels), SIZE(scale), REAL(epsilon), SIZE(n)) {
  EACH(i, n);
  const i64 c = i % channels;
  const C inverse = 1 / sqrt((C)v[c] + epsilon) * (scale ? (C)gamma[c] : (C)1);
  y[i] = (T)(((C)t[i] - (C)m[c]) * inverse + (C)beta[c]);
}

KERNEL(norm_global_back, IN(T, v), IN(T, gamma), IN(T, dy), OUT(T, dx), SIZE(channels), SIZE(scale),
       REAL(epsilon), SIZE(n)) {
  EACH(i, n);
  const i64 c = i % channels;
  dx[i] = (T)((C)dy[i] / sqrt((C)v[c] + epsilon) * (scale ? (C)gamma[c] : (C)1));
}

/* The gradients of moments, beta and gamma; item c does one channel of `rows`. */
KERNEL(norm_global_sums, IN(T, t), IN(T, m), IN(T, v), IN(T, gamma), IN(T, dy), OUT(T, dm),
       OUT(T, dv), OUT(T, db), OUT(T, dg), SIZE(rows), SIZE(scale), REAL(epsilon), SIZE(n)) {
  EACH(c, n);
  const C inverse = 1 / sqrt((C)v[c] + epsilon), by = scale ? (C)gamma[c] : (C)1;
  C sum = 0, product = 0;
  for (i64 r = 0; r < rows; r++) {
    const C slope = (C)dy[r * n + c];
    sum += slope;
    product += slope * ((C)t[r * n + c] - (C)m[c]);
  }
  dm[c] = (T)(-sum * by * inverse);
  dv[c] = (T)(product * by * (C)-0.5 * inverse * inverse * inverse);
  db[c] = (T)sum;
  dg[c] = (T)(scale ? product * inverse : (C)0);
}
#endif
