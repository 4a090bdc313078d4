/* SPDX-License-Identifier: Apache-2.0
 * function_tape.h: builds the tape nodes of function gradients. */
#ifndef SITU_OPS_CONTROL_FUNCTION_TAPE_H
#define SITU_OPS_CONTROL_FUNCTION_TAPE_H

#include "situ/graph.h"

/* An element of a list; zeros of the shape of `like` if it is not set. */
situ_value function_tape_item(situ_graph *graph, situ_value list, situ_value like, int number);

/* A list with these values at these indices. */
situ_value function_tape_pack(situ_graph *graph, const situ_value *values, const int64_t *types,
                              const int64_t *numbers, int count);

/* Zeros of the shape and type of a value. */
situ_value function_tape_zeros(situ_graph *graph, situ_value like);

#endif
