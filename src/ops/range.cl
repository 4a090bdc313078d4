/* SPDX-License-Identifier: Apache-2.0
 * range.cl: numbers at equal distances. */
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
