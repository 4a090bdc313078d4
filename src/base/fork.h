/* SPDX-License-Identifier: Apache-2.0
 * fork.h: fork safety.
 *
 * Threads do not survive a fork, and a mutex held by another thread stays locked forever. Owners of
 * threads therefore remember the fork generation and fail in another one; owners of mutexes that
 * the child may use register a handler that initializes them again in the child. */
#ifndef SITU_BASE_FORK_H
#define SITU_BASE_FORK_H

#include <pthread.h>

#include "base/base.h"

/* A handler that runs in the child of every fork, in its only thread. Zero-initialized is
 * unregistered. It may only initialize members of its own object. */
struct fork_handler {
  struct fork_handler *next, **link;
  void (*in_child)(void *context);
  void *context;
};

/* Registers a handler until fork_unregister; idempotent. */
void fork_register(struct fork_handler *handler, void (*in_child)(void *context), void *context);
void fork_unregister(struct fork_handler *handler);

/* Initializes a mutex and registers it for initialization in forked children. */
void fork_mutex_init(pthread_mutex_t *mutex, struct fork_handler *handler);
void fork_mutex_destroy(pthread_mutex_t *mutex, struct fork_handler *handler);

/* Registers an initialized mutex, such as a static one. */
void fork_mutex_register(pthread_mutex_t *mutex, struct fork_handler *handler);

/* Returns a number that is greater in a child than in its parent. */
int fork_generation(void);

/* FailedPrecondition if this process was forked after `generation`, in which `device` was opened.
 */
situ_status fork_check(int generation, const char *device) SITU_MUST_USE;

#endif
