/* SPDX-License-Identifier: Apache-2.0
 * reduce.cl: reductions, argmax and argmin. */
#ifndef SITU_HOST
#include "kernel/lanes.h"
#endif

#define REDUCE_SHORT 8192 /* rows below are reduced for themselves */
#define REDUCE_PERIOD 256 /* rows up to this width are reduced several at a time */
#define REDUCE_STRIP 4096 /* columns at a time */
#define REDUCE_SMALL_half 1
#define REDUCE_SMALL_int8 1
#define REDUCE_SMALL_uint8 1
#define REDUCE_SMALL_int16 1
#define REDUCE_SMALL_uint16 1
#define REDUCE_SMALL_truth 1

/* The vector a where a mask is set, else b. */
#define REDUCE_CHOOSE(mask, a, b) \
  ((__typeof__(a))(((__typeof__(mask))(a) & (mask)) | ((__typeof__(mask))(b) & ~(mask))))

/* A part of a sum: of nothing it is 0 / 0, which integers do not have. */
#if T_IS_REAL
#define REDUCE_SHARE(sum, count) ((A)((sum) / (A)(count)))
#else
#define REDUCE_SHARE(sum, count) ((A)((i64)(sum) / ((count) ? (count) : 1)))
#endif

#if T_IS_REAL || T_IS_INTEGER

#define REDUCER sum
#define A C
#define IDENTITY ((A)0)
#define TWO(a, b) ((a) + (b))
#define VECTOR_TWO TWO
#define LOAD(v) (v)
#define WIDTH 32
#define VERSIONS CLONES
#include "ops/math/reduction.cl"

#if T_IS_INTEGER
/* The sum for a mean: it may exceed the range of the element type. */
#define REDUCE_SMALL_int32 1
#define REDUCE_SMALL_uint32 1
#define REDUCER long_sum
#define A i64
#define IDENTITY ((A)0)
#define TWO(a, b) ((a) + (b))
#define VECTOR_TWO TWO
#define LOAD(v) (v)
#define WIDTH 32
#define VERSIONS CLONES
#include "ops/math/reduction.cl"
#undef REDUCE_SMALL_int32
#undef REDUCE_SMALL_uint32

/* A mean of int64, in the element type. */
KERNEL(narrow_long, IN(i64, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)x[i];
}
#endif

#if T_IS_REAL
#define REDUCER squares
#define A C
#define IDENTITY ((A)0)
#define TWO(a, b) ((a) + (b))
#define VECTOR_TWO TWO
#define LOAD(v) ((v) * (v))
#define WIDTH 32
#define VERSIONS CLONES
#include "ops/math/reduction.cl"
#endif

#define REDUCER prod
#define A C
#define IDENTITY ((A)1)
#define TWO(a, b) ((a) * (b))
#define VECTOR_TWO TWO
#define LOAD(v) (v)
#define WIDTH 16
#define VERSIONS
#include "ops/math/reduction.cl"

#if T_IS_REAL
#define LOWEST ((T)-INFINITY)
#define HIGHEST ((T)INFINITY)
#elif T_IS_SIGNED
#define LOWEST ((T)((u64)-1 << (8 * sizeof(T) - 1)))
#define HIGHEST ((T) ~((u64)-1 << (8 * sizeof(T) - 1)))
#else
#define LOWEST ((T)0)
#define HIGHEST ((T)-1)
#endif

/* NaN wins, as in NumPy. */
#define REDUCER largest
#define A T
#define IDENTITY LOWEST
#define TWO(a, b) ((a) != (a) ? (a) : (a) > (b) ? (a) : (b))
#define VECTOR_TWO(a, b) REDUCE_CHOOSE(((a) > (b)) | ((a) != (a)), a, b)
#define LOAD(v) (v)
#define WIDTH 16
#define VERSIONS
#include "ops/math/reduction.cl"

#define REDUCER smallest
#define A T
#define IDENTITY HIGHEST
#define TWO(a, b) ((a) != (a) ? (a) : (a) < (b) ? (a) : (b))
#define VECTOR_TWO(a, b) REDUCE_CHOOSE(((a) < (b)) | ((a) != (a)), a, b)
#define LOAD(v) (v)
#define WIDTH 16
#define VERSIONS
#include "ops/math/reduction.cl"

/* The result of a wider type, in the element type. */
KERNEL(narrow, IN(C, x), OUT(T, y), SIZE(n)) {
  EACH(i, n);
  y[i] = (T)x[i];
}

/* The index of the maximum or minimum along a dimension (the first one); x has
 * [outer][length][inner] elements. NaN is ordered last, as in TensorFlow. */
#define PLACE_ARGS(INDEX) \
  IN(T, x), OUT(INDEX, y), SIZE(length), SIZE(inner), SIZE(n), SIZE(lanes)
#define PLACE_BEFORE(a, BEFORE, b) ((a)BEFORE(b) || ((b) != (b) && (a) == (a)))

