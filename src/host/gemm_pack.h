/* SPDX-License-Identifier: Apache-2.0
 * gemm_pack.h: the part of gemm_kernel.h that packs operands into panels. No include guard, and the
 * same words: see there. */

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

/* Packs the panels begin <= i < end of A, each with all its columns. */
ISA static void NAMED(pack_rows)(const struct gemm *g, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; i++) {
    const int64_t j = i * ROWS;
    NAMED(pack_panel)
    (ROWS, (int)min_i64(ROWS, g->m - j), (const T *)g->a + j * g->a_row, g->a_row, g->a_col, g->k,
     (T *)g->space + j * g->k);
  }
}
