/* SPDX-License-Identifier: Apache-2.0
 * conv_kernels.h: register-tiled inner kernels of the convolution for each element type, selected
 * by instruction set at run time. */
#ifndef SITU_HOST_CONV_KERNELS_H
#define SITU_HOST_CONV_KERNELS_H

#include "host/conv.h"

/* An output tile: c[i][j] = sum over s < segments, p < k of a * b, where a is a[s * a_segment + i *
 * a_row + p * a_col] with a_row or a_col equal to 1, and b is b[s * b_segment + p * b_row + j]. */
struct conv_tile {
  const void *a, *b;
  void *c;
  int64_t k, segments;
  int64_t a_row, a_col, a_segment, b_row, b_segment, c_row;
  bool add; /* accumulate into c */
};

struct conv_kernels {
  const char *kind;
  int rows, cols;           /* largest tile */
  int wide_rows, wide_cols; /* tile of half the rows and twice the columns; 0: none */
  int lanes;                /* elements per vector */
  /* Computes a tile of 1 to `rows` rows and 1 to `cols` columns, or of 1 to `wide_rows` rows and
   * `wide_cols` columns. Reads `lanes` or `cols` columns of b. `transposed`: a_row is 1, else a_col
   * is. */
  void (*tile)(const struct conv_tile *tile, bool transposed, int64_t rows, int64_t cols);
};

/* Returns the fastest kernels for a type on this processor; NULL if the type is not supported. */
const struct conv_kernels *conv_kernels(situ_type type);

/* Returns all kernels for a type on this processor, slowest first, and their number (at most
 * `capacity`). For tests. */
int conv_all_kernels(situ_type type, const struct conv_kernels **out, int capacity);

/* Runs conv_run with the given kernels. */
situ_status conv_run_with(const struct conv_kernels *kernels, const struct conv *conv,
                          enum conv_pass pass) SITU_MUST_USE;

#endif
