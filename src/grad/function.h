/* SPDX-License-Identifier: Apache-2.0
 * function.h: gradients of functions of a graph. */
#ifndef SITU_GRAD_FUNCTION_H
#define SITU_GRAD_FUNCTION_H

#include "schema/function.h"
#include "situ/gradient.h"

/* Which outputs of a function depend on these inputs, as far as gradients go. */
situ_status function_reaches(const struct function *function, const bool *in,
                             bool *out) SITU_MUST_USE;

/* Gives the graph `owner` the gradient of a function, as it is wished for: schema/function.h. Its
 * nodes are in the function's own graph, beside those whose gradients they are. */
situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const struct function_wish *wish,
                                   const situ_gradient_options *options,
                                   const struct function **out) SITU_MUST_USE;

#endif
