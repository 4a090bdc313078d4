/* SPDX-License-Identifier: Apache-2.0
 * cast.cl: one kernel per output type, for all input types but bfloat16 and complex ones, which are
 * converted through float and their parts. Reals convert to small integers through int, so that
 * overflow wraps on every device. */
#if T_IS_REAL
/* Values out of range and NaN become the least integer, like x86 instructions convert. */
#define int_of(x) ((x) >= (C)-2147483648.0f && (x) < (C)2147483648.0f ? (i32)(x) : I32_LEAST)
#define long_of(x) ((x) >= -TWO_63 && (x) < TWO_63 ? (i64)(x) : I64_LEAST)
#define I32_LEAST (-2147483647 - 1)
#define I64_LEAST (-9223372036854775807 - 1)
#define TWO_63 ((C)9223372036854775808.0f)
#define TWO_64 ((C)18446744073709551616.0f)
/* Negative numbers wrap, also where the conversion of the device saturates. */
#define unsigned_of(x) ((x) < 0 || !((x) < TWO_64) ? (u64)long_of(x) : (u64)(x))
#else
#define int_of(x) (x)
#define long_of(x) (x)
#define unsigned_of(x) (x)
#endif

#define CAST(suffix, D, f)                                   \
  KERNEL(cast_##suffix, IN(T, x_), OUT(D, y_), SIZE(n)) {    \
    EACH(i, n);                                            \
    const C x = (C)x_[i];                                  \
    y_[i] = (D)(f);                                        \
  }

CAST(float, float, x)
#if HAS_DOUBLE
CAST(double, double, x)
#endif
#if HAS_HALF
CAST(half, half, x)
#endif
CAST(int32, i32, int_of(x))
CAST(int64, i64, long_of(x))
CAST(int8, i8, int_of(x))
CAST(uint8, u8, int_of(x))
CAST(int16, i16, int_of(x))
CAST(uint16, u16, int_of(x))
CAST(uint32, u32, unsigned_of(x))
CAST(uint64, u64, unsigned_of(x))
CAST(truth, u8, x != 0)

#undef CAST
#undef int_of
#undef long_of
#undef I32_LEAST
#undef I64_LEAST
#undef TWO_63
#undef TWO_64
#undef unsigned_of

/* Keeps the low 4 bits, with the sign of signed types. */
#if T_IS_INTEGER && T_BYTES == 1
KERNEL(wrap_int4, IN(T, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  const i32 bits = (i32)x[i] & 15;
  y[i] = (T)(T_IS_SIGNED ? (bits ^ 8) - 8 : bits);
}
#endif

/* Conversions between float and bfloat16, and between real and complex numbers. */
#if T_IS_REAL && T_BYTES >= 4
KERNEL(complex_from_real, IN(T, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[2 * i] = x[i];
  y[2 * i + 1] = (T)0;
}

/* Part `part` of complex numbers: 0 is the real one. */
KERNEL(part_of_complex, IN(T, x), OUT(T, y), SIZE(part), SIZE(n)) {
  EACH(i, n);
  y[i] = x[2 * i + part];
}

#if T_BYTES == 4
KERNEL(widen_bfloat16, IN(u16, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = as_float((u32)x[i] << 16);
}

/* Rounds to nearest, ties to even. NaN stays NaN. */
KERNEL(narrow_bfloat16, IN(T, x), OUT(u16, y), SIZE(n)) {
  EACH(i, n);
  const u32 bits = as_uint(x[i]);
  const u32 rounded = (bits + 0x7fffu + (bits >> 16 & 1)) >> 16;
  y[i] = (u16)((bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 16 & 0x8000u) | 0x7fc0u : rounded);
}

/* Types of 8 bits: sign, exponent, and `digits` bits of the fraction (2: float8_e5m2, 3:
 * float8_e4m3fn, which has no infinity). The largest exponent of a float is 127, of theirs 15 or 7.
 */
KERNEL(widen_float8, IN(u8, x), OUT(T, y), SIZE(digits), SIZE(n)) {
  EACH(i, n);
  const u32 bits = x[i], magnitude = bits & 0x7fu;
  const u32 least = digits == 2 ? 113u : 121u; /* exponent of the least normal number */
  const u32 first_special = digits == 2 ? 0x7cu : 0x7fu;
  u32 wide = magnitude << (23 - digits);
  if (magnitude >= first_special)
    wide = magnitude == 0x7cu && digits == 2 ? 0x7f800000u : 0x7fc00000u;
  else if (magnitude >> digits)
    wide += (least - 1) << 23;
  else /* subnormal: a multiple of 2^-16 or 2^-9 */
    wide = as_uint((T)magnitude * (digits == 2 ? (T)0.0000152587890625 : (T)0.001953125));
  y[i] = as_float(wide | (bits & 0x80u) << 24);
}

/* Rounds to nearest, ties to even; values too large become infinity, or NaN. */
KERNEL(narrow_float8, IN(T, x), OUT(u8, y), SIZE(digits), SIZE(n)) {
  EACH(i, n);
  const u32 bits = as_uint(x[i]), magnitude = bits & 0x7fffffffu;
  const u32 least = digits == 2 ? 113u : 121u, shift = (u32)(23 - digits);
  const u32 overflow = digits == 2 ? 0x7cu : 0x7fu;
  u32 small;
  if (magnitude > 0x7f800000u) {
    small = digits == 2 ? 0x7eu : 0x7fu;
  } else if (magnitude >> 23 < least) { /* adding this rounds to a multiple of the least number */
    const T step = digits == 2 ? (T)128 : (T)16384;
    small = as_uint(as_float(magnitude) + step) - as_uint(step);
  } else {
    const u32 odd = magnitude >> shift & 1u;
    small = (magnitude + (1u << (shift - 1)) - 1u + odd) >> shift;
    small -= (least - 1) << digits;
    if (small > overflow) small = overflow;
  }
  y[i] = (u8)(small | (bits >> 24 & 0x80u));
}
#endif
#endif
