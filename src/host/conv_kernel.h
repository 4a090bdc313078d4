/* SPDX-License-Identifier: Apache-2.0
 * conv_kernel.h: the inner loops of convolutions for one element type and one instruction set. No
 * include guard: conv_kernels.c includes it once for each, with
 *   T            the element type
 *   WIDTH        bytes of a vector
 *   ROWS         of the largest tile; two vectors wide it fits into the registers, with
 *                12 rows also four vectors wide and half as high
 *   ISA          the attribute that allows the instructions
 *   FMA(x, y, z) x * y + z of vectors
 *   KIND         their name as text
 *   NAMED(word)  makes the names of this inclusion */

#define LANES ((int)(WIDTH / sizeof(T)))
#define COLS (2 * LANES)
#define FLAT ISA static inline __attribute__((always_inline))
#define VECTOR NAMED(vector)

typedef T VECTOR __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias));

/* One tile; the first three arguments are constants where it is inlined. Rows are reached from
 * every fourth one, so that few registers hold addresses. */
FLAT void NAMED(micro)(const int rows, const int vectors, const bool turned,
                       const struct conv_tile *t) {
  const int64_t a_row = turned ? 1 : t->a_row, a_col = turned ? t->a_col : 1;
  const int64_t b_row = t->b_row, k = t->k;
  VECTOR sum[2 * ROWS]; /* row by row */
#pragma GCC unroll 12
  for (int i = 0; i < rows; i++) {
    for (int v = 0; v < vectors; v++) {
      __builtin_prefetch((T *)t->c + i * t->c_row + v * LANES, 1);
      sum[i * vectors + v] = (VECTOR){0};
    }
  }
  for (int64_t s = 0; s < t->segments; s++) {
    const T *b = (const T *)t->b + s * t->b_segment;
    const T *a[3];
    a[0] = (const T *)t->a + s * t->a_segment;
    a[1] = a[0] + 4 * a_row;
    a[2] = a[1] + 4 * a_row;
    for (int64_t p = 0; p < k; p++) {
      VECTOR x[4];
      for (int v = 0; v < vectors; v++) x[v] = *(const VECTOR *)(b + v * LANES);
#pragma GCC unroll 12
      for (int i = 0; i < rows; i++) {
        const VECTOR y = a[i / 4][i % 4 * a_row] - (VECTOR){0};
        for (int v = 0; v < vectors; v++) {
          VECTOR *to = &sum[i * vectors + v];
          *to = FMA(x[v], y, *to);
        }
      }
      for (int g = 0; g < (rows + 3) / 4; g++) a[g] += a_col;
      b += b_row;
    }
  }
  T *c = t->c;
#pragma GCC unroll 12
  for (int i = 0; i < rows; i++, c += t->c_row)
    for (int v = 0; v < vectors; v++) {
      VECTOR *to = (VECTOR *)(c + v * LANES);
      if (t->add) sum[i * vectors + v] += *to;
      *to = sum[i * vectors + v];
    }
}

#define MICRO(rows, kind, turned, vectors)                                    \
  ISA static __attribute__((noinline)) void NAMED(kind##_##rows##_##vectors)( \
      const struct conv_tile *t) {                                            \
    NAMED(micro)(rows, vectors, turned, t);                                   \
  }
#define NAME(rows, kind, vectors) NAMED(kind##_##rows##_##vectors),

#define EACH_SIX(X, ...) \
  X(1, __VA_ARGS__)      \
  X(2, __VA_ARGS__) X(3, __VA_ARGS__) X(4, __VA_ARGS__) X(5, __VA_ARGS__) X(6, __VA_ARGS__)
#if ROWS == 12
#define EACH_ROW(X, ...)   \
  EACH_SIX(X, __VA_ARGS__) \
  X(7, __VA_ARGS__)        \
  X(8, __VA_ARGS__) X(9, __VA_ARGS__) X(10, __VA_ARGS__) X(11, __VA_ARGS__) X(12, __VA_ARGS__)
#else
#define EACH_ROW EACH_SIX
#endif
EACH_ROW(MICRO, straight, false, 1)
EACH_ROW(MICRO, straight, false, 2)
EACH_ROW(MICRO, turned, true, 1)
EACH_ROW(MICRO, turned, true, 2)

/* By [turned][two vectors][rows - 1]. */
static void (*const NAMED(micros)[2][2][ROWS])(const struct conv_tile *) = {
    {{EACH_ROW(NAME, straight, 1)}, {EACH_ROW(NAME, straight, 2)}},
    {{EACH_ROW(NAME, turned, 1)}, {EACH_ROW(NAME, turned, 2)}}};

/* Tiles of four vectors need the registers of AVX-512. By [turned][rows - 1]. */
#if ROWS == 12
#define WIDE_ROWS 6
EACH_SIX(MICRO, straight, false, 4)
EACH_SIX(MICRO, turned, true, 4)
static void (*const NAMED(wides)[2][WIDE_ROWS])(const struct conv_tile *) = {
    {EACH_SIX(NAME, straight, 4)}, {EACH_SIX(NAME, turned, 4)}};
#else
#define WIDE_ROWS 0
#endif

/* A tile at the right border is made aside. */
ISA static void NAMED(tile)(const struct conv_tile *t, bool turned, int64_t rows, int64_t cols) {
#if WIDE_ROWS
  if (cols > COLS) {
    NAMED(wides)[turned][rows - 1](t);
    return;
  }
#endif
  if (cols % LANES == 0) {
    NAMED(micros)[turned][cols > LANES][rows - 1](t);
    return;
  }
  T part[ROWS * COLS];
  struct conv_tile aside = *t;
  aside.c = part;
  aside.c_row = COLS;
  aside.add = false;
  NAMED(micros)[turned][cols > LANES][rows - 1](&aside);
  for (int64_t i = 0; i < rows; i++) {
    T *c = (T *)t->c + i * t->c_row;
    for (int64_t j = 0; j < cols; j++)
      c[j] = t->add ? c[j] + part[i * COLS + j] : part[i * COLS + j];
  }
}

static const struct conv_kernels NAMED(kernels) = {.kind = KIND,
                                                   .rows = ROWS,
                                                   .cols = COLS,
                                                   .wide_rows = WIDE_ROWS,
                                                   .wide_cols = 4 * LANES,
                                                   .lanes = LANES,
                                                   .tile = NAMED(tile)};

#undef WIDE_ROWS
#undef LANES
#undef COLS
#undef FLAT
#undef VECTOR
#undef MICRO
#undef NAME
#undef EACH_SIX
#undef EACH_ROW
#undef T
#undef WIDTH
#undef ROWS
#undef ISA
#undef FMA
#undef NAMED
#undef KIND
