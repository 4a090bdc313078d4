/* SPDX-License-Identifier: Apache-2.0
 * special_functions.cl: functions of real numbers that elementwise.def refers to. elementwise.cl
 * includes it for real types. Series and the trapezoidal rule, whose error for these integrands
 * decreases exponentially with the number of points, need no tables. */
#define S(name) JOIN(name, T_NAME)
/* Not inlined on the host: they are long, and kernels are compiled for several instruction sets. */
#ifdef SITU_HOST
#define SPECIAL static __attribute__((noinline))
#else
#define SPECIAL INLINE
#endif
#define SPECIAL_NAN(x) (((x) - (x)) / ((x) - (x)))
#define SPECIAL_EPSILON (sizeof(C) == 8 ? (C)1.1102230246251565e-16 : (C)5.9604645e-8)

/* The y of erfc(y) = q for 0 < q <= 1: an approximation, improved by Halley's method; in the tail
 * by Newton's method for the logarithm. */
SPECIAL C S(erfc_inverse_half)(C q) {
  const C slope = (C)1.1283791670955126; /* of erf at 0 */
  if (q < (C)1e-3) {
    const C size = -log(q);
    C y = sqrt(size - log((C)3.14159265358979323846 * size) / 2);
    for (int i = 0; i < 4; i++) {
      const C tail = erfc(y);
      if (tail <= 0) return y;
      y += (log(tail) - log(q)) * tail / (slope * exp(-y * y));
    }
    return y;
  }
  const C w = -log(q * (2 - q)) - (C)2.5;
  C p = (C)2.81022636e-08;
  p = (C)3.43273939e-07 + p * w;
  p = (C)-3.5233877e-06 + p * w;
  p = (C)-4.39150654e-06 + p * w;
  p = (C)0.00021858087 + p * w;
  p = (C)-0.00125372503 + p * w;
  p = (C)-0.00417768164 + p * w;
  p = (C)0.246640727 + p * w;
  p = (C)1.50140941 + p * w;
  C y = p * (1 - q);
  for (int i = 0; i < 2; i++) {
    const C u = (q - erfc(y)) / (slope * exp(-y * y));
    y -= u / (1 + u * y);
  }
  return y;
}

SPECIAL C S(erfc_inverse)(C q) {
  if (!(q >= 0 && q <= 2)) return SPECIAL_NAN(q);
  if (q == 0 || q == 2) return q == 0 ? (C)INFINITY : -(C)INFINITY;
  return q > 1 ? -S(erfc_inverse_half)(2 - q) : S(erfc_inverse_half)(q);
}

SPECIAL C S(erf_inverse)(C x) {
  const C size = fabs(x), slope = (C)1.1283791670955126;
  if (size > (C)0.5) {
    const C y = S(erfc_inverse)(1 - size);
    return x < 0 ? -y : y;
  }
  C y = x / slope * (1 + (C)0.2617993877991494 * x * x);
  for (int i = 0; i < 3; i++) {
    const C u = (erf(y) - x) / (slope * exp(-y * y));
    y -= u / (1 + u * y);
  }
  return x == x ? y : x;
}

/* The quantile of the normal distribution. */
SPECIAL C S(normal_quantile)(C p) {
  const C root = (C)1.4142135623730951;
  return p > (C)0.5 ? root * S(erfc_inverse)(2 * (1 - p)) : -root * S(erfc_inverse)(2 * p);
}

/* Whether the arguments of the incomplete gamma functions have no value. */
SPECIAL bool S(no_igamma)(C a, C x) { return !(x >= 0 && a > 0); }

/* x^a exp(-x) / gamma(a) */
SPECIAL C S(igamma_factor)(C a, C x) { return exp(a * log(x) - x - lgamma(a)); }

/* The lower function by its series, whose terms are positive. */
SPECIAL C S(igamma_series)(C a, C x) {
  C term = 1 / a, sum = term;
  for (int n = 1; n < 4000; n++) {
    term *= x / (a + (C)n);
    sum += term;
    if (term <= sum * SPECIAL_EPSILON) break;
  }
  return S(igamma_factor)(a, x) * sum;
}

/* The upper function by its continued fraction, with Lentz's method. */
SPECIAL C S(igammac_fraction)(C a, C x) {
  const C tiny = (C)1e-30;
  C b = x + 1 - a, c = 1 / tiny, d = 1 / (b == 0 ? tiny : b), h = d;
  for (int n = 1; n < 4000; n++) {
    const C k = -(C)n * ((C)n - a);
    b += 2;
    d = k * d + b;
    c = b + k / c;
    d = 1 / (d == 0 ? tiny : d);
    if (c == 0) c = tiny;
    h *= d * c;
    if (fabs(d * c - 1) <= SPECIAL_EPSILON) break;
  }
  return S(igamma_factor)(a, x) * h;
}

