/* SPDX-License-Identifier: Apache-2.0
 * worker.h: a thread that executes the queues of a device, for back ends without asynchronous
 * queues, and the virtual clock of simulated devices.
 */
#ifndef SITU_HOST_WORKER_H
#define SITU_HOST_WORKER_H

#include <pthread.h>

#include "device/backend.h"

struct worker;

/* An entry of a queue. Memory is already translated to the owner's representation. */
struct work {
  enum { WORK_CALL, WORK_WRITE, WORK_READ, WORK_COPY, WORK_WAIT, WORK_STAMP } kind;
  struct bound_kernel *bound;
  struct span to, from;
  size_t bytes;
  double seconds;    /* duration on the virtual clock */
  struct worker *on; /* WORK_WAIT: until queue `on_queue` of `on` has reached `mark` */
  int on_queue;
  uint64_t mark;
  int64_t *at; /* WORK_STAMP: destination */
  bool marked; /* worker_mark has returned the mark behind it */
};

/* Callbacks of a back end. */
struct worker_owner {
  /* Called with the lock held: `begin` (may be NULL) before each entry; `lost` returns why the
   * device no longer executes anything, NULL while it works. */
  void (*begin)(void *owner, const struct work *work);
  situ_status (*lost)(const void *owner);
  /* Called in the worker's thread without the lock: executes or starts a call or a copy; calls of
   * cancelled runs are skipped. Reports errors with worker_fail, and through `lost` if the device
   * itself has failed. */
  void (*run)(void *owner, int queue, const struct work *work);
  /* For devices that continue asynchronously after `run`; NULL if `run` is synchronous. `signal`
   * arranges that worker_done is called with `number` once everything started on the queue is
   * complete or lost; `finish` waits for that. Both are called in the worker's thread without the
   * lock. */
  void (*signal)(void *owner, int queue, uint64_t number);
  void (*finish)(void *owner, int queue);
};

enum { REMEMBERED_TIMES = 1024 };

/* A FIFO queue. A mark is the number of entries enqueued before it. */
struct worker_queue {
  struct work *items; /* ring buffer; `capacity` is a power of two */
  uint64_t capacity, queued, started, done;
  uint64_t signalled;             /* last number passed to `signal` */
  uint64_t deferred;              /* number reported by worker_done in the worker's own thread */
  uint64_t awaited;               /* smallest mark that a thread sleeps for; 0: none */
  double clock;                   /* virtual time at which all entries complete */
  double times[REMEMBERED_TIMES]; /* completion time of entry i, at i % REMEMBERED_TIMES */
};

/* The worker of a device; guarded by worker_lock. */
struct worker {
  const struct worker_owner *owner;
  void *context;     /* argument of the callbacks */
  const char *label; /* device name for errors; borrowed */
  int generation;    /* fork_generation() when it was started */
  struct worker_queue queues[N_QUEUES];
  bool stop, started;
  bool asleep;            /* waiting for `wake` */
  atomic_uint work_count; /* incremented when there may be new work */
  pthread_t thread;
  pthread_cond_t wake;        /* there may be work */
  pthread_cond_t progress;    /* an awaited mark is reached */
  atomic_uint progress_count; /* incremented with `progress` */
  struct worker *next;        /* in the list of all workers */
};

/* One lock for all workers, because a queue may wait for any other. */
extern pthread_mutex_t worker_lock;

/* Starts a worker; stops one and frees its queues (the owner frees the struct). Before it stops, it
 * executes all entries that do not wait for others. Stopping a worker that was never started is
 * allowed. */
situ_status worker_start(struct worker *worker, const struct worker_owner *owner, void *context,
                         const char *label) SITU_MUST_USE;
void worker_stop(struct worker *worker);

/* Enqueues work; fails once the device is lost. */
situ_status worker_enqueue(struct worker *worker, int queue, const struct work *work) SITU_MUST_USE;

/* Enqueues a wait for a mark of another worker. */
situ_status worker_wait(struct worker *worker, int queue, struct worker *on, int on_queue,
                        uint64_t mark) SITU_MUST_USE;

/* Enqueues a time stamp (trace_now), taken when all preceding work is complete. */
situ_status worker_stamp(struct worker *worker, int queue, int64_t *at) SITU_MUST_USE;

/* Returns the mark behind all enqueued work. */
uint64_t worker_mark(struct worker *worker, int queue);

/* Called by the owner, from any thread: the first `number` entries of a queue are complete. */
void worker_done(struct worker *worker, int queue, uint64_t number);

/* Blocks until the queue has reached the mark; fails once the device is lost. */
situ_status worker_sync(struct worker *worker, int queue, uint64_t mark) SITU_MUST_USE;

/* Waits up to `seconds` for the mark; returns whether the queue has reached it. */
bool worker_sync_timeout(struct worker *worker, int queue, uint64_t mark, double seconds);

/* Stores the error of a call in its run, unless there is one already. Takes ownership of the
 * status. */
void worker_fail(struct bound_kernel *bound, situ_status status);

/* Returns the virtual time at which all enqueued work completes. */
double worker_clock(const struct worker *worker);

/* Resets the virtual clock of every host thread to 0. */
void worker_reset_clock(void);

#endif
