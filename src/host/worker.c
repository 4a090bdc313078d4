/* SPDX-License-Identifier: Apache-2.0
 * worker.c: a thread that executes the queues of a device.
 *
 * The virtual clock advances when work is enqueued, not when it runs, so that it depends on the
 * sequence of requests only and never on the speed of the host. */
#include "host/worker.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/fork.h"
#include "base/interrupt.h"
#include "base/trace.h"
#include "host/thread_pool.h"

enum {
  BATCH = 64,           /* entries started before `signal` is called */
  MAX_IN_FLIGHT = 4096, /* entries started and not complete */
};

pthread_mutex_t worker_lock = PTHREAD_MUTEX_INITIALIZER;
static struct worker *workers; /* running workers */

/* ---- Virtual clock; must hold the lock ---- */

/* A host thread enqueues nothing before the virtual time up to which it has waited for a device. */
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

static double max_time(double a, double b) { return a > b ? a : b; }

/* Returns the virtual time of a mark; that of the oldest remembered one if it is older. */
static double mark_time(const struct worker_queue *queue, uint64_t mark) {
  if (!mark) return 0;
  const bool is_recent = queue->queued - mark < REMEMBERED_TIMES;
  return queue->times[(is_recent ? mark - 1 : queue->queued) % REMEMBERED_TIMES];
}

static void advance_clock(struct worker_queue *queue, const struct work *work) {
  double start = max_time(queue->clock, host_time());
  if (work->kind == WORK_WAIT)
    start = max_time(start, mark_time(&work->on->queues[work->on_queue], work->mark));
  queue->clock = start + work->seconds;
  queue->times[queue->queued % REMEMBERED_TIMES] = queue->clock;
}

static void wait_on_clock(const struct worker_queue *queue, uint64_t mark) {
  host.time = max_time(host_time(), mark_time(queue, mark));
  host.epoch = epoch;
}

double worker_clock(const struct worker *worker) {
  double latest = 0;
  pthread_mutex_lock(&worker_lock);
  for (int i = 0; i < N_QUEUES; i++) latest = max_time(latest, worker->queues[i].clock);
  pthread_mutex_unlock(&worker_lock);
  return latest;
}

/* ---- Worker thread ---- */

void worker_fail(struct bound_kernel *bound, situ_status status) {
  situ_status none = NULL;
  status = status_at_node(status, bound->launch->node);
  if (!bound->error || !atomic_compare_exchange_strong(bound->error, &none, status))
    situ_status_release(status);
}

/* Returns whether it is a call of a cancelled run. */
static bool is_cancelled(const struct work *work) {
  if (work->kind != WORK_CALL || !work->bound->error) return false;
  const situ_code code = situ_status_code(atomic_load(work->bound->error));
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

static bool has_work(const struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++)
    if (worker->queues[q].started != worker->queues[q].queued) return true;
  return false;
}

static const struct work *first_entry(const struct worker_queue *queue) {
  return &queue->items[queue->started & (queue->capacity - 1)];
}

/* Returns whether the work can run now. Must hold the lock. */
static bool is_ready(const struct work *work) {
  if (work->kind != WORK_WAIT) return true;
  return work->on->queues[work->on_queue].done >= work->mark;
}

/* Returns a queue whose first entry can run, or -1. Copies have priority, since other devices wait
 * for them. */
static int find_ready_queue(const struct worker *worker) {
  for (int q = N_QUEUES - 1; q >= 0; q--) {
    const struct worker_queue *queue = &worker->queues[q];
    if (queue->started == queue->queued || queue->started - queue->done >= MAX_IN_FLIGHT) continue;
    if (is_ready(first_entry(queue))) return q;
  }
  return -1;
}

/* Makes a worker look for work. */
static void wake_worker(struct worker *worker) {
  atomic_fetch_add_explicit(&worker->work_count, 1, memory_order_relaxed);
  if (worker->asleep) pthread_cond_signal(&worker->wake);
}

/* Wakes the threads that wait for the queue: callers of sync, and workers with pending work. */
static void notify_waiters(struct worker *worker, struct worker_queue *queue) {
  if (queue->awaited && queue->done >= queue->awaited) {
    queue->awaited = 0;
    atomic_fetch_add_explicit(&worker->progress_count, 1, memory_order_relaxed);
    pthread_cond_broadcast(&worker->progress);
  }
  for (struct worker *other = workers; other; other = other->next)
    if (has_work(other)) wake_worker(other);
}

