/* SPDX-License-Identifier: Apache-2.0
 * transpose.cl: transpose: y is dense; element i of y is in x at its index times the strides. */
#include "kernel/strided_index.h"

#ifndef SITU_HOST

KERNEL(transpose, IN(T, x), OUT(T, y), SIZES(dim), SIZES(stride), SIZE(n)) {
  EACH(i, n);
  UNPACK(dim);
  UNPACK(stride);
  y[i] = x[strided_offset(i, dim, stride)];
}

#else

/* Vectors of 16 bytes, which every processor has; the kernel is limited by memory bandwidth. */
#define LANES (16 / (int)sizeof(T))
#define LINE (64 / (int)sizeof(T))
#define VECTOR JOIN(lanes, T_NAME)
#if T_NAME == 128
typedef u64 VECTOR __attribute__((vector_size(16), aligned(8), may_alias));
#else
typedef T VECTOR __attribute__((vector_size(16), aligned(sizeof(T)), may_alias));
#endif

/* Interleaves the lower and the upper halves of two vectors. */
#if T_NAME == 8
#define EVEN(a, b) \
  __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define ODD(a, b) \
  __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#elif T_NAME == 16
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11)
#define ODD(a, b) __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15)
#elif T_NAME == 32
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 4, 1, 5)
#define ODD(a, b) __builtin_shufflevector(a, b, 2, 6, 3, 7)
#else /* not used for one element of 16 bytes */
#define EVEN(a, b) __builtin_shufflevector(a, b, 0, 2)
#define ODD(a, b) __builtin_shufflevector(a, b, 1, 3)
#endif

/* Transposes a square of LANES x LANES elements. */
INLINE void JOIN(turn_square, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch) {
  VECTOR rows[LANES], turned[LANES];
  for (int i = 0; i < LANES; i++) rows[i] = *(const VECTOR *)(x + i * x_pitch);
  for (int round = LANES; round > 1; round /= 2) {
    for (int i = 0; i < LANES / 2; i++) {
      turned[2 * i] = EVEN(rows[i], rows[i + LANES / 2]);
      turned[2 * i + 1] = ODD(rows[i], rows[i + LANES / 2]);
    }
    for (int i = 0; i < LANES; i++) rows[i] = turned[i];
  }
  for (int i = 0; i < LANES; i++) *(VECTOR *)(y + i * y_pitch) = rows[i];
}

/* Transposes a tile of LINE x LINE elements. It goes through a buffer, so that whole cache lines
 * are read and written at once, before those of other rows evict them. */
INLINE void JOIN(turn_tile, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, bool stream) {
  _Alignas(64) T in[LINE * LINE];
  _Alignas(64) T out[LINE * LINE];
  /* Prefetches the next tile. */
  for (int i = 0; i < LINE && !stream; i++) __builtin_prefetch(y + (i + LINE) * y_pitch, 1);
  for (int i = 0; i < LINE; i++) {
    memcpy(in + i * LINE, x + i * x_pitch, 64);
    __builtin_prefetch(x + i * x_pitch + 2 * LINE);
  }
  for (int i = 0; i < LINE; i += LANES)
    for (int j = 0; j < LINE; j += LANES)
      JOIN(turn_square, T_NAME)(in + i * LINE + j, LINE, out + j * LINE + i, LINE);
  for (int j = 0; j < LINE; j++) {
    if (stream)
      for (int k = 0; k < LINE; k += LANES)
        STREAM(y + j * y_pitch + k, *(const VECTOR *)(out + j * LINE + k));
    else
      memcpy(y + j * y_pitch, out + j * LINE, 64);
  }
}

INLINE void JOIN(turn_rest, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, i64 rows,
                                    i64 cols) {
  for (i64 j = 0; j < cols; j++)
    for (i64 i = 0; i < rows; i++) y[j * y_pitch + i] = x[i * x_pitch + j];
}

/* Transposes LANES rows of a block, square by square. */
INLINE void JOIN(turn_rows, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, i64 cols) {
  i64 j = 0;
  for (; j + LANES <= cols; j += LANES)
    JOIN(turn_square, T_NAME)(x + j, x_pitch, y + j * y_pitch, y_pitch);
  JOIN(turn_rest, T_NAME)(x + j, x_pitch, y + j * y_pitch, y_pitch, LANES, cols - j);
}

/* Transposes the full tiles of a block: in the order of x, or of y if the stores bypass the cache.
 * */
INLINE void JOIN(turn_tiles, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, i64 rows, i64 cols,
                                     bool stream) {
  if (stream) {
    for (i64 j = 0; j < cols; j += LINE)
      for (i64 i = 0; i < rows; i += LINE)
        JOIN(turn_tile, T_NAME)(x + i * x_pitch + j, x_pitch, y + j * y_pitch + i, y_pitch, true);
  } else {
    for (i64 i = 0; i < rows; i += LINE)
      for (i64 j = 0; j < cols; j += LINE)
        JOIN(turn_tile, T_NAME)(x + i * x_pitch + j, x_pitch, y + j * y_pitch + i, y_pitch, false);
  }
}

/* Transposes a block. */
CLONES static void JOIN(turn_block, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, i64 rows,
                                            i64 cols, bool stream) {
  const i64 high = rows / LINE * LINE, wide = cols / LINE * LINE;
  JOIN(turn_tiles, T_NAME)(x, x_pitch, y, y_pitch, high, wide, stream);
  for (i64 i = 0; i < high; i += LANES)
    JOIN(turn_rows, T_NAME)(x + i * x_pitch + wide, x_pitch, y + wide * y_pitch + i, y_pitch,
                            cols - wide);
  i64 i = high;
  for (; i + LANES <= rows; i += LANES)
    JOIN(turn_rows, T_NAME)(x + i * x_pitch, x_pitch, y + i, y_pitch, cols);
  JOIN(turn_rest, T_NAME)(x + i * x_pitch, x_pitch, y + i, y_pitch, rows - i, cols);
}

/* Copies a block whose rows remain rows, of `wide` elements each. */
static void JOIN(move_block, T_NAME)(const T *x, i64 x_pitch, T *y, i64 y_pitch, i64 rows,
                                     i64 wide) {
  for (i64 i = 0; i < rows; i++, x += x_pitch, y += y_pitch) {
    if (wide * (i64)sizeof(T) >= 64) {
      memcpy(y, x, (size_t)wide * sizeof(T));
    } else {
      for (i64 k = 0; k < wide; k++) y[k] = x[k];
    }
  }
}

/* Executes the blocks begin <= i < end of a plan. */
static situ_status JOIN(transpose_blocks, T_NAME)(const union arg *args, int64_t begin,
                                                  int64_t end) {
  const struct turns *t = args[0].pointer;
  for (i64 i = begin; i < end; i++) {
    const struct turn_at at = turns_find(t, i);
    const T *x = (const T *)t->x + at.x;
    T *y = (T *)t->y + at.y;
    if (t->turned)
      JOIN(turn_block, T_NAME)(x, t->x_pitch, y, t->y_pitch, at.rows, at.cols, t->stream);
    else
      JOIN(move_block, T_NAME)(x, t->x_pitch, y, t->y_pitch, at.rows, at.cols);
  }
  if (t->stream) STREAM_END();
  return NULL;
}

static situ_status JOIN(transpose, T_NAME)(const union arg *args, int64_t begin, int64_t end) {
  (void)begin;
  (void)end;
  return turns_run(args, sizeof(T), JOIN(transpose_blocks, T_NAME));
}

#undef LANES
#undef LINE
#undef VECTOR
#undef EVEN
#undef ODD
#endif
