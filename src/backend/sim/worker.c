/* SPDX-License-Identifier: Apache-2.0
 * worker.c: the thread of a simulated GPU, which works off its three queues, and the virtual clock, which says how long
 * that would have taken. */
#include <stdlib.h>
#include <string.h>

#include "backend/sim/sim.h"
#include "host/call.h"

pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t progress = PTHREAD_COND_INITIALIZER; /* some queue has moved on */
static struct sim *workers;                                /* all that have a worker */

static situ_status lost(const struct sim *sim) {
  return situ_status_create(SITU_UNAVAILABLE,
                            "Simulated GPU %d (%s) is lost: lost_after=%lld was injected.",
                            sim->index, sim->spec.model, (long long)sim->spec.lost_after);
}

/* The first failure of a run stays; later ones are dropped. */
static void fail(struct bound *bound, situ_status status) {
  situ_status none = NULL;
  if (!bound->error || !atomic_compare_exchange_strong(bound->error, &none, status))
    situ_status_release(status);
}

static void launch(struct sim *sim, struct bound *bound) {
  pool_enter();
  const situ_status status = host_run((struct host_call *)bound);
  pool_leave();
  (void)sim;
  if (status) fail(bound, status_at_node(status, bound->launch->node));
}

/* Whether the command may run now; called with the lock. */
static bool is_ready(const struct command *command) {
  if (command->kind != COMMAND_WAIT) return true;
  return command->on->queues[command->on_queue].done >= command->mark;
}

/* A queue whose first command may run, or -1. Copies come first: they make work for others. */
static int ready_queue(const struct sim *sim) {
  for (int q = N_QUEUES - 1; q >= 0; q--) {
    const struct queue_state *queue = &sim->queues[q];
    if (queue->done == queue->queued) continue;
    if (is_ready(&queue->commands[queue->done & (queue->capacity - 1)])) return q;
  }
  return -1;
}

/* Counts a kernel that is about to run; true if the device dies of it. */
static bool dies(struct sim *sim) {
  sim->kernels++;
  if (sim->spec.lost_after > 0 && sim->kernels > sim->spec.lost_after) sim->lost = true;
  return sim->lost;
}

static void advance_clock(struct queue_state *queue, const struct command *command) {
  if (command->kind == COMMAND_WAIT && command->mark > 0) {
    const struct queue_state *on = &command->on->queues[command->on_queue];
    const bool remembered = on->done - command->mark < REMEMBERED_TIMES;
    const double then = remembered ? on->times[(command->mark - 1) % REMEMBERED_TIMES] : on->clock;
    if (then > queue->clock) queue->clock = then;
  }
  queue->clock += command->seconds;
  queue->times[queue->done % REMEMBERED_TIMES] = queue->clock;
}

/* Runs the first command of a queue; called with the lock, which it drops while it works. */
static void step(struct sim *sim, int q) {
  struct queue_state *queue = &sim->queues[q];
  const struct command command = queue->commands[queue->done & (queue->capacity - 1)];
  if (command.kind == COMMAND_LAUNCH && dies(sim)) fail(command.bound, lost(sim));
  const bool dead = sim->lost;
  pthread_mutex_unlock(&sim_lock);
  if (!dead && command.kind == COMMAND_LAUNCH) launch(sim, command.bound);
  if (!dead && command.kind == COMMAND_COPY) memcpy(command.to, command.from, command.bytes);
  pthread_mutex_lock(&sim_lock);
  advance_clock(queue, &command);
  queue->done++;
  pthread_cond_broadcast(&progress);
  for (struct sim *other = workers; other; other = other->next)
    if (other != sim) pthread_cond_signal(&other->wake);
}

static void *work(void *context) {
  struct sim *sim = context;
  pthread_mutex_lock(&sim_lock);
  for (;;) {
    const int queue = ready_queue(sim);
    if (queue >= 0) {
      step(sim, queue);
    } else if (sim->stop) {
      break;
    } else {
      pthread_cond_wait(&sim->wake, &sim_lock);
    }
  }
  pthread_mutex_unlock(&sim_lock);
  return NULL;
}

situ_status worker_start(struct sim *sim) {
  pthread_mutex_lock(&sim_lock);
  sim->has_worker = !pthread_create(&sim->worker, NULL, work, sim);
  if (sim->has_worker) {
    sim->next = workers;
    workers = sim;
  }
  pthread_mutex_unlock(&sim_lock);
  if (sim->has_worker) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "The worker thread of simulated GPU %d could not be started.",
                            sim->index);
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
  while (*link != sim) link = &(*link)->next;
  *link = sim->next;
  pthread_mutex_unlock(&sim_lock);
}

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
  situ_status status = NULL;
  pthread_mutex_lock(&sim_lock);
  struct queue_state *state = &sim->queues[queue];
  if (sim->lost) {
    status = lost(sim);
  } else if (!grow(state)) {
    status = NO_MEMORY();
  } else {
    state->commands[state->queued & (state->capacity - 1)] = *command;
    state->queued++;
    pthread_cond_signal(&sim->wake);
  }
  pthread_mutex_unlock(&sim_lock);
  return status;
}

situ_status worker_sync(struct sim *sim, int queue, uint64_t mark) {
  pthread_mutex_lock(&sim_lock);
  while (sim->queues[queue].done < mark) pthread_cond_wait(&progress, &sim_lock);
  const situ_status status = sim->lost ? lost(sim) : NULL;
  pthread_mutex_unlock(&sim_lock);
  return status;
}
