/* SPDX-License-Identifier: Apache-2.0
 * rows.h: rows of tensors named by numbers: what scatter.c and segment.c record both. */
#ifndef SITU_OPS_ROWS_H
#define SITU_OPS_ROWS_H

#include "schema/call.h"

/* What a reduction of nothing is. */
enum rows_identity { ROWS_ZERO, ROWS_ONE, ROWS_LOWEST, ROWS_HIGHEST };

/* Scratch memory with the numbers (int64) of the rows of a tensor of shape `params` that input
 * `indices` names: with tuples of `depth` numbers. Negative ones are an error, or -1 (`lenient`).
 */
situ_status rows_number(struct call *call, int indices, const situ_shape *params, int depth,
                        bool lenient, int32_t *slot) SITU_MUST_USE;

/* Scratch memory with chains of the `picks` rows of such numbers that are equal, of a tensor of
 * `count` rows: seen[row] is the first pick of a row, next[k] the one behind pick k or -1; int32.
 */
situ_status rows_chain(struct call *call, int32_t rows, int64_t picks, int64_t count, int32_t *seen,
                       int32_t *next) SITU_MUST_USE;

/* Records that `n` elements of a slot become the identity. */
situ_status rows_clear(struct call *call, situ_type type, int32_t slot, enum rows_identity identity,
                       int64_t n) SITU_MUST_USE;

/* Records y[rows[k]] = f(y[rows[k]], updates[k]) for k = 0 ... picks - 1, in order. */
struct rows_scatter {
  int32_t rows, updates, to;
  int64_t picks, inner;
  bool one; /* one update for all */
};
situ_status rows_scatter(struct call *call, const struct kernel *f, situ_type type,
                         const struct rows_scatter *scatter) SITU_MUST_USE;

/* Kernels for it. */
extern const struct kernel *const rows_update,
    *const rows_add, *const rows_sub, *const rows_mul, *const rows_div, *const rows_min,
                                                                            *const rows_max;

#endif