SPECIAL C S(lower_gamma)(C a, C x) {
  if (x == 0 && a == a) return 0;
  if (S(no_igamma)(a, x)) return SPECIAL_NAN(a + x);
  if (x == (C)INFINITY) return 1;
  return x > 1 && x > a ? 1 - S(igammac_fraction)(a, x) : S(igamma_series)(a, x);
}

SPECIAL C S(upper_gamma)(C a, C x) {
  if (S(no_igamma)(a, x)) return SPECIAL_NAN(a + x);
  if (x == 0 || x == (C)INFINITY) return x == 0 ? 1 : 0;
  return x > 1 && x > a ? S(igammac_fraction)(a, x) : 1 - S(igamma_series)(a, x);
}

/* The derivative of the lower function for a: that of the series. */
SPECIAL C S(lower_gamma_slope)(C a, C x) {
  if (x == 0 && a == a) return 0;
  if (S(no_igamma)(a, x)) return SPECIAL_NAN(a + x);
  if (x == (C)INFINITY) return 0;
  C term = 1 / a, slope = -term / a, sum = term, slopes = slope;
  for (int n = 1; n < 4000; n++) {
    const C next = a + (C)n;
    slope = slope * (x / next) - term * x / (next * next);
    term *= x / next;
    sum += term;
    slopes += slope;
    if (term <= sum * SPECIAL_EPSILON && fabs(slope) <= fabs(slopes) * SPECIAL_EPSILON) break;
  }
  if (!(sum <= (C)1e36)) return 0; /* it would overflow, and the result is as small */
  return S(igamma_factor)(a, x) * (slopes + sum * (log(x) - S(digamma)(a)));
}

/* The sum of (q + k)^-x over k = 0, 1, ... */
SPECIAL C S(zeta_of)(C x, C q) {
  if (x == 1) return (C)INFINITY;
  if (!(x > 1) || q != q) return SPECIAL_NAN(x + q);
  if (q == (C)INFINITY) return 0;
  if (q <= 0 && q == floor(q)) return fmod(x, 2) == 0 ? (C)INFINITY : SPECIAL_NAN(q);
  if (q <= 0 && x != floor(x)) return SPECIAL_NAN(q);
  C sum = 0;
  for (int k = 0; k < 100000 && q <= 0; k++, q += 1) sum += pow(q, -x);
  return sum + S(hurwitz_zeta)(x, q);
}

/* exp(-|x|) times the modified Bessel function of the first kind of order 0 or 1: its power series,
 * whose terms are positive, then its asymptotic one. */
SPECIAL C S(bessel_ie)(int order, C x) {
  const C size = fabs(x);
  if (size != size) return x;
  if (size == (C)INFINITY) return 0;
  C term = 1, sum = 1;
  if (size <= 20) {
    const C quarter = size * size / 4;
    for (int k = 1; k < 80; k++) {
      term *= quarter / ((C)k * (C)(k + order));
      sum += term;
    }
    sum *= exp(-size) * (order ? size / 2 : (C)1);
  } else {
    for (int k = 1; k < 30; k++) {
      const C odd = (C)(2 * k - 1);
      term *= (odd * odd - (C)(4 * order)) / (8 * (C)k * size);
      sum += term;
    }
    sum /= sqrt((C)6.283185307179586 * size);
  }
  return order && x < 0 ? -sum : sum;
}

SPECIAL C S(bessel_i)(int order, C x) {
  if (x - x != 0) return order ? x : fabs(x);
  return S(bessel_ie)(order, x) * exp(fabs(x));
}

/* exp(x) times the modified Bessel function of the second kind: the integral over t >= 0 of
 * exp(x (1 - cosh t)) cosh(order t). */
SPECIAL C S(bessel_ke)(int order, C x) {
  if (x != x) return x;
  if (x <= 0) return (C)INFINITY;
  if (x == (C)INFINITY) return 0;
  const C width = (C)0.5 / sqrt(x), step = width < (C)0.25 ? width : (C)0.25;
  C sum = (C)0.5;
  for (int k = 1; k < 4000; k++) {
    const C t = (C)k * step, grow = sinh(t / 2), part = exp(-2 * x * grow * grow);
    const C term = order ? part * cosh(t) : part;
    sum += term;
    if (term <= sum * SPECIAL_EPSILON) break;
  }
  return sum * step;
}

