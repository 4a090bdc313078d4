/* SPDX-License-Identifier: Apache-2.0
 * worker.c: the thread of a simulated GPU, which works off its three queues, and the virtual clock,
 * which says how long that would have taken.
 *
 * The clock is advanced when a command is queued, not when it runs: so its figures depend on what
 * was asked for and in which order, never on how fast the host happens to be. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "backend/sim/sim.h"
#include "base/fork.h"
#include "base/trace.h"
#include "host/call.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
static struct sim *workers; /* all that have a worker */

/* ---- The virtual clock; called with the lock ---- */

/* A thread of the host queues nothing before the time to which it has waited for a device. */
static _Thread_local struct {
  uint64_t epoch;
  double time;
} host;
static uint64_t epoch;

void worker_reset_clock(void) {
  pthread_mutex_lock(&sim_lock);
  epoch++;
  pthread_mutex_unlock(&sim_lock);
}

static double host_time(void) { return host.epoch == epoch ? host.time : 0; }

static double later(double a, double b) { return a > b ? a : b; }

/* When a queue reaches a mark. A mark that is long past counts as the oldest that is remembered. */
static double time_of(const struct queue_state *queue, uint64_t mark) {
  if (!mark) return 0;
  const bool is_remembered = queue->queued - mark < REMEMBERED_TIMES;
  return queue->times[(is_remembered ? mark - 1 : queue->queued) % REMEMBERED_TIMES];
}

static void advance_clock(struct queue_state *queue, const struct command *command) {
  double start = later(queue->clock, host_time());
  if (command->kind == COMMAND_WAIT)
    start = later(start, time_of(&command->on->queues[command->on_queue], command->mark));
  queue->clock = start + command->seconds;
  queue->times[queue->queued % REMEMBERED_TIMES] = queue->clock;
}

static void wait_on_clock(const struct queue_state *queue, uint64_t mark) {
  host.time = later(host_time(), time_of(queue, mark));
  host.epoch = epoch;
}

/* ---- The worker ---- */

situ_status worker_lost(const struct sim *sim) {
  if (!sim->gpu->lost) return NULL;
  return situ_status_create(SITU_UNAVAILABLE, "%s is lost: lost_after=%lld was injected.",
                            sim->label, (long long)sim->gpu->spec.lost_after);
}

/* The first failure of a run stays; later ones are dropped. */
static void fail(struct bound *bound, situ_status status) {
  situ_status none = NULL;
  status = status_at_node(status, bound->launch->node);
  if (!bound->error || !atomic_compare_exchange_strong(bound->error, &none, status))
    situ_status_release(status);
}

/* Whether the run that a kernel belongs to was told to end. */
static bool is_stopped(const struct bound *bound) {
  if (!bound->error) return false;
  const situ_code code = situ_status_code(atomic_load(bound->error));
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

static void launch(struct bound *bound) {
  if (is_stopped(bound)) return;
  pool_enter();
  const situ_status status = host_run((struct host_call *)bound);
  pool_leave();
  if (status) fail(bound, status);
}

static bool is_empty(const struct queue_state *queue) { return queue->done == queue->queued; }

static const struct command *first_of(const struct queue_state *queue) {
  return &queue->commands[queue->done & (queue->capacity - 1)];
}

/* Whether the command may run now; called with the lock. */
static bool is_ready(const struct command *command) {
  if (command->kind != COMMAND_WAIT) return true;
  return command->on->queues[command->on_queue].done >= command->mark;
}

/* A queue whose first command may run, or -1. Copies come first: they make work for others. */
static int ready_queue(const struct sim *sim) {
  for (int q = N_QUEUES - 1; q >= 0; q--)
    if (!is_empty(&sim->queues[q]) && is_ready(first_of(&sim->queues[q]))) return q;
  return -1;
}

/* Counts a kernel that is about to run, and loses the GPU where that is one too many. */
static void count_kernel(struct sim_gpu *gpu) {
  gpu->kernels++;
  if (gpu->spec.lost_after > 0 && gpu->kernels > gpu->spec.lost_after) gpu->lost = true;
}

/* Wakes who waits for the queue: callers of sync, and the workers of devices that have work. */
static void announce(struct sim *sim, struct queue_state *queue) {
  if (queue->awaited && queue->done >= queue->awaited) {
    queue->awaited = 0;
    pthread_cond_broadcast(&sim->progress);
  }
  for (struct sim *other = workers; other; other = other->next) {
    bool has_work = false;
    for (int q = 0; q < N_QUEUES; q++) has_work = has_work || !is_empty(&other->queues[q]);
    if (other->asleep && has_work) pthread_cond_signal(&other->wake);
  }
}

/* Runs the first command of a queue; called with the lock, which it drops while it works. */
static void step(struct sim *sim, struct queue_state *queue) {
  const struct command command = *first_of(queue);
  if (command.kind == COMMAND_LAUNCH) count_kernel(sim->gpu);
  const bool is_lost = sim->gpu->lost;
  if (is_lost && command.kind == COMMAND_LAUNCH) fail(command.bound, worker_lost(sim));
  pthread_mutex_unlock(&sim_lock);
  if (!is_lost && command.kind == COMMAND_LAUNCH) launch(command.bound);
  if (!is_lost && command.kind == COMMAND_COPY) memmove(command.to, command.from, command.bytes);
  if (command.kind == COMMAND_STAMP) *command.at = trace_now();
  pthread_mutex_lock(&sim_lock);
  queue->done++;
  announce(sim, queue);
}

static void *work(void *context) {
  struct sim *sim = context;
  pthread_mutex_lock(&sim_lock);
  for (;;) {
    const int queue = ready_queue(sim);
    if (queue >= 0) {
      step(sim, &sim->queues[queue]);
    } else if (sim->stop) {
      break;
    } else {
      sim->asleep = true;
      pthread_cond_wait(&sim->wake, &sim_lock);
      sim->asleep = false;
    }
  }
  pthread_mutex_unlock(&sim_lock);
  return NULL;
}

/* The workers are gone, and with them whoever held the lock. */
static void in_child(void) {
  pthread_mutex_init(&sim_lock, NULL);
  workers = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* Signals are for the program's own threads. */
static bool start_thread(struct sim *sim) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool ok = !pthread_create(&sim->worker, NULL, work, sim);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

situ_status worker_start(struct sim *sim) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  sim->generation = fork_generation();
  pthread_mutex_lock(&sim_lock);
  sim->has_worker = start_thread(sim);
  if (sim->has_worker) {
    sim->next = workers;
    workers = sim;
  }
  pthread_mutex_unlock(&sim_lock);
  if (sim->has_worker) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "The worker thread of %s could not be started.", sim->label);
}

