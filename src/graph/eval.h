/* SPDX-License-Identifier: Apache-2.0
 * eval.h: runs one op eagerly on the host, for shapes and axes that shape inference and the
 * planner need. */
#ifndef SITU_GRAPH_EVAL_H
#define SITU_GRAPH_EVAL_H

#include "schema/schema.h"

/* Computes a call whose inputs are host tensors (in[i].value; may be NULL where the row reads only
 * their shapes). Sets the output shapes and gives one tensor per output to the caller. */
situ_status eval_call(struct call *call, situ_tensor **results) SITU_MUST_USE;

#endif
