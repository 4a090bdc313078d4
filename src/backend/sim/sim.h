/* SPDX-License-Identifier: Apache-2.0
 * sim.h: a simulated GPU from the inside: memory of its own, three queues, one worker, a virtual clock. */
#ifndef SITU_BACKEND_SIM_SIM_H
#define SITU_BACKEND_SIM_SIM_H

#include <pthread.h>

#include "backend/sim/spec.h"
#include "device/backend.h"

struct sim;

/* Something queued. Copies hold addresses: they were translated when they were queued. */
struct command {
  enum { COMMAND_LAUNCH, COMMAND_COPY, COMMAND_WAIT } kind;
  struct bound *bound;
  void *to;
  const void *from;
  size_t bytes;
  double seconds; /* on the virtual clock */
  struct sim *on; /* of a wait: until queue `on_queue` of `on` has reached `mark` */
  int on_queue;
  uint64_t mark;
};

enum { REMEMBERED_TIMES = 1024 };

/* Commands first in, first out. A mark is the number of commands queued before it. */
struct queue_state {
  struct command *commands; /* a ring of `capacity`, a power of two */
  uint64_t capacity, queued, done;
  double clock;                    /* when the last command ended */
  double times[REMEMBERED_TIMES]; /* when command number i ended, at i % REMEMBERED_TIMES */
};

struct sim_region {
  struct sim_region *next;
  void *base;
  size_t bytes;
};

struct sim {
  struct sim_spec spec;
  int index;
  struct sim_region *regions;
  struct queue_state queues[N_QUEUES];
  int64_t kernels; /* run so far, for lost_after */
  bool lost, stop, has_worker;
  pthread_t worker;
  pthread_cond_t wake; /* something to do, perhaps */
  struct sim *next;    /* in the list of all open ones */
};

/* One lock for all simulated devices, because a queue may wait for any other's. */
extern pthread_mutex_t sim_lock;

/* The address of a place in the device's memory; NULL for any other place. */
void *sim_address(void *device, struct span span);

/* Starts and stops the worker. What is queued is done before it stops. */
situ_status worker_start(struct sim *sim) SITU_MUST_USE;
void worker_stop(struct sim *sim);

/* Queues a command; starts the worker if need be. Unavailable once the device is lost. */
situ_status worker_queue(struct sim *sim, int queue, const struct command *command) SITU_MUST_USE;

/* Blocks until the queue has reached the mark. Unavailable once the device is lost. */
situ_status worker_sync(struct sim *sim, int queue, uint64_t mark) SITU_MUST_USE;

#endif
