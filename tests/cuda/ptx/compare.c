/* SPDX-License-Identifier: Apache-2.0
 * compare.c: comparison, selection and move instructions. */
#include <math.h>

#include "cuda/ptx/forms.h"

/* The result, joined with a third operand where there is one; v[0] gets the opposite. */
static void decide(struct thread *t, const struct insn *i, bool is) {
  const bool other = i->c != NO_WORD && (C(u64) & 1);
  const bool pair[2] = {is, !is};
  bool out[2];
  for (int k = 0; k < 2; k++)
    out[k] = i->mode == 'a'   ? pair[k] && other
             : i->mode == 'o' ? pair[k] || other
             : i->mode == 'x' ? pair[k] != other
                              : pair[k];
  D(u64) = out[0];
  if (i->v[0] != NO_WORD) V0(u64) = out[1];
}

#define ORDERS(X, type) \
  X(eq, type, a == b)   \
  X(ne, type, a != b) X(lt, type, a < b) X(le, type, a <= b) X(gt, type, a > b) X(ge, type, a >= b)
#define UNSIGNED_ORDERS(X, type) \
  ORDERS(X, type) X(lo, type, a < b) X(ls, type, a <= b) X(hi, type, a > b) X(hs, type, a >= b)
#define EITHER(a, b) (isnan(a) || isnan(b))
/* clang-format off */
#define REAL_ORDERS(X, type)                                                         \
  X(eq, type, a == b)                                                                \
  X(ne, type, !EITHER(a, b) && a != b)                                               \
  X(lt, type, a < b)                                                                 \
  X(le, type, a <= b)                                                                \
  X(gt, type, a > b) X(ge, type, a >= b) X(equ, type, EITHER(a, b) || a == b)        \
      X(neu, type, !(a == b)) X(ltu, type, !(a >= b)) X(leu, type, !(a > b))         \
          X(gtu, type, !(a <= b)) X(geu, type, !(a < b)) X(num, type, !EITHER(a, b)) \
              X(nan, type, EITHER(a, b))
/* clang-format on */
/* clang-format off */
#define COMPARISONS(X)                                                                  \
  ORDERS(X, s16)                                                                        \
  ORDERS(X, s32)                                                                        \
  ORDERS(X, s64)                                                                        \
  UNSIGNED_ORDERS(X, u16)                                                               \
  UNSIGNED_ORDERS(X, u32) UNSIGNED_ORDERS(X, u64) X(eq, b16, a == b) X(ne, b16, a != b) \
      X(eq, b32, a == b) X(ne, b32, a != b) X(eq, b64, a == b) X(ne, b64, a != b)       \
          REAL_ORDERS(X, f32) REAL_ORDERS(X, f64)
/* clang-format on */

#define COMPARE_RUN(order, type, expr)                  \
  RUN(setp_##order##_##type) {                          \
    const __typeof__(A(type)) a = A(type), b = B(type); \
    decide(t, i, (expr));                               \
  }
COMPARISONS(COMPARE_RUN)

/* ---- Choices and moves ---- */

RUN(selp) { D(u64) = C(u64) & 1 ? A(u64) : B(u64); }
RUN(move) { D(u64) = A(u64); }

/* A vector is one word in 2 or 4 parts. */
RUN(pack_b64) {
  const int bits = 64 / i->count;
  uint64_t out = 0;
  for (int k = 0; k < i->count; k++)
    out |= (t->words[i->v[k]].u64 & (~(uint64_t)0 >> (64 - bits))) << bits * k;
  D(u64) = out;
}
RUN(pack_b32) { D(u32) = (uint32_t)t->words[i->v[0]].u16 | (uint32_t)t->words[i->v[1]].u16 << 16; }
RUN(unpack_b64) {
  const int bits = 64 / i->count;
  const uint64_t from = A(u64);
  for (int k = 0; k < i->count; k++)
    if (i->v[k] != NO_WORD)
      t->words[i->v[k]].u64 = from >> bits * k & (~(uint64_t)0 >> (64 - bits));
}
RUN(unpack_b32) {
  const uint32_t from = A(u32);
  for (int k = 0; k < 2; k++)
    if (i->v[k] != NO_WORD) t->words[i->v[k]].u64 = from >> 16 * k & 0xffffu;
}

#define COMPARE_ROW(order, type, expr) {"setp." #order "." #type, setp_##order##_##type},
#define WORD_TYPES(X) X(b16) X(b32) X(b64) X(u16) X(u32) X(u64) X(s16) X(s32) X(s64) X(f32) X(f64)
#define SELP_ROW(type) {"selp." #type, selp},
#define MOVE_ROW(type) {"mov." #type, move},

const struct form compare_forms[] = {COMPARISONS(COMPARE_ROW) WORD_TYPES(SELP_ROW)
                                         WORD_TYPES(MOVE_ROW){"mov.pred", move},
                                     {"pack.b64", pack_b64},
                                     {"pack.b32", pack_b32},
                                     {"unpack.b64", unpack_b64},
                                     {"unpack.b32", unpack_b32},
                                     {"cvta.u64", move},
                                     {"cvta.u32", move},
                                     {0}};
