/* SPDX-License-Identifier: Apache-2.0
 * apply.h: one op at once on host tensors, for the tests of ops. */
#ifndef SITU_TESTS_SUPPORT_APPLY_H
#define SITU_TESTS_SUPPORT_APPLY_H

#include "base/base.h"
#include "situ/tensor.h"

/* An attribute that is a number: int, bool or type. An array of them ends in a row of zeros. */
struct apply_attr {
  const char *name;
  int64_t value;
};

/* Runs the op, whose outputs (at most 4) go to `out`. `attrs` may be NULL. */
situ_status apply_op(const char *op, const struct apply_attr *attrs, situ_tensor *const *in,
                     int n_in, situ_tensor **out) SITU_MUST_USE;

/* The one output of an op on one or two inputs; stops the test if it fails. */
situ_tensor *apply1(const char *op, const struct apply_attr *attrs, situ_tensor *a);
situ_tensor *apply2(const char *op, const struct apply_attr *attrs, situ_tensor *a, situ_tensor *b);

/* A tensor of the type with whole numbers from -range to range (0 to range for uint8 and bool), the
 * same ones for the same shape. */
situ_tensor *apply_numbers(situ_type type, situ_shape shape, int range);

/* A vector of int32, or a scalar where count is -1. */
situ_tensor *apply_ints(const int32_t *items, int count);

/* Element i as a number, and the other way round. */
double apply_get(const situ_tensor *tensor, int64_t i);
void apply_set(situ_tensor *tensor, int64_t i, double value);

#endif
