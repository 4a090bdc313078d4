/* SPDX-License-Identifier: Apache-2.0
 * convert.c: cvt in all its forms. */
#include <math.h>
#include <string.h>

#include "cuda/ptx/forms.h"

__extension__ typedef _Float16 half;

static half half_of(uint16_t bits) {
  half out;
  memcpy(&out, &bits, sizeof out);
  return out;
}
static uint16_t bits_of(half x) {
  uint16_t out;
  memcpy(&out, &x, sizeof out);
  return out;
}

/* ---- Whole to whole: cut or extended to 64 bits ---- */

#define INTEGERS(X, ...) \
  X(__VA_ARGS__, u8)     \
  X(__VA_ARGS__, s8)     \
  X(__VA_ARGS__, u16)    \
  X(__VA_ARGS__, s16)    \
  X(__VA_ARGS__, u32) X(__VA_ARGS__, s32) X(__VA_ARGS__, u64) X(__VA_ARGS__, s64)
/* clang-format off */
#define WHOLES(X)                                                                                  \
  X(u8, u8)                                                                                        \
  X(u8, s8)                                                                                        \
  X(u8, u16)                                                                                       \
  X(u8, s16)                                                                                       \
  X(u8, u32) X(u8, s32) X(u8, u64) X(u8, s64) X(s8, u8) X(s8, s8) X(s8, u16) X(s8, s16) X(s8, u32) \
      X(s8, s32) X(s8, u64) X(s8, s64) X(u16, u8) X(u16, s8) X(u16, u16) X(u16, s16) X(u16, u32)   \
          X(u16, s32) X(u16, u64) X(u16, s64) X(s16, u8) X(s16, s8) X(s16, u16) X(s16, s16)        \
              X(s16, u32) X(s16, s32) X(s16, u64) X(s16, s64) X(u32, u8) X(u32, s8) X(u32, u16)    \
                  X(u32, s16) X(u32, u32) X(u32, s32) X(u32, u64) X(u32, s64) X(s32, u8)           \
                      X(s32, s8) X(s32, u16) X(s32, s16) X(s32, u32) X(s32, s32) X(s32, u64)       \
                          X(s32, s64) X(u64, u8) X(u64, s8) X(u64, u16) X(u64, s16) X(u64, u32)    \
                              X(u64, s32) X(u64, u64) X(u64, s64) X(s64, u8) X(s64, s8)            \
                                  X(s64, u16) X(s64, s16) X(s64, u32) X(s64, s32) X(s64, u64)      \
                                      X(s64, s64)
