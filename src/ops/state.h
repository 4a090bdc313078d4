/* SPDX-License-Identifier: Apache-2.0
 * state.h: nodes about variables, whether a reference or a handle names them. */
#ifndef SITU_OPS_STATE_H
#define SITU_OPS_STATE_H

#include "situ/graph.h"

/* The value of a variable of that type. */
situ_value state_read(situ_graph *graph, situ_value variable, situ_type type, const char *name);

/* Gives a variable a value. */
situ_value state_assign(situ_graph *graph, situ_value variable, situ_value value, const char *name);

#endif
