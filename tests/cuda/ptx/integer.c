/* SPDX-License-Identifier: Apache-2.0
 * integer.c: integer and bit instructions. */
#include "cuda/ptx/forms.h"

#define SIGNED_TYPES(X, ...) X(__VA_ARGS__, s16) X(__VA_ARGS__, s32) X(__VA_ARGS__, s64)
#define UNSIGNED_TYPES(X, ...) X(__VA_ARGS__, u16) X(__VA_ARGS__, u32) X(__VA_ARGS__, u64)
#define BIT_TYPES(X, ...) X(__VA_ARGS__, b16) X(__VA_ARGS__, b32) X(__VA_ARGS__, b64)
#define INTEGER_TYPES(X, ...) SIGNED_TYPES(X, __VA_ARGS__) UNSIGNED_TYPES(X, __VA_ARGS__)

/* ---- Two operands ---- */

/* Wrapping arithmetic is done on 64 bits without sign. */
#define WRAPPING(X) \
  INTEGER_TYPES(X, add, (a + b)) INTEGER_TYPES(X, sub, (a - b)) INTEGER_TYPES(X, mul_lo, (a * b))
#define WRAP_RUN(op, expr, type)           \
  RUN(op##_##type) {                       \
    const uint64_t a = A(u64), b = B(u64); \
    D(type) = (__typeof__(D(type)))(expr); \
  }
WRAPPING(WRAP_RUN)

/* Division by zero gives all ones, or the dividend; the smallest number divided by -1 wraps. */
/* clang-format off */
#define VALUED(X)                                                               \
  SIGNED_TYPES(X, div, s_div(a, b))                                             \
  UNSIGNED_TYPES(X, div, u_div(a, b))                                           \
  SIGNED_TYPES(X, rem, s_rem(a, b))                                             \
  UNSIGNED_TYPES(X, rem, u_rem(a, b))                                           \
  INTEGER_TYPES(X, min, (a < b ? a : b)) INTEGER_TYPES(X, max, (a > b ? a : b)) \
      BIT_TYPES(X, and, (a & b)) BIT_TYPES(X, or, (a | b)) BIT_TYPES(X, xor, (a ^ b))
/* clang-format on */
static int64_t s_div(int64_t a, int64_t b) {
  return b == 0 ? -1 : b == -1 ? (int64_t)(0 - (uint64_t)a) : a / b;
}
static int64_t s_rem(int64_t a, int64_t b) { return b == 0 ? a : b == -1 ? 0 : a % b; }
static uint64_t u_div(uint64_t a, uint64_t b) { return b == 0 ? ~(uint64_t)0 : a / b; }
static uint64_t u_rem(uint64_t a, uint64_t b) { return b == 0 ? a : a % b; }
#define VALUE_RUN(op, expr, type)                       \
  RUN(op##_##type) {                                    \
    const __typeof__(D(type)) a = A(type), b = B(type); \
    D(type) = (__typeof__(D(type)))(expr);              \
  }
VALUED(VALUE_RUN)

/* Shifts by the width or more give 0, or the sign. */
#define LEFT_RUN(bits, type)                                                \
  RUN(shl_##type) {                                                         \
    const uint32_t n = B(u32);                                              \
    D(type) = n < bits ? (__typeof__(D(type)))((uint64_t)A(type) << n) : 0; \
  }
#define RIGHT_RUN(bits, type)                                     \
  RUN(shr_##type) {                                               \
    const uint32_t n = B(u32);                                    \
    D(type) = n < bits ? (__typeof__(D(type)))(A(type) >> n) : 0; \
  }
#define SIGN_RUN(bits, type)                                               \
  RUN(shr_##type) {                                                        \
    const uint32_t n = B(u32);                                             \
    D(type) = (__typeof__(D(type)))(A(type) >> (n < bits ? n : bits - 1)); \
  }
/* clang-format off */
#define SHIFTS(LEFT, RIGHT, SIGN)                                                          \
  LEFT(16, b16)                                                                            \
  LEFT(32, b32)                                                                            \
  LEFT(64, b64)                                                                            \
  RIGHT(16, u16)                                                                           \
  RIGHT(32, u32) RIGHT(64, u64) RIGHT(16, b16) RIGHT(32, b32) RIGHT(64, b64) SIGN(16, s16) \
      SIGN(32, s32) SIGN(64, s64)
/* clang-format on */
SHIFTS(LEFT_RUN, RIGHT_RUN, SIGN_RUN)

/* ---- Wide products ---- */

__extension__ typedef __int128 s128;
__extension__ typedef unsigned __int128 u128;

