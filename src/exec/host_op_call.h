/* SPDX-License-Identifier: Apache-2.0
 * host_op_call.h: a call of a host op in its three steps: the thread of the run gets the inputs and
 * stores the outputs; any thread may compute. */
#ifndef SITU_EXEC_HOST_OP_CALL_H
#define SITU_EXEC_HOST_OP_CALL_H

#include "base/arena.h"
#include "exec/frame.h"

enum { INLINE_OPERANDS = 12 };

struct host_op_call {
  const struct host_op *op;
  const struct node *node;
  struct operand *operands;
  situ_tensor **tensors; /* inputs with a reference each, then outputs */
  struct operand inline_operands[INLINE_OPERANDS];
  situ_tensor *inline_tensors[INLINE_OPERANDS];
  struct arena arena; /* of calls with more operands */
};

/* Gets the inputs of host op `index`. host_op_call_end follows, also after errors. */
situ_status host_op_call_begin(const struct frame *frame, int32_t index,
                               struct host_op_call *call) SITU_MUST_USE;

/* Computes the outputs. */
situ_status host_op_call_compute(const struct frame *frame,
                                 struct host_op_call *call) SITU_MUST_USE;

/* Stores the outputs in the frame, which releases them at the end of the run. */
situ_status host_op_call_store(struct frame *frame, const struct host_op_call *call) SITU_MUST_USE;

/* Releases the inputs and the outputs that were not stored. */
void host_op_call_end(struct host_op_call *call);

#endif
