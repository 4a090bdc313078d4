/* SPDX-License-Identifier: Apache-2.0
 * elementwise.cl: the kernels of elementwise.def: one of each unary op; two of each binary op, one
 * for operands that go along with the result or are one element, a `wide` one for all others. */
#include "kernel/strided_index.h"

/* Words of elementwise.def that depend on the type. */
#if T_IS_REAL
#define negative(x) ((x) < 0)
#define magnitude(x) fabs(x)
#define rounded(x) rint(x)
#define quotient(x, y) ((x) / (y))
#define floor_quotient(x, y) floor((x) / (y))
#define truncated(x) trunc(x)
#define remainder_of(x, y) fmod(x, y)
#define floor_remainder(x, y) JOIN(floor_rest, T_NAME)(x, y)
#define power(x, y) pow(x, y)
#define GUARD_NONZERO(y)
#define GUARD_NOT_NEGATIVE(y)

INLINE C JOIN(floor_rest, T_NAME)(C x, C y) {
  const C rest = fmod(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

/* Recurrence up to 10, then the asymptotic series; reflection for negative x. */
INLINE C JOIN(digamma, T_NAME)(C x) {
  const C pi = (C)3.14159265358979323846;
  C result = 0, v = x;
  if (x <= 0) {
    if (x == floor(x)) return (x - x) / (x - x);
    result = -pi / tan(pi * x);
    v = 1 - x;
  }
  for (; v < 10; v += 1) result -= 1 / v;
  const C z = 1 / (v * v);
  C p = (C)8.33333333333333333333E-2;
  p = p * z - (C)2.10927960927960927961E-2;
  p = p * z + (C)7.57575757575757575758E-3;
  p = p * z - (C)4.16666666666666666667E-3;
  p = p * z + (C)3.96825396825396825397E-3;
  p = p * z - (C)8.33333333333333333333E-3;
  p = p * z + (C)8.33333333333333333333E-2;
  return result + log(v) - 1 / (2 * v) - p * z;
}
#elif T_IS_INTEGER
#define magnitude(x) ((x) < 0 ? -(x) : (x))
#define rounded(x) (x)
#if T_IS_SIGNED
#define negative(x) ((x) < 0)
/* x / -1 is taken out: it traps where it overflows. */
#define quotient(x, y) ((y) == -1 ? -(x) : (x) / (y))
#define remainder_of(x, y) ((y) == -1 ? 0 : (x) % (y))
#else
#define negative(x) false
#define quotient(x, y) ((x) / (y))
#define remainder_of(x, y) ((x) % (y))
#endif
#define truncated(x) (x)
#define power(x, y) JOIN(int_power, T_NAME)(x, y)
#define GUARD_NONZERO(y) \
  if ((y) == 0) FAIL(DIVISION, 0, 0, 0);
#define GUARD_NOT_NEGATIVE(y) \
  if (negative(y)) FAIL(NEGATIVE_POWER, 0, 0, 0);

/* The amount of a shift is clamped: beyond the bits of T a shift of C is not defined. Bits move to
 * the left in an unsigned type, where no overflow is undefined. */
#define shift_amount(y) (negative(y) ? (C)0 : (y) >= T_BYTES * 8 ? (C)(T_BYTES * 8 - 1) : (y))
#if T_BYTES == 8
#define left_shift(x, y) (C)((u64)(x) << shift_amount(y))
#else
#define left_shift(x, y) (C)((u32)(x) << shift_amount(y))
#endif

#if T_IS_SIGNED
#define floor_quotient(x, y) JOIN(floor_part, T_NAME)(x, y)
#define floor_remainder(x, y) JOIN(floor_rest, T_NAME)(x, y)

INLINE C JOIN(floor_rest, T_NAME)(C x, C y) {
  const C rest = remainder_of(x, y);
  return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
}

INLINE C JOIN(floor_part, T_NAME)(C x, C y) {
  const C whole = quotient(x, y);
  return whole - (C)(remainder_of(x, y) != 0 && (x < 0) != (y < 0));
}
#else
#define floor_quotient(x, y) quotient(x, y)
#define floor_remainder(x, y) remainder_of(x, y)
#endif

INLINE C JOIN(int_power, T_NAME)(C x, C y) {
  C result = 1;
  for (; y > 0; y >>= 1, x *= x)
    if (y & 1) result *= x;
  return result;
}
#endif
#define GUARD_(y)

#define IF_ANY(...) __VA_ARGS__
#define IF_REAL_COMPLEX IF_REAL
#define IF_SIGNED_COMPLEX IF_SIGNED
#define IF_NUMBER_COMPLEX IF_NUMBER
#define IF_ANY_COMPLEX IF_ANY
#include "ops/math/elementwise_kernels.h"

#define UNARY(name, class, cost, f, ...) IF_##class(UNARY_KERNEL(name, T, f))
#define ACTIVATION(name, class, cost, f, ...) IF_##class(UNARY_KERNEL(name, T, f))
#define PREDICATE(name, class, cost, f, ...) IF_##class(UNARY_KERNEL(name, uchar, f))
#define BINARY(name, class, cost, f, guard, ...) \
  IF_##class(BINARY_KERNELS(name, T, f, GUARD_##guard(y)))
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define BINARY_STRINGS(function, ...) BINARY(__VA_ARGS__)
#define GRADIENT(name, class, cost, f, ...) IF_##class(BINARY_KERNELS(name, T, f, ))
#define COMPARE(name, class, cost, f, ...) IF_##class(BINARY_KERNELS(name, uchar, f, ))
#define EQUALITY COMPARE
#include "ops/math/elementwise.def"
#undef UNARY
#undef ACTIVATION
#undef PREDICATE
#undef BINARY
#undef BINARY_OF
#undef BINARY_STRINGS
#undef GRADIENT
#undef COMPARE
#undef EQUALITY

#undef BINARY_KERNELS
#undef UNARY_KERNEL
#undef IF_ANY
#undef IF_REAL_COMPLEX
#undef IF_SIGNED_COMPLEX
#undef IF_NUMBER_COMPLEX
#undef IF_ANY_COMPLEX
#undef GUARD_
#undef GUARD_NONZERO
#undef GUARD_NOT_NEGATIVE
#undef negative
#undef magnitude
#undef rounded
#undef quotient
#undef floor_quotient
#undef truncated
#undef remainder_of
#undef floor_remainder
#undef power
#undef shift_amount
#undef left_shift
