/* SPDX-License-Identifier: Apache-2.0
 * function.h: gradients of the functions of a graph (branches, loop bodies). */
#ifndef SITU_GRAD_FUNCTION_H
#define SITU_GRAD_FUNCTION_H

#include "schema/function.h"
#include "situ/gradient.h"

/* Sets out[i] for the outputs that depend differentiably on an input with in[i]. */
situ_status function_propagate(const struct function *function, const bool *in,
                               bool *out) SITU_MUST_USE;

/* Adds the gradient of a function to the graph `owner`, with the signature that `request` describes
 * (schema/function.h). The body of the gradient is in the function's own graph. */
situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const struct gradient_request *request,
                                   const situ_gradient_options *options,
                                   const struct function **out) SITU_MUST_USE;

#endif
