/* SPDX-License-Identifier: Apache-2.0
 * worker.c: see worker.h.
 *
 * The clock is advanced when work is queued, not when it runs: so its figures depend on what was
 * asked for and in which order, never on how fast the host happens to be. */
#include "host/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fork.h"
#include "base/trace.h"
#include "host/thread_pool.h"

enum {
  BATCH = 64,        /* pieces of work started before the owner is asked to tell of them */
  MOST_AHEAD = 4096, /* pieces of work started and not done */
};

pthread_mutex_t worker_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *workers; /* all that run */

/* ---- The virtual clock; called with the lock ---- */

/* A thread of the host queues nothing before the time to which it has waited for a device. */
static _Thread_local struct {
  uint64_t epoch;
  double time;
} host;
static uint64_t epoch;

void worker_reset_clock(void) {
  pthread_mutex_lock(&worker_lock);
  epoch++;
  pthread_mutex_unlock(&worker_lock);
}

static double host_time(void) { return host.epoch == epoch ? host.time : 0; }

static double later(double a, double b) { return a > b ? a : b; }

/* When a queue reaches a mark. A mark that is long past counts as the oldest that is remembered. */
static double time_of(const struct worker_queue *queue, uint64_t mark) {
  if (!mark) return 0;
  const bool is_remembered = queue->queued - mark < REMEMBERED_TIMES;
  return queue->times[(is_remembered ? mark - 1 : queue->queued) % REMEMBERED_TIMES];
}

static void advance_clock(struct worker_queue *queue, const struct work *work) {
  double start = later(queue->clock, host_time());
  if (work->kind == WORK_WAIT)
    start = later(start, time_of(&work->on->queues[work->on_queue], work->mark));
  queue->clock = start + work->seconds;
  queue->times[queue->queued % REMEMBERED_TIMES] = queue->clock;
}

static void wait_on_clock(const struct worker_queue *queue, uint64_t mark) {
  host.time = later(host_time(), time_of(queue, mark));
  host.epoch = epoch;
}

double worker_clock(const struct worker *worker) {
  double latest = 0;
  pthread_mutex_lock(&worker_lock);
  for (int i = 0; i < N_QUEUES; i++) latest = later(latest, worker->queues[i].clock);
  pthread_mutex_unlock(&worker_lock);
  return latest;
}

/* ---- The thread ---- */

void worker_fail(struct bound_kernel *bound, situ_status status) {
  situ_status none = NULL;
  status = status_at_node(status, bound->launch->node);
  if (!bound->error || !atomic_compare_exchange_strong(bound->error, &none, status))
    situ_status_release(status);
}

/* Whether it is a call of a run that was told to end. */
static bool is_stopped(const struct work *work) {
  if (work->kind != WORK_CALL || !work->bound->error) return false;
  const situ_code code = situ_status_code(atomic_load(work->bound->error));
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

static bool has_work(const struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++)
    if (worker->queues[q].started != worker->queues[q].queued) return true;
  return false;
}

static const struct work *first_of(const struct worker_queue *queue) {
  return &queue->items[queue->started & (queue->capacity - 1)];
}

/* Whether the work may run now; called with the lock. */
static bool is_ready(const struct work *work) {
  if (work->kind != WORK_WAIT) return true;
  return work->on->queues[work->on_queue].done >= work->mark;
}

/* A queue whose first work may run, or -1. Copies come first: they make work for others. */
static int ready_queue(const struct worker *worker) {
  for (int q = N_QUEUES - 1; q >= 0; q--) {
    const struct worker_queue *queue = &worker->queues[q];
    if (queue->started == queue->queued || queue->started - queue->done >= MOST_AHEAD) continue;
    if (is_ready(first_of(queue))) return q;
  }
  return -1;
}

/* Lets a worker look for work again. */
static void tell(struct worker *worker) {
  atomic_fetch_add_explicit(&worker->news, 1, memory_order_relaxed);
  if (worker->asleep) pthread_cond_signal(&worker->wake);
}

/* Wakes who waits for the queue: callers of sync, and the workers of devices that have work. */
static void announce(struct worker *worker, struct worker_queue *queue) {
  if (queue->awaited && queue->done >= queue->awaited) {
    queue->awaited = 0;
    atomic_fetch_add_explicit(&worker->reached, 1, memory_order_relaxed);
    pthread_cond_broadcast(&worker->progress);
  }
  for (struct worker *other = workers; other; other = other->next)
    if (has_work(other)) tell(other);
}

/* Does one piece of work, without the lock; `lost` says why it cannot be done. */
static void perform(struct worker *worker, int queue, const struct work *work, situ_status lost) {
  const struct worker_owner *owner = worker->owner;
  if (work->kind == WORK_STAMP) {
    if (owner->finish) owner->finish(worker->context, queue);
    *work->at = trace_now();
  } else if (lost && work->kind == WORK_CALL) {
    worker_fail(work->bound, lost);
    return;
  } else if (!lost && work->kind != WORK_WAIT && !is_stopped(work)) {
    owner->run(worker->context, queue, work);
  }
  situ_status_release(lost);
}

