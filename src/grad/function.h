/* SPDX-License-Identifier: Apache-2.0
 * function.h: gradients of functions of a graph. */
#ifndef SITU_GRAD_FUNCTION_H
#define SITU_GRAD_FUNCTION_H

#include "schema/function.h"
#include "situ/gradient.h"

/* Which outputs of a function depend on these inputs, as far as gradients go. */
situ_status function_reaches(const struct function *function, const bool *in,
                             bool *out) SITU_MUST_USE;

/* Gives the graph `owner` the gradient of a function: it takes what it needs of the function's
 * tape, then what arrives at the outputs of which `arrives` is true, and gives the gradients of the
 * inputs that are wanted. Its nodes are in the function's own graph, beside those whose gradients
 * they are. */
situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const bool *arrives, const bool *wanted,
                                   const situ_gradient_options *options,
                                   const struct function **out) SITU_MUST_USE;

#endif
