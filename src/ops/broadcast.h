/* SPDX-License-Identifier: Apache-2.0
 * broadcast.h: NumPy broadcasting of the operands of element-wise ops. */
#ifndef SITU_OPS_BROADCAST_H
#define SITU_OPS_BROADCAST_H

#include "schema/call.h"

enum { BROADCAST_OPERANDS = 3 };

/* A broadcast with adjacent dimensions merged. If one dimension is left (`flat`), each operand has
 * stride 1 in it, or 0 if it is a single element. */
struct broadcast {
  bool flat;
  int64_t count;                                     /* elements of the result */
  int64_t dim[SITU_MAX_RANK];                        /* padded in front with 1 */
  int64_t stride[BROADCAST_OPERANDS][SITU_MAX_RANK]; /* in elements; 0 where it is broadcast */
};

/* Plans the broadcasting of `n` shapes, all known, to `result`. */
void broadcast_plan(const situ_shape *result, const situ_shape *const *shapes, int n,
                    struct broadcast *out);

/* Returns the index in operand `k` of element i of the result. */
int64_t broadcast_position(const struct broadcast *b, int k, int64_t i);

/* An operand of a launch, which may be a part of an operand of the op. */
struct broadcast_operand {
  int32_t slot;
  const situ_shape *shape;
};

/* Records z = f(x, y) with the kernels of f: `flat` and `wide`, as elementwise.cl makes them. */
situ_status broadcast_record(struct call *call, const struct kernel *const kernels[2],
                             situ_type type, double cost, struct broadcast_operand x,
                             struct broadcast_operand y, struct broadcast_operand z) SITU_MUST_USE;

/* Kernels of elementwise.c that other files record too: x + y, x - y, min(x, y), max(x, y). */
extern const struct kernel *const elementwise_add[2];
extern const struct kernel *const elementwise_subtract[2];
extern const struct kernel *const elementwise_least[2];
extern const struct kernel *const elementwise_greatest[2];

/* The kernel that combines the products of real and imaginary parts to a complex matrix product. */
extern const struct kernel *const complex_join_products;

/* A shape function: output 0 is inputs 0 and 1 (and 2, ...) broadcast to one shape. */
situ_status broadcast_shape(struct call *call) SITU_MUST_USE;

#endif
