/* SPDX-License-Identifier: Apache-2.0
 * incomplete_gamma.h: the incomplete gamma and beta functions, Hurwitz's zeta function and the
 * polygamma functions. */
#ifndef SITU_OPS_MATH_INCOMPLETE_GAMMA_H
#define SITU_OPS_MATH_INCOMPLETE_GAMMA_H

#include "ops/math/chebyshev.h"

enum { MOST_TERMS = 20000 };

/* Functions of the incomplete gamma function P(a, x): the value; the derivative in a; the
 * derivative of a sample x of the gamma distribution, -(dP / da) / (dP / dx). */
enum gamma_mode { GAMMA_VALUE, GAMMA_DERIVATIVE, GAMMA_SAMPLE };

/* Recurrence up to 10, then the asymptotic series; reflection for negative x. */
SPECIAL W special_digamma(W x) {
  W result = 0, v = x;
  if (x <= 0) {
    if (x == floor(x)) return special_nan();
    result = -SPECIAL_PI / tan(SPECIAL_PI * x);
    v = 1 - x;
  }
  while (v < 10) {
    result -= 1 / v;
    v += 1;
  }
  const W z = 1 / (v * v);
  W p = (W)8.33333333333333333333E-2;
  p = p * z - (W)2.10927960927960927961E-2;
  p = p * z + (W)7.57575757575757575758E-3;
  p = p * z - (W)4.16666666666666666667E-3;
  p = p * z + (W)3.96825396825396825397E-3;
  p = p * z - (W)8.33333333333333333333E-3;
  p = p * z + (W)8.33333333333333333333E-2;
  return result + log(v) - 1 / (2 * v) - p * z;
}

/* x^a exp(-x) / gamma(a); for large a by Stirling's series, where logarithms would cancel. */
SPECIAL W gamma_density(W a, W x) {
  if (a < 20) return exp(a * log(x) - x - lgamma(a));
  const W z = 1 / (a * a), away = (x - a) / a;
  W rest = -1 / (W)1680;
  rest = rest * z + 1 / (W)1260;
  rest = rest * z - 1 / (W)360;
  rest = rest * z + 1 / (W)12;
  return sqrt(a / (2 * SPECIAL_PI)) * exp(a * (log1p(away) - away) - rest / a);
}

/* A value with its derivative in a, and the factors before it in the three modes. */
SPECIAL W gamma_result(W a, W x, W value, W slope, W shift, int mode) {
  if (mode == GAMMA_VALUE) return gamma_density(a, x) * value;
  const W whole = value * (log(x) - special_digamma(a + shift)) + slope;
  return mode == GAMMA_SAMPLE ? -x * whole : gamma_density(a, x) * whole;
}

/* P(a, x), or its derivative, by the power series, for x <= a or x <= 1. */
SPECIAL W gamma_series(W a, W x, int mode) {
  W sum = 1, term = 1, sum_slope = 0, term_slope = 0;
  for (int k = 1; k < MOST_TERMS; k++) {
    const W r = a + k, factor = x / r;
    term_slope = factor * term_slope - factor / r * term;
    term *= factor;
    sum_slope += term_slope;
    sum += term;
    if (term <= SPECIAL_EPSILON * sum &&
        (mode == GAMMA_VALUE || fabs(term_slope) <= SPECIAL_EPSILON * fabs(sum_slope)))
      break;
  }
  return gamma_result(a, x, sum / a, sum_slope / a, 1, mode);
}

/* 1 - P(a, x), or the negative derivative, by Legendre's continued fraction, for x > a and x > 1:
 * the modified method of Lentz. */
SPECIAL W gamma_fraction(W a, W x, int mode) {
  W b = x + 1 - a, c = (W)1e30, c_slope = 0, d = 1 / b, d_slope = d * d;
  W h = d, h_slope = d_slope;
  for (int k = 1; k < MOST_TERMS; k++) {
    const W n = -k * (k - a), last = h_slope;
    b += 2;
    const W under = n * d + b, under_slope = k * d + n * d_slope - 1;
    c_slope = k / c - n / c * (c_slope / c) - 1;
    c = b + n / c;
    d = 1 / under;
    d_slope = -under_slope * d * d;
    const W factor = c * d;
    h_slope = h_slope * factor + h * (c_slope * d + c * d_slope);
    h *= factor;
    if (fabs(factor - 1) <= 2 * SPECIAL_EPSILON &&
        (mode == GAMMA_VALUE || fabs(h_slope - last) <= 2 * SPECIAL_EPSILON * fabs(h_slope)))
      break;
  }
  return gamma_result(a, x, h, h_slope, 0, mode);
}

/* log(1 + d) - d, which is about -d^2 / 2. */
SPECIAL W log_rest(W d) {
  if (fabs(d) > (W)0.1) return log1p(d) - d;
  W sum = 0, power = -d;
  for (int k = 2; k < 20; k++) {
    power *= -d;
    sum -= power / k;
  }
  return sum;
}

/* P(a, x), or 1 - P(a, x), for a above 1e6 by Temme's uniform asymptotic expansion: next to a, the
 * series and the fraction need about 7 * sqrt(a) terms. */
