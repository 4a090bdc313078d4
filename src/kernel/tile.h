/* SPDX-License-Identifier: Apache-2.0
 * tile.h: products of matrices for GPUs: a work-group of 256 items makes a tile of 64 x 64
 * elements, each item 4 x 4 of them, from slices of 16 columns and rows in local memory.
 *
 *   TILE_BEGIN(tile, across);            what this item does
 *   for (i64 first = 0; first < k; first += TILE_DEPTH) {
 *     ... fill left[p][i] and right[p][j] for p < 16, i and j < 64: TILE_ITEM(q) is a number
 *         e < 1024 for q < 4, of which every item has others ...
 *     barrier(CLK_LOCAL_MEM_FENCE);
 *     TILE_ADD();
 *     barrier(CLK_LOCAL_MEM_FENCE);
 *   }
 *   TILE_EACH(i, j, value, m, n) { c[i * n + j] = (T)value; } */
#ifndef SITU_KERNEL_TILE_H
#define SITU_KERNEL_TILE_H

#define TILE 64
#define TILE_DEPTH 16

/* Stands first in a kernel. Rows of `left` are written across: one column more keeps the items in
 * different banks. */
#define TILE_MEMORY() __local C left[TILE_DEPTH][TILE + 1], right[TILE_DEPTH][TILE]

/* The tile with number `tile`, where `across` of them stand side by side. */
#define TILE_BEGIN(tile, across)                                              \
  const int id_ = (int)get_local_id(0), x_ = id_ % 16 * 4, y_ = id_ / 16 * 4; \
  const i64 top_ = (tile) / (across)*TILE, left_ = (tile) % (across)*TILE;    \
  C sum_[4][4];                                                               \
  for (int u = 0; u < 4; u++)                                                 \
    for (int v = 0; v < 4; v++) sum_[u][v] = 0

#define TILE_ITEM(q) (id_ + (q)*256)

#define TILE_ADD()                                                                              \
  for (int p_ = 0; p_ < TILE_DEPTH; p_++) {                                                     \
    C a_[4], b_[4];                                                                             \
    _Pragma("unroll") for (int u = 0; u < 4; u++) a_[u] = left[p_][y_ + u];                     \
    _Pragma("unroll") for (int u = 0; u < 4; u++) b_[u] = right[p_][x_ + u];                    \
    _Pragma("unroll") for (int u = 0; u < 4; u++) _Pragma("unroll") for (int v = 0; v < 4; v++) \
        sum_[u][v] += a_[u] * b_[v];                                                            \
  }

/* Visits what the item made: row, column, value. */
#define TILE_EACH(i, j, value, m, n)                                                            \
  for (int u_ = 0; u_ < 4; u_++)                                                                \
    for (int v_ = 0; v_ < 4; v_++)                                                              \
      for (i64 i = top_ + y_ + u_, j = left_ + x_ + v_, once_ = 1; once_ && i < (m) && j < (n); \
           once_ = 0)                                                                           \
        for (C value = sum_[u_][v_]; once_; once_ = 0)

#endif
