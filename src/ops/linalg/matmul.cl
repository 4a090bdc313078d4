/* SPDX-License-Identifier: Apache-2.0
 * matmul.cl: matrix multiplication, single or batched. On the host matmul.c calls host/gemm.h. */
#ifndef SITU_HOST
#define TILE_ROWS 128
#define TILE_COLS 128
#define ITEM_ROWS 8
#define ITEM_COLS 8
#include "kernel/tile.h"

/* The offsets of the matrices of batch element `rest`. */
#define STARTS(rest)                       \
  i64 a_start = 0, b_start = 0;            \
  for (i64 d = 7, r = rest; d >= 0; d--) { \
    a_start += r % dim[d] * a_step[d];     \
    b_start += r % dim[d] * b_step[d];     \
    r /= dim[d];                           \
  }

#if IS_PICKED(matmul_small)
/* A work-group of 256 items computes a tile of 16 x 16 elements. */
GROUP_KERNEL(matmul_small, IN(T, a), IN(T, b), OUT(T, c), OUT(T, space), SIZE(m), SIZE(n), SIZE(k),
             SIZE(a_row), SIZE(a_col), SIZE(b_row), SIZE(b_col), SIZE(count), SIZES(dim),
             SIZES(a_step), SIZES(b_step)) {
  __local C left[16][17], right[16][17];
  UNPACK(dim);
  UNPACK(a_step);
  UNPACK(b_step);
  const int x = (int)get_local_id(0) % 16, y = (int)get_local_id(0) / 16;
  const i64 across = (n + 15) / 16, tiles = across * ((m + 15) / 16);
  const i64 batch = get_group_id(0) / tiles, tile = get_group_id(0) % tiles;
  const i64 i = tile / across * 16 + y, j = tile % across * 16 + x;
  STARTS(batch);
  (void)space;
  C sum = 0;
  for (i64 first = 0; first < k; first += 16) {
    const bool in_a = i < m && first + x < k, in_b = first + y < k && j < n;
    left[y][x] = in_a ? (C)a[a_start + i * a_row + (first + x) * a_col] : (C)0;
    right[y][x] = in_b ? (C)b[b_start + (first + y) * b_row + j * b_col] : (C)0;
    barrier(CLK_LOCAL_MEM_FENCE);
    for (int p = 0; p < 16; p++) sum += left[y][p] * right[p][x];
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (i < m && j < n && batch < count) c[(batch * m + i) * n + j] = (T)sum;
}
#endif

#if IS_PICKED(matmul)
/* The same with tiles of 128 x 128. Adjacent work items read adjacent elements. */
GROUP_KERNEL(matmul, IN(T, a), IN(T, b), OUT(T, c), OUT(T, space), SIZE(m), SIZE(n), SIZE(k),
             SIZE(a_row), SIZE(a_col), SIZE(b_row), SIZE(b_col), SIZE(count), SIZES(dim),
             SIZES(a_step), SIZES(b_step)) {
  TILE_MEMORY();
  UNPACK(dim);
  UNPACK(a_step);
  UNPACK(b_step);
  const i64 across = (n + TILE_COLS - 1) / TILE_COLS;
  const i64 tiles = across * ((m + TILE_ROWS - 1) / TILE_ROWS);
  const i64 batch = get_group_id(0) / tiles;
  STARTS(batch);
  (void)space;
  TILE_BEGIN(get_group_id(0) % tiles, across);
  /* The offsets of a work item's first elements of a slice, and the strides to its next ones. */
  const bool turn_a = a_row == 1, turn_b = b_row == 1;
  const int ap = turn_a ? id_ / TILE_ROWS : id_ % TILE_DEPTH;
  const int ai = turn_a ? id_ % TILE_ROWS : id_ / TILE_DEPTH;
  const int ap_next = turn_a ? 256 / TILE_ROWS : 0, ai_next = turn_a ? 0 : 256 / TILE_DEPTH;
  const int bp = turn_b ? id_ % TILE_DEPTH : id_ / TILE_COLS;
  const int bj = turn_b ? id_ / TILE_DEPTH : id_ % TILE_COLS;
  const int bp_next = turn_b ? 0 : 256 / TILE_COLS, bj_next = turn_b ? 256 / TILE_DEPTH : 0;
  const i64 a_next = ap_next * a_col + ai_next * a_row, b_next = bp_next * b_row + bj_next * b_col;
  i64 a_at = a_start + (top_ + ai) * a_row + ap * a_col;
  i64 b_at = b_start + bp * b_row + (left_ + bj) * b_col;
  for (i64 first = 0; first < k; first += TILE_DEPTH) {
    for (int q = 0; q < TILE_LEFT; q++) {
      const int p = ap + q * ap_next, i = ai + q * ai_next;
      left[p][i] = top_ + i < m && first + p < k ? (C)a[a_at + q * a_next] : (C)0;
    }
    for (int q = 0; q < TILE_RIGHT; q++) {
      const int p = bp + q * bp_next, j = bj + q * bj_next;
      right[p][j] = left_ + j < n && first + p < k ? (C)b[b_at + q * b_next] : (C)0;
    }
    a_at += TILE_DEPTH * a_col;
    b_at += TILE_DEPTH * b_row;
    barrier(CLK_LOCAL_MEM_FENCE);
    TILE_ADD();
    barrier(CLK_LOCAL_MEM_FENCE);
  }
  if (batch >= count) return;
  TILE_EACH(i, j, value, m, n) c[(batch * m + i) * n + j] = (T)value;
}
#endif
#undef STARTS

#endif
