/* SPDX-License-Identifier: Apache-2.0
 * numerics.h: what a program that is checked for NaN and infinities looks at. */
#ifndef SITU_PLAN_NUMERICS_H
#define SITU_PLAN_NUMERICS_H

#include "plan/program.h"
#include "schema/call.h"

struct numerics_counts;

/* An output that is counted in: `pieces` times three counts of type int32 in slot `slot`, from
 * number `first` on. */
struct check {
  int32_t node, output;
  int32_t command; /* while it is planned: the call that counts */
  int32_t slot;
  int64_t first, pieces;
  const struct operand *operands; /* of the node: inputs, then outputs; for what a failure says */
};

/* The failure of an output that has NaN or infinities: InvalidArgument with TensorFlow's words.
 * `in` are the node's inputs (NULL: it has none), `out` is the output. */
situ_status numerics_failure(const struct situ_graph *graph, const struct node *node, int output,
                             const struct operand *in, const struct operand *out,
                             const struct numerics_counts *odd) SITU_MUST_USE;

#endif
