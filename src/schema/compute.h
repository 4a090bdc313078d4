/* SPDX-License-Identifier: Apache-2.0
 * compute.h: a call of a host op, the argument of `compute` in its op definition.
 *
 * `compute` runs in every step, in the caller's thread, in the order of data and control edges. It
 * reads its inputs as host tensors and creates its outputs, of any shape. It may block
 * (compute_wait). */
#ifndef SITU_SCHEMA_COMPUTE_H
#define SITU_SCHEMA_COMPUTE_H

#include <pthread.h>

#include "schema/call.h"
#include "schema/resource.h"

struct function;

/* What a session provides to host ops. */
struct services {
  struct resources *resources;
  const _Atomic bool *cancelled; /* the session is being closed; may be NULL */
  situ_status (*ask)(void);      /* the reason to cancel the run, or NULL; may be NULL */
  /* Runs a function of the graph: one tensor per input and output. With `tape`, also returns a list
   * of the forward values that gradients need. */
  situ_status (*run)(void *context, const struct function *function, situ_tensor *const *in,
                     situ_tensor **out, situ_tensor **tape);
  void *context;
  bool logs; /* functions log the placement of their nodes */
};

/* How often a call may wait. A call that would block longer has had no effect and is retried. */
struct wait_limit {
  int waits;        /* how often compute_wait may wait */
  bool would_block; /* it would have had to wait once more */
};

struct compute {
  struct call *call;      /* shapes and values of inputs are set; of outputs, as far as `shape`
                             infers them */
  situ_tensor *const *in; /* borrowed; see compute_keep */
  situ_tensor **out;      /* initially NULL: the function creates the tensors */
  const bool *unused; /* of an op with OP_LAZY, by output: nothing reads it, so it may stay NULL;
                         else NULL */
  const struct services *services;
  const char *task; /* of the node, where sessions share resources of several tasks, or NULL */
  struct wait_limit *wait_limit; /* NULL: as long as it takes */
  _Atomic bool *ready;           /* of an op with OP_PROBES: whether the variable has a value */
};

/* Returns an input that outlives the call: a new reference, or a copy if a program owns the memory.
 */
situ_status compute_keep(const struct compute *compute, int input, situ_tensor **out) SITU_MUST_USE;

/* Creates output `index` in host memory, uninitialized; *data is its memory. Not for strings:
 * situ_tensor_create_strings. */
situ_status compute_output(const struct compute *compute, int index, situ_shape shape,
                           void **data) SITU_MUST_USE;

/* Waits a while for a condition, whose lock is held: Cancelled when the session is closed or the
 * program is interrupted, where `what` names the operation ("Dequeue operation"). The caller
 * tests the condition again. Beyond the wait limit, an error with `would_block` set: the caller
 * leaves everything as it was. */
situ_status compute_wait(const struct compute *compute, pthread_cond_t *condition,
                         pthread_mutex_t *lock, const char *what) SITU_MUST_USE;

/* The reason to stop waiting, for functions that do not use compute_wait; NULL to go on. */
situ_status compute_ask(const struct compute *compute, const char *what) SITU_MUST_USE;

/* As compute_ask outside of ops: Cancelled when the program is interrupted. */
situ_status compute_interrupted(const char *what) SITU_MUST_USE;

/* Finds or creates the resource named by the attributes container and shared_name (default: the
 * node name). The caller gets a reference. */
situ_status compute_find_resource(const struct compute *compute, const struct resource_kind *kind,
                                  situ_status (*create)(void *context, struct resource **out),
                                  void *context, struct resource **out) SITU_MUST_USE;

/* As compute_find_resource, and returns the handle of the resource as output 0. */
situ_status compute_resource(const struct compute *compute, const struct resource_kind *kind,
                             situ_status (*create)(void *context, struct resource **out),
                             void *context) SITU_MUST_USE;

/* The resource of the handle in input `index`; borrowed for the call. */
situ_status compute_handle(const struct compute *compute, int index,
                           const struct resource_kind *kind, struct resource **out) SITU_MUST_USE;

#endif
