/* SPDX-License-Identifier: Apache-2.0
 * wait.c: see wait.h. */
#include "cluster/wait.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/fork.h"

enum {
  FAST_ROUNDS = 20000, /* in a loop, before the processor is left to others */
  SLOW_ROUNDS = 50,
  YIELD_ROUNDS = 400, /* then with a sleep in between */
  SLEEP_NS = 50 * 1000
};
static const double look_seconds = 0.005;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static situ_status lost(const struct caller *caller, int rank) {
  const situ_member *member = &membership_current.members[rank];
  return situ_status_create(SITU_UNAVAILABLE, "%s: rank %d is lost (process %d on %s has ended).",
                            caller->what, rank, member->pid, member->host);
}

/* The first who is lost keeps being named: others may end because of it. */
static void note_lost(int rank) {
  int none = 0;
  atomic_compare_exchange_strong(&membership_current.segment.head->lost, &none, rank + 1);
}

/* Tells the other machines once. Nobody waits for these messages to arrive. */
static void tell(int rank) {
  static int message;
  struct membership *membership = &membership_current;
  if (membership->told || membership->n_machines < 2 || membership->segment.seat) return;
  membership->told = true;
  message = rank;
  for (int i = 0; i < membership->n_machines; i++) {
    struct mpi_request *request = NULL;
    if (membership->leaders[i] == membership->rank) continue;
    situ_status_release(
        mpi_send(&message, sizeof message, membership->leaders[i], MPI_TAG_LOST, &request));
  }
}

/* What another machine has told. */
static void listen(void) {
  struct membership *membership = &membership_current;
  struct mpi_request *request = NULL;
  static int rank;
  int from = -1;
  if (membership->n_machines < 2 || membership->segment.seat || !mpi_probe(MPI_TAG_LOST, &from))
    return;
  if (mpi_receive(&rank, sizeof rank, from, MPI_TAG_LOST, &request)) return;
  bool done = false;
  while (!done && !mpi_test(&request, &done)) relax();
  if (done && rank >= 0 && rank < membership->size) {
    membership->told = true;
    note_lost(rank);
  }
}

/* A rank of this machine whose process has ended without taking its leave; -1: none. Whether it
 * runs is asked first: one that takes its leave and ends in between is not lost. */
static int find_lost(void) {
  const struct segment *segment = &membership_current.segment;
  for (int i = 0; i < segment->n_seats; i++)
    if (!segment_alive(segment, i) && !atomic_load(&segment->seats[i].left))
      return membership_current.ranks[i];
  return -1;
}

/* Whether the one who is waited for has taken its leave. */
static bool has_left(int rank) {
  const struct segment *segment = &membership_current.segment;
  for (int i = 0; i < segment->n_seats; i++)
    if (membership_current.ranks[i] == rank) return atomic_load(&segment->seats[i].left);
  return false;
}

situ_status wait_check(const struct caller *caller) {
  const struct membership *membership = &membership_current;
  if (membership->size == 1) return NULL;
  if (membership->generation != fork_generation())
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "%s: this process was forked after it had joined a cluster.",
                              caller->what);
  const int rank = atomic_load(&membership->segment.head->lost);
  return rank ? lost(caller, rank - 1) : NULL;
}

static situ_status late(const struct waiting *wait) {
  char who[64] = "another rank";
  if (wait->rank >= 0) snprintf(who, sizeof who, "rank %d", wait->rank);
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "%s: %s has not come after %g seconds.\nSITU_CLUSTER_TIMEOUT sets how "
                            "long the others wait.",
                            wait->caller->what, who, membership_current.timeout);
}

static situ_status look(struct waiting *wait) {
  const double time = now();
  if (!wait->since) wait->since = wait->looked = time;
  if (time - wait->looked < look_seconds) return NULL;
  wait->looked = time;
  listen();
  /* Asked before anything else: one who leaves because another is lost has noted that before. */
  const bool left = has_left(wait->rank);
  if (!atomic_load(&membership_current.segment.head->lost)) {
    const int rank = find_lost();
    if (rank >= 0) note_lost(rank);
  }
  const int rank = atomic_load(&membership_current.segment.head->lost);
  if (rank) tell(rank - 1);
  TRY(wait_check(wait->caller));
  if (left) return lost(wait->caller, wait->rank);
  if (time - wait->since > membership_current.timeout) return late(wait);
  return wait->caller->ask ? wait->caller->ask(wait->caller->context) : NULL;
}

situ_status wait_step(struct waiting *wait) {
  const unsigned quick = membership_current.fast ? FAST_ROUNDS : SLOW_ROUNDS;
  if (wait->rounds++ < quick) {
    relax();
    return NULL;
  }
  if (wait->rounds < quick + YIELD_ROUNDS)
    sched_yield();
  else
    nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
  return look(wait);
}

situ_status wait_counter_slow(const struct caller *caller, const _Atomic uint64_t *counter,
                              uint64_t goal, int seat) {
  struct waiting wait = {.caller = caller, .rank = membership_current.ranks[seat]};
  while (atomic_load_explicit(counter, memory_order_acquire) < goal) {
    const situ_status status = wait_step(&wait);
    if (!status) continue;
    /* It may have come and gone meanwhile. */
    if (atomic_load_explicit(counter, memory_order_acquire) < goal) return status;
    situ_status_release(status);
  }
  return NULL;
}

situ_status wait_requests(const struct caller *caller, struct mpi_request **requests, int count,
                          int rank) {
  struct waiting wait = {.caller = caller, .rank = rank};
  situ_status status = NULL;
  int open = count;
  while (open && !status) {
    open = 0;
    for (int i = 0; i < count && !status; i++) {
      bool done = !requests[i];
      if (!done) status = mpi_test(&requests[i], &done);
      open += !done;
    }
    if (open && !status) status = wait_step(&wait);
  }
  for (int i = 0; i < count && status; i++) mpi_drop(&requests[i]);
  return status;
}
