/* SPDX-License-Identifier: Apache-2.0
 * thread_pool.c: the thread pool of the process.
 *
 * A split call is a job on its caller's stack. Its chunks are dealt out in lanes, one per thread
 * that may come, so that a thread meets the same part of a tensor in one call after the other;
 * whoever is done with its own lane goes on with the others'. */
#include "host/thread_pool.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { MAX_CHUNKS = 256, MAX_LANES = 64, MAX_THREADS = 1024, LINE = 64 };
enum { SPIN_NS = 40000, SPINS_PER_LOOK = 64 };

struct lane {
  _Alignas(LINE) atomic_llong next; /* the chunk to begin next */
  int64_t end;
};

struct job {
  host_kernel *kernel;
  const union arg *args;
  int64_t items;
  struct thread_pool_chunks cut;
  int n_lanes;
  int joined; /* threads that came, the caller included; guarded by the lock */
  bool open;  /* in the list; guarded by the lock */
  bool wait;  /* the caller sleeps; guarded by the lock */
  struct job *next;
  _Atomic(situ_status) failure;
  atomic_int inside; /* helpers at work on it */
  struct lane lanes[MAX_LANES];
};

static struct {
  pthread_mutex_t lock;
  pthread_cond_t work, done;
  struct job *jobs;     /* that may still have chunks; guarded by the lock, as are the next four */
  int threads;          /* started */
  int asleep, spinning; /* of them */
  bool alone;           /* a child of fork: has no helpers and makes none */
  atomic_int open;      /* length of the list */
  atomic_int cores;     /* 0: nobody asked yet */
  atomic_int working;   /* callers and helpers that compute */
} pool = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .work = PTHREAD_COND_INITIALIZER,
          .done = PTHREAD_COND_INITIALIZER};

static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static _Thread_local int depth; /* of thread_pool_enter in this thread */

static void relax(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static int default_cores(void) {
  const char *text = getenv("SITU_THREADS");
  const long wish = text ? strtol(text, NULL, 10) : 0; /* device/environment.c checks it */
  if (wish > 0) return wish < MAX_THREADS ? (int)wish : MAX_THREADS;
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
  /* Whole cache lines of any type, where items are elements. */
  if (grain >= LINE && size < INT64_MAX - LINE) size = (int64_t)round_up((size_t)size, LINE);
  return (struct thread_pool_chunks){(items - 1) / size + 1, size};
}

/* Takes a core if one is free. */
static bool take_core(void) {
  int working = atomic_load(&pool.working);
  while (working < thread_pool_threads())
    if (atomic_compare_exchange_weak(&pool.working, &working, working + 1)) return true;
  return false;
}

/* Gives a core back if there are more threads at work than cores. */
static bool give_way(void) {
  int working = atomic_load_explicit(&pool.working, memory_order_relaxed);
  while (working > thread_pool_threads())
    if (atomic_compare_exchange_weak(&pool.working, &working, working - 1)) return true;
  return false;
}

/* Does chunks of a job until none is left. False: a helper gave way before, and its core with it.
 */
static bool work(struct job *job, int first, bool is_helper) {
  for (int k = 0; k < job->n_lanes; k++) {
    struct lane *lane = &job->lanes[(first + k) % job->n_lanes];
    while (atomic_load_explicit(&lane->next, memory_order_relaxed) < lane->end) {
      if (is_helper && give_way()) return false;
      const int64_t chunk = atomic_fetch_add_explicit(&lane->next, 1, memory_order_relaxed);
      if (chunk >= lane->end) break;
      if (atomic_load_explicit(&job->failure, memory_order_relaxed)) continue;
      const int64_t begin = chunk * job->cut.size;
      const int64_t end = min_i64(job->items, begin + job->cut.size);
      const situ_status s = job->kernel(job->args, begin, end);
      situ_status none = NULL;
      if (s && !atomic_compare_exchange_strong(&job->failure, &none, s)) situ_status_release(s);
    }
  }
  return true;
}

/* Takes a job without chunks from the list; the lock is held. */
static void close_job(struct job *job) {
  if (!job->open) return;
  struct job **at = &pool.jobs;
  while (*at != job) at = &(*at)->next;
  *at = job->next;
  job->open = false;
  atomic_fetch_sub(&pool.open, 1);
}

/* A job that wants one more thread, joined, with a core taken; or NULL. The lock is held. */
static struct job *join_job(void) {
  for (struct job *job = pool.jobs; job; job = job->next) {
    if (job->joined >= job->n_lanes) continue;
    if (!take_core()) return NULL;
    job->joined++;
    atomic_fetch_add(&job->inside, 1);
    return job;
  }
  return NULL;
}

bool thread_pool_spin(const atomic_uint *number, unsigned seen) {
  const int64_t until = now() + SPIN_NS;
  do {
    for (int i = 0; i < SPINS_PER_LOOK; i++) {
      if (atomic_load_explicit(number, memory_order_relaxed) != seen) return true;
      relax();
    }
    if (atomic_load_explicit(&pool.working, memory_order_relaxed) >= thread_pool_threads()) break;
  } while (now() < until);
  return false;
}

/* Looks for a job for a short while without sleeping; the lock is held, but not while looking. */
static struct job *spin_for_job(void) {
  pool.spinning++;
  pthread_mutex_unlock(&pool.lock);
  const int64_t until = now() + SPIN_NS;
  bool seen = false;
  while (!seen && now() < until) {
    for (int i = 0; i < SPINS_PER_LOOK && !seen; i++) {
      relax();
      seen = atomic_load_explicit(&pool.open, memory_order_relaxed) > 0;
    }
    if (atomic_load_explicit(&pool.working, memory_order_relaxed) >= thread_pool_threads()) break;
  }
  pthread_mutex_lock(&pool.lock);
  pool.spinning--;
  return join_job();
}

static void *helper_main(void *number) {
  const int me = (int)(intptr_t)number;
  depth = 1; /* a job's core counts for the calls inside its kernel too */
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
    const bool all = work(job, me, true);
    pthread_mutex_lock(&pool.lock);
    if (all) {
      atomic_fetch_sub(&pool.working, 1);
      close_job(job);
    } else {
      job->joined--; /* somebody may come in its place */
    }
    if (job->wait) pthread_cond_broadcast(&pool.done);
    atomic_fetch_sub(&job->inside, 1); /* from here on the job may be gone */
  }
  return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&pool.lock); }
