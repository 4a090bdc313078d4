/* SPDX-License-Identifier: Apache-2.0
 * thread_pool.c: the thread pool of the process.
 *
 * A split call is a job on its caller's stack. Its chunks are divided into ranges, one per
 * participating thread, so that a thread processes the same part of a tensor in consecutive calls;
 * a thread that has finished its own range steals chunks from the others. */
#include "host/thread_pool.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#include "base/interrupt.h"

enum { MAX_CHUNKS = 256, MAX_RANGES = 64, MAX_THREADS = 1024, CACHE_LINE = 64 };
enum { SPIN_NS = 40000, SPINS_PER_CHECK = 64, CHECK_INTERVAL_NS = 20 * 1000 * 1000 };

struct range {
  _Alignas(CACHE_LINE) atomic_llong next; /* next chunk to start */
  int64_t end;
};

struct job {
  host_kernel *kernel;
  const union arg *args;
  int64_t items;
  struct thread_pool_chunks chunks;
  int n_ranges;
  int n_joined; /* participating threads with the caller; guarded by the lock */
  bool open;    /* in pool.jobs; guarded by the lock */
  bool wait;    /* the caller sleeps on `done`; guarded by the lock */
  struct job *next;
  _Atomic(situ_status) failure;
  atomic_int n_helpers; /* helpers working on it */
  struct range ranges[MAX_RANGES];
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  struct job *jobs; /* jobs that may have chunks left; guarded by the lock, as are the next four */
  int threads;      /* number of helper threads */
  int asleep, spinning; /* among these */
  bool is_forked_child; /* forked child: has no helpers and starts none */
  atomic_int open;      /* length of `jobs` */
  atomic_int cores;     /* 0: not yet determined */
  atomic_int working;   /* computing callers and helpers */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static _Thread_local int depth; /* nesting of thread_pool_enter in this thread */

static void cpu_pause(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t clock_ns(clockid_t clock) {
  struct timespec t;
  clock_gettime(clock, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int64_t read_clock(void) { return clock_ns(CLOCK_MONOTONIC); }

static int default_cores(void) {
  const char *text = getenv("SITU_THREADS");
  const long setting = text ? strtol(text, NULL, 10) : 0; /* validated by device/environment.c */
  if (setting > 0) return setting < MAX_THREADS ? (int)setting : MAX_THREADS;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set)) return 1;
  const int count = CPU_COUNT(&set);
  return count > 0 ? count : 1;
}

int thread_pool_threads(void) {
  int cores = atomic_load_explicit(&pool.cores, memory_order_relaxed);
  if (cores) return cores;
  int none = 0;
  atomic_compare_exchange_strong(&pool.cores, &none, default_cores());
  return atomic_load(&pool.cores);
}

void thread_pool_set_threads(int threads) {
  if (threads <= 0) threads = default_cores();
  atomic_store(&pool.cores, threads < MAX_THREADS ? threads : MAX_THREADS);
}

struct thread_pool_chunks thread_pool_chunks(int64_t items, int64_t grain) {
  if (items <= 0) return (struct thread_pool_chunks){0, 0};
  if (grain <= 0 || items / 2 < grain) return (struct thread_pool_chunks){1, items};
  const int64_t count = min_i64(items / grain, MAX_CHUNKS);
  int64_t size = (items - 1) / count + 1;
  /* Round to whole cache lines if items are elements. */
  if (grain >= CACHE_LINE && size < INT64_MAX - CACHE_LINE)
    size = (int64_t)round_up((size_t)size, CACHE_LINE);
  return (struct thread_pool_chunks){(items - 1) / size + 1, size};
}

/* Acquires a core if one is free. */
static bool acquire_core(void) {
  int working = atomic_load(&pool.working);
  while (working < thread_pool_threads())
    if (atomic_compare_exchange_weak(&pool.working, &working, working + 1)) return true;
  return false;
}

/* Releases a core if more threads compute than there are cores. */
static bool yield_core(void) {
  int working = atomic_load_explicit(&pool.working, memory_order_relaxed);
  while (working > thread_pool_threads())
    if (atomic_compare_exchange_weak(&pool.working, &working, working - 1)) return true;
  return false;
}

static void fail(struct job *job, situ_status status) {
  situ_status none = NULL;
  if (status && !atomic_compare_exchange_strong(&job->failure, &none, status))
    situ_status_release(status);
}

/* Processes chunks of a job until none is left. Returns false if a helper has yielded its core
 * before that. */
static bool process_chunks(struct job *job, int first, bool is_helper) {
  for (int k = 0; k < job->n_ranges; k++) {
    struct range *range = &job->ranges[(first + k) % job->n_ranges];
    while (atomic_load_explicit(&range->next, memory_order_relaxed) < range->end) {
      if (is_helper && yield_core()) return false;
      const int64_t chunk = atomic_fetch_add_explicit(&range->next, 1, memory_order_relaxed);
      if (chunk >= range->end) break;
      if (atomic_load_explicit(&job->failure, memory_order_relaxed)) continue;
      const int64_t begin = chunk * job->chunks.size;
      const int64_t end = min_i64(job->items, begin + job->chunks.size);
      if (!is_helper) fail(job, interrupt_check());
      fail(job, job->kernel(job->args, begin, end));
    }
  }
  return true;
}

/* Removes a job without remaining chunks from the list. Must hold the lock. */
static void close_job(struct job *job) {
  if (!job->open) return;
  struct job **at = &pool.jobs;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  job->open = false;
  atomic_fetch_sub(&pool.open, 1);
}

/* Joins a job that can use one more thread and acquires a core; NULL if there is none. Must hold
 * the lock. */
static struct job *join_job(void) {
  for (struct job *job = pool.jobs; job; job = job->next) {
    if (job->n_joined >= job->n_ranges) continue;
    if (!acquire_core()) return NULL;
    job->n_joined++;
    atomic_fetch_add(&job->n_helpers, 1);
    return job;
  }
  return NULL;
}

bool thread_pool_spin(const atomic_uint *number, unsigned seen) {
  const int64_t deadline = read_clock() + SPIN_NS;
  do {
    for (int i = 0; i < SPINS_PER_CHECK; i++) {
      if (atomic_load_explicit(number, memory_order_relaxed) != seen) return true;
      cpu_pause();
    }
    if (atomic_load_explicit(&pool.working, memory_order_relaxed) >= thread_pool_threads()) break;
  } while (read_clock() < deadline);
  return false;
}

/* Spins for a short time for a job. Must hold the lock, which is released meanwhile. */
static struct job *spin_for_job(void) {
  pool.spinning++;
  pthread_mutex_unlock(&pool.lock);
  const int64_t deadline = read_clock() + SPIN_NS;
  bool seen = false;
  while (!seen && read_clock() < deadline) {
    for (int i = 0; i < SPINS_PER_CHECK && !seen; i++) {
      cpu_pause();
      seen = atomic_load_explicit(&pool.open, memory_order_relaxed) > 0;
    }
    if (atomic_load_explicit(&pool.working, memory_order_relaxed) >= thread_pool_threads()) break;
  }
  pthread_mutex_lock(&pool.lock);
  pool.spinning--;
  return join_job();
}

static void *helper_main(void *number) {
  const int helper_index = (int)(intptr_t)number;
  depth = 1; /* calls inside a kernel use the core of the job */
  pthread_mutex_lock(&pool.lock);
  for (;;) {
    struct job *job = join_job();
    if (!job) job = spin_for_job();
    while (!job) {
      pool.asleep++;
      pthread_cond_wait(&pool.work, &pool.lock);
      pool.asleep--;
      job = join_job();
    }
    pthread_mutex_unlock(&pool.lock);
    struct interrupt_scope scope;
    interrupt_enter(&scope, &job->failure);
    const bool is_finished = process_chunks(job, helper_index, true);
    interrupt_leave(&scope);
    pthread_mutex_lock(&pool.lock);
    if (is_finished) {
      atomic_fetch_sub(&pool.working, 1);
      close_job(job);
    } else {
      job->n_joined--; /* another helper may take its place */
    }
    if (job->wait) pthread_cond_broadcast(&pool.done);
    atomic_fetch_sub(&job->n_helpers, 1); /* the job may be freed from here on */
  }
  return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { pthread_mutex_unlock(&pool.lock); }

/* Only the calling thread exists in a forked child. */
static void reset_in_child(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.work, NULL);
  pthread_cond_init(&pool.done, NULL);
  pool.jobs = NULL;
  pool.threads = pool.asleep = pool.spinning = 0;
  pool.is_forked_child = true;
  atomic_store(&pool.open, 0);
  atomic_store(&pool.working, depth > 0);
}

static void register_fork_handlers(void) {
  pthread_atfork(before_fork, after_fork, reset_in_child);
}

/* Starts a helper; failure is harmless. Must hold the lock. */
static void start_helper(void) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr)) return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigset_t is_finished, old_mask;
  sigfillset(&is_finished);
  pthread_sigmask(SIG_SETMASK, &is_finished,
                  &old_mask); /* the program's own threads handle signals */
  pthread_t thread;
  if (!pthread_create(&thread, &attr, helper_main, (void *)(intptr_t)(pool.threads + 1)))
    pool.threads++;
  pthread_sigmask(SIG_SETMASK, &old_mask, NULL);
  pthread_attr_destroy(&attr);
}

