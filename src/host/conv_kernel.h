/* SPDX-License-Identifier: Apache-2.0
 * conv_kernel.h: template of the convolution kernels for one element type and instruction set. No
 * include guard: conv_kernels.c includes it once for each, after defining
 *   T            the element type
 *   WIDTH        bytes of a vector
 *   ROWS         rows of the largest tile, which is two vectors wide and fits into the
 *                registers; with 12 rows there are also tiles of 6 rows and four vectors
 *   ISA          target attribute of the instruction set
 *   FMA(x, y, z) x * y + z of vectors
 *   KIND         name of the instruction set
 *   NAMED(name)  prefixes an identifier */

#define LANES ((int)(WIDTH / sizeof(T)))
#define COLS (2 * LANES)
#define INLINE ISA static inline __attribute__((always_inline))
#define VECTOR NAMED(vector)

typedef T VECTOR __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias));

/* Computes one tile; the first three arguments are compile-time constants. Rows are addressed from
 * every fourth one, to save address registers. */
INLINE void NAMED(compute_tile)(const int rows, const int vectors, const bool transposed,
                                const struct conv_tile *t) {
  const int64_t a_row = transposed ? 1 : t->a_row, a_col = transposed ? t->a_col : 1;
  const int64_t b_row = t->b_row, k = t->k;
  VECTOR sum[2 * ROWS]; /* row-major */
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

#define DEFINE_TILE(rows, kind, transposed, vectors)                          \
  ISA static __attribute__((noinline)) void NAMED(kind##_##rows##_##vectors)( \
      const struct conv_tile *t) {                                            \
    NAMED(compute_tile)(rows, vectors, transposed, t);                        \
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
EACH_ROW(DEFINE_TILE, straight, false, 1)
EACH_ROW(DEFINE_TILE, straight, false, 2)
EACH_ROW(DEFINE_TILE, transposed, true, 1)
EACH_ROW(DEFINE_TILE, transposed, true, 2)

/* Indexed by [transposed][two vectors][rows - 1]. */
static void (*const NAMED(tile_functions)[2][2][ROWS])(const struct conv_tile *) = {
    {{EACH_ROW(NAME, straight, 1)}, {EACH_ROW(NAME, straight, 2)}},
    {{EACH_ROW(NAME, transposed, 1)}, {EACH_ROW(NAME, transposed, 2)}}};

/* Tiles of four vectors need the registers of AVX-512. Indexed by [transposed][rows - 1]. */
#if ROWS == 12
#define WIDE_ROWS 6
EACH_SIX(DEFINE_TILE, straight, false, 4)
EACH_SIX(DEFINE_TILE, transposed, true, 4)
static void (*const NAMED(wide_tile_functions)[2][WIDE_ROWS])(const struct conv_tile *) = {
    {EACH_SIX(NAME, straight, 4)}, {EACH_SIX(NAME, transposed, 4)}};
#else
#define WIDE_ROWS 0
#endif

/* A tile with a partial vector is computed in a temporary and copied. */
ISA static void NAMED(tile)(const struct conv_tile *t, bool transposed, int64_t rows,
                            int64_t cols) {
#if WIDE_ROWS
  if (cols > COLS) {
    NAMED(wide_tile_functions)[transposed][rows - 1](t);
    return;
  }
#endif
  if (cols % LANES == 0) {
    NAMED(tile_functions)[transposed][cols > LANES][rows - 1](t);
    return;
  }
  T buffer[ROWS * COLS];
  struct conv_tile temporary = *t;
  temporary.c = buffer;
  temporary.c_row = COLS;
  temporary.add = false;
  NAMED(tile_functions)[transposed][cols > LANES][rows - 1](&temporary);
  for (int64_t i = 0; i < rows; i++) {
    T *c = (T *)t->c + i * t->c_row;
    for (int64_t j = 0; j < cols; j++)
      c[j] = t->add ? c[j] + buffer[i * COLS + j] : buffer[i * COLS + j];
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
#undef INLINE
#undef VECTOR
#undef DEFINE_TILE
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
