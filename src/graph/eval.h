/* SPDX-License-Identifier: Apache-2.0
 * eval.h: runs one op eagerly on the host, for shapes and axes that shape inference and the
 * planner need. */
#ifndef SITU_GRAPH_EVAL_H
#define SITU_GRAPH_EVAL_H

#include "schema/schema.h"

/* Evaluates a call whose inputs are host tensors (in[i].value; may be NULL if the op reads only its
 * shape). Sets the output shapes and returns one new tensor per output. */
situ_status eval_call(struct call *call, situ_tensor **results) SITU_MUST_USE;

#endif
