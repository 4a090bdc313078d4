/* SPDX-License-Identifier: Apache-2.0
 * py_func.c: PyFunc: calls registered Python functions; TaskSend and TaskReceive. */
#include <stdatomic.h>

#include "ops/ops.h"
#include "schema/schema.h"
#include "situ/session.h"

static _Atomic(situ_callback) callback;

void situ_callback_set(situ_callback function) { atomic_store(&callback, function); }

static situ_status any_shape(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  return NULL;
}

static situ_status compute_function(struct compute *compute) {
  const situ_callback function = atomic_load(&callback);
  const struct call *call = compute->call;
  if (!function)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "No callback is set for PyFunc: call situ_callback_set.");
  return function(call_text(call, "token"), compute->in, call->n_in, compute->out, call->n_out);
}

#define OP_DEF(op, kinds, text)                                                              \
  {                                                                                          \
    .name = op, .inputs = "input:Tin", .outputs = "output:Tout",                             \
    .attrs = "token:string Tin:list(type)=[] Tout:list(type)=[]", .python = "", .doc = text, \
    .args = "input: Arguments of the function.\ntoken: Identifies the registered function.", \
    .devices = "CPU", .flags = OP_NO_GRADIENT | (kinds), .shape = any_shape,                 \
    .compute = compute_function                                                              \
  }

static situ_status receive_shape(struct call *call) {
  call->out[0].shape = *call_attr(call, "shape")->shape;
  return NULL;
}

/* Edges between the parts of a graph that was partitioned for several processes. All processes run
 * them in the same order, so that no two wait for each other. */
#define EDGE_FLAGS (OP_STATEFUL | OP_BLOCKS | OP_COLLECTIVE | OP_NO_GRADIENT)

static const struct op_def op_defs[] = {
    {.name = "TaskSend",
     .inputs = "tensor:T",
     .outputs = "",
     .attrs = "T:type token:string",
     .python = "",
     .doc = "Sends a tensor to a task of the cluster in another process.",
     .args = "tensor: Tensor to send.\n"
             "token: Identifies the transfer.",
     .devices = "CPU",
     .flags = EDGE_FLAGS,
     .shape = op_no_shape,
     .compute = compute_function},
    {.name = "TaskReceive",
     .inputs = "",
     .outputs = "tensor:dtype",
     .attrs = "dtype:type shape:shape=<unknown> token:string",
     .python = "",
     .doc = "Receives a tensor from a task of the cluster in another process; blocks until it "
            "arrives.",
     .args = "shape: Static shape of the tensor.\n"
             "token: Identifies the transfer.",
     .devices = "CPU",
     .flags = EDGE_FLAGS,
     .shape = receive_shape,
     .compute = compute_function},
    OP_DEF("PyFunc", OP_STATEFUL | OP_EFFECT | OP_CALLS, "Calls a Python function."),
    OP_DEF("PyFuncStateless", OP_CALLS, "Calls a Python function without side effects."),
};

OP_FAMILY(py_func, op_defs);
