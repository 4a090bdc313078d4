/* SPDX-License-Identifier: Apache-2.0
 * variable_ops.h: builds nodes that read and update variables, by reference or by handle. */
#ifndef SITU_OPS_STATE_VARIABLE_OPS_H
#define SITU_OPS_STATE_VARIABLE_OPS_H

#include "situ/graph.h"

/* The value of a variable of that type. */
situ_value variable_read(situ_graph *graph, situ_value variable, situ_type type, const char *name);

/* Gives a variable a value. */
situ_value variable_assign(situ_graph *graph, situ_value variable, situ_value value,
                           const char *name);

#endif
