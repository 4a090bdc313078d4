/* SPDX-License-Identifier: Apache-2.0
 * worker.h: a thread that works off the queues of a device, for back ends whose devices do not do
 * that themselves, and the virtual clock, which says how long it would have taken.
 */
#ifndef SITU_HOST_WORKER_H
#define SITU_HOST_WORKER_H

#include <pthread.h>

#include "device/backend.h"

struct worker;

/* Something queued. Memory is named as the owner likes: it was translated when it was queued. */
struct work {
  enum { WORK_CALL, WORK_WRITE, WORK_READ, WORK_COPY, WORK_WAIT, WORK_STAMP } kind;
  struct bound_kernel *bound;
  struct span to, from;
  size_t bytes;
  double seconds;    /* on the virtual clock */
  struct worker *on; /* of a wait: until queue `on_queue` of `on` has reached `mark` */
  int on_queue;
  uint64_t mark;
  int64_t *at; /* of a stamp: where the time goes */
  bool marked; /* somebody has the mark behind it */
};

/* What a back end does for its worker. */
struct worker_owner {
  /* With the lock held: what is about to run, and why nothing runs any more (NULL: all is well).
   * `begin` may be NULL. */
  void (*begin)(void *owner, const struct work *work);
  situ_status (*lost)(const void *owner);
  /* In the worker's thread, without the lock: does a call or a copy, or starts it; calls of a run
   * that was told to end are left out before. What fails is reported: worker_fail, and from then on
   * `lost` where that is the device's own failure. */
  void (*run)(void *owner, int queue, const struct work *work);
  /* For devices that go on after `run`; NULL where `run` does all itself. `tell` sees to it that
   * worker_done is called with the number once everything that was started on the queue is done, or
   * lost; `finish` waits for that. Both in the worker's thread, without the lock. */
  void (*tell)(void *owner, int queue, uint64_t number);
  void (*finish)(void *owner, int queue);
};

enum { REMEMBERED_TIMES = 1024 };

/* Work first in, first out. A mark is the number of pieces of work queued before it. */
struct worker_queue {
  struct work *items; /* a ring of `capacity`, a power of two */
  uint64_t capacity, queued, started, done;
  uint64_t told;                  /* what the owner was asked to tell of last */
  uint64_t heard;                 /* what it told in the worker's own thread */
  uint64_t awaited;               /* the smallest mark that somebody sleeps for; 0: nobody does */
  double clock;                   /* when all that is queued ends */
  double times[REMEMBERED_TIMES]; /* when number i ends, at i % REMEMBERED_TIMES */
};

/* The worker of a device; guarded by worker_lock. */
struct worker {
  const struct worker_owner *owner;
  void *context;     /* what the owner's functions get */
  const char *label; /* of the device, for errors; borrowed */
  int generation;    /* of forks */
  struct worker_queue queues[N_QUEUES];
  bool stop, started;
  bool asleep;      /* waits for `wake` */
  atomic_uint news; /* counts what may have made work for it */
  pthread_t thread;
  pthread_cond_t wake;     /* something to do, perhaps */
  pthread_cond_t progress; /* a mark that was awaited is reached */
  atomic_uint reached;     /* counts that */
  struct worker *next;     /* in the list of all */
};

/* One lock for all workers, because a queue may wait for any other's. */
extern pthread_mutex_t worker_lock;

/* Starts a worker; stops one, frees what it holds (the struct is the owner's). What is queued, and
 * waits for nobody, is done before it stops. One that was never started may be stopped. */
situ_status worker_start(struct worker *worker, const struct worker_owner *owner, void *context,
                         const char *label) SITU_MUST_USE;
void worker_stop(struct worker *worker);

/* Queues work; fails once the device is lost. */
situ_status worker_enqueue(struct worker *worker, int queue, const struct work *work) SITU_MUST_USE;

/* Queues a wait for a mark of another worker. */
situ_status worker_wait(struct worker *worker, int queue, struct worker *on, int on_queue,
                        uint64_t mark) SITU_MUST_USE;

/* Queues a stamp: the time, as trace_now, when everything before it is done. */
situ_status worker_stamp(struct worker *worker, int queue, int64_t *at) SITU_MUST_USE;

/* The mark behind everything that is queued. */
uint64_t worker_mark(struct worker *worker, int queue);

/* Says that the first `number` pieces of work of a queue are done; by the owner, from any thread.
 */
void worker_done(struct worker *worker, int queue, uint64_t number);

/* Blocks until the queue has reached the mark; fails once the device is lost. */
situ_status worker_sync(struct worker *worker, int queue, uint64_t mark) SITU_MUST_USE;

/* Waits at most so long for the mark; whether the queue has reached it. */
bool worker_sync_timeout(struct worker *worker, int queue, uint64_t mark, double seconds);

/* Puts a call's failure where its run looks for it; the first one stays. Takes the status. */
void worker_fail(struct bound_kernel *bound, situ_status status);

/* When all that is queued ends on the virtual clock. */
double worker_clock(const struct worker *worker);

/* Lets the virtual clock begin at 0 again, for every thread. */
void worker_reset_clock(void);

#endif
