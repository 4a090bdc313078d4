/* SPDX-License-Identifier: Apache-2.0
 * gemm_kernels.h: the inner loops of gemm.c, by element type, for the processor at hand. */
#ifndef SITU_HOST_GEMM_KERNELS_H
#define SITU_HOST_GEMM_KERNELS_H

#include "host/gemm.h"

enum {
  ROWS = 6,    /* of a tile in registers */
  THIN = 4,    /* products with so few rows read the other operand in place, once */
  STRIP = 512, /* columns of such a product that are summed at a time */
  /* What no processor's kernels pass: a plan takes the same memory on every machine. */
  MOST_DEPTH = 256,      /* rows of B that are packed at a time */
  MOST_COLS_BYTES = 128, /* a row of a tile in registers */
};

/* A part of a result, from packed panels of the rows first <= p < first + k of B. */
struct block {
  int64_t first, k;
  int64_t top, bottom, left, right;
  bool packed_a;
};

struct gemm_kernels {
  const char *kind;
  int cols;      /* of a tile in registers */
  int64_t depth; /* the most rows of B that are packed at a time */
  void (*pack)(const struct gemm *g, int64_t first, int64_t k, int64_t begin, int64_t end);
  void (*block)(const struct gemm *g, const struct block *block);
  void (*pack_rows)(const struct gemm *g, int64_t begin, int64_t end);
  void (*columns)(const struct gemm *g, int64_t depth, bool packed_a, int64_t begin, int64_t end);
  void (*small)(const struct gemm *g);
  void (*tiny)(const struct gemm *g);
  void (*strip)(const struct gemm *g, int64_t left, int64_t right);
  void (*dots)(const struct gemm *g, int64_t left, int64_t right);
};

/* The best kernels for a type that this processor can run; NULL for types without any. */
const struct gemm_kernels *gemm_kernels(situ_type type);

/* All kernels for a type that this processor can run, worst first; at most `most`, returns how
 * many. For tests. */
int gemm_all_kernels(situ_type type, const struct gemm_kernels **out, int most);

/* The product with these kernels; sizes are not 0. */
situ_status gemm_run_with(const struct gemm_kernels *kernels,
                          const struct gemm *gemm) SITU_MUST_USE;

#endif
