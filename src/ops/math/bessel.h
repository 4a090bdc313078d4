/* SPDX-License-Identifier: Apache-2.0
 * bessel.h: Bessel functions of orders 0 and 1, by Chebyshev series.
 *
 * Near 0, the series are those of the functions in powers of x^2, where logarithms are split off.
 * Far from it, they are those of the exponentially scaled functions (I, K), or of Hankel's P and Q
 * (J, Y), in powers of 1 / x. */
#ifndef SITU_OPS_MATH_BESSEL_H
#define SITU_OPS_MATH_BESSEL_H

#include "ops/math/bessel_tables.h"

#define TWO_OVER_PI ((W)0.63661977236758134308)

SPECIAL W bessel_i0e(W x) {
  const W a = fabs(x);
  return a <= 8 ? i0e_near(a / 8) : i0e_far(8 / a) / sqrt(a);
}

SPECIAL W bessel_i1e(W x) {
  const W a = fabs(x);
  if (a <= 8) return x * i1e_near(a / 8);
  const W y = i1e_far(8 / a) / sqrt(a);
  return x < 0 ? -y : y;
}

/* exp(|x|) in two factors: the product with a small number may be finite where it is not. */
SPECIAL W bessel_i0(W x) {
  const W half_way = exp(fabs(x) / 2);
  return half_way * bessel_i0e(x) * half_way;
}

SPECIAL W bessel_i1(W x) {
  const W half_way = exp(fabs(x) / 2);
  return half_way * bessel_i1e(x) * half_way;
}

SPECIAL W bessel_k0_near(W x) { return k0_near(x * x / 4) - log(x / 2) * exp(x) * i0e_near(x / 8); }

SPECIAL W bessel_k1_near(W x) {
  return k1_near(x * x / 4) / x + log(x / 2) * exp(x) * x * i1e_near(x / 8);
}

SPECIAL W bessel_k0e(W x) {
  if (x <= 0) return special_infinity();
  return x <= 2 ? exp(x) * bessel_k0_near(x) : k0e_far(2 / x) / sqrt(x);
}

SPECIAL W bessel_k1e(W x) {
  if (x <= 0) return special_infinity();
  return x <= 2 ? exp(x) * bessel_k1_near(x) : k1e_far(2 / x) / sqrt(x);
}

SPECIAL W bessel_k0(W x) {
  if (x <= 0) return special_infinity();
  return x <= 2 ? bessel_k0_near(x) : bessel_k0e(x) * exp(-x);
}

SPECIAL W bessel_k1(W x) {
  if (x <= 0) return special_infinity();
  return x <= 2 ? bessel_k1_near(x) : bessel_k1e(x) * exp(-x);
}

/* The oscillating functions at x > 8: sqrt(2 / (pi x)) (p cos(w) - q sin(w)) for J, with sin(w) and
 * cos(w) for Y, where w = x - pi / 4 or x - 3 pi / 4. Its cosine and sine are sums of those of x.
 */
SPECIAL W hankel_j(W x, W p, W q, W cosine, W sine) {
  return (p * cosine - q * sine) / sqrt(SPECIAL_PI * x);
}

SPECIAL W hankel_y(W x, W p, W q, W cosine, W sine) {
  return (p * sine + q * cosine) / sqrt(SPECIAL_PI * x);
}

SPECIAL W bessel_j0(W x) {
  const W a = fabs(x), u = a / 8, v = 8 / a;
  if (a <= 8) return j0_near(u * u);
  return hankel_j(a, p0_far(v * v), q0_far(v * v) / a, cos(a) + sin(a), sin(a) - cos(a));
}

SPECIAL W bessel_j1(W x) {
  const W a = fabs(x), u = a / 8, v = 8 / a;
  if (a <= 8) return x * j1_near(u * u);
  const W y = hankel_j(a, p1_far(v * v), q1_far(v * v) / a, sin(a) - cos(a), -sin(a) - cos(a));
  return x < 0 ? -y : y;
}

SPECIAL W bessel_y0(W x) {
  const W u = x / 8, v = 8 / x;
  if (x <= 0) return -special_infinity();
  if (x <= 8) return y0_near(u * u) + TWO_OVER_PI * log(x) * j0_near(u * u);
  return hankel_y(x, p0_far(v * v), q0_far(v * v) / x, cos(x) + sin(x), sin(x) - cos(x));
}

SPECIAL W bessel_y1(W x) {
  const W u = x / 8, v = 8 / x;
  if (x <= 0) return -special_infinity();
  if (x <= 8) return x * y1_near(u * u) + TWO_OVER_PI * (log(x) * x * j1_near(u * u) - 1 / x);
  return hankel_y(x, p1_far(v * v), q1_far(v * v) / x, sin(x) - cos(x), -sin(x) - cos(x));
}

#endif