/* Publishes a job: spinning helpers see it, sleeping ones are woken, missing ones are started. */
static void open_job(struct job *job) {
  pthread_once(&fork_once, register_fork_handlers);
  pthread_mutex_lock(&pool.lock);
  const int cores = thread_pool_threads();
  const int free_cores = cores - atomic_load(&pool.working);
  int n_wanted = job->n_ranges - 1 < free_cores ? job->n_ranges - 1 : free_cores;
  if (!pool.is_forked_child) {
    struct job **last = &pool.jobs;
    while (*last) last = &(*last)->next;
    *last = job;
    job->open = true;
    atomic_fetch_add(&pool.open, 1);
    n_wanted -= pool.spinning;
    for (; n_wanted > pool.asleep && pool.threads < cores - 1; n_wanted--) start_helper();
  }
  const int n_wake = n_wanted < pool.asleep ? n_wanted : pool.asleep;
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < n_wake; i++) pthread_cond_signal(&pool.work);
}

/* Waits for a helper to finish, and tells the helpers to end if the caller is interrupted
 * meanwhile. Must hold the lock, which is released meanwhile. */
static void wait_for_helpers(struct job *job) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += CHECK_INTERVAL_NS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  if (pthread_cond_timedwait(&pool.done, &pool.lock, &until) != ETIMEDOUT) return;
  pthread_mutex_unlock(&pool.lock); /* the hook may run any code */
  fail(job, interrupt_check());
  pthread_mutex_lock(&pool.lock);
}

