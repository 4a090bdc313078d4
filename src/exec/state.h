/* SPDX-License-Identifier: Apache-2.0
 * state.h: the state of a session that persists between runs: variables and RNG counters. */
#ifndef SITU_EXEC_STATE_H
#define SITU_EXEC_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/buffer.h"
#include "plan/program.h"
#include "schema/compute.h"
#include "situ/session.h"

/* The memory of one variable or counter. */
struct state_entry {
  struct state_entry *next;
  int32_t node, output, device; /* as in struct slot */
  struct buffer *buffer;
  _Atomic bool ready; /* initialized */
  /* In a store: ring of the entries of the same variable with other shapes, of which at most one is
   * ready; NULL: none. */
  _Atomic(struct state_entry *) sibling;
};

/* Zero-initialized, with the lock initialized, is an empty state. */
struct state {
  const struct services *services; /* services of the session for host ops; borrowed */
  pthread_mutex_t lock;
  struct state_entry *entries;
  situ_store *store; /* holds the variables if not NULL (store.h); borrowed */
  const char *task;  /* with a store: the default task of nodes */
  const char *scope; /* with a store: key prefix of RNG counters; NULL: they are kept here */
};

/* Finds the memory of a state slot; allocates and initializes it at first use. Borrowed. */
situ_status state_find(struct state *state, const struct program *program, const struct slot *slot,
                       struct state_entry **out) SITU_MUST_USE;

/* Allocates the memory of an entry and writes its initial value, if any. */
situ_status state_fill(struct state_entry *entry, const struct program *program,
                       const struct slot *slot) SITU_MUST_USE;

/* Marks an entry as ready and its siblings as not ready. */
void state_set(const struct state *state, struct state_entry *entry);

/* The entry of the variable that is ready, whatever its shape; `entry` if none is. */
struct state_entry *state_current(struct state_entry *entry);

/* Frees all entries. */
void state_clear(struct state *state);

#endif