SPECIAL W gamma_balance(W a, W x, bool is_upper) {
  const W away = (x - a) / a, gap = -log_rest(away);
  if (a * gap > 800) return is_upper == (away < 0) ? 1 : 0;
  const W eta = (away < 0 ? -1 : 1) * sqrt(2 * gap), side = is_upper ? 1 : -1;
  W first = (W)3.9192631785224378e-5, second = (W)2.6455026455026455e-3;
  first = first * eta - (W)1.7875514403292181e-4;
  first = first * eta + (W)3.5273368606701940e-4;
  first = first * eta + (W)1.1574074074074074e-3;
  first = first * eta - (W)1.4814814814814815e-2;
  first = first * eta + (W)8.3333333333333333e-2;
  first = first * eta - (W)3.3333333333333333e-1;
  second = second * eta - (W)3.4722222222222222e-3;
  second = second * eta - (W)1.8518518518518519e-3;
  const W rest = exp(-a * gap) / sqrt(2 * SPECIAL_PI * a) * (first + second / a);
  return erfc(side * eta * sqrt(a / 2)) / 2 + side * rest;
}

SPECIAL W incomplete_gamma(W a, W x, int mode) {
  if (x == 0) return 0;
  if (!(x > 0 && a > 0)) return special_nan();
  if (a - a != 0) return 0;
  if (x - x != 0) return mode == GAMMA_VALUE ? 1 : 0;
  if (a > (W)1e6 && mode == GAMMA_VALUE) return gamma_balance(a, x, false);
  if (x <= 1 || x <= a) return gamma_series(a, x, mode);
  return mode == GAMMA_VALUE ? 1 - gamma_fraction(a, x, mode) : -gamma_fraction(a, x, mode);
}

SPECIAL W incomplete_gamma_complement(W a, W x) {
  if (!(x >= 0 && a > 0)) return special_nan();
  if (x - x != 0) return 0;
  if (a - a != 0) return 1;
  if (a > (W)1e6) return gamma_balance(a, x, true);
  if (x < 1 || x < a) return 1 - incomplete_gamma(a, x, GAMMA_VALUE);
  return gamma_fraction(a, x, GAMMA_VALUE);
}

/* The continued fraction of the incomplete beta function, by the modified method of Lentz. */
SPECIAL W beta_fraction(W a, W b, W x) {
  W c = 1, d = 1 / (1 - (a + b) * x / (a + 1)), h = d;
  for (int m = 1; m < MOST_TERMS; m++) {
    const W even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    const W odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + even * d);
    c = 1 + even / c;
    h *= d * c;
    d = 1 / (1 + odd * d);
    c = 1 + odd / c;
    h *= d * c;
    if (fabs(d * c - 1) <= 2 * SPECIAL_EPSILON) break;
  }
  return h;
}

SPECIAL W incomplete_beta(W a, W b, W x) {
  if (!(a > 0 && b > 0 && x >= 0 && x <= 1)) return special_nan();
  if (x == 0 || x == 1) return x;
  const W front = exp(a * log(x) + b * log1p(-x) + lgamma(a + b) - lgamma(a) - lgamma(b));
  if (x <= (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
  return 1 - front * beta_fraction(b, a, 1 - x) / b;
}

/* The sum of (q + k)^-x over k = 0, 1, ... for x > 1, q > 0: the first terms, then Euler and
 * Maclaurin's series for the others. */
SPECIAL W zeta_sum(W x, W q) {
  SPECIAL_TABLE W parts[12] = {(W)12,
                               (W)-720,
                               (W)30240,
                               (W)-1209600,
                               (W)47900160,
                               (W)-1.8924375803183791606e9,
                               (W)7.47242496e10,
                               (W)-2.950130727918164224e12,
                               (W)1.1646782814350067249e14,
                               (W)-4.5979787224074726105e15,
                               (W)1.8152105401943546773e17,
                               (W)-7.1661652561756670113e18};
  W sum = 0, a = q;
  for (int k = 0; k < 10; k++) {
    sum += pow(a, -x);
    a += 1;
  }
  W power = pow(a, -x), factor = x;
  if (power == 0 || sum - sum != 0) return sum;
  sum += power * a / (x - 1) + power / 2;
  for (int k = 0; k < 12; k++) {
    power /= a;
    const W term = factor * power / parts[k];
    sum += term;
    if (fabs(term) <= SPECIAL_EPSILON * sum) break;
    power /= a;
    factor *= (x + (2 * k + 1)) * (x + (2 * k + 2));
  }
  return sum;
}

/* Hurwitz's zeta function. For q < 0, x must be an integer: the terms with negative bases are
 * those of two other sums. */
SPECIAL W hurwitz_zeta(W x, W q) {
  if (x == 1) return special_infinity();
  if (!(x > 1) || q != q) return special_nan();
  if (q > 0) return zeta_sum(x, q);
  const bool is_even = fmod(x, (W)2) == 0;
  if (q == floor(q)) return is_even ? special_infinity() : special_nan();
  if (x != floor(x)) return special_nan();
  const W part = q - floor(q);
  const W negative = zeta_sum(x, 1 - part) - zeta_sum(x, 1 - q);
  return zeta_sum(x, part) + (is_even ? negative : -negative);
}

SPECIAL W special_polygamma(W n, W x) {
  if (!(n >= 0) || n != floor(n)) return special_nan();
  if (n == 0) return special_digamma(x);
  const W size = exp(lgamma(n + 1)) * hurwitz_zeta(n + 1, x);
  return fmod(n, (W)2) == 0 ? -size : size;
}

#endif
