/* SPDX-License-Identifier: Apache-2.0
 * function.h: a function of a graph: a graph of its own with inputs and outputs, which ops like If
 * and While run. */
#ifndef SITU_SCHEMA_FUNCTION_H
#define SITU_SCHEMA_FUNCTION_H

#include "situ/graph.h"

/* Lives as long as the graph that owns it. */
struct function {
  const char *name;
  situ_graph *graph; /* the body */
  int n_inputs, n_outputs;
  const situ_value *inputs, *outputs; /* of the body; inputs are placeholders */
  const situ_shape *shapes;           /* of the inputs, then of the outputs, as far as known */
  const situ_type *types;
};

#endif