/* A long kernel ends early if the run fails or is cancelled. */
static void run_entry(struct worker *worker, int queue, const struct work *work) {
  struct interrupt_scope scope;
  interrupt_enter(&scope, work->kind == WORK_CALL ? work->bound->error : NULL);
  worker->owner->run(worker->context, queue, work);
  interrupt_leave(&scope);
}

/* Executes one entry without the lock; `lost` is the error of a lost device. */
static void execute(struct worker *worker, int queue, const struct work *work, situ_status lost) {
  const struct worker_owner *owner = worker->owner;
  if (work->kind == WORK_STAMP) {
    if (owner->finish) owner->finish(worker->context, queue);
    *work->at = trace_now();
  } else if (lost && work->kind == WORK_CALL) {
    worker_fail(work->bound, lost);
    return;
  } else if (!lost && work->kind != WORK_WAIT && !is_cancelled(work)) {
    run_entry(worker, queue, work);
  }
  situ_status_release(lost);
}

/* Marks the first `number` entries of a queue as complete. Must hold the lock. */
static void complete(struct worker *worker, struct worker_queue *queue, uint64_t number) {
  if (queue->done >= number) return;
  queue->done = number;
  notify_waiters(worker, queue);
}

/* In the worker's own thread, completion is reported from inside a driver call, and is deferred
 * until the call has returned: a waiting thread might end the process. */
void worker_done(struct worker *worker, int queue, uint64_t number) {
  const bool inside = pthread_equal(pthread_self(), worker->thread);
  pthread_mutex_lock(&worker_lock);
  struct worker_queue *state = &worker->queues[queue];
  if (!inside)
    complete(worker, state, number);
  else if (state->deferred < number)
    state->deferred = number;
  if (worker->asleep) pthread_cond_signal(&worker->wake);
  pthread_mutex_unlock(&worker_lock);
}

/* Applies deferred completions. Must hold the lock. */
static void apply_deferred(struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++)
    complete(worker, &worker->queues[q], worker->queues[q].deferred);
}

/* Calls `signal` for the entries started since the last call; returns whether there were any. Must
 * hold the lock, which is released meanwhile. */
static bool signal_queue(struct worker *worker, int number) {
  struct worker_queue *queue = &worker->queues[number];
  if (!worker->owner->signal || queue->signalled == queue->started) return false;
  const uint64_t last = queue->signalled = queue->started;
  pthread_mutex_unlock(&worker_lock);
  worker->owner->signal(worker->context, number, last);
  pthread_mutex_lock(&worker_lock);
  apply_deferred(worker);
  return true;
}

static bool signal_all(struct worker *worker) {
  bool any = false;
  for (int q = N_QUEUES - 1; q >= 0; q--) any |= signal_queue(worker, q);
  return any;
}

/* Runs the first entry of a queue. Must hold the lock, which is released meanwhile. */
static void run_next(struct worker *worker, int number) {
  struct worker_queue *queue = &worker->queues[number];
  const struct work work = *first_entry(queue);
  if (worker->owner->begin) worker->owner->begin(worker->context, &work);
  const situ_status lost = worker->owner->lost(worker->context);
  queue->started++;
  pthread_mutex_unlock(&worker_lock);
  execute(worker, number, &work, lost);
  pthread_mutex_lock(&worker_lock);
  apply_deferred(worker);
  if (!worker->owner->signal)
    complete(worker, queue, queue->started);
  else if (work.marked || queue->started - queue->signalled >= BATCH)
    signal_queue(worker, number);
}

static bool is_idle(const struct worker *worker) {
  for (int q = 0; q < N_QUEUES; q++)
    if (worker->queues[q].done != worker->queues[q].started) return false;
  return true;
}

/* Waits for work. Must hold the lock, which is released meanwhile. Spins first if a core is free,
 * since waking a thread takes longer than most kernels. */
static void wait_for_work(struct worker *worker) {
  const unsigned last_count = atomic_load_explicit(&worker->work_count, memory_order_relaxed);
  pthread_mutex_unlock(&worker_lock);
  const bool found = thread_pool_spin(&worker->work_count, last_count);
  pthread_mutex_lock(&worker_lock);
  if (found || atomic_load_explicit(&worker->work_count, memory_order_relaxed) != last_count)
    return;
  worker->asleep = true;
  pthread_cond_wait(&worker->wake, &worker_lock);
  worker->asleep = false;
}

