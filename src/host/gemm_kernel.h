/* SPDX-License-Identifier: Apache-2.0
 * gemm_kernel.h: template of the GEMM kernels for one element type and instruction set. No include
 * guard: gemm_kernels.c includes it once for each, after defining
 *   T            the element type
 *   WIDTH        bytes of a vector
 *   ISA          target attribute of the instruction set
 *   FMA(x, y, z) x * y + z of vectors, fused or not
 *   KIND         name of the instruction set
 *   NAMED(name)  prefixes an identifier
 *
 * The result is computed in register tiles of ROWS x COLS elements. Operands are packed into
 * panels: a panel of B holds COLS columns, a panel of A holds ROWS rows, both ordered by p. */

#define LANES ((int)(WIDTH / sizeof(T)))
#define COLS (2 * LANES)
#define INLINE ISA static inline __attribute__((always_inline))
#define VECTOR NAMED(vector)
#define QUAD NAMED(quad)

typedef T VECTOR __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias));
typedef T QUAD __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));

/* Computes one tile; the first three arguments are compile-time constants. */
INLINE void NAMED(compute_tile)(const int rows, const int vectors, const bool packed,
                                const struct tile *t) {
  const int64_t a_row = packed ? 1 : t->a_row, a_col = packed ? ROWS : t->a_col;
  const int64_t b_row = packed ? COLS : t->b_row, k = t->k;
  const T *a = t->a, *b = t->b;
  VECTOR sum[ROWS][2];
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++)
    __builtin_prefetch((T *)t->c + i * t->c_row + vectors * LANES - 1, 1);
  for (int i = 0; i < rows; i++) sum[i][0] = sum[i][1] = (VECTOR){0};
  for (int64_t p = 0; p < k; p++) {
    VECTOR x[2];
    for (int v = 0; v < vectors; v++) x[v] = *(const VECTOR *)(b + v * LANES);
#pragma GCC unroll 6
    for (int i = 0; i < rows; i++) {
      const VECTOR y = a[i * a_row] - (VECTOR){0};
      for (int v = 0; v < vectors; v++) sum[i][v] = FMA(x[v], y, sum[i][v]);
    }
    a += a_col;
    b += b_row;
  }
  T *c = t->c;
#pragma GCC unroll 6
  for (int i = 0; i < rows; i++, c += t->c_row)
    for (int v = 0; v < vectors; v++) {
      if (t->add) sum[i][v] += *(const VECTOR *)(c + v * LANES);
      *(VECTOR *)(c + v * LANES) = sum[i][v];
    }
}

#define DEFINE_TILES(rows, vectors)                                              \
  ISA static void NAMED(micro_packed_##rows##_##vectors)(const struct tile *t) { \
    NAMED(compute_tile)(rows, vectors, true, t);                                 \
  }                                                                              \
  ISA static void NAMED(micro_direct_##rows##_##vectors)(const struct tile *t) { \
    NAMED(compute_tile)(rows, vectors, false, t);                                \
  }
