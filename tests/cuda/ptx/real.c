/* SPDX-License-Identifier: Apache-2.0
 * real.c: instructions on float and double. The .approx instructions are computed exactly. */
#include <fenv.h>
#include <math.h>

#include "cuda/ptx/forms.h"

/* What is computed here must not be folded under another rounding. */
#define TOWARDS(rounding, type, expr)                  \
  {                                                    \
    const int before_ = fegetround();                  \
    fesetround(rounding);                              \
    volatile const __typeof__(D(type)) made_ = (expr); \
    fesetround(before_);                               \
    D(type) = made_;                                   \
  }

#define REAL_TYPES(X, ...) X(__VA_ARGS__, f32) X(__VA_ARGS__, f64)

#define NEAREST(X)            \
  REAL_TYPES(X, add, (a + b)) \
  REAL_TYPES(X, sub, (a - b)) \
  REAL_TYPES(X, mul, (a * b)) \
  REAL_TYPES(X, div, (a / b)) REAL_TYPES(X, min, least(a, b)) REAL_TYPES(X, max, most(a, b))

/* Of a number and NaN the number. */
static double least_of(double a, double b) {
  return a != a ? b : b != b ? a : a < b || (a == b && signbit(a)) ? a : b;
}
static double most_of(double a, double b) {
  return a != a ? b : b != b ? a : a > b || (a == b && !signbit(a)) ? a : b;
}
#define least(a, b) (__typeof__(a))least_of((double)a, (double)b)
#define most(a, b) (__typeof__(a))most_of((double)a, (double)b)

#define NEAREST_RUN(op, expr, type)                     \
  RUN(op##_##type) {                                    \
    const __typeof__(D(type)) a = A(type), b = B(type); \
    D(type) = (expr);                                   \
  }
NEAREST(NEAREST_RUN)

#define DIRECTIONS(X, ...) \
  X(__VA_ARGS__, rz, FE_TOWARDZERO) X(__VA_ARGS__, rm, FE_DOWNWARD) X(__VA_ARGS__, rp, FE_UPWARD)
/* clang-format off */
#define DIRECTED(X)                                                                          \
  DIRECTIONS(X, add, f32, x + y)                                                             \
  DIRECTIONS(X, add, f64, x + y)                                                             \
  DIRECTIONS(X, sub, f32, x - y)                                                             \
  DIRECTIONS(X, sub, f64, x - y)                                                             \
  DIRECTIONS(X, mul, f32, x *y) DIRECTIONS(X, mul, f64, x *y) DIRECTIONS(X, div, f32, x / y) \
      DIRECTIONS(X, div, f64, x / y) DIRECTIONS(X, fma, f32, fmaf(x, y, z))                  \
          DIRECTIONS(X, fma, f64, fma(x, y, z))
/* clang-format on */
#define DIRECTED_RUN(op, type, expr, word, rounding)                               \
  RUN(op##_##word##_##type) {                                                      \
    volatile const __typeof__(D(type)) x = A(type), y = B(type), z = C_OR_A(type); \
    (void)z;                                                                       \
    TOWARDS(rounding, type, expr)                                                  \
  }
#define C_OR_A(type) t->words[i->c == NO_WORD ? i->a : i->c].type
DIRECTED(DIRECTED_RUN)

RUN(fma_f32) { D(f32) = fmaf(A(f32), B(f32), C(f32)); }
RUN(fma_f64) { D(f64) = fma(A(f64), B(f64), C(f64)); }

/* clang-format off */
#define SINGLE(X)                                                                               \
  X(neg, f32, -A(f32))                                                                          \
  X(neg, f64, -A(f64))                                                                          \
  X(abs, f32, fabsf(A(f32)))                                                                    \
  X(abs, f64, fabs(A(f64)))                                                                     \
  X(sqrt, f32, sqrtf(A(f32))) X(sqrt, f64, sqrt(A(f64))) X(rcp, f32, 1 / A(f32))                \
      X(rcp, f64, 1 / A(f64)) X(rsqrt, f32, (float)(1 / sqrt((double)A(f32))))                  \
          X(rsqrt, f64, 1 / sqrt(A(f64))) X(ex2, f32, exp2f(A(f32))) X(lg2, f32, log2f(A(f32))) \
              X(sin, f32, sinf(A(f32))) X(cos, f32, cosf(A(f32))) X(tanh, f32, tanhf(A(f32)))   \
                  X(copysign, f32, copysignf(B(f32), A(f32)))                                   \
                      X(copysign, f64, copysign(B(f64), A(f64)))
/* clang-format on */
#define SINGLE_RUN(op, type, expr) \
  RUN(op##_##type) { D(type) = (expr); }
SINGLE(SINGLE_RUN)

/* rcp.approx.ftz.f64 and rsqrt.approx.ftz.f64 give the first 20 bits only: code that does not
 * refine them is found out. */
static double rough(double x) {
  union word word = {.f64 = x};
  word.u64 &= ~(uint64_t)0xffffffffu;
  return word.f64;
}
RUN(rough_rcp) { D(f64) = rough(1 / A(f64)); }
RUN(rough_rsqrt) { D(f64) = rough(1 / sqrt(A(f64))); }

#define TESTS(X, ...)                  \
  X(__VA_ARGS__, finite, isfinite(x))  \
  X(__VA_ARGS__, infinite, isinf(x))   \
  X(__VA_ARGS__, number, !isnan(x))    \
  X(__VA_ARGS__, notanumber, isnan(x)) \
  X(__VA_ARGS__, normal, isnormal(x)) X(__VA_ARGS__, subnormal, fpclassify(x) == FP_SUBNORMAL)
#define TEST_RUN(type, word, expr)         \
  RUN(testp_##word##_##type) {             \
    const __typeof__(A(type)) x = A(type); \
    D(u64) = (expr) ? 1 : 0;               \
  }
TESTS(TEST_RUN, f32)
TESTS(TEST_RUN, f64)

#define NEAREST_ROW(op, expr, type) {#op "." #type, op##_##type},
#define DIRECTED_ROW(op, type, expr, word, rounding) \
  {#op "." #word "." #type, op##_##word##_##type},
#define SINGLE_ROW(op, type, expr) {#op "." #type, op##_##type},
#define TEST_ROW(type, word, expr) {"testp." #word "." #type, testp_##word##_##type},

const struct form real_forms[] = {NEAREST(NEAREST_ROW) DIRECTED(DIRECTED_ROW) SINGLE(SINGLE_ROW)
                                      TESTS(TEST_ROW, f32) TESTS(TEST_ROW, f64){"fma.f32", fma_f32},
                                  {"fma.f64", fma_f64},
                                  {"mad.f32", fma_f32},
                                  {"mad.f64", fma_f64},
                                  {"rcp.approx.ftz.f64", rough_rcp},
                                  {"rsqrt.approx.ftz.f64", rough_rsqrt},
                                  {0}};
