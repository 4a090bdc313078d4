/* SPDX-License-Identifier: Apache-2.0
 * fork.h: whether this process is a copy of the one that started something.
 *
 * Threads do not survive a fork, and a mutex that another thread held stays locked for ever. So
 * whoever owns a thread remembers the generation and refuses to go on in another; and whoever owns
 * a mutex that the child may use registers a handler that initialises it again in the child, where
 * no other thread can hold it. */
#ifndef SITU_BASE_FORK_H
#define SITU_BASE_FORK_H

#include <pthread.h>

#include "base/base.h"

/* A handler of an object (or of static data) that runs in the child of every fork, in its only
 * thread. Zero is not registered. Handlers may only initialise what belongs to the object. */
struct fork_handler {
  struct fork_handler *next, **link;
  void (*in_child)(void *context);
  void *context;
};

/* Registers a handler until fork_unregister; registering twice is registering once. */
void fork_register(struct fork_handler *handler, void (*in_child)(void *context), void *context);
void fork_unregister(struct fork_handler *handler);

/* Initialises a mutex and registers it: it is initialised again in the child of a fork. */
void fork_mutex_init(pthread_mutex_t *mutex, struct fork_handler *handler);
void fork_mutex_destroy(pthread_mutex_t *mutex, struct fork_handler *handler);

/* Registers a mutex that is initialised already, such as a static one. */
void fork_mutex_register(pthread_mutex_t *mutex, struct fork_handler *handler);

/* A number that is greater in a child than in its parent. */
int fork_generation(void);

/* FailedPrecondition where this process was forked after that generation, in which `device` was
 * opened; else NULL. */
situ_status fork_check(int generation, const char *device) SITU_MUST_USE;

#endif