#define WIDENING(X) X(s16, s32, s32) X(u16, u32, u32) X(s32, s64, s64) X(u32, u64, u64)
#define WIDE_RUN(type, wide, as)                                                              \
  RUN(mul_wide_##type) { D(wide) = (__typeof__(D(as)))A(type) * (__typeof__(D(as)))B(type); } \
  RUN(mad_wide_##type) {                                                                      \
    D(u64) = (uint64_t)((__typeof__(D(as)))A(type) * (__typeof__(D(as)))B(type)) + C(u64);    \
  }
WIDENING(WIDE_RUN)

static uint64_t high_s64(int64_t a, int64_t b) { return (uint64_t)((s128)a * b >> 64); }
static uint64_t high_u64(uint64_t a, uint64_t b) { return (uint64_t)((u128)a * b >> 64); }
static uint64_t high_s32(int32_t a, int32_t b) { return (uint64_t)((int64_t)a * b >> 32); }
static uint64_t high_u32(uint32_t a, uint32_t b) { return (uint64_t)a * b >> 32; }
static uint64_t high_s16(int16_t a, int16_t b) { return (uint64_t)((int64_t)a * b >> 16); }
static uint64_t high_u16(uint16_t a, uint16_t b) { return (uint64_t)((int64_t)a * b >> 16); }
#define PRODUCT_RUN(op, expr, type)                                                               \
  RUN(mul_hi_##type) { D(type) = (__typeof__(D(type)))high_##type(A(type), B(type)); }            \
  RUN(mad_hi_##type) { D(type) = (__typeof__(D(type)))(high_##type(A(type), B(type)) + C(u64)); } \
  RUN(mad_lo_##type) { D(type) = (__typeof__(D(type)))(A(u64) * B(u64) + C(u64)); }
INTEGER_TYPES(PRODUCT_RUN, product, 0)

/* ---- Carries ---- */

static uint32_t carry_out(struct thread *t, uint64_t sum) {
  t->carry = (uint32_t)(sum >> 32) & 1;
  return (uint32_t)sum;
}
static uint32_t borrow_out(struct thread *t, uint64_t difference) {
  t->carry = (uint32_t)(difference >> 63);
  return (uint32_t)difference;
}
#define LOW ((uint32_t)((uint64_t)A(u32) * B(u32)))
#define HIGH ((uint64_t)A(u32) * B(u32) >> 32)
#define CARRIES(X)                                                \
  X(add_cc, carry_out(t, (uint64_t)A(u32) + B(u32)))              \
  X(addc_cc, carry_out(t, (uint64_t)A(u32) + B(u32) + t->carry))  \
  X(addc, A(u32) + B(u32) + t->carry)                             \
  X(sub_cc, borrow_out(t, (uint64_t)A(u32) - B(u32)))             \
  X(subc_cc, borrow_out(t, (uint64_t)A(u32) - B(u32) - t->carry)) \
  X(subc, A(u32) - B(u32) - t->carry)                             \
  X(mad_lo_cc, carry_out(t, (uint64_t)LOW + C(u32)))              \
  X(madc_lo_cc, carry_out(t, (uint64_t)LOW + C(u32) + t->carry))  \
  X(madc_lo, LOW + C(u32) + t->carry)                             \
  X(mad_hi_cc, carry_out(t, HIGH + C(u32)))                       \
  X(madc_hi_cc, carry_out(t, HIGH + C(u32) + t->carry))           \
  X(madc_hi, (uint32_t)HIGH + C(u32) + t->carry)
#define CARRY_RUN(op, expr) \
  RUN(op##_u32) { D(u32) = (expr); }
CARRIES(CARRY_RUN)

/* ---- One operand, and bits ---- */

static uint64_t reversed(uint64_t x, int bits) {
  uint64_t out = 0;
  for (int k = 0; k < bits; k++) out |= (x >> k & 1) << (bits - 1 - k);
  return out;
}

#define ONES(X)                                                 \
  SIGNED_TYPES(X, neg, (0 - (uint64_t)a))                       \
  SIGNED_TYPES(X, abs, (a < 0 ? 0 - (uint64_t)a : (uint64_t)a)) \
  BIT_TYPES(X, not, ~(uint64_t)a) BIT_TYPES(X, cnot, (a == 0))
#define ONE_RUN(op, expr, type)            \
  RUN(op##_##type) {                       \
    const __typeof__(D(type)) a = A(type); \
    D(type) = (__typeof__(D(type)))(expr); \
  }
ONES(ONE_RUN)

#define COUNTS(X)                                    \
  X(clz, b32, a ? (uint32_t)__builtin_clz(a) : 32)   \
  X(clz, b64, a ? (uint32_t)__builtin_clzll(a) : 64) \
  X(popc, b32, (uint32_t)__builtin_popcount(a))      \
  X(popc, b64, (uint32_t)__builtin_popcountll(a))
#define COUNT_RUN(op, type, expr)          \
  RUN(op##_##type) {                       \
    const __typeof__(D(type)) a = A(type); \
    D(u32) = (expr);                       \
  }
COUNTS(COUNT_RUN)
RUN(brev_b32) { D(u32) = (uint32_t)reversed(A(u32), 32); }
RUN(brev_b64) { D(u64) = reversed(A(u64), 64); }

/* Puts the low bits of a into b: v[0] is the fourth operand. */
static uint64_t inserted(uint64_t a, uint64_t b, uint32_t at, uint32_t bits, uint32_t width) {
  if (at >= width || !bits) return b;
  const uint64_t mask = (bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1) << at;
  return (b & ~mask) | (a << at & mask);
}
RUN(bfi_b32) { D(u32) = (uint32_t)inserted(A(u32), B(u32), C(u32) & 255, V0(u32) & 255, 32); }
RUN(bfi_b64) { D(u64) = inserted(A(u64), B(u64), C(u32) & 255, V0(u32) & 255, 64); }
static uint64_t extracted(uint64_t a, uint32_t at, uint32_t bits) {
  if (at > 63 || !bits) return 0;
  return a >> at & (bits >= 64 ? ~(uint64_t)0 : ((uint64_t)1 << bits) - 1);
}
RUN(bfe_u32) { D(u32) = (uint32_t)extracted(A(u32), B(u32) & 255, C(u32) & 255); }
RUN(bfe_u64) { D(u64) = extracted(A(u64), B(u32) & 255, C(u32) & 255); }

/* Both words as one, shifted. */
static uint32_t funnel(uint32_t low, uint32_t high, uint32_t n, bool left) {
  const uint64_t both = (uint64_t)high << 32 | low;
  return left ? (uint32_t)(both << n >> 32) : (uint32_t)(both >> n);
}
#define CLAMPED (C(u32) > 32 ? 32 : C(u32))
RUN(shf_l_wrap_b32) { D(u32) = funnel(A(u32), B(u32), C(u32) & 31, true); }
RUN(shf_r_wrap_b32) { D(u32) = funnel(A(u32), B(u32), C(u32) & 31, false); }
RUN(shf_l_clamp_b32) { D(u32) = funnel(A(u32), B(u32), CLAMPED, true); }
RUN(shf_r_clamp_b32) { D(u32) = funnel(A(u32), B(u32), CLAMPED, false); }

/* Picks four of eight bytes. */
RUN(prmt_b32) {
  const uint64_t both = (uint64_t)B(u32) << 32 | A(u32);
  uint32_t out = 0;
  for (int k = 0; k < 4; k++) {
    const uint32_t pick = C(u32) >> 4 * k & 15;
    const uint8_t byte = (uint8_t)(both >> 8 * (pick & 7));
    out |= (uint32_t)(pick & 8 ? (byte & 128 ? 255 : 0) : byte) << 8 * k;
  }
  D(u32) = out;
}

/* Any function of three operands, by its table; v[0] is the table. */
RUN(lop3_b32) {
  uint32_t out = 0;
  for (int k = 0; k < 32; k++) {
    const uint32_t row = (A(u32) >> k & 1) << 2 | (B(u32) >> k & 1) << 1 | (C(u32) >> k & 1);
    out |= (V0(u32) >> row & 1) << k;
  }
  D(u32) = out;
}

/* ---- Predicates ---- */

RUN(and_pred) { D(u64) = A(u64) & B(u64) & 1; }
RUN(or_pred) { D(u64) = (A(u64) | B(u64)) & 1; }
RUN(xor_pred) { D(u64) = (A(u64) ^ B(u64)) & 1; }
RUN(not_pred) { D(u64) = ~A(u64) & 1; }

/* ---- The table ---- */

#define ROW2(op, expr, type) {#op "." #type, op##_##type},
#define SHIFT_LEFT_ROW(bits, type) {"shl." #type, shl_##type},
#define SHIFT_RIGHT_ROW(bits, type) {"shr." #type, shr_##type},
#define WIDE_ROW(type, wide, as) \
  {"mul.wide." #type, mul_wide_##type}, {"mad.wide." #type, mad_wide_##type},
#define PRODUCT_ROW(op, expr, type)                                   \
  {"mul.hi." #type, mul_hi_##type}, {"mad.hi." #type, mad_hi_##type}, \
      {"mad.lo." #type, mad_lo_##type}, {"mul.lo." #type, mul_lo_##type},
#define CARRY_ROW(op, expr) {#op ".u32", op##_u32},
#define COUNT_ROW(op, type, expr) {#op "." #type, op##_##type},

const struct form integer_forms[] = {
    WRAPPING(ROW2) VALUED(ROW2) SHIFTS(SHIFT_LEFT_ROW, SHIFT_RIGHT_ROW, SHIFT_RIGHT_ROW)
        WIDENING(WIDE_ROW) INTEGER_TYPES(PRODUCT_ROW, product, 0) CARRIES(CARRY_ROW) ONES(ROW2)
            COUNTS(COUNT_ROW){"brev.b32", brev_b32},
    {"brev.b64", brev_b64},
    {"bfi.b32", bfi_b32},
    {"bfi.b64", bfi_b64},
    {"bfe.u32", bfe_u32},
    {"bfe.u64", bfe_u64},
    {"shf.l.wrap.b32", shf_l_wrap_b32},
    {"shf.r.wrap.b32", shf_r_wrap_b32},
    {"shf.l.clamp.b32", shf_l_clamp_b32},
    {"shf.r.clamp.b32", shf_r_clamp_b32},
    {"prmt.b32", prmt_b32},
    {"lop3.b32", lop3_b32},
    {"and.pred", and_pred},
    {"or.pred", or_pred},
    {"xor.pred", xor_pred},
    {"not.pred", not_pred},
    {0}};
