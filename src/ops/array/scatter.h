/* SPDX-License-Identifier: Apache-2.0
 * scatter.h: indexed slices of tensors: launches that scatter.c and segment_reduce.c share. */
#ifndef SITU_OPS_ARRAY_SCATTER_H
#define SITU_OPS_ARRAY_SCATTER_H

#include "schema/call.h"

/* The identity element of a reduction. */
enum scatter_identity { SCATTER_ZERO, SCATTER_ONE, SCATTER_LOWEST, SCATTER_HIGHEST };

/* Which invalid indices are skipped: none, negative ones, or all. */
enum scatter_bad { SCATTER_STRICT, SCATTER_SKIP_NEGATIVE, SCATTER_SKIP_BAD };

/* Scratch memory with the numbers (int64) of the rows of a tensor of shape `params` that input
 * `indices` names: with tuples of `depth` numbers. `bad` indices are an error, or the row is -1. */
situ_status scatter_number(struct call *call, int indices, const situ_shape *params, int depth,
                           enum scatter_bad bad, int32_t *slot) SITU_MUST_USE;

/* Scratch memory with chains of the `picks` rows of such numbers that are equal, of a tensor of
 * `count` rows: seen[row] is the first pick of a row, next[k] the one behind pick k or -1; int32.
 */
situ_status scatter_chain(struct call *call, int32_t rows, int64_t picks, int64_t count,
                          int32_t *seen, int32_t *next) SITU_MUST_USE;

/* Records that `n` elements of a slot are set to the identity. */
situ_status scatter_clear(struct call *call, situ_type type, int32_t slot,
                          enum scatter_identity identity, int64_t n) SITU_MUST_USE;

/* Records y[rows[k]] = f(y[rows[k]], updates[k]) for k = 0 ... picks - 1, in order. */
struct scatter_rows {
  int32_t rows, updates, to;
  int64_t picks, inner;
  bool one; /* one update for all rows */
};
situ_status scatter_rows(struct call *call, const struct kernel *f, situ_type type,
                         const struct scatter_rows *scatter) SITU_MUST_USE;

/* The kernels for scatter_rows. */
extern const struct kernel *const scatter_update,
    *const scatter_add, *const scatter_sub, *const scatter_mul, *const scatter_div,
                                                                    *const scatter_min,
                                                                        *const scatter_max;

#endif