#define TILE_FUNCTIONS(kind, vectors)                                         \
  {                                                                           \
    NAMED(micro_##kind##_1_##vectors), NAMED(micro_##kind##_2_##vectors),     \
        NAMED(micro_##kind##_3_##vectors), NAMED(micro_##kind##_4_##vectors), \
        NAMED(micro_##kind##_5_##vectors), NAMED(micro_##kind##_6_##vectors)  \
  }
DEFINE_TILES(1, 1)
DEFINE_TILES(2, 1)
DEFINE_TILES(3, 1)
DEFINE_TILES(4, 1)
DEFINE_TILES(5, 1)
DEFINE_TILES(6, 1)
DEFINE_TILES(1, 2)
DEFINE_TILES(2, 2)
DEFINE_TILES(3, 2)
DEFINE_TILES(4, 2)
DEFINE_TILES(5, 2)
DEFINE_TILES(6, 2)

/* Indexed by [packed][two vectors][rows - 1]. */
static void (*const NAMED(tile_functions)[2][2][ROWS])(const struct tile *) = {
    {TILE_FUNCTIONS(direct, 1), TILE_FUNCTIONS(direct, 2)},
    {TILE_FUNCTIONS(packed, 1), TILE_FUNCTIONS(packed, 2)}};

/* Computes a tile with a partial vector in a temporary and copies its `cols` valid columns. */
ISA static void NAMED(partial_tile)(bool packed, int rows, int cols, const struct tile *t) {
  T buffer[ROWS * COLS];
  struct tile temporary = *t;
  temporary.c = buffer;
  temporary.c_row = COLS;
  temporary.add = false;
  NAMED(tile_functions)[packed][cols > LANES][rows - 1](&temporary);
  for (int i = 0; i < rows; i++) {
    T *c = (T *)t->c + i * t->c_row;
    for (int j = 0; j < cols; j++)
      c[j] = t->add ? c[j] + buffer[i * COLS + j] : buffer[i * COLS + j];
  }
}

/* Computes a tile of up to ROWS rows and COLS columns. */
INLINE void NAMED(tile)(const bool packed, int64_t rows, int64_t cols, const struct tile *t) {
  if (cols % LANES)
    NAMED(partial_tile)(packed, (int)rows, (int)cols, t);
  else
    NAMED(tile_functions)[packed][cols > LANES][rows - 1](t);
}

#include "host/gemm_pack.h"

/* Computes a block of the result from packed panels; A may be read in place instead. */
ISA static void NAMED(block)(const struct gemm *g, const struct block *block) {
  const int64_t depth = DEPTH(WIDTH);
  const bool packed = block->packed_a;
  const T *b = g->workspace, *a = b + (g->n + COLS - 1) / COLS * COLS * depth;
  if (!packed) a = (const T *)g->a + block->first * g->a_col;
  const int64_t a_row_stride = packed ? depth : g->a_row;
  struct tile t = {.k = block->k,
                   .a_row = g->a_row,
                   .a_col = g->a_col,
                   .b_row = COLS,
                   .c_row = g->c_row,
                   .add = block->first > 0};
  for (int64_t j = block->left; j < block->right; j += COLS) {
    t.b = b + j * depth;
    for (int64_t i = block->top; i < block->bottom; i += ROWS) {
      t.a = a + i * a_row_stride;
      t.c = (T *)g->c + i * g->c_row + j;
      NAMED(tile)(packed, min_i64(ROWS, block->bottom - i), min_i64(COLS, block->right - j), &t);
    }
  }
}

/* Computes the columns of the panels begin <= i < end of B. Each panel is packed, `depth` rows at a
 * time, and used while it is in the cache. A may be read in place. */
ISA static void NAMED(columns)(const struct gemm *g, int64_t depth, bool packed_a, int64_t begin,
                               int64_t end) {
  T panel[DEPTH(WIDTH) * COLS];
  struct tile t = {
      .b = panel, .a_row = g->a_row, .a_col = g->a_col, .b_row = COLS, .c_row = g->c_row};
  const T *a = packed_a ? g->workspace : g->a;
  const int64_t a_row_stride = packed_a ? g->k : g->a_row,
                a_col_stride = packed_a ? ROWS : g->a_col;
  for (int64_t j = begin * COLS; j < min_i64(end * COLS, g->n); j += COLS) {
    const int64_t cols = min_i64(COLS, g->n - j);
    for (int64_t first = 0; first < g->k; first += depth) {
      t.k = min_i64(depth, g->k - first);
      t.add = first > 0;
      NAMED(pack_panel)
      (COLS, (int)cols, (const T *)g->b + first * g->b_row + j * g->b_col, g->b_col, g->b_row, t.k,
       panel);
      for (int64_t i = 0; i < g->m; i += ROWS) {
        t.a = a + i * a_row_stride + first * a_col_stride;
        t.c = (T *)g->c + i * g->c_row + j;
        NAMED(tile)(packed_a, min_i64(ROWS, g->m - i), cols, &t);
      }
    }
  }
}

/* Computes all of a small product; a panel of B that cannot be read in place is packed. */
ISA static void NAMED(small)(const struct gemm *g) {
  T panel[DEPTH(WIDTH) * COLS];
  struct tile t = {.a_row = g->a_row, .a_col = g->a_col, .c_row = g->c_row};
  for (int64_t first = 0; first < g->k; first += DEPTH(WIDTH)) {
    t.k = min_i64(DEPTH(WIDTH), g->k - first);
    t.add = first > 0;
    for (int64_t j = 0; j < g->n; j += COLS) {
      const int64_t cols = min_i64(COLS, g->n - j);
      const T *b = (const T *)g->b + first * g->b_row + j * g->b_col;
      const bool in_place = g->b_col == 1 && cols % LANES == 0;
      if (!in_place) NAMED(pack_panel)(COLS, (int)cols, b, g->b_col, g->b_row, t.k, panel);
      t.b = in_place ? b : panel;
      t.b_row = in_place ? g->b_row : COLS;
      for (int64_t i = 0; i < g->m; i += ROWS) {
        t.a = (const T *)g->a + i * g->a_row + first * g->a_col;
        t.c = (T *)g->c + i * g->c_row + j;
        NAMED(tile)(false, min_i64(ROWS, g->m - i), cols, &t);
      }
    }
  }
}

/* Computes a tiny product. */
ISA static void NAMED(tiny)(const struct gemm *g) {
  const T *a = g->a, *b = g->b;
  T *c = g->c;
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < g->n; j++) {
      T sum = 0;
      for (int64_t p = 0; p < g->k; p++)
        sum += a[i * g->a_row + p * g->a_col] * b[p * g->b_row + j * g->b_col];
      c[i * g->c_row + j * g->c_col] = sum;
    }
}

/* Computes columns left <= j < right (at most STRIP) of a product of few rows with a matrix whose
 * rows are read once. */
ISA static void NAMED(strip)(const struct gemm *g, int64_t left, int64_t right) {
  T sum[THIN][STRIP] = {{0}};
  const int64_t width = right - left;
  for (int64_t p = 0; p < g->k; p++) {
    const T *b = (const T *)g->b + p * g->b_row + left;
    for (int64_t i = 0; i < g->m; i++) {
      const T a = ((const T *)g->a)[i * g->a_row + p * g->a_col];
      for (int64_t j = 0; j < width; j++) sum[i][j] += a * b[j];
    }
  }
  for (int64_t i = 0; i < g->m; i++)
    for (int64_t j = 0; j < width; j++)
      ((T *)g->c)[i * g->c_row + (left + j) * g->c_col] = sum[i][j];
}

INLINE T NAMED(dot)(const T *a, const T *b, int64_t k) {
  VECTOR sum[4] = {{0}};
  int64_t p = 0;
  for (; p + 4 * LANES <= k; p += 4 * LANES)
    for (int v = 0; v < 4; v++) {
      const VECTOR x = *(const VECTOR *)(a + p + v * LANES),
                   y = *(const VECTOR *)(b + p + v * LANES);
      sum[v] = FMA(x, y, sum[v]);
    }
  const VECTOR total = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T result = 0;
  for (int v = 0; v < LANES; v++) result += total[v];
  for (; p < k; p++) result += a[p] * b[p];
  return result;
}

/* Computes columns left <= j < right of a product of few rows, as dot products of contiguous
 * vectors. */
ISA static void NAMED(dots)(const struct gemm *g, int64_t left, int64_t right) {
  for (int64_t j = left; j < right; j++)
    for (int64_t i = 0; i < g->m; i++)
      ((T *)g->c)[i * g->c_row + j * g->c_col] =
          NAMED(dot)((const T *)g->a + i * g->a_row, (const T *)g->b + j * g->b_col, g->k);
}

static const struct gemm_kernels NAMED(kernels) = {
    .kind = KIND,
    .cols = COLS,
    .depth = DEPTH(WIDTH),
    .pack = NAMED(pack),
    .block = NAMED(block),
    .pack_rows = NAMED(pack_rows),
    .columns = NAMED(columns),
    .small = NAMED(small),
    .tiny = NAMED(tiny),
    .strip = NAMED(strip),
    .dots = NAMED(dots),
};

#undef LANES
#undef COLS
#undef INLINE
#undef VECTOR
#undef QUAD
#undef DEFINE_TILES
#undef TILE_FUNCTIONS
#undef T
#undef WIDTH
#undef ISA
#undef FMA
#undef NAMED
#undef KIND