static void *run_worker(void *context) {
  struct worker *worker = context;
  pthread_mutex_lock(&worker_lock);
  for (;;) {
    const int queue = find_ready_queue(worker);
    if (queue >= 0) {
      run_next(worker, queue);
    } else if (signal_all(worker)) {
      continue;
    } else if (worker->stop && is_idle(worker)) {
      break;
    } else {
      wait_for_work(worker);
    }
  }
  pthread_mutex_unlock(&worker_lock);
  return NULL;
}

/* In a forked child the worker threads do not exist, and one of them may have held the lock. */
static void reset_in_child(void) {
  pthread_mutex_init(&worker_lock, NULL);
  workers = NULL;
}

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, reset_in_child); }

/* Blocks signals, which the program's own threads handle. */
static bool start_thread(struct worker *worker) {
  sigset_t all, old_mask;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old_mask);
  const bool ok = !pthread_create(&worker->thread, NULL, run_worker, worker);
  pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
  return ok;
}

situ_status worker_start(struct worker *worker, const struct worker_owner *owner, void *context,
                         const char *label) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_fork_handler);
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
  return situ_status_create(SITU_RESOURCE_EXHAUSTED, "Cannot start the worker thread of %s.",
                            label);
}

/* Stops the thread after it has executed what it can. */
static void join(struct worker *worker) {
  pthread_mutex_lock(&worker_lock);
  worker->stop = true;
  wake_worker(worker);
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

/* ---- Callers ---- */

/* Makes room for one more entry. Must hold the lock. */
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
    wake_worker(worker);
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
  /* entries already started are signalled when nothing else can start */
  if (mark > state->started) state->items[(mark - 1) & (state->capacity - 1)].marked = true;
  pthread_mutex_unlock(&worker_lock);
  return mark;
}

/* Waits for a mark, at most until a deadline. Must hold the lock, which is released meanwhile.
 * Spins first, as wait_for_work. */
static void wait_for_mark(struct worker *worker, struct worker_queue *queue, uint64_t mark,
                          const struct timespec *deadline) {
  int timed_out = 0;
  for (bool has_spun = false; queue->done < mark && !timed_out; has_spun = true) {
    if (!queue->awaited || mark < queue->awaited) queue->awaited = mark;
    const unsigned last_count = atomic_load_explicit(&worker->progress_count, memory_order_relaxed);
    if (!has_spun) {
      pthread_mutex_unlock(&worker_lock);
      thread_pool_spin(&worker->progress_count, last_count);
      pthread_mutex_lock(&worker_lock);
    } else if (deadline) {
      timed_out = pthread_cond_timedwait(&worker->progress, &worker_lock, deadline);
    } else {
      pthread_cond_wait(&worker->progress, &worker_lock);
    }
  }
}

situ_status worker_sync(struct worker *worker, int queue, uint64_t mark) {
  TRY(fork_check(worker->generation, worker->label));
  struct worker_queue *state = &worker->queues[queue];
  pthread_mutex_lock(&worker_lock);
  wait_for_mark(worker, state, mark, NULL);
  wait_on_clock(state, mark);
  const situ_status status = worker->owner->lost(worker->context);
  pthread_mutex_unlock(&worker_lock);
  return status;
}

bool worker_sync_timeout(struct worker *worker, int queue, uint64_t mark, double seconds) {
  struct worker_queue *state = &worker->queues[queue];
  struct timespec deadline;
  clock_gettime(CLOCK_REALTIME, &deadline);
  const int64_t nanoseconds = deadline.tv_nsec + (int64_t)(seconds * 1e9);
  deadline.tv_sec += nanoseconds / 1000000000;
  deadline.tv_nsec = nanoseconds % 1000000000;
  if (fork_generation() != worker->generation) return true; /* worker_sync reports the error */
  pthread_mutex_lock(&worker_lock);
  wait_for_mark(worker, state, mark, &deadline);
  const bool is_reached = state->done >= mark;
  pthread_mutex_unlock(&worker_lock);
  return is_reached;
}