SPECIAL C S(bessel_k)(int order, C x) { return S(bessel_ke)(order, x) * exp(-x); }

/* The Bessel function of the first kind: the mean of cos(order t - x sin t); its power series
 * before, its asymptotic one behind. */
SPECIAL C S(bessel_j)(int order, C x) {
  const C pi = (C)3.14159265358979323846, size = fabs(x);
  if (size != size) return x;
  if (size == (C)INFINITY) return 0;
  C result = 0;
  if (size < 1) {
    C term = order ? size / 2 : (C)1;
    for (int k = 1; k < 12; k++) {
      result += term;
      term *= -size * size / (4 * (C)k * (C)(k + order));
    }
  } else if (size <= 25) {
    for (int k = 0; k < 96; k++) {
      const C t = 2 * pi * (C)k / 96;
      result += cos((C)order * t - size * sin(t));
    }
    result /= 96;
  } else {
    C term = 1, even = 1, odd = 0;
    for (int k = 1; k < 30; k++) {
      const C n = (C)(2 * k - 1);
      term *= ((C)(4 * order) - n * n) / (8 * (C)k * size);
      if (k % 2)
        odd += k % 4 == 1 ? term : -term;
      else
        even += k % 4 == 2 ? -term : term;
    }
    const C angle = size - pi * (C)(2 * order + 1) / 4;
    result = sqrt(2 / (pi * size)) * (even * cos(angle) - odd * sin(angle));
  }
  return order && x < 0 ? -result : result;
}

/* Dawson's integral, by Rybicki's sum over odd multiples of a step of 0.2 around x, or a series. */
SPECIAL C S(dawson)(C x) {
  const C size = fabs(x), step = (C)0.2;
  if (size != size) return x;
  if (size < 1) {
    C term = x, series = x;
    for (int k = 1; k < 24; k++) {
      term *= -2 * x * x / (C)(2 * k + 1);
      series += term;
    }
    return series;
  }
  if (size > 50) {
    const C z = 1 / (2 * x * x);
    return (1 + z * (1 + z * (3 + z * (15 + z * 105)))) / (2 * x);
  }
  const i64 middle = 2 * (i64)floor(size / (2 * step));
  C sum = 0;
  for (i64 n = middle - 39; n <= middle + 41; n += 2) {
    const C away = size - (C)n * step;
    sum += exp(-away * away) / (C)n;
  }
  sum *= (C)0.56418958354775629; /* 1 / sqrt(pi) */
  return x < 0 ? -sum : sum;
}

/* The exponential integral Ei. */
SPECIAL C S(exponential_integral)(C x) {
  if (!(x >= 0)) return SPECIAL_NAN(x);
  if (x == 0 || x == (C)INFINITY) return x == 0 ? -(C)INFINITY : x;
  C term = 1, sum = 0;
  if (x <= 40) {
    for (int k = 1; k < 160; k++) {
      term *= x / (C)k;
      sum += term / (C)k;
    }
    return sum + log(x) + (C)0.57721566490153286;
  }
  sum = 1;
  for (int k = 1; k < 40; k++) {
    term *= (C)k / x;
    sum += term;
  }
  return exp(x) / x * sum;
}

/* The dilogarithm of 0 <= w <= 1/2. */
SPECIAL C S(dilogarithm)(C w) {
  C power = 1, sum = 0;
  for (int k = 1; k < 60; k++) {
    power *= w;
    sum += power / ((C)k * (C)k);
  }
  return sum;
}

/* Spence's function: the dilogarithm of 1 - x. */
SPECIAL C S(spence_of)(C x) {
  const C limit = (C)1.6449340668482264;
  if (!(x >= 0)) return SPECIAL_NAN(x);
  if (x == 0) return limit;
  C sign = 1, rest = 0;
  if (x > 2) { /* by inversion */
    const C l = log(x);
    rest = -l * l / 2;
    sign = -1;
    x = 1 / x;
  }
  if (x < (C)0.5) return rest + sign * (limit - log(x) * log(1 - x) - S(dilogarithm)(x));
  if (x <= 1) return rest + sign * S(dilogarithm)(1 - x);
  const C l = log(x);
  return rest - sign * (S(dilogarithm)((x - 1) / x) + l * l / 2);
}
#undef S
#undef SPECIAL
#undef SPECIAL_NAN
#undef SPECIAL_EPSILON
