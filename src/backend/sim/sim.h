/* SPDX-License-Identifier: Apache-2.0
 * sim.h: a simulated GPU from the inside: memory of its own, three queues, one worker, a virtual
 * clock. */
#ifndef SITU_BACKEND_SIM_SIM_H
#define SITU_BACKEND_SIM_SIM_H

#include <pthread.h>

#include "backend/sim/spec.h"
#include "device/backend.h"

struct sim;

/* A GPU of the process, whatever handles of it are open: virtual devices share one. */
struct sim_gpu {
  struct sim_spec spec;
  uint64_t used;   /* bytes of its memory */
  int64_t kernels; /* run so far, for lost_after */
  bool lost;
};

/* Something queued. Copies hold addresses: they were translated when they were queued. */
struct command {
  enum { COMMAND_LAUNCH, COMMAND_COPY, COMMAND_WAIT, COMMAND_STAMP } kind;
  struct bound *bound;
  void *to;
  const void *from;
  size_t bytes;
  double seconds; /* on the virtual clock */
  struct sim *on; /* of a wait: until queue `on_queue` of `on` has reached `mark` */
  int on_queue;
  uint64_t mark;
  int64_t *at; /* of a stamp: where the time goes */
};

enum { REMEMBERED_TIMES = 1024 };

/* Commands first in, first out. A mark is the number of commands queued before it. */
struct queue_state {
  struct command *commands; /* a ring of `capacity`, a power of two */
  uint64_t capacity, queued, done;
  uint64_t awaited;               /* the smallest mark that somebody sleeps for; 0: nobody does */
  double clock;                   /* when all that is queued ends */
  double times[REMEMBERED_TIMES]; /* when command number i ends, at i % REMEMBERED_TIMES */
};

struct sim_region {
  struct sim_region *next;
  void *base;
  size_t bytes;
};

/* An open device. What may change is guarded by sim_lock. */
struct sim {
  struct sim_gpu *gpu;
  char label[128]; /* for errors: which GPU, before visibility, and what it is */
  int generation;  /* of forks */
  struct sim_region *regions;
  struct queue_state queues[N_QUEUES];
  bool stop, has_worker;
  bool asleep; /* the worker waits for `wake` */
  pthread_t worker;
  pthread_cond_t wake;     /* something to do, perhaps */
  pthread_cond_t progress; /* a mark that was awaited is reached */
  struct sim *next;        /* in the list of all open ones */
};

/* One lock for all simulated devices, because a queue may wait for any other's. */
extern pthread_mutex_t sim_lock;

/* Starts and stops the worker. What is queued, and waits for nobody, is done before it stops. */
situ_status worker_start(struct sim *sim) SITU_MUST_USE;
void worker_stop(struct sim *sim);

/* Queues a command. Unavailable once the device is lost. */
situ_status worker_queue(struct sim *sim, int queue, const struct command *command) SITU_MUST_USE;

/* Blocks until the queue has reached the mark. Unavailable once the device is lost. */
situ_status worker_sync(struct sim *sim, int queue, uint64_t mark) SITU_MUST_USE;

/* Waits at most so long for the mark; whether the queue has reached it. */
bool worker_reach(struct sim *sim, int queue, uint64_t mark, double seconds);

/* What is said of a device that is lost, NULL of others; called with the lock. */
situ_status worker_lost(const struct sim *sim) SITU_MUST_USE;

/* Lets the virtual clock begin at 0 again, for every thread. */
void worker_reset_clock(void);

#endif
