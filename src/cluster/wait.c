/* SPDX-License-Identifier: Apache-2.0
 * wait.c: waits for other ranks: spins, yields, then sleeps; checks periodically for timeout,
 * cancellation and dead ranks. */
#include "cluster/wait.h"

#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "base/fork.h"
#include "base/log.h"

enum {
  FAST_ROUNDS = 20000, /* spinning iterations before yielding */
  SLOW_ROUNDS = 50,
  YIELD_ROUNDS = 400, /* yielding iterations before sleeping */
  SLEEP_NS = 50 * 1000
};
static const double check_interval = 0.005;
static const double first_warning = 5.0; /* seconds; each further one after twice the time */

/* State of a wait loop. Zero-initialized except for the caller. */
struct waiting {
  const struct caller *caller;
  int rank; /* rank waited for; -1: unknown */
  unsigned rounds;
  double start, last_check; /* seconds */
  double next_warning;      /* seconds after start; 0: the first one */
};

static double read_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static void cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

static situ_status make_lost_status(const struct caller *caller, int rank) {
  const situ_member *member = &membership_current.members[rank];
  return situ_status_create(SITU_UNAVAILABLE, "%s: rank %d is lost (process %d on %s has ended).",
                            caller->what, rank, member->pid, member->host);
}

/* Records the first lost rank; others may end because of it. */
static void record_lost(int rank) {
  int none = 0;
  atomic_compare_exchange_strong(&membership_current.segment.head->lost, &none, rank + 1);
}

/* Notifies the other machines once, without waiting for delivery. */
static void send_loss(int rank) {
  static int message;
  struct membership *membership = &membership_current;
  if (membership->is_loss_sent || membership->n_machines < 2 || membership->segment.seat) return;
  membership->is_loss_sent = true;
  message = rank;
  for (int i = 0; i < membership->n_machines; i++) {
    struct mpi_request *request = NULL;
    if (membership->leaders[i] == membership->rank) continue;
    situ_status_release(
        mpi_send(&message, sizeof message, membership->leaders[i], MPI_TAG_LOST, &request));
  }
}

/* Receives the notification of another machine. */
static void receive_loss(void) {
  struct membership *membership = &membership_current;
  struct mpi_request *request = NULL;
  static int rank;
  int from = -1;
  if (membership->n_machines < 2 || membership->segment.seat || !mpi_probe(MPI_TAG_LOST, &from))
    return;
  if (mpi_receive(&rank, sizeof rank, from, MPI_TAG_LOST, &request)) return;
  bool done = false;
  while (!done && !mpi_test(&request, &done)) cpu_pause();
  if (done && rank >= 0 && rank < membership->size) {
    membership->is_loss_sent = true;
    record_lost(rank);
  }
}

/* Returns a local rank whose process has ended without leaving; -1: none. Checks the process first:
 * one that leaves and then ends in between is not lost. */
static int find_lost(void) {
  const struct segment *segment = &membership_current.segment;
  for (int i = 0; i < segment->n_seats; i++)
    if (!segment_alive(segment, i) && !atomic_load(&segment->seats[i].left))
      return membership_current.ranks[i];
  return -1;
}

/* Returns whether the rank waited for has left. */
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
  return rank ? make_lost_status(caller, rank - 1) : NULL;
}

static situ_status make_timeout_status(const struct waiting *wait) {
  char who[64] = "another rank";
  if (wait->rank >= 0) snprintf(who, sizeof who, "rank %d", wait->rank);
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "%s: %s has not arrived after %g seconds.\n"
                            "SITU_CLUSTER_TIMEOUT sets the timeout.",
                            wait->caller->what, who, membership_current.timeout);
}

/* Warns of a rank that does not arrive, which may be stopped or slow. */
static void warn_late(struct waiting *wait, double waited) {
  if (!wait->next_warning) wait->next_warning = first_warning;
  if (waited < wait->next_warning) return;
  wait->next_warning *= 2.0;
  if (wait->rank < 0) {
    log_warn("%s: has waited %.0f seconds for another rank", wait->caller->what, waited);
    return;
  }
  const situ_member *member = &membership_current.members[wait->rank];
  const struct segment *segment = &membership_current.segment;
  bool is_stopped = false;
  for (int i = 0; i < segment->n_seats; i++)
    if (membership_current.ranks[i] == wait->rank)
      is_stopped = segment_process_state(atomic_load(&segment->seats[i].pid)) == 'T';
  log_warn("%s: has waited %.0f seconds for rank %d (process %d on %s%s)", wait->caller->what,
           waited, wait->rank, member->pid, member->host, is_stopped ? ", which is stopped" : "");
}

static situ_status check_wait(struct waiting *wait) {
  const double time = read_clock();
  if (!wait->start) wait->start = wait->last_check = time;
  if (time - wait->last_check < check_interval) return NULL;
  wait->last_check = time;
  receive_loss();
  /* Asked before anything else: one who leaves because another is lost has noted that before. */
  const bool left = has_left(wait->rank);
  if (!atomic_load(&membership_current.segment.head->lost)) {
    const int rank = find_lost();
    if (rank >= 0) record_lost(rank);
  }
  const int rank = atomic_load(&membership_current.segment.head->lost);
  if (rank) send_loss(rank - 1);
  TRY(wait_check(wait->caller));
  if (left) return make_lost_status(wait->caller, wait->rank);
  warn_late(wait, time - wait->start);
  if (time - wait->start > membership_current.timeout) return make_timeout_status(wait);
  return wait->caller->ask ? wait->caller->ask(wait->caller->context) : NULL;
}

/* One iteration of a wait loop: spins, yields or sleeps, and periodically checks for timeout,
 * cancellation and dead ranks. Must hold the lock. */
static situ_status wait_step(struct waiting *wait) {
  const unsigned n_spins = membership_current.can_spin ? FAST_ROUNDS : SLOW_ROUNDS;
  if (wait->rounds++ < n_spins) {
    cpu_pause();
    return NULL;
  }
  if (wait->rounds < n_spins + YIELD_ROUNDS)
    sched_yield();
  else
    nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
  return check_wait(wait);
}

situ_status wait_counter_slow(const struct caller *caller, const _Atomic uint64_t *counter,
                              uint64_t goal, int seat) {
  struct waiting wait = {.caller = caller, .rank = membership_current.ranks[seat]};
  while (atomic_load_explicit(counter, memory_order_acquire) < goal) {
    const situ_status status = wait_step(&wait);
    if (!status) continue;
    /* It may have arrived meanwhile. */
    if (atomic_load_explicit(counter, memory_order_acquire) < goal) return status;
    situ_status_release(status);
  }
  return NULL;
}

situ_status wait_requests(const struct caller *caller, struct mpi_request **requests, int count,
                          int rank) {
  struct waiting wait = {.caller = caller, .rank = rank};
  situ_status status = NULL;
  int n_pending = count;
  while (n_pending && !status) {
    n_pending = 0;
    for (int i = 0; i < count && !status; i++) {
      bool done = !requests[i];
      if (!done) status = mpi_test(&requests[i], &done);
      n_pending += !done;
    }
    if (n_pending && !status) status = wait_step(&wait);
  }
  for (int i = 0; i < count && status; i++) mpi_drop(&requests[i]);
  return status;
}
