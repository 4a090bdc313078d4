/* SPDX-License-Identifier: Apache-2.0
 * wait.h: waits for other ranks, with a timeout. */
#ifndef SITU_CLUSTER_WAIT_H
#define SITU_CLUSTER_WAIT_H

#include "cluster/membership.h"

/* Whoever waits may be asked to give up. */
struct caller {
  const char *what;                  /* "AllReduce", for errors */
  situ_status (*ask)(void *context); /* why to give up, or NULL; may be NULL */
  void *context;
};

/* A loop in which somebody waits. Zero but for the caller. */
struct waiting {
  const struct caller *caller;
  int rank; /* who is waited for; -1: not known */
  unsigned rounds;
  double since, looked; /* seconds */
};

/* One more round of waiting: rests a little, and looks now and then whether there is hope. Called
 * with the lock. */
situ_status wait_step(struct waiting *wait) SITU_MUST_USE;

/* Waits until the counter of a seat has come that far. */
situ_status wait_counter_slow(const struct caller *caller, const _Atomic uint64_t *counter,
                              uint64_t goal, int seat) SITU_MUST_USE;
static inline situ_status wait_counter(const struct caller *caller, const _Atomic uint64_t *counter,
                                       uint64_t goal, int seat) {
  if (atomic_load_explicit(counter, memory_order_acquire) >= goal) return NULL;
  return wait_counter_slow(caller, counter, goal, seat);
}

/* Waits for requests to MPI, `count` of them; on failure gives them up. */
situ_status wait_requests(const struct caller *caller, struct mpi_request **requests, int count,
                          int rank) SITU_MUST_USE;

/* NULL, or why nothing can be exchanged. */
situ_status wait_check(const struct caller *caller) SITU_MUST_USE;

#endif
