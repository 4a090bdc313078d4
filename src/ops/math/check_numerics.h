/* SPDX-License-Identifier: Apache-2.0
 * check_numerics.h: NaN and infinity detection shared by CheckNumerics and plan/numerics.c. */
#ifndef SITU_OPS_MATH_CHECK_NUMERICS_H
#define SITU_OPS_MATH_CHECK_NUMERICS_H

#include "schema/call.h"

/* The number of elements of a tensor that are not finite, by kind. */
struct numerics_counts {
  int64_t nans, highs, lows; /* NaN, +Inf, -Inf */
};

/* Whether elements of the type may not be finite. */
bool check_numerics_concerns(situ_type type);

/* Counts in a tensor in host memory. */
struct numerics_counts check_numerics_count(const situ_tensor *tensor);

/* Whether any count is not 0. */
static inline bool check_numerics_is_odd(const struct numerics_counts *odd) {
  return odd->nans || odd->highs || odd->lows;
}

/* "-Inf, +Inf, and NaN": the kinds with a count other than 0, as TensorFlow lists them. */
const char *check_numerics_kinds(const struct numerics_counts *odd);

/* The number of pieces in which a tensor is counted: each has three int32 counts. */
int64_t check_numerics_pieces(int64_t elements);

/* Records the kernel that counts: slot `values` has `elements` elements, the counts go to slot
 * `counts`, from its element number `first` on. */
situ_status check_numerics_record(struct call *call, situ_type type, int64_t elements,
                                  int32_t values, int32_t counts, int64_t first) SITU_MUST_USE;

/* Adds up the counts of the pieces. */
struct numerics_counts check_numerics_sum(const int32_t *counts, int64_t pieces);

#endif
