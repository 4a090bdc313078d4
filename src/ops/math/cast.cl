/* SPDX-License-Identifier: Apache-2.0
 * cast.cl: one kernel per output type, for all input types. Reals convert to small integers
 * through int, so that overflow wraps on every device. */
#if T_IS_REAL
#define whole(x) (i32)(x)
#else
#define whole(x) (x)
#endif

#define CAST(word, D, f)                                   \
  KERNEL(cast_##word, IN(T, x_), OUT(D, y_), SIZE(n)) {    \
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
CAST(int32, i32, x)
CAST(int64, i64, x)
CAST(int8, i8, whole(x))
CAST(uint8, u8, whole(x))
CAST(int16, i16, whole(x))
CAST(uint16, u16, whole(x))
CAST(truth, u8, x != 0)

#undef CAST
#undef whole
