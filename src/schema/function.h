/* SPDX-License-Identifier: Apache-2.0
 * function.h: a function of a graph: a graph of its own with inputs and outputs, which ops like If
 * and While run. */
#ifndef SITU_SCHEMA_FUNCTION_H
#define SITU_SCHEMA_FUNCTION_H

#include "situ/graph.h"

/* Values of a body that gradients need: a tape holds one tensor for each. Only grows. */
struct function_saved {
  int count;
  const situ_value *values;
};

/* Lives as long as the graph that owns it. */
struct function {
  const char *name;
  situ_graph *graph; /* the body */
  int n_inputs, n_outputs;
  const situ_value *inputs, *outputs; /* of the body; inputs are placeholders */
  const situ_shape *shapes;           /* of the inputs, then of the outputs, as far as known */
  const situ_type *types;
  _Atomic(const struct function_saved *) saved; /* NULL: nobody asked for its gradient */
  /* Of the gradient of another function: its first inputs come from that one's tape, these. */
  int n_taped;
  const int *taped;
};

#endif
