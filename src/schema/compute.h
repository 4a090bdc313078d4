/* SPDX-License-Identifier: Apache-2.0
 * compute.h: one call of an op that computes on host tensors, as its row's `compute` sees it.
 *
 * Such a function runs in every step, in the caller's thread, in the order of data and control
 * edges. It sees its inputs as tensors and makes its outputs, of whatever shape. It may block
 * (compute_wait): nobody else is held up. */
#ifndef SITU_SCHEMA_COMPUTE_H
#define SITU_SCHEMA_COMPUTE_H

#include <pthread.h>

#include "schema/call.h"
#include "schema/resource.h"

struct function;

/* What a session lends to such functions. */
struct services {
  struct resources *resources;
  const _Atomic bool *cancelled; /* the session is being closed; may be NULL */
  situ_status (*ask)(void);      /* why the run under way has to end, or NULL; may be NULL */
  /* Runs a function of the graph: one tensor per input and output. With `tape` that becomes a list
   * of what gradients need of the run. */
  situ_status (*run)(void *context, const struct function *function, situ_tensor *const *in,
                     situ_tensor **out, situ_tensor **tape);
  void *context;
  bool logs; /* functions that the op runs print where their nodes go */
};

/* How long a call may wait for others. A call that is turned away has done nothing, and is made
 * again. */
struct patience {
  int waits;        /* how often compute_wait may wait */
  bool turned_away; /* it was asked to wait once more */
};

struct compute {
  struct call *call;      /* shapes and values of inputs are there; of outputs, as far as `shape`
                             says */
  situ_tensor *const *in; /* borrowed; compute_keep gives one that may be kept */
  situ_tensor **out;      /* NULL at first: the function creates one tensor for each */
  const bool *unused;     /* by output, of a row with OP_LAZY: nobody reads it, so it may stay NULL;
                             else NULL */
  const struct services *services;
  const char *task; /* of the node, where sessions share resources of several tasks, or NULL */
  struct patience *patience; /* NULL: as long as it takes */
  _Atomic bool *ready;       /* of a row with OP_PROBES: whether the variable has a value */
};

/* An input that may be kept after the call: one more reference, or a copy where the memory belongs
 * to a program. */
situ_status compute_keep(const struct compute *compute, int input, situ_tensor **out) SITU_MUST_USE;

/* Makes output `index`, a tensor of that shape in host memory that is not cleared; *data is its
 * memory. Not for strings: situ_tensor_create_strings. */
situ_status compute_output(const struct compute *compute, int index, situ_shape shape,
                           void **data) SITU_MUST_USE;

/* Waits a while for a condition, whose lock is held: Cancelled when the session is closed or the
 * program is interrupted, where `what` names the operation ("Dequeue operation"). The caller asks
 * again whether what it waits for has come. Without patience left, a status that turns the call
 * away: the caller leaves everything as it was. */
situ_status compute_wait(const struct compute *compute, pthread_cond_t *condition,
                         pthread_mutex_t *lock, const char *what) SITU_MUST_USE;

/* Why a function that waits in its own way has to give up, or NULL; `what` as above. */
situ_status compute_ask(const struct compute *compute, const char *what) SITU_MUST_USE;

/* The same of whoever is no op: Cancelled when the program is interrupted. */
situ_status compute_interrupted(const char *what) SITU_MUST_USE;

/* Finds or makes the object that the attributes container and shared_name (and without that one the
 * node) name, and gives its handle as output 0. */
situ_status compute_resource(const struct compute *compute, const struct resource_kind *kind,
                             situ_status (*create)(void *context, struct resource **out),
                             void *context) SITU_MUST_USE;

/* The object that input `index` is a handle of; borrowed for the call. */
situ_status compute_handle(const struct compute *compute, int index,
                           const struct resource_kind *kind, struct resource **out) SITU_MUST_USE;

#endif