/* The first `number` pieces of a queue are done; called with the lock. */
static void reach(struct worker *worker, struct worker_queue *queue, uint64_t number) {
  if (queue->done >= number) return;
  queue->done = number;
  announce(worker, queue);
}

/* In the worker's own thread it is inside a call of a driver that does its work there: nobody goes
 * on, and perhaps ends the process, before that has returned. */
void worker_done(struct worker *worker, int queue, uint64_t number) {
  const bool inside = pthread_equal(pthread_self(), worker->thread);
  pthread_mutex_lock(&worker_lock);
  struct worker_queue *state = &worker->queues[queue];
  if (!inside)
    reach(worker, state, number);
  else if (state->heard < number)
    state->heard = number;
  if (worker->asleep) pthread_cond_signal(&worker->wake);
  pthread_mutex_unlock(&worker_lock);
}

/* What was told meanwhile in the worker's own thread; called with the lock. */
static void hear(struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++) reach(worker, &worker->queues[q], worker->queues[q].heard);
}

/* Asks the owner to tell when what was started is done; whether there was something to ask for.
 * Called with the lock, which it drops meanwhile. */
static bool ask(struct worker *worker, int number) {
  struct worker_queue *queue = &worker->queues[number];
  if (!worker->owner->tell || queue->told == queue->started) return false;
  const uint64_t last = queue->told = queue->started;
  pthread_mutex_unlock(&worker_lock);
  worker->owner->tell(worker->context, number, last);
  pthread_mutex_lock(&worker_lock);
  hear(worker);
  return true;
}

static bool ask_all(struct worker *worker) {
  bool any = false;
  for (int q = N_QUEUES - 1; q >= 0; q--) any |= ask(worker, q);
  return any;
}

/* Runs the first work of a queue; called with the lock, which it drops meanwhile. */
static void step(struct worker *worker, int number) {
  struct worker_queue *queue = &worker->queues[number];
  const struct work work = *first_of(queue);
  if (worker->owner->begin) worker->owner->begin(worker->context, &work);
  const situ_status lost = worker->owner->lost(worker->context);
  queue->started++;
  pthread_mutex_unlock(&worker_lock);
  perform(worker, number, &work, lost);
  pthread_mutex_lock(&worker_lock);
  hear(worker);
  if (!worker->owner->tell)
    reach(worker, queue, queue->started);
  else if (work.marked || queue->started - queue->told >= BATCH)
    ask(worker, number);
}

static bool is_idle(const struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++)
    if (worker->queues[q].done != worker->queues[q].started) return false;
  return true;
}

/* Waits for work; called with the lock, which it drops meanwhile. At first it only looks, as long
 * as there is a core for that: to be woken takes longer than most kernels. */
static void rest(struct worker *worker) {
  const unsigned seen = atomic_load_explicit(&worker->news, memory_order_relaxed);
  pthread_mutex_unlock(&worker_lock);
  const bool found = thread_pool_spin(&worker->news, seen);
  pthread_mutex_lock(&worker_lock);
  if (found || atomic_load_explicit(&worker->news, memory_order_relaxed) != seen) return;
  worker->asleep = true;
  pthread_cond_wait(&worker->wake, &worker_lock);
  worker->asleep = false;
}

static void *work(void *context) {
  struct worker *worker = context;
  pthread_mutex_lock(&worker_lock);
  for (;;) {
    const int queue = ready_queue(worker);
    if (queue >= 0) {
      step(worker, queue);
    } else if (ask_all(worker)) {
      continue;
    } else if (worker->stop && is_idle(worker)) {
      break;
    } else {
      rest(worker);
    }
  }
  pthread_mutex_unlock(&worker_lock);
  return NULL;
}

/* The workers are gone, and with them whoever held the lock. */
static void in_child(void) {
  pthread_mutex_init(&worker_lock, NULL);
  workers = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* Signals are for the program's own threads. */
static bool start_thread(struct worker *worker) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool ok = !pthread_create(&worker->thread, NULL, work, worker);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return ok;
}

situ_status worker_start(struct worker *worker, const struct worker_owner *owner, void *context,
                         const char *label) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, watch_forks);
  *worker = (struct worker){.owner = owner, .context = context, .label = label};
  worker->generation = fork_generation();
  pthread_cond_init(&worker->wake, NULL);
  pthread_cond_init(&worker->progress, NULL);
  pthread_mutex_lock(&worker_lock);
  worker->started = start_thread(worker);
  if (worker->started) {
    worker->next = workers;
    workers = worker;
  }
  pthread_mutex_unlock(&worker_lock);
  if (worker->started) return NULL;
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "The worker thread of %s could not be started.", label);
}