static void after_fork(void) { pthread_mutex_unlock(&pool.lock); }

/* The child has the calling thread only. */
static void in_child(void) {
  pthread_mutex_init(&pool.lock, NULL);
  pthread_cond_init(&pool.work, NULL);
  pthread_cond_init(&pool.done, NULL);
  pool.jobs = NULL;
  pool.threads = pool.asleep = pool.spinning = 0;
  pool.alone = true;
  atomic_store(&pool.open, 0);
  atomic_store(&pool.working, depth > 0);
}

static void watch_forks(void) { pthread_atfork(before_fork, after_fork, in_child); }

/* Starts a helper; without one the others do the work. The lock is held. */
static void start_helper(void) {
  pthread_attr_t attr;
  if (pthread_attr_init(&attr)) return;
  pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's own threads */
  pthread_t thread;
  if (!pthread_create(&thread, &attr, helper_main, (void *)(intptr_t)(pool.threads + 1)))
    pool.threads++;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attr);
}

/* Lets helpers know of a job: the spinning ones see it by themselves, sleeping ones are woken, and
 * missing ones are started. */
static void open_job(struct job *job) {
  pthread_once(&fork_once, watch_forks);
  pthread_mutex_lock(&pool.lock);
  const int cores = thread_pool_threads();
  const int free_cores = cores - atomic_load(&pool.working);
  int wanted = job->n_lanes - 1 < free_cores ? job->n_lanes - 1 : free_cores;
  if (!pool.alone) {
    struct job **last = &pool.jobs;
    while (*last) last = &(*last)->next;
    *last = job;
    job->open = true;
    atomic_fetch_add(&pool.open, 1);
    wanted -= pool.spinning;
    for (; wanted > pool.asleep && pool.threads < cores - 1; wanted--) start_helper();
  }
  const int wake = wanted < pool.asleep ? wanted : pool.asleep;
  pthread_mutex_unlock(&pool.lock);
  for (int i = 0; i < wake; i++) pthread_cond_signal(&pool.work);
}

/* Waits until no helper is at work on a job any more. */
static void finish_job(struct job *job) {
  pthread_mutex_lock(&pool.lock);
  close_job(job);
  pthread_mutex_unlock(&pool.lock);
  if (!atomic_load_explicit(&job->inside, memory_order_acquire)) return;
  const int64_t until = now() + SPIN_NS;
  while (now() < until) {
    for (int i = 0; i < SPINS_PER_LOOK; i++) {
      if (!atomic_load_explicit(&job->inside, memory_order_acquire)) return;
      relax();
    }
  }
  pthread_mutex_lock(&pool.lock);
  job->wait = true;
  while (atomic_load(&job->inside)) pthread_cond_wait(&pool.done, &pool.lock);
  pthread_mutex_unlock(&pool.lock);
}

static situ_status run_split(host_kernel *kernel, const union arg *args, int64_t items,
                             struct thread_pool_chunks cut) {
  struct job job;
  job.kernel = kernel;
  job.args = args;
  job.items = items;
  job.cut = cut;
  job.n_lanes = (int)min_i64(cut.count, min_i64(thread_pool_threads(), MAX_LANES));
  job.joined = 1;
  job.open = job.wait = false;
  job.next = NULL;
  atomic_init(&job.failure, NULL);
  atomic_init(&job.inside, 0);
  for (int i = 0; i < job.n_lanes; i++) {
    atomic_init(&job.lanes[i].next, cut.count * i / job.n_lanes);
    job.lanes[i].end = cut.count * (i + 1) / job.n_lanes;
  }
  const bool helped = job.n_lanes > 1 && atomic_load(&pool.working) < thread_pool_threads();
  if (helped) open_job(&job);
  work(&job, 0, false);
  if (helped) finish_job(&job);
  return atomic_load(&job.failure);
}

situ_status thread_pool_run(host_kernel *kernel, const union arg *args, int64_t items,
                            int64_t grain) {
  if (items <= 0) return NULL;
  if (grain <= 0 || items / 2 < grain) return kernel(args, 0, items);
  const struct thread_pool_chunks cut = thread_pool_chunks(items, grain);
  thread_pool_enter();
  const situ_status s = run_split(kernel, args, items, cut);
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
  const bool sleepers = pool.asleep > 0;
  pthread_mutex_unlock(&pool.lock);
  if (sleepers) pthread_cond_signal(&pool.work); /* a core is free for the job of another caller */
}
