/* SPDX-License-Identifier: Apache-2.0
 * state.h: what a session remembers between runs: variables, counters of random numbers. */
#ifndef SITU_EXEC_STATE_H
#define SITU_EXEC_STATE_H

#include <pthread.h>

#include "device/buffer.h"
#include "plan/program.h"

struct state_entry;

/* Zero, with its lock initialised, remembers nothing. */
struct state {
  pthread_mutex_t lock;
  struct state_entry *entries;
  int32_t count, capacity;
};

/* The memory of a state slot: made and filled with its initial bytes when it is first asked for, the same ever after.
 * Borrowed from the state. */
situ_status state_find(struct state *state, const struct program *program, const struct slot *slot,
                       struct buffer **out) SITU_MUST_USE;

/* Forgets everything. */
void state_clear(struct state *state);

#endif
