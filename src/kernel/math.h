/* SPDX-License-Identifier: Apache-2.0
 * math.h: OpenCL's type-generic math functions on the host.
 *
 * Frequently used float functions of libm that prevent vectorization have branch-free versions here
 * with an error of at most 2 ulp and identical results on every CPU (no fused operations). The
 * method is that of Cephes: range reduction, polynomial, reconstruction. */
#ifndef SITU_KERNEL_MATH_H
#define SITU_KERNEL_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

static inline __attribute__((always_inline)) float math_float(uint32_t bits) {
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static inline __attribute__((always_inline)) uint32_t math_bits(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

/* Range reduction: x = n ln 2 + r with integral n and |r| <= ln 2 / 2; returns n as float and as
 * integer. */
static inline __attribute__((always_inline)) float math_reduce(float x, float *n, int32_t *whole) {
  const float magic = 12582912.0f; /* 1.5 * 2^23: adding it leaves the integer in the low bits */
  const float shifted = x * 1.44269504f + magic;
  *n = shifted - magic;
  *whole = (int32_t)(math_bits(shifted) - math_bits(magic));
  return (x - *n * 0.693359375f) + *n * 2.12194440e-4f;
}

/* Returns (exp(r) - 1 - r) / (r * r) for |r| <= ln 2 / 2. */
static inline __attribute__((always_inline)) float math_exp_series(float r) {
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  return p * r + 5.0000001201e-1f;
}

static inline __attribute__((always_inline)) float math_power_of_two(int32_t n) {
  return math_float((uint32_t)(n + 127) << 23);
}

static inline __attribute__((always_inline)) float math_exp(float x) {
  float n;
  int32_t whole;
  const float clipped = x < -105.0f ? -105.0f : x > 90.0f ? 90.0f : x;
  const float r = math_reduce(clipped, &n, &whole);
  const float y = math_exp_series(r) * (r * r) + r + 1.0f;
  const int32_t part = whole >> 1; /* scales in two steps: 2^n may be out of range */
  const float scaled = y * math_power_of_two(part) * math_power_of_two(whole - part);
  return x != x ? x : scaled;
}

/* exp(x) for x <= 0, which cannot overflow; 0 below -87. */
static inline __attribute__((always_inline)) float math_exp_below(float x) {
  float n;
  int32_t whole;
  const float r = math_reduce(x < -87.0f ? -87.0f : x, &n, &whole);
  const float y = (math_exp_series(r) * (r * r) + r + 1.0f) * math_power_of_two(whole);
  return x < -87.0f ? 0.0f : y;
}

static inline __attribute__((always_inline)) float math_expm1(float x) {
  float n;
  int32_t whole;
  const float clipped = x < -20.0f ? -20.0f : x > 80.0f ? 80.0f : x;
  const float r = math_reduce(clipped, &n, &whole);
  const float scale = math_power_of_two(whole);
  const float y = scale * (math_exp_series(r) * (r * r) + r) + (scale - 1.0f);
  return x != x || x == 0.0f ? x : x > 80.0f ? math_exp(x) : y;
}

static inline __attribute__((always_inline)) float math_log(float x) {
  const float tiny = 1.17549435e-38f;
  const float normal = x < tiny ? x * 8388608.0f : x;
  const uint32_t bits = math_bits(normal);
  /* normal = m * 2^e with m from sqrt(1/2) to sqrt(2) */
  const uint32_t shifted = bits - 0x3f3504f3u;
  float e = (float)((int32_t)shifted >> 23) - (x < tiny ? 23.0f : 0.0f);
  const float m = math_float((shifted & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  const float z = m * m;
  float p = 7.0376836292e-2f;
  p = p * m - 1.1514610310e-1f;
  p = p * m + 1.1676998740e-1f;
  p = p * m - 1.2420140846e-1f;
  p = p * m + 1.4249322787e-1f;
  p = p * m - 1.6668057665e-1f;
  p = p * m + 2.0000714765e-1f;
  p = p * m - 2.4999993993e-1f;
  p = p * m + 3.3333331174e-1f;
  float y = p * m * z - e * 2.12194440e-4f;
  y = y - 0.5f * z;
  y = m + y + e * 0.693359375f;
  y = x == 0.0f ? -INFINITY : y;
  y = x == INFINITY ? x : y;
  return x < 0.0f || x != x ? NAN : y;
}

static inline __attribute__((always_inline)) float math_log1p(float x) {
  const float u = 1.0f + x;
  const float lost = (x - (u - 1.0f)) / u;
  const float y = math_log(u) + lost;
  return u == 0.0f || u == INFINITY ? math_log(u) : x == 0.0f ? x : y;
}

static inline __attribute__((always_inline)) float math_tanh(float x) {
  const float a = fabsf(x), z = x * x;
  float p = -5.70498872745e-3f;
  p = p * z + 2.06390887954e-2f;
  p = p * z - 5.37397155531e-2f;
  p = p * z + 1.33314422036e-1f;
  p = p * z - 3.33332819422e-1f;
  const float near = p * z * x + x;
  const float far = 1.0f - 2.0f / (math_exp(a + a) + 1.0f);
  return copysignf(a < 0.625f ? near : far, x); /* also of -0 */
}

/* Maps tanh(x) to math_tanh for float and to tanh of <math.h> for double: inside its own macro a
 * name is not expanded. */
#define MATH1(name, x) _Generic((x), float : name##f, double : name)(x)
#define MATH2(name, x, y) _Generic((x), float : name##f, double : name)(x, y)
#define MATH_OWN(name, x) _Generic((x), float : math_##name, double : name)(x)
/* The logarithm of <math.h> for both types. */
#define PRECISE_LOG(x) _Generic((x), float : logf, double : log)(x)
#define EXP_BELOW(x) _Generic((x), float : math_exp_below, double : exp)(x)
#define exp(x) MATH_OWN(exp, x)
#define expm1(x) MATH_OWN(expm1, x)
#define log(x) MATH_OWN(log, x)
#define log1p(x) MATH_OWN(log1p, x)
#define tanh(x) MATH_OWN(tanh, x)
#define sin(x) MATH1(sin, x)
#define cos(x) MATH1(cos, x)
#define tan(x) MATH1(tan, x)
#define asin(x) MATH1(asin, x)
#define acos(x) MATH1(acos, x)
#define atan(x) MATH1(atan, x)
#define sinh(x) MATH1(sinh, x)
#define cosh(x) MATH1(cosh, x)
#define asinh(x) MATH1(asinh, x)
#define acosh(x) MATH1(acosh, x)
#define atanh(x) MATH1(atanh, x)
#define sqrt(x) MATH1(sqrt, x)
#define rsqrt(x) (1 / sqrt(x))
#define fabs(x) MATH1(fabs, x)
#define floor(x) MATH1(floor, x)
#define ceil(x) MATH1(ceil, x)
#define rint(x) MATH1(rint, x)
#define trunc(x) MATH1(trunc, x)
#define erf(x) MATH1(erf, x)
#define erfc(x) MATH1(erfc, x)
#define lgamma(x) MATH1(lgamma, x)
#define pow(x, y) MATH2(pow, x, y)
#define fmod(x, y) MATH2(fmod, x, y)
#define atan2(x, y) MATH2(atan2, x, y)
#define nextafter(x, y) MATH2(nextafter, x, y)

#endif