void worker_stop(struct sim *sim) {
  if (!sim->has_worker) return;
  pthread_mutex_lock(&sim_lock);
  sim->stop = true;
  pthread_cond_signal(&sim->wake);
  pthread_mutex_unlock(&sim_lock);
  pthread_join(sim->worker, NULL);
  pthread_mutex_lock(&sim_lock);
  struct sim **link = &workers;
  while (*link && *link != sim) link = &(*link)->next;
  if (*link) *link = sim->next;
  pthread_mutex_unlock(&sim_lock);
}

/* ---- Its callers ---- */

/* Makes room for one more command; called with the lock. */
static bool grow(struct queue_state *queue) {
  if (queue->queued - queue->done < queue->capacity) return true;
  const uint64_t capacity = queue->capacity ? queue->capacity * 2 : 256;
  struct command *commands = malloc(capacity * sizeof *commands);
  if (!commands) return false;
  for (uint64_t i = queue->done; i < queue->queued; i++)
    commands[i & (capacity - 1)] = queue->commands[i & (queue->capacity - 1)];
  free(queue->commands);
  queue->commands = commands;
  queue->capacity = capacity;
  return true;
}

situ_status worker_queue(struct sim *sim, int queue, const struct command *command) {
  TRY(fork_check(sim->generation, sim->label));
  pthread_mutex_lock(&sim_lock);
  struct queue_state *state = &sim->queues[queue];
  situ_status status = worker_lost(sim);
  if (!status && !grow(state)) status = NO_MEMORY();
  if (!status) {
    state->commands[state->queued & (state->capacity - 1)] = *command;
    advance_clock(state, command);
    state->queued++;
    if (sim->asleep) pthread_cond_signal(&sim->wake);
  }
  pthread_mutex_unlock(&sim_lock);
  return status;
}

situ_status worker_sync(struct sim *sim, int queue, uint64_t mark) {
  TRY(fork_check(sim->generation, sim->label));
  struct queue_state *state = &sim->queues[queue];
  pthread_mutex_lock(&sim_lock);
  while (state->done < mark) {
    if (!state->awaited || mark < state->awaited) state->awaited = mark;
    pthread_cond_wait(&sim->progress, &sim_lock);
  }
  wait_on_clock(state, mark);
  const situ_status status = worker_lost(sim);
  pthread_mutex_unlock(&sim_lock);
  return status;
}

bool worker_reach(struct sim *sim, int queue, uint64_t mark, double seconds) {
  struct queue_state *state = &sim->queues[queue];
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + (int64_t)(seconds * 1e9);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  if (fork_generation() != sim->generation) return true; /* sync says what is wrong */
  pthread_mutex_lock(&sim_lock);
  int late = 0;
  while (state->done < mark && !late) {
    if (!state->awaited || mark < state->awaited) state->awaited = mark;
    late = pthread_cond_timedwait(&sim->progress, &sim_lock, &until);
  }
  const bool reached = state->done >= mark;
  pthread_mutex_unlock(&sim_lock);
  return reached;
}
