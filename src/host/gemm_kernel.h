/* SPDX-License-Identifier: Apache-2.0
 * gemm_kernel.h: the inner loops of a product of matrices for one element type and one instruction
 * set. No include guard: gemm_kernels.c includes it once for each, with
 *   T            the element type
 *   WIDTH        bytes of a vector
 *   ISA          the attribute that allows the instructions
 *   FMA(x, y, z) x * y + z of vectors, rounded as this instruction set likes best
 *   KIND         their name as text
 *   NAMED(word)  makes the names of this inclusion
 *
 * The result is made in tiles of ROWS x COLS elements that stay in registers. Operands are packed
 * into panels: a panel of B holds COLS columns, p by p; a panel of A holds ROWS rows, p by p. */

#define LANES ((int)(WIDTH / sizeof(T)))
#define COLS (2 * LANES)
#define FLAT ISA static inline __attribute__((always_inline))
#define VECTOR NAMED(vector)
#define QUAD NAMED(quad)

typedef T VECTOR __attribute__((vector_size(WIDTH), aligned(sizeof(T)), may_alias));
typedef T QUAD __attribute__((vector_size(4 * sizeof(T)), aligned(sizeof(T)), may_alias));

/* One tile; the first three arguments are constants where it is inlined. */
FLAT void NAMED(micro)(const int rows, const int vectors, const bool packed, const struct tile *t) {
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

#define MICRO(rows, vectors)                                                     \
  ISA static void NAMED(micro_packed_##rows##_##vectors)(const struct tile *t) { \
    NAMED(micro)(rows, vectors, true, t);                                        \
  }                                                                              \
  ISA static void NAMED(micro_direct_##rows##_##vectors)(const struct tile *t) { \
    NAMED(micro)(rows, vectors, false, t);                                       \
  }
#define MICRO_NAMES(kind, vectors)                                            \
  {                                                                           \
    NAMED(micro_##kind##_1_##vectors), NAMED(micro_##kind##_2_##vectors),     \
        NAMED(micro_##kind##_3_##vectors), NAMED(micro_##kind##_4_##vectors), \
        NAMED(micro_##kind##_5_##vectors), NAMED(micro_##kind##_6_##vectors)  \
  }
MICRO(1, 1)
MICRO(2, 1)
MICRO(3, 1)
MICRO(4, 1)
MICRO(5, 1)
MICRO(6, 1)
MICRO(1, 2)
MICRO(2, 2)
MICRO(3, 2)
MICRO(4, 2)
MICRO(5, 2)
MICRO(6, 2)

/* By [packed][two vectors][rows - 1]. */
static void (*const NAMED(micros)[2][2][ROWS])(const struct tile *) = {
    {MICRO_NAMES(direct, 1), MICRO_NAMES(direct, 2)},
    {MICRO_NAMES(packed, 1), MICRO_NAMES(packed, 2)}};

/* A tile at the right border of the result is made aside: `cols` of its columns are real. */
ISA static void NAMED(border)(bool packed, int rows, int cols, const struct tile *t) {
  T part[ROWS * COLS];
  struct tile aside = *t;
  aside.c = part;
  aside.c_row = COLS;
  aside.add = false;
  NAMED(micros)[packed][cols > LANES][rows - 1](&aside);
  for (int i = 0; i < rows; i++) {
    T *c = (T *)t->c + i * t->c_row;
    for (int j = 0; j < cols; j++) c[j] = t->add ? c[j] + part[i * COLS + j] : part[i * COLS + j];
  }
}

/* A tile of up to ROWS rows and up to COLS columns. */
FLAT void NAMED(tile)(const bool packed, int64_t rows, int64_t cols, const struct tile *t) {
  if (cols % LANES)
    NAMED(border)(packed, (int)rows, (int)cols, t);
  else
    NAMED(micros)[packed][cols > LANES][rows - 1](t);
}

/* Four rows of four, as four columns of four. */
FLAT void NAMED(transpose)(const T *from, int64_t row, QUAD out[4]) {
  const QUAD a = *(const QUAD *)from, b = *(const QUAD *)(from + row);
  const QUAD c = *(const QUAD *)(from + 2 * row), d = *(const QUAD *)(from + 3 * row);
  const QUAD ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
  const QUAD cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
  const QUAD ef = __builtin_shufflevector(a, b, 2, 6, 3, 7);
  const QUAD gh = __builtin_shufflevector(c, d, 2, 6, 3, 7);
  out[0] = __builtin_shufflevector(ab, cd, 0, 1, 4, 5);
  out[1] = __builtin_shufflevector(ab, cd, 2, 3, 6, 7);
  out[2] = __builtin_shufflevector(ef, gh, 0, 1, 4, 5);
  out[3] = __builtin_shufflevector(ef, gh, 2, 3, 6, 7);
}

/* Packs `wide` neighbours, `step` apart, of which `have` are there, for p < k; the rest are zeros.
 */
FLAT void NAMED(pack_some)(const int wide, int have, const T *from, int64_t step, int64_t next,
                           int64_t k, T *to) {
  for (int64_t p = 0; p < k; p++, from += next, to += wide)
    for (int i = 0; i < wide; i++) to[i] = i < have ? from[i * step] : 0;
}

/* The same for a few p that lie side by side, a multiple of 4. All of a neighbour's are taken at
 * once: lines of cache that lie `step` apart may push each other out. */
FLAT void NAMED(pack_turned)(const int wide, const int few, const T *from, int64_t step, T *to) {
  QUAD q[4];
  int i = 0;
  for (; i + 4 <= wide; i += 4)
    for (int p = 0; p < few; p += 4) {
      NAMED(transpose)(from + i * step + p, step, q);
      for (int j = 0; j < 4; j++) *(QUAD *)(to + (p + j) * wide + i) = q[j];
    }
  for (; i < wide; i++)
    for (int p = 0; p < few; p++) to[p * wide + i] = from[i * step + p];
}

/* The same where all are there, for the two layouts that matter. */
FLAT void NAMED(pack_panel)(const int wide, int have, const T *from, int64_t step, int64_t next,
                            int64_t k, T *to) {
  int64_t p = 0;
  if (have == wide && step == 1) {
    for (; p < k; p++)
      for (int i = 0; i < wide; i++) to[p * wide + i] = from[p * next + i];
  } else if (have == wide && next == 1) {
    for (; p + 16 <= k; p += 16) NAMED(pack_turned)(wide, 16, from + p, step, to + p * wide);
    for (; p + 4 <= k; p += 4) NAMED(pack_turned)(wide, 4, from + p, step, to + p * wide);
  }
  NAMED(pack_some)(wide, have, from + p * next, step, next, k - p, to + p * wide);
}

/* Packs the panels begin <= i < end of both operands: first those of B, then those of A. */
ISA static void NAMED(pack)(const struct gemm *g, int64_t first, int64_t k, int64_t begin,
                            int64_t end) {
  const int64_t b_panels = (g->n + COLS - 1) / COLS, depth = DEPTH(WIDTH);
  for (int64_t i = begin; i < end; i++) {
    if (i < b_panels) {
      const int64_t j = i * COLS;
      NAMED(pack_panel)
      (COLS, (int)min_i64(COLS, g->n - j), (const T *)g->b + first * g->b_row + j * g->b_col,
       g->b_col, g->b_row, k, (T *)g->space + j * depth);
    } else {
      const int64_t j = (i - b_panels) * ROWS;
      NAMED(pack_panel)
      (ROWS, (int)min_i64(ROWS, g->m - j), (const T *)g->a + j * g->a_row + first * g->a_col,
       g->a_row, g->a_col, k, (T *)g->space + (b_panels * COLS + j) * depth);
    }
  }
}

/* Computes a block of the result from packed panels; A may be read in place instead. */
ISA static void NAMED(block)(const struct gemm *g, const struct block *block) {
  const int64_t depth = DEPTH(WIDTH);
  const bool packed = block->packed_a;
  const T *b = g->space, *a = b + (g->n + COLS - 1) / COLS * COLS * depth;
  if (!packed) a = (const T *)g->a + block->first * g->a_col;
  const int64_t down = packed ? depth : g->a_row;
  struct tile t = {.k = block->k,
                   .a_row = g->a_row,
                   .a_col = g->a_col,
                   .b_row = COLS,
                   .c_row = g->c_row,
                   .add = block->first > 0};
  for (int64_t j = block->left; j < block->right; j += COLS) {
    t.b = b + j * depth;
    for (int64_t i = block->top; i < block->bottom; i += ROWS) {
      t.a = a + i * down;
      t.c = (T *)g->c + i * g->c_row + j;
      NAMED(tile)(packed, min_i64(ROWS, block->bottom - i), min_i64(COLS, block->right - j), &t);
    }
  }
}

/* Packs the panels begin <= i < end of A, each with all its columns. */
ISA static void NAMED(pack_rows)(const struct gemm *g, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const int64_t j = i * ROWS;
    NAMED(pack_panel)
    (ROWS, (int)min_i64(ROWS, g->m - j), (const T *)g->a + j * g->a_row, g->a_row, g->a_col, g->k,
     (T *)g->space + j * g->k);
  }
}

/* Computes the columns of the panels begin <= i < end of B, which are packed one after the other
 * and used while they are in the cache; `depth` rows at a time. A may be read in place. */
ISA static void NAMED(columns)(const struct gemm *g, int64_t depth, bool packed_a, int64_t begin,
                               int64_t end) {
  T panel[DEPTH(WIDTH) * COLS];
  struct tile t = {
      .b = panel, .a_row = g->a_row, .a_col = g->a_col, .b_row = COLS, .c_row = g->c_row};
  const T *a = packed_a ? g->space : g->a;
  const int64_t down = packed_a ? g->k : g->a_row, along = packed_a ? ROWS : g->a_col;
  for (int64_t j = begin * COLS; j < min_i64(end * COLS, g->n); j += COLS) {
    const int64_t cols = min_i64(COLS, g->n - j);
    for (int64_t first = 0; first < g->k; first += depth) {
      t.k = min_i64(depth, g->k - first);
      t.add = first > 0;
      NAMED(pack_panel)
      (COLS, (int)cols, (const T *)g->b + first * g->b_row + j * g->b_col, g->b_col, g->b_row, t.k,
       panel);
      for (int64_t i = 0; i < g->m; i += ROWS) {
        t.a = a + i * down + first * along;
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

/* Computes a product of a few numbers. */
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

/* A few rows times a wide matrix whose rows are read once: columns left <= j < right, which are at
 * most STRIP. */
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

FLAT T NAMED(dot)(const T *a, const T *b, int64_t k) {
  VECTOR sum[4] = {{0}};
  int64_t p = 0;
  for (; p + 4 * LANES <= k; p += 4 * LANES)
    for (int v = 0; v < 4; v++) {
      const VECTOR x = *(const VECTOR *)(a + p + v * LANES),
                   y = *(const VECTOR *)(b + p + v * LANES);
      sum[v] = FMA(x, y, sum[v]);
    }
  const VECTOR all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  T result = 0;
  for (int v = 0; v < LANES; v++) result += all[v];
  for (; p < k; p++) result += a[p] * b[p];
  return result;
}

/* A few rows times the columns left <= j < right, where both lie in one piece. */
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
#undef FLAT
#undef VECTOR
#undef QUAD
#undef MICRO
#undef MICRO_NAMES
#undef T
#undef WIDTH
#undef ISA
#undef FMA
#undef NAMED
#undef KIND
