/* SPDX-License-Identifier: Apache-2.0
 * conv_kernels.h: the inner loops of conv.c, by element type, for the processor at hand. */
#ifndef SITU_HOST_CONV_KERNELS_H
#define SITU_HOST_CONV_KERNELS_H

#include "host/conv.h"

/* A tile of results: c[i][j] = sum over s < segments, p < k of a * b, where
 *   a is a[s * a_segment + i * a_row + p * a_col], one of a_row and a_col is 1,
 *   b is b[s * b_segment + p * b_row + j]. */
struct conv_tile {
  const void *a, *b;
  void *c;
  int64_t k, segments;
  int64_t a_row, a_col, a_segment, b_row, b_segment, c_row;
  bool add; /* to what c holds */
};

struct conv_kernels {
  const char *kind;
  int rows, cols;           /* the largest tile, */
  int wide_rows, wide_cols; /* and one half as high and twice as wide; 0 rows: there is none */
  int lanes;                /* columns of a tile of one vector */
  /* A tile of 1 to `rows` rows and 1 to `cols` columns, or of 1 to `wide_rows` rows and `wide_cols`
   * columns; up to `lanes` or `cols` columns of b are read. `turned`: a_row is 1, else a_col is. */
  void (*tile)(const struct conv_tile *tile, bool turned, int64_t rows, int64_t cols);
};

/* The best kernels for a type that this processor can run; NULL for types without any. */
const struct conv_kernels *conv_kernels(situ_type type);

/* All kernels for a type that this processor can run, worst first; at most `most`, returns how
 * many. For tests. */
int conv_all_kernels(situ_type type, const struct conv_kernels **out, int most);

/* conv_run with these kernels. */
situ_status conv_run_with(const struct conv_kernels *kernels, const struct conv *conv,
                          enum conv_pass want) SITU_MUST_USE;

#endif
