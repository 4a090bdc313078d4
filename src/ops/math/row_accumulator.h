/* SPDX-License-Identifier: Apache-2.0
 * row_accumulator.h: adds, multiplies or compares rows of a tensor of any numeric type on the
 * host. */
#ifndef SITU_OPS_MATH_ROW_ACCUMULATOR_H
#define SITU_OPS_MATH_ROW_ACCUMULATOR_H

#include "schema/compute.h"

enum row_reduction { ROWS_SUM, ROWS_PROD, ROWS_MIN, ROWS_MAX };

/* Floating-point and complex numbers are reduced in double precision; integers wrap. */
struct row_accumulator {
  situ_type type;
  enum row_reduction reduction;
  int64_t size; /* elements of a row */
  void *total;  /* of the rows so far: doubles (two per complex number) or 64-bit integers */
  void *row;    /* the row that is being added */
  int64_t rows; /* added so far */
};

/* Fails if there is no memory. The caller closes the accumulator in any case. */
situ_status row_accumulator_open(struct row_accumulator *acc, situ_type type,
                                 enum row_reduction reduction, int64_t size) SITU_MUST_USE;
void row_accumulator_close(struct row_accumulator *acc);

/* Adds row `row` of an array. */
void row_accumulator_add(struct row_accumulator *acc, const void *data, int64_t row);

/* Stores the result, divided by `divisor` (integers truncate), as row `row` of an array, and starts
 * again. There must be a row. */
void row_accumulator_store(struct row_accumulator *acc, double divisor, void *data, int64_t row);

#endif
