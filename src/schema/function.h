/* SPDX-License-Identifier: Apache-2.0
 * function.h: functions of a graph: graphs with inputs and outputs, which If and While run. */
#ifndef SITU_SCHEMA_FUNCTION_H
#define SITU_SCHEMA_FUNCTION_H

#include "situ/graph.h"

/* The forward values that gradients need, one tensor each on the tape. Only grows. */
struct function_saved {
  int count;
  const situ_value *values;
};

/* The signature of a gradient function. Inputs: saved values from the function's tape; if
 * `tape_has_dy`, a list with gradients of the tape; gradients of the outputs. Outputs: if
 * `tape_requested`, a list with gradients of the tape that the function itself reads; gradients of
 * the wanted inputs. */
struct gradient_request {
  const bool *has_dy, *requested; /* by output; by input after those from a tape */
  bool tape_has_dy, tape_requested;
};

/* Lives as long as the graph that owns it. */
struct function {
  const char *name;
  situ_graph *graph; /* the body */
  int n_inputs, n_outputs;
  const situ_value *inputs, *outputs; /* of the body; inputs are placeholders */
  const situ_shape *shapes;           /* of the inputs, then of the outputs, as far as known */
  const situ_type *types;
  _Atomic(const struct function_saved *) saved; /* NULL: not differentiated yet */
  /* Of a gradient function: the function, and the tape elements that are its first inputs. */
  const struct function *of;
  int n_taped;
  const int *taped;
  /* While gradients are built: the tape elements that have gradients. */
  int n_pulled;
  const int *pulled;
};

#endif
