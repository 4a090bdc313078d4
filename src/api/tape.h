/* SPDX-License-Identifier: Apache-2.0
 * tape.h: a tape from the inside: calls, and the tensors that depend on watched ones. */
#ifndef SITU_API_TAPE_H
#define SITU_API_TAPE_H

#include "base/arena.h"
#include "base/base.h"
#include "situ/tape.h"

struct node;

/* A call that was kept. */
struct taped {
  int op; /* -1: `function` computes its gradient */
  int n_in, n_out, n_attrs;
  const situ_attr *attrs;
  situ_tensor **tensors; /* inputs, then outputs; retained */
  const int32_t *from;   /* by input: its number among the tracked tensors, or -1 */
  situ_tape_function function;
  void *context;
  void (*release)(void *context);
};

/* A tensor that is watched or depends on one that is. */
struct tracked {
  situ_tensor *tensor; /* retained */
  int32_t call;        /* that made it; -1: it is watched */
  int32_t output;
};

struct situ_tape {
  situ_eager *eager;
  struct arena arena; /* parts of calls */
  struct taped *calls;
  int32_t n_calls, call_capacity;
  struct tracked *tracked;
  int32_t n_tracked, tracked_capacity;
  int32_t *places; /* hash table over `tracked`: number + 1 */
  int32_t n_places;
};

/* The number of a tracked tensor, or -1. */
int32_t tape_find(const situ_tape *tape, const situ_tensor *tensor);

/* Gradients through calls calls[0] <= i < calls[1], compiled or found. Arguments as
 * situ_tape_gradient's; tensors that earlier calls made count as watched. `indices` may be NULL: no
 * rows. */
situ_status tape_gradient_run(situ_tape *tape, const int32_t calls[2], situ_tensor *const *targets,
                              int n_targets, situ_tensor *const *gradients,
                              situ_tensor *const *sources, int n_sources, situ_tape *const *others,
                              int n_others, situ_tensor **results,
                              situ_tensor **indices) SITU_MUST_USE;

/* Compiled gradients of an eager context. */
struct tape_gradient_cache;
void tape_gradient_clear(struct tape_gradient_cache **cache);

/* In the child of a fork: whether a thread of the parent was using the caches. */
bool tape_gradient_after_fork(void);

/* Where the context keeps them. */
struct tape_gradient_cache **eager_backward(situ_eager *eager);

/* Whether eager calls are logged. */
bool eager_logs(const situ_eager *eager);

/* Logs a node of a compiled gradient as the eager call that it stands for; constants are none. */
situ_status eager_log_node(situ_eager *eager, const struct node *node,
                           int32_t device) SITU_MUST_USE;

/* Whether the config of the eager calls asks for checks for NaN and infinities. */
bool eager_checks(const situ_eager *eager);

#endif