/* Ends the thread, which works off what it can before. */
static void join(struct worker *worker) {
  pthread_mutex_lock(&worker_lock);
  worker->stop = true;
  tell(worker);
  pthread_mutex_unlock(&worker_lock);
  pthread_join(worker->thread, NULL);
  pthread_mutex_lock(&worker_lock);
  struct worker **link = &workers;
  while (*link && *link != worker) link = &(*link)->next;
  if (*link) *link = worker->next;
  pthread_mutex_unlock(&worker_lock);
}

void worker_stop(struct worker *worker) {
  if (!worker->owner) return;
  if (worker->started) join(worker);
  for (int i = 0; i < N_QUEUES; i++) free(worker->queues[i].items);
  pthread_cond_destroy(&worker->wake);
  pthread_cond_destroy(&worker->progress);
}

/* ---- Its callers ---- */

/* Makes room for one more piece of work; called with the lock. */
static bool grow(struct worker_queue *queue) {
  if (queue->queued - queue->done < queue->capacity) return true;
  const uint64_t capacity = queue->capacity ? queue->capacity * 2 : 256;
  struct work *items = malloc(capacity * sizeof *items);
  if (!items) return false;
  for (uint64_t i = queue->done; i < queue->queued; i++)
    items[i & (capacity - 1)] = queue->items[i & (queue->capacity - 1)];
  free(queue->items);
  queue->items = items;
  queue->capacity = capacity;
  return true;
}

situ_status worker_enqueue(struct worker *worker, int queue, const struct work *work) {
  TRY(fork_check(worker->generation, worker->label));
  pthread_mutex_lock(&worker_lock);
  struct worker_queue *state = &worker->queues[queue];
  situ_status status = worker->owner->lost(worker->context);
  if (!status && !grow(state)) status = NO_MEMORY();
  if (!status) {
    state->items[state->queued & (state->capacity - 1)] = *work;
    advance_clock(state, work);
    state->queued++;
    tell(worker);
  }
  pthread_mutex_unlock(&worker_lock);
  return status;
}

situ_status worker_wait(struct worker *worker, int queue, struct worker *on, int on_queue,
                        uint64_t mark) {
  return worker_enqueue(
      worker, queue,
      &(struct work){.kind = WORK_WAIT, .on = on, .on_queue = on_queue, .mark = mark});
}

situ_status worker_stamp(struct worker *worker, int queue, int64_t *at) {
  return worker_enqueue(worker, queue, &(struct work){.kind = WORK_STAMP, .at = at});
}

uint64_t worker_mark(struct worker *worker, int queue) {
  pthread_mutex_lock(&worker_lock);
  struct worker_queue *state = &worker->queues[queue];
  const uint64_t mark = state->queued;
  /* What was started already is told of by itself, when nothing else is ready to start. */
  if (mark > state->started) state->items[(mark - 1) & (state->capacity - 1)].marked = true;
  pthread_mutex_unlock(&worker_lock);
  return mark;
}

/* Waits for a mark, at most until some time; called with the lock, which it drops meanwhile. As in
 * `rest`, it only looks at first. */
static void await(struct worker *worker, struct worker_queue *queue, uint64_t mark,
                  const struct timespec *until) {
  int late = 0;
  for (bool looked = false; queue->done < mark && !late; looked = true) {
    if (!queue->awaited || mark < queue->awaited) queue->awaited = mark;
    const unsigned seen = atomic_load_explicit(&worker->reached, memory_order_relaxed);
    if (!looked) {
      pthread_mutex_unlock(&worker_lock);
      thread_pool_spin(&worker->reached, seen);
      pthread_mutex_lock(&worker_lock);
    } else if (until) {
      late = pthread_cond_timedwait(&worker->progress, &worker_lock, until);
    } else {
      pthread_cond_wait(&worker->progress, &worker_lock);
    }
  }
}

situ_status worker_sync(struct worker *worker, int queue, uint64_t mark) {
  TRY(fork_check(worker->generation, worker->label));
  struct worker_queue *state = &worker->queues[queue];
  pthread_mutex_lock(&worker_lock);
  await(worker, state, mark, NULL);
  wait_on_clock(state, mark);
  const situ_status status = worker->owner->lost(worker->context);
  pthread_mutex_unlock(&worker_lock);
  return status;
}

bool worker_sync_timeout(struct worker *worker, int queue, uint64_t mark, double seconds) {
  struct worker_queue *state = &worker->queues[queue];
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  const int64_t nanoseconds = until.tv_nsec + (int64_t)(seconds * 1e9);
  until.tv_sec += nanoseconds / 1000000000;
  until.tv_nsec = nanoseconds % 1000000000;
  if (fork_generation() != worker->generation) return true; /* sync says what is wrong */
  pthread_mutex_lock(&worker_lock);
  await(worker, state, mark, &until);
  const bool reached = state->done >= mark;
  pthread_mutex_unlock(&worker_lock);
  return reached;
}