#ifdef SITU_HOST
#define PLACE(name, INDEX, BEFORE)                                \
  KERNEL(name, PLACE_ARGS(INDEX)) {                               \
    EACH(i, n);                                                   \
    (void)lanes;                                                  \
    const i64 start = i / inner * length * inner + i % inner;     \
    C best = (C)x[start];                                         \
    i64 place = 0;                                                \
    for (i64 r = 1; r < length; r++) {                            \
      const C value = (C)x[start + r * inner];                    \
      const bool before = PLACE_BEFORE(value, BEFORE, best);      \
      place = before ? r : place;                                 \
      best = before ? value : best;                               \
    }                                                             \
    y[i] = (INDEX)place;                                          \
  }
PLACE(argmax_i32, int, >)
PLACE(argmax_i64, i64, >)
PLACE(argmin_i32, int, <)
PLACE(argmin_i64, i64, <)
#undef PLACE
#else
/* Each lane finds its own, and the tree keeps the first of equal ones. There are no more lanes than
 * elements; items after the last result repeat it. */
#define PLACE_BODY(INDEX, BEFORE)                                                            \
  {                                                                                          \
    __local C best[256];                                                                     \
    __local i64 place[256];                                                                  \
    LANES_BEGIN(lanes, inner == 1);                                                          \
    const i64 i = item_ < n ? item_ : n - 1;                                                 \
    const i64 start = i / inner * length * inner + i % inner;                                \
    C own = (C)x[start + lane_ * inner];                                                     \
    i64 at = lane_;                                                                          \
    for (i64 r = lane_ + lanes; r < length; r += lanes) {                                    \
      const C value = (C)x[start + r * inner];                                               \
      const bool before = PLACE_BEFORE(value, BEFORE, own);                                  \
      at = before ? r : at;                                                                  \
      own = before ? value : own;                                                            \
    }                                                                                        \
    best[id_] = own;                                                                         \
    place[id_] = at;                                                                         \
    LANES_TREE(PLACE_PAIR(BEFORE, best[id_], best[id_ + other_], place[id_],                 \
                          place[id_ + other_]));                                             \
    if (lane_ == 0 && item_ < n) y[item_] = (INDEX)place[id_];                               \
  }
#define PLACE_PAIR(BEFORE, a, b, a_place, b_place)                                           \
  if (PLACE_BEFORE(b, BEFORE, a) || (!PLACE_BEFORE(a, BEFORE, b) && (b_place) < (a_place))) { \
    a = b;                                                                                   \
    a_place = b_place;                                                                       \
  }
#if IS_PICKED(argmax_i32)
GROUP_KERNEL(argmax_i32, PLACE_ARGS(int)) PLACE_BODY(int, >)
#endif
#if IS_PICKED(argmax_i64)
GROUP_KERNEL(argmax_i64, PLACE_ARGS(i64)) PLACE_BODY(i64, >)
#endif
#if IS_PICKED(argmin_i32)
GROUP_KERNEL(argmin_i32, PLACE_ARGS(int)) PLACE_BODY(int, <)
#endif
#if IS_PICKED(argmin_i64)
GROUP_KERNEL(argmin_i64, PLACE_ARGS(i64)) PLACE_BODY(i64, <)
#endif
#undef PLACE_BODY
#undef PLACE_PAIR
#endif

#undef PLACE_ARGS
#undef PLACE_BEFORE
#undef LOWEST
#undef HIGHEST
#endif

#if T_IS_BOOL
#define REDUCER every
#define A T
#define IDENTITY ((A)1)
#define TWO(a, b) ((A)((a) & (b)))
#define VECTOR_TWO(a, b) ((a) & (b))
#define LOAD(v) (v)
#define WIDTH 16
#define VERSIONS
#include "ops/math/reduction.cl"

#define REDUCER some
#define A T
#define IDENTITY ((A)0)
#define TWO(a, b) ((A)((a) | (b)))
#define VECTOR_TWO(a, b) ((a) | (b))
#define LOAD(v) (v)
#define WIDTH 16
#define VERSIONS
#include "ops/math/reduction.cl"
#endif

#undef REDUCE_CHOOSE
#undef REDUCE_SHARE
#undef REDUCE_SHORT
#undef REDUCE_PERIOD
#undef REDUCE_STRIP
#undef REDUCE_SMALL_half
#undef REDUCE_SMALL_int8
#undef REDUCE_SMALL_uint8
#undef REDUCE_SMALL_int16
#undef REDUCE_SMALL_uint16
#undef REDUCE_SMALL_truth

/* Products of complex numbers, which are pairs, over the middle of [outer][length][inner]. */
#if T_IS_REAL && T_BYTES >= 4
KERNEL(complex_prod, IN(T, x), OUT(T, y), SIZE(length), SIZE(inner), SIZE(n)) {
  EACH(i, n);
  const i64 start = i / inner * length * inner + i % inner;
  T re = 1, im = 0;
  for (i64 k = 0; k < length; k++) {
    const T a = x[2 * (start + k * inner)], b = x[2 * (start + k * inner) + 1];
    const T product = re * a - im * b;
    im = re * b + im * a;
    re = product;
  }
  y[2 * i] = re;
  y[2 * i + 1] = im;
}
#endif
