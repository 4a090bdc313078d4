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

/* What is asked of the gradient of a function. It takes what it needs of the function's tape; then,
 * where `tape_arrives`, a list with gradients of what is on the tape; then what arrives at outputs.
 * It gives, where `tape_wanted`, a list with gradients of what the function took of a tape itself;
 * then those of its other inputs that are wanted. */
struct function_wish {
  const bool *arrives, *wanted; /* by output; by input behind those from a tape */
  bool tape_arrives, tape_wanted;
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
  const struct function *of;
  int n_taped;
  const int *taped;
  /* While gradients are made: what is on its tape whose gradients somebody gives. */
  int n_pulled;
  const int *pulled;
};

#endif
