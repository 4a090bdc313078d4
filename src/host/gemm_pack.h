/* SPDX-License-Identifier: Apache-2.0
 * gemm_pack.h: template of the packing of GEMM operands into panels, included by gemm_kernel.h with
 * the same macros. No include guard. */

/* Transposes a 4x4 block. */
INLINE void NAMED(transpose)(const T *from, int64_t row, QUAD out[4]) {
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

/* Packs `wide` elements with stride `step`, of which `have` exist, for each p < k; the others are
 * 0. */
INLINE void NAMED(pack_partial)(const int wide, int n_valid, const T *from, int64_t step,
                                int64_t next, int64_t k, T *to) {
  for (int64_t p = 0; p < k; p++, from += next, to += wide)
    for (int i = 0; i < wide; i++) to[i] = i < n_valid ? from[i * step] : 0;
}

/* Packs a multiple of 4 contiguous p by transposing 4x4 blocks. All p of an element are read
 * together: cache lines `step` apart may evict each other. */
INLINE void NAMED(pack_transposed)(const int wide, const int count, const T *from, int64_t step,
                                   T *to) {
  QUAD q[4];
  int i = 0;
  for (; i + 4 <= wide; i += 4)
    for (int p = 0; p < count; p += 4) {
      NAMED(transpose)(from + i * step + p, step, q);
      for (int j = 0; j < 4; j++) *(QUAD *)(to + (p + j) * wide + i) = q[j];
    }
  for (; i < wide; i++)
    for (int p = 0; p < count; p++) to[p * wide + i] = from[i * step + p];
}

/* Packs a panel, with fast paths for full panels of both layouts. */
INLINE void NAMED(pack_panel)(const int wide, int n_valid, const T *from, int64_t step,
                              int64_t next, int64_t k, T *to) {
  int64_t p = 0;
  if (n_valid == wide && step == 1) {
    for (; p < k; p++)
      for (int i = 0; i < wide; i++) to[p * wide + i] = from[p * next + i];
  } else if (n_valid == wide && next == 1) {
    for (; p + 16 <= k; p += 16) NAMED(pack_transposed)(wide, 16, from + p, step, to + p * wide);
    for (; p + 4 <= k; p += 4) NAMED(pack_transposed)(wide, 4, from + p, step, to + p * wide);
  }
  NAMED(pack_partial)(wide, n_valid, from + p * next, step, next, k - p, to + p * wide);
}

/* Packs the panels begin <= i < end of both operands, B first. */
ISA static void NAMED(pack)(const struct gemm *g, int64_t first, int64_t k, int64_t begin,
                            int64_t end) {
  const int64_t b_panels = (g->n + COLS - 1) / COLS, depth = DEPTH(WIDTH);
  for (int64_t i = begin; i < end; i++) {
    if (i < b_panels) {
      const int64_t j = i * COLS;
      NAMED(pack_panel)
      (COLS, (int)min_i64(COLS, g->n - j), (const T *)g->b + first * g->b_row + j * g->b_col,
       g->b_col, g->b_row, k, (T *)g->workspace + j * depth);
    } else {
      const int64_t j = (i - b_panels) * ROWS;
      NAMED(pack_panel)
      (ROWS, (int)min_i64(ROWS, g->m - j), (const T *)g->a + j * g->a_row + first * g->a_col,
       g->a_row, g->a_col, k, (T *)g->workspace + (b_panels * COLS + j) * depth);
    }
  }
}

/* Packs the panels begin <= i < end of A, each with all its columns. */
ISA static void NAMED(pack_rows)(const struct gemm *g, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const int64_t j = i * ROWS;
    NAMED(pack_panel)
    (ROWS, (int)min_i64(ROWS, g->m - j), (const T *)g->a + j * g->a_row, g->a_row, g->a_col, g->k,
     (T *)g->workspace + j * g->k);
  }
}