/* clang-format on */
#define WHOLE_RUN(to, from) \
  RUN(cvt_##to##_##from) { D(u64) = (uint64_t)(int64_t)(__typeof__(A(to)))A(from); }
WHOLES(WHOLE_RUN)

/* ---- Whole to real, to the nearest ---- */

#define FROM_WHOLE_RUN(from)                        \
  RUN(cvt_f32_##from) { D(f32) = (float)A(from); }  \
  RUN(cvt_f64_##from) { D(f64) = (double)A(from); } \
  RUN(cvt_f16_##from) { D(u16) = bits_of((half)(long double)A(from)); }
#define FROM_WHOLES(X) X(u8) X(s8) X(u16) X(s16) X(u32) X(s32) X(u64) X(s64)
FROM_WHOLES(FROM_WHOLE_RUN)

/* ---- Real to whole: what does not fit becomes the nearest that does, NaN becomes 0 ---- */

static double nearest(double x) { return rint(x); }

static int64_t bounded(double x, double least, double most) {
  if (isnan(x)) return 0;
  if (x <= least) return (int64_t)least;
  return x >= most ? INT64_MAX : (int64_t)x;
}
static uint64_t positive(double x, double most) {
  if (isnan(x) || x <= 0) return 0;
  return x >= most ? UINT64_MAX : (uint64_t)x;
}
#define MAX_s8 127
#define MAX_s16 32767
#define MAX_s32 2147483647
#define MAX_s64 INT64_MAX
#define TO_SIGNED(word, round, from, value, to, bits)                                 \
  RUN(cvt_##word##_##to##_##from) {                                                   \
    const int64_t x = bounded(round(value), -ldexp(1, bits - 1), ldexp(1, bits - 1)); \
    D(u64) = (uint64_t)(x > MAX_##to ? MAX_##to : x);                                 \
  }
#define TO_UNSIGNED(word, round, from, value, to, bits)        \
  RUN(cvt_##word##_##to##_##from) {                            \
    const uint64_t x = positive(round(value), ldexp(1, bits)); \
    const uint64_t most = ~(uint64_t)0 >> (64 - bits);         \
    D(u64) = x > most ? most : x;                              \
  }
/* clang-format off */
#define TO_WHOLES(S, U, word, round, from, value)                         \
  S(word, round, from, value, s8, 8)                                      \
  S(word, round, from, value, s16, 16)                                    \
  S(word, round, from, value, s32, 32)                                    \
  S(word, round, from, value, s64, 64)                                    \
  U(word, round, from, value, u8, 8) U(word, round, from, value, u16, 16) \
      U(word, round, from, value, u32, 32) U(word, round, from, value, u64, 64)
/* clang-format on */
#define TO_ALL(S, U, from, value)            \
  TO_WHOLES(S, U, rni, nearest, from, value) \
  TO_WHOLES(S, U, rzi, trunc, from, value)   \
  TO_WHOLES(S, U, rmi, floor, from, value) TO_WHOLES(S, U, rpi, ceil, from, value)
TO_ALL(TO_SIGNED, TO_UNSIGNED, f32, (double)A(f32))
TO_ALL(TO_SIGNED, TO_UNSIGNED, f64, A(f64))
TO_ALL(TO_SIGNED, TO_UNSIGNED, f16, (double)half_of(A(u16)))

/* ---- Real to real ---- */

RUN(cvt_f32_f64) { D(f32) = (float)A(f64); }
RUN(cvt_f64_f32) { D(f64) = (double)A(f32); }
RUN(cvt_f32_f16) { D(f32) = (float)half_of(A(u16)); }
RUN(cvt_f64_f16) { D(f64) = (double)half_of(A(u16)); }
RUN(cvt_f16_f32) { D(u16) = bits_of((half)A(f32)); }
RUN(cvt_f16_f64) { D(u16) = bits_of((half)A(f64)); }
RUN(cvt_sat_f32_f32) { D(f32) = A(f32) > 1 ? 1 : A(f32) > 0 ? A(f32) : 0; }
RUN(cvt_sat_f64_f64) { D(f64) = A(f64) > 1 ? 1 : A(f64) > 0 ? A(f64) : 0; }
#define ROUNDED_RUN(word, round)                                       \
  RUN(cvt_##word##_f32_f32) { D(f32) = (float)round((double)A(f32)); } \
  RUN(cvt_##word##_f64_f64) { D(f64) = round(A(f64)); }
ROUNDED_RUN(rni, nearest)
ROUNDED_RUN(rzi, trunc)
ROUNDED_RUN(rmi, floor)
ROUNDED_RUN(rpi, ceil)

#define ROW(name) {#name, name},
#define WHOLE_ROW(to, from) ROW(cvt_##to##_##from)
#define FROM_WHOLE_ROW(from) ROW(cvt_f32_##from) ROW(cvt_f64_##from) ROW(cvt_f16_##from)
#define TO_ROW(word, round, from, value, to, bits) ROW(cvt_##word##_##to##_##from)
#define ROUNDED_ROW(word) ROW(cvt_##word##_f32_f32) ROW(cvt_##word##_f64_f64)

const struct form convert_forms[] = {
    WHOLES(WHOLE_ROW) FROM_WHOLES(FROM_WHOLE_ROW) TO_ALL(TO_ROW, TO_ROW, f32, 0)
        TO_ALL(TO_ROW, TO_ROW, f64, 0) TO_ALL(TO_ROW, TO_ROW, f16, 0) ROUNDED_ROW(rni)
            ROUNDED_ROW(rzi) ROUNDED_ROW(rmi) ROUNDED_ROW(rpi) ROW(cvt_f32_f64) ROW(cvt_f64_f32)
                ROW(cvt_f32_f16) ROW(cvt_f64_f16) ROW(cvt_f16_f32) ROW(cvt_f16_f64)
                    ROW(cvt_sat_f32_f32) ROW(cvt_sat_f64_f64){0}};
