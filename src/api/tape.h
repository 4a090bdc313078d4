/* SPDX-License-Identifier: Apache-2.0
 * tape.h: internals of a tape: recorded calls, and the tensors that depend on watched ones. */
#ifndef SITU_API_TAPE_H
#define SITU_API_TAPE_H

#include "api/program_cache.h"
#include "base/arena.h"
#include "base/base.h"
#include "situ/tape.h"

struct node;

/* A recorded call. */
struct recorded_call {
  int op; /* -1: `function` computes its gradient */
  int n_in, n_out, n_attrs;
  const situ_attr *attrs;
  situ_tensor **tensors; /* inputs, then outputs; retained */
  const int32_t *from;   /* per input: its index in `tracked`, or -1 */
  situ_tape_function function;
  void *context;
  void (*release)(void *context);
};

/* A watched tensor, or one that depends on a watched tensor. */
struct tracked {
  situ_tensor *tensor; /* retained */
  int32_t call;        /* the call that produced it; -1: watched */
  int32_t output;
};

struct situ_tape {
  situ_eager *eager;
  struct arena arena; /* memory of the calls */
  struct recorded_call *calls;
  int32_t n_calls, call_capacity;
  struct tracked *tracked;
  int32_t n_tracked, tracked_capacity;
  int32_t *slots; /* hash table of indices into `tracked`, plus 1 */
  int32_t n_slots;
};

/* Returns the index of a tracked tensor, or -1. */
int32_t tape_find(const situ_tape *tape, const situ_tensor *tensor);

/* Computes gradients through the calls calls[0] <= i < calls[1]. Arguments as in
 * situ_tape_gradient; tensors produced by earlier calls count as watched. `indices` NULL: all
 * gradients are dense. */
situ_status tape_gradient_run(situ_tape *tape, const int32_t calls[2], situ_tensor *const *targets,
                              int n_targets, situ_tensor *const *gradients,
                              situ_tensor *const *sources, int n_sources, situ_tape *const *others,
                              int n_others, situ_tensor **results,
                              situ_tensor **indices) SITU_MUST_USE;

/* The compiled gradients of an eager context. */
struct tape_gradient_cache {
  struct program_cache programs;
  struct cached_program *recent; /* the last gradient */
  _Atomic bool is_stale;         /* to be cleared before the next gradient */
};
void tape_gradient_init(struct tape_gradient_cache *cache);

/* Frees the compiled gradients, now or, if one is running, before the next one runs. */
void tape_gradient_clear(struct tape_gradient_cache *cache);

/* In a forked child: returns whether a thread of the parent was using the caches. */
bool tape_gradient_after_fork(void);

/* Returns the gradient cache of a context. */
struct tape_gradient_cache *eager_gradient_cache(situ_eager *eager);

/* Returns whether placement logging is on. */
bool eager_logs(const situ_eager *eager);

/* Logs a node of a compiled gradient as an eager call; constants are not logged. */
situ_status eager_log_node(situ_eager *eager, const struct node *node,
                           int32_t device) SITU_MUST_USE;

/* Returns whether the config of the context enables numeric checks. */
bool eager_checks(const situ_eager *eager);

#endif
