/* SPDX-License-Identifier: Apache-2.0
 * reduce.c: element-wise reductions of arrays of every element type. */
#include "cluster/reduce.h"

#include "host/half.h"
#include "host/isa.h"

/* Element types with C arithmetic: SITU_ name and C type. */
#define NUMBERS(X)       \
  X(SITU_FLOAT, float)   \
  X(SITU_DOUBLE, double) \
  X(SITU_INT32, int32_t) \
  X(SITU_INT64, int64_t) \
  X(SITU_INT8, int8_t)   \
  X(SITU_UINT8, uint8_t)

/* Reductions: SITU_REDUCE_ name and expression. */
#define REDUCTIONS(X, T)                           \
  X(T, SITU_REDUCE_SUM, a[i] + b[i])               \
  X(T, SITU_REDUCE_MIN, b[i] < a[i] ? b[i] : a[i]) \
  X(T, SITU_REDUCE_MAX, b[i] > a[i] ? b[i] : a[i]) \
  X(T, SITU_REDUCE_PRODUCT, a[i] * b[i])

#define LOOP(T, name, expression)                                \
  case name:                                                     \
    for (int64_t i = 0; i < count; i++) to[i] = (T)(expression); \
    return;

#define DEFINE_COMBINE(T, name, target)                                 \
  target static void name(T *to, const T *a, const T *b, int64_t count, \
                          situ_reduce_op reduction) {                   \
    switch (reduction) {                                                \
      REDUCTIONS(LOOP, T)                                               \
      case SITU_REDUCE_MEAN:                                            \
        break;                                                          \
    }                                                                   \
  }

#if defined(__x86_64__)
DEFINE_COMBINE(float, combine_float_avx2, AVX2)
DEFINE_COMBINE(double, combine_double_avx2, AVX2)
#endif

#define DEFINE_TYPE(number, T)                                          \
  DEFINE_COMBINE(T, combine_##T, PLAIN)                                 \
  static void divide_##T(T *data, int64_t count, int by) {              \
    for (int64_t i = 0; i < count; i++) data[i] = (T)(data[i] / (T)by); \
  }
NUMBERS(DEFINE_TYPE)

enum { HALF_BLOCK = 512 }; /* elements converted to float at a time */

static void reduce_half(uint16_t *to, const uint16_t *a, const uint16_t *b, int64_t count,
                        situ_reduce_op reduction) {
  float x[HALF_BLOCK], y[HALF_BLOCK];
  for (int64_t i = 0; i < count; i += HALF_BLOCK) {
    const int64_t n = min_i64(HALF_BLOCK, count - i);
    half_to_float(a + i, x, n);
    half_to_float(b + i, y, n);
    combine_float(x, x, y, n, reduction);
    half_from_float(x, to + i, n);
  }
}

static void divide_half(uint16_t *data, int64_t count, int by) {
  float x[HALF_BLOCK];
  for (int64_t i = 0; i < count; i += HALF_BLOCK) {
    const int64_t n = min_i64(HALF_BLOCK, count - i);
    half_to_float(data + i, x, n);
    divide_float(x, n, by);
    half_from_float(x, data + i, n);
  }
}

void reduce_elements(void *to, const void *a, const void *b, int64_t count, situ_type type,
                     situ_reduce_op reduction) {
  if (reduction == SITU_REDUCE_MEAN) reduction = SITU_REDUCE_SUM;
#if defined(__x86_64__)
  if (type == SITU_FLOAT && HAS_AVX2) {
    combine_float_avx2(to, a, b, count, reduction);
    return;
  }
  if (type == SITU_DOUBLE && HAS_AVX2) {
    combine_double_avx2(to, a, b, count, reduction);
    return;
  }
#endif
  switch (type) {
#define CASE(number, T)                      \
  case number:                               \
    combine_##T(to, a, b, count, reduction); \
    return;
    NUMBERS(CASE)
#undef CASE
    case SITU_HALF:
      reduce_half(to, a, b, count, reduction);
      return;
    default:
      return;
  }
}

void reduce_divide(void *data, int64_t count, situ_type type, int by) {
  switch (type) {
#define CASE(number, T)          \
  case number:                   \
    divide_##T(data, count, by); \
    return;
    NUMBERS(CASE)
#undef CASE
    case SITU_HALF:
      divide_half(data, count, by);
      return;
    default:
      return;
  }
}

situ_status reduce_check(situ_type type, situ_reduce_op reduction) {
  if (reduction < SITU_REDUCE_SUM || reduction > SITU_REDUCE_PRODUCT)
    return INVALID("Unknown reduction %d.", (int)reduction);
  switch (type) {
#define CASE(number, T) case number:
    NUMBERS(CASE)
#undef CASE
    case SITU_HALF:
      return NULL;
    default:
      return INVALID("Elements of type %s cannot be reduced.", situ_type_name(type));
  }
}
