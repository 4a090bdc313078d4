/* SPDX-License-Identifier: Apache-2.0
 * numerics.h: numeric checks: counters of NaN and infinities in the outputs of ops. */
#ifndef SITU_PLAN_NUMERICS_H
#define SITU_PLAN_NUMERICS_H

#include "plan/program.h"
#include "schema/call.h"

struct numerics_counts;

/* A checked output. Its counters are int32 triples (NaN, +Inf, -Inf), one triple per piece of the
 * tensor, at elements [first, first + 3 * pieces) of slot `slot`. */
struct check {
  int32_t node, output;
  int32_t command; /* the call that counts; used during planning */
  int32_t slot;
  int64_t first, pieces;
  const struct operand *operands; /* of the node: inputs, then outputs; for the error message */
};

/* The error for an output with NaN or infinities: InvalidArgument with TensorFlow's message. `in`
 * are the node's inputs (NULL: none), `out` is the output. */
situ_status numerics_failure(const struct situ_graph *graph, const struct node *node, int output,
                             const struct operand *in, const struct operand *out,
                             const struct numerics_counts *counts) SITU_MUST_USE;

#endif
