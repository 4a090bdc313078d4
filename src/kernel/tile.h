/* SPDX-License-Identifier: Apache-2.0
 * tile.h: tiled matrix multiplication for GPUs: a work-group of 256 threads computes a tile of
 * TILE_ROWS x TILE_COLS elements, each thread ITEM_ROWS x ITEM_COLS of them, from slices of
 * TILE_DEPTH columns and rows in local memory. The including file defines the four sizes.
 *
 *   TILE_MEMORY();
 *   TILE_BEGIN(tile, across);            tile and elements of this thread
 *   for (i64 first = 0; first < k; first += TILE_DEPTH) {
 *     ... fill left[p][i] and right[p][j] for p < TILE_DEPTH, i < TILE_ROWS, j < TILE_COLS:
 *         TILE_ITEM(q), for q < TILE_LEFT or TILE_RIGHT, are indices unique to this thread ...
 *     barrier(CLK_LOCAL_MEM_FENCE);
 *     TILE_ADD();
 *     barrier(CLK_LOCAL_MEM_FENCE);
 *   }
 *   TILE_EACH(i, j, value, m, n) { c[i * n + j] = (T)value; }
 *
 * Loops over the elements of a thread are unrolled, to keep them in registers. The loop over a
 * slice is not: the code would be too long for CPUs. */
#ifndef SITU_KERNEL_TILE_H
#define SITU_KERNEL_TILE_H

#if T_BYTES == 8
#define TILE_DEPTH 8
#else
#define TILE_DEPTH 16
#endif
#define TILE_LEFT (TILE_ROWS * TILE_DEPTH / 256)
#define TILE_RIGHT (TILE_COLS * TILE_DEPTH / 256)
#define UNROLL _Pragma("unroll")

/* Must come first in a kernel. `left` is written by column: an extra column avoids bank conflicts.
 */
#define TILE_MEMORY() __local C left[TILE_DEPTH][TILE_ROWS + 1], right[TILE_DEPTH][TILE_COLS]

/* Starts tile number `tile`, with `across` tiles per row. */
#define TILE_BEGIN(tile, across)                                                        \
  const int id_ = (int)get_local_id(0);                                                 \
  const int x_ = id_ % (TILE_COLS / ITEM_COLS) * ITEM_COLS;                             \
  const int y_ = id_ / (TILE_COLS / ITEM_COLS) * ITEM_ROWS;                             \
  const i64 top_ = (tile) / (across)*TILE_ROWS, left_ = (tile) % (across)*TILE_COLS;    \
  C sum_[ITEM_ROWS][ITEM_COLS];                                                         \
  UNROLL for (int u = 0; u < ITEM_ROWS; u++) UNROLL for (int v = 0; v < ITEM_COLS; v++) \
      sum_[u][v] = 0

#define TILE_ITEM(q) (id_ + (q)*256)

#define TILE_ADD()                                                                        \
  for (int p_ = 0; p_ < TILE_DEPTH; p_++) {                                               \
    C a_[ITEM_ROWS], b_[ITEM_COLS];                                                       \
    UNROLL for (int u = 0; u < ITEM_ROWS; u++) a_[u] = left[p_][y_ + u];                  \
    UNROLL for (int v = 0; v < ITEM_COLS; v++) b_[v] = right[p_][x_ + v];                 \
    UNROLL for (int u = 0; u < ITEM_ROWS; u++) UNROLL for (int v = 0; v < ITEM_COLS; v++) \
        sum_[u][v] += a_[u] * b_[v];                                                      \
  }

/* Iterates over the elements of this thread: row, column, value. */
#define TILE_EACH(i, j, value, m, n)                                                 \
  UNROLL for (int u_ = 0; u_ < ITEM_ROWS; u_++)                                      \
      UNROLL for (int v_ = 0; v_ < ITEM_COLS;                                        \
                  v_++) for (i64 i = top_ + y_ + u_, j = left_ + x_ + v_, once_ = 1; \
                             once_ && i < (m) && j < (n);                            \
                             once_ = 0) for (C value = sum_[u_][v_]; once_; once_ = 0)

#endif
