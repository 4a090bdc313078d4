/* SPDX-License-Identifier: Apache-2.0
 * team.c: see team.h. Idle threads spin for a moment, then sleep, so that they are not in the way
 * of what is measured next. */
#include "team.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "bench.h"
#include "host/thread_pool.h"

enum { MAX_TEAM = 256, UNIT = 1024 };

static const double spin_seconds = 100e-6;

static struct {
  team_work *work;
  void *context;
  int64_t count;
  int size;
  atomic_int round;   /* goes up with every job */
  atomic_int working; /* members that are not done yet */
  pthread_mutex_t lock;
  pthread_cond_t wake;
} team = {.lock = PTHREAD_MUTEX_INITIALIZER, .wake = PTHREAD_COND_INITIALIZER};

static void do_part(int rank) {
  const int64_t units = (team.count + UNIT - 1) / UNIT;
  const int64_t begin = units * rank / team.size * UNIT;
  int64_t end = units * (rank + 1) / team.size * UNIT;
  if (end > team.count) end = team.count;
  if (begin < end) team.work(team.context, rank, begin, end);
}

static void await_round(int seen) {
  const double until = bench_now() + spin_seconds;
  while (atomic_load(&team.round) == seen && bench_now() < until) {
  }
  pthread_mutex_lock(&team.lock);
  while (atomic_load(&team.round) == seen) pthread_cond_wait(&team.wake, &team.lock);
  pthread_mutex_unlock(&team.lock);
}

static void *member(void *number) {
  const int rank = (int)(intptr_t)number;
  for (int round = 0;; round++) {
    await_round(round);
    do_part(rank);
    atomic_fetch_sub(&team.working, 1);
  }
  return NULL;
}

int team_size(void) {
  if (team.size) return team.size;
  team.size = thread_pool_threads() < MAX_TEAM ? thread_pool_threads() : MAX_TEAM;
  for (int i = 1; i < team.size; i++) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, member, (void *)(intptr_t)i)) exit(1);
  }
  return team.size;
}

void team_run(team_work *work, void *context, int64_t count) {
  atomic_store(&team.working, team_size() - 1);
  team.work = work;
  team.context = context;
  team.count = count;
  pthread_mutex_lock(&team.lock);
  atomic_fetch_add(&team.round, 1);
  pthread_mutex_unlock(&team.lock);
  pthread_cond_broadcast(&team.wake);
  do_part(0);
  while (atomic_load(&team.working)) {
  }
}
