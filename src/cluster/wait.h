/* SPDX-License-Identifier: Apache-2.0
 * wait.h: waits for other ranks, with spinning, timeout and detection of dead ranks. */
#ifndef SITU_CLUSTER_WAIT_H
#define SITU_CLUSTER_WAIT_H

#include "cluster/membership.h"

/* The operation that waits, and its cancellation callback. */
struct caller {
  const char *what;                  /* "AllReduce", for errors */
  situ_status (*ask)(void *context); /* returns an error to stop waiting, or NULL; may be NULL */
  void *context;
};

/* Waits until the counter of a seat has reached `goal`. */
situ_status wait_counter_slow(const struct caller *caller, const _Atomic uint64_t *counter,
                              uint64_t goal, int seat) SITU_MUST_USE;
static inline situ_status wait_counter(const struct caller *caller, const _Atomic uint64_t *counter,
                                       uint64_t goal, int seat) {
  if (atomic_load_explicit(counter, memory_order_acquire) >= goal) return NULL;
  return wait_counter_slow(caller, counter, goal, seat);
}

/* Waits for `count` MPI requests; cancels them on failure. */
situ_status wait_requests(const struct caller *caller, struct mpi_request **requests, int count,
                          int rank) SITU_MUST_USE;

/* Returns an error if no exchange is possible (forked, or a rank is lost). */
situ_status wait_check(const struct caller *caller) SITU_MUST_USE;

#endif