/* Waits until no helper works on a job. */
static void finish_job(struct job *job) {
  pthread_mutex_lock(&pool.lock);
  close_job(job);
  pthread_mutex_unlock(&pool.lock);
  if (!atomic_load_explicit(&job->n_helpers, memory_order_acquire)) return;
  const int64_t deadline = read_clock() + SPIN_NS;
  while (read_clock() < deadline) {
    for (int i = 0; i < SPINS_PER_CHECK; i++) {
      if (!atomic_load_explicit(&job->n_helpers, memory_order_acquire)) return;
      cpu_pause();
    }
  }
  pthread_mutex_lock(&pool.lock);
  job->wait = true;
  while (atomic_load(&job->n_helpers)) wait_for_helpers(job);
  pthread_mutex_unlock(&pool.lock);
}

static situ_status run_split(host_kernel *kernel, const union arg *args, int64_t items,
                             struct thread_pool_chunks chunks) {
  struct job job;
  job.kernel = kernel;
  job.args = args;
  job.items = items;
  job.chunks = chunks;
  job.n_ranges = (int)min_i64(chunks.count, min_i64(thread_pool_threads(), MAX_RANGES));
  job.n_joined = 1;
  job.open = job.wait = false;
  job.next = NULL;
  atomic_init(&job.failure, NULL);
  atomic_init(&job.n_helpers, 0);
  for (int i = 0; i < job.n_ranges; i++) {
    atomic_init(&job.ranges[i].next, chunks.count * i / job.n_ranges);
    job.ranges[i].end = chunks.count * (i + 1) / job.n_ranges;
  }
  struct interrupt_scope scope;
  interrupt_enter(&scope, NULL);
  const bool has_helpers = job.n_ranges > 1 && atomic_load(&pool.working) < thread_pool_threads();
  if (has_helpers) open_job(&job);
  process_chunks(&job, 0, false);
  if (has_helpers) finish_job(&job);
  interrupt_leave(&scope);
  return atomic_load(&job.failure);
}

situ_status thread_pool_run(host_kernel *kernel, const union arg *args, int64_t items,
                            int64_t grain) {
  if (items <= 0) return NULL;
  if (grain <= 0 || items / 2 < grain) return kernel(args, 0, items);
  const struct thread_pool_chunks chunks = thread_pool_chunks(items, grain);
  thread_pool_enter();
  const situ_status s = run_split(kernel, args, items, chunks);
  thread_pool_leave();
  return s;
}

void thread_pool_enter(void) {
  if (depth++ == 0) atomic_fetch_add(&pool.working, 1);
}

void thread_pool_leave(void) {
  if (--depth > 0) return;
  atomic_fetch_sub(&pool.working, 1);
  if (!atomic_load_explicit(&pool.open, memory_order_relaxed)) return;
  pthread_mutex_lock(&pool.lock);
  const bool has_sleepers = pool.asleep > 0;
  pthread_mutex_unlock(&pool.lock);
  if (has_sleepers)
    pthread_cond_signal(&pool.work); /* a core is free for a job of another caller */
}
