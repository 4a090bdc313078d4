/* SPDX-License-Identifier: Apache-2.0
 * state.h: the state of a session: variables, counters of random number generators. */
#ifndef SITU_EXEC_STATE_H
#define SITU_EXEC_STATE_H

#include <pthread.h>
#include <stdatomic.h>

#include "device/buffer.h"
#include "plan/program.h"
#include "schema/compute.h"
#include "situ/session.h"

/* Memory that lives from run to run. */
struct state_entry {
  struct state_entry *next;
  int32_t node, output, device; /* as in struct slot */
  struct buffer *buffer;
  _Atomic bool ready; /* has a value */
  /* In a store: a ring of the entries that hold the same variable in other shapes, of which at most
   * one has a value; NULL: there are none. */
  _Atomic(struct state_entry *) twin;
};

/* Zero, with its lock initialised, remembers nothing. */
struct state {
  const struct services *services; /* what host ops of the session may ask for; borrowed */
  pthread_mutex_t lock;
  struct state_entry *entries;
  situ_store *store; /* where variables are instead (store.h), or NULL; borrowed */
  const char *task;  /* with a store: the task of nodes that name none */
  const char *scope; /* with a store: where other state is shared, or NULL: here */
};

/* The memory of a state slot: made when it is first asked for (and filled, where it has a
 * beginning), the same ever after. Borrowed from the state. */
situ_status state_find(struct state *state, const struct program *program, const struct slot *slot,
                       struct state_entry **out) SITU_MUST_USE;

/* Allocates the memory of an entry, with its initial value where there is one. */
situ_status state_fill(struct state_entry *entry, const struct program *program,
                       const struct slot *slot) SITU_MUST_USE;

/* Notes that an entry has a value: those of the same variable with another shape lose theirs. */
void state_set(const struct state *state, struct state_entry *entry);

/* The entry that holds the value of the variable, whatever its shape; `entry` where none does. */
struct state_entry *state_holder(struct state_entry *entry);

/* Forgets everything. */
void state_clear(struct state *state);

#endif
