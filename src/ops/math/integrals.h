/* SPDX-License-Identifier: Apache-2.0
 * integrals.h: Dawson's integral, Fresnel's integrals, the exponential integral, Spence's function,
 * and the inverses of the error function and the normal distribution. */
#ifndef SITU_OPS_MATH_INTEGRALS_H
#define SITU_OPS_MATH_INTEGRALS_H

#include "ops/math/integral_tables.h"

/* exp(-x^2) times the integral of exp(t^2) from 0 to x. */
SPECIAL W dawson(W x) {
  const W a = fabs(x), near = a / (W)2.5, far = 6 / a;
  if (a <= (W)2.5) return x * dawson_near(near * near);
  if (a <= 6) return dawson_middle((a - (W)2.5) / (W)3.5) / x;
  return dawson_far(far * far) / (2 * x);
}

/* The integrals of cos(pi t^2 / 2) and sin(pi t^2 / 2) from 0 to x. */
SPECIAL W fresnel(W x, int is_sine) {
  const W a = fabs(x), near = a * a / 4, far = 4 / (a * a);
  if (a <= 2)
    return is_sine ? x * a * a * fresnel_s_near(near * near) : x * fresnel_c_near(near * near);
  W y = (W)0.5;
  if (a - a == 0 && a < (W)1e15) {
    const W f = fresnel_f(far * far) / (SPECIAL_PI * a);
    const W g = fresnel_g(far * far) / (SPECIAL_PI * SPECIAL_PI * a * a * a);
    const W angle = fmod(a * a, (W)4) * (SPECIAL_PI / 2), c = cos(angle), s = sin(angle);
    y += is_sine ? -f * c - g * s : f * s - g * c;
  }
  return x != x ? x : x < 0 ? -y : y;
}

/* Ei(x) for x >= 0, NaN below: the power series, whose terms are positive, or the asymptotic
 * series, whose smallest term is below the precision where x >= 40. */
SPECIAL W exponential_integral(W x) {
  if (!(x >= 0)) return special_nan();
  W sum = 0, term = 1;
  if (x < 40) {
    for (int k = 1; k < 200 && (sum == 0 || term / k > sum * SPECIAL_EPSILON / 4); k++) {
      term *= x / k;
      sum += term / k;
    }
    return sum + ((W)0.57721566490153286061 + log(x));
  }
  for (int k = 1; k < 60 && term > SPECIAL_EPSILON / 4; k++) {
    sum += term;
    term *= k / x;
  }
  const W half_way = exp(x / 2);
  return half_way * (sum / x) * half_way;
}

/* The sum of B_k u^(k + 1) / (k + 1)! with Bernoulli's numbers, for |u| <= log(2): the dilogarithm
 * of 1 - exp(-u). */
SPECIAL W debye(W u) {
  SPECIAL_TABLE W terms[9] = {
      (W)2.7777777777777777778e-2,  (W)-2.7777777777777777778e-4,  (W)4.7241118669690098262e-6,
      (W)-9.1857730746619635509e-8, (W)1.8978869988970999072e-9,   (W)-4.0647616451442255268e-11,
      (W)8.9216910204564525552e-13, (W)-1.9939295860721075687e-14, (W)4.5189800296199181917e-16};
  const W z = u * u;
  W sum = 0;
  for (int k = 8; k >= 0; k--) sum = sum * z + terms[k];
  return u - z / 4 + u * z * sum;
}

/* The dilogarithm of 1 - x for 0 < x <= 2. */
SPECIAL W spence_near(W x) {
  if (x >= (W)0.5) return debye(-log(x));
  return SPECIAL_PI * SPECIAL_PI / 6 - log(x) * log1p(-x) - debye(-log1p(-x));
}

/* The integral of log(t) / (1 - t) from 1 to x: the dilogarithm of 1 - x. */
SPECIAL W spence_function(W x) {
  if (!(x >= 0)) return special_nan();
  if (x == 0) return SPECIAL_PI * SPECIAL_PI / 6;
  if (x <= 2) return spence_near(x);
  return x - x != 0 ? -x : -spence_near(1 / x) - log(x) * log(x) / 2;
}

/* x such that erf(x) = y for |y| <= 1/2: Halley's method from a rational approximation. */
SPECIAL W erf_inverse_near(W y) {
  const W l = log1p(-y * y), b = (W)4.3307467508 + l / 2;
  W x = y == 0 ? y : sqrt(sqrt(b * b - l / (W)0.147) - b);
  x = y < 0 ? -x : x;
  for (int k = 0; k < 2; k++) {
    const W step = (erf(x) - y) * (W)0.88622692545275801365 * exp(x * x);
    x -= step / (1 + x * step);
  }
  return x;
}

/* x such that the normal distribution function is p, for 0 < p <= 1/4: Halley's method on ratios,
 * as p may be tiny. */
SPECIAL W normal_quantile_tail(W p) {
  const W l = log(p), t = sqrt(-2 * l);
  W x = (W)2.515517 + t * ((W)0.802853 + t * (W)0.010328);
  x = x / (1 + t * ((W)1.432788 + t * ((W)0.189269 + t * (W)0.001308))) - t;
  for (int k = 0; k < 3; k++) {
    const W ratio = erfc(-x * (W)0.70710678118654752440) / (2 * p) - 1;
    const W step = ratio * exp(l + x * x / 2) * (W)2.50662827463100050242;
    x -= step / (1 + x * step / 2);
  }
  return x;
}

SPECIAL W normal_quantile(W p) {
  if (!(p > 0 && p < 1)) {
    if (p == 0) return -special_infinity();
    return p == 1 ? special_infinity() : special_nan();
  }
  if (p < (W)0.25) return normal_quantile_tail(p);
  if (p > (W)0.75) return -normal_quantile_tail(1 - p);
  return (W)1.41421356237309504880 * erf_inverse_near(2 * p - 1);
}

SPECIAL W erf_inverse(W y) {
  const W a = fabs(y);
  if (a <= (W)0.5) return erf_inverse_near(y);
  const W x = (W)-0.70710678118654752440 * normal_quantile((1 - a) / 2);
  return y < 0 ? -x : x;
}

#endif
