/* SPDX-License-Identifier: Apache-2.0
 * gemm_kernels.h: inner kernels of the GEMM for each element type, selected by instruction set at
 * run time. */
#ifndef SITU_HOST_GEMM_KERNELS_H
#define SITU_HOST_GEMM_KERNELS_H

#include "host/gemm.h"

enum {
  ROWS = 6,    /* of a register tile */
  THIN = 4,    /* products with at most this many rows read the other operand once, in place */
  STRIP = 512, /* columns of such a product per pass */
  /* Upper bounds over all processors, so that a plan needs the same memory on every machine. */
  MAX_DEPTH = 256,      /* rows of B per packed panel */
  MAX_COLS_BYTES = 128, /* row of a register tile */
};

/* A block of the result, for the rows first <= p < first + k of B. */
struct block {
  int64_t first, k;
  int64_t top, bottom, left, right;
  bool packed_a;
};

struct gemm_kernels {
  const char *kind;
  int cols;      /* of a register tile */
  int64_t depth; /* maximum rows of B per packed panel */
  void (*pack)(const struct gemm *g, int64_t first, int64_t k, int64_t begin, int64_t end);
  void (*block)(const struct gemm *g, const struct block *block);
  void (*pack_rows)(const struct gemm *g, int64_t begin, int64_t end);
  void (*columns)(const struct gemm *g, int64_t depth, bool packed_a, int64_t begin, int64_t end);
  void (*small)(const struct gemm *g);
  void (*tiny)(const struct gemm *g);
  void (*strip)(const struct gemm *g, int64_t left, int64_t right);
  void (*dots)(const struct gemm *g, int64_t left, int64_t right);
};

/* Returns the fastest kernels for a type on this processor; NULL if the type is not supported. */
const struct gemm_kernels *gemm_kernels(situ_type type);

/* Returns all kernels for a type on this processor, slowest first, and their number (at most
 * `capacity`). For tests. */
int gemm_all_kernels(situ_type type, const struct gemm_kernels **out, int capacity);

/* Computes the product with the given kernels; sizes must not be 0. */
situ_status gemm_run_with(const struct gemm_kernels *kernels,
                          const struct gemm *gemm) SITU_MUST_USE;

#endif
