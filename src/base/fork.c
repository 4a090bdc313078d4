/* SPDX-License-Identifier: Apache-2.0
 * fork.c: fork safety: generation counter and child handlers through pthread_atfork. */
#include "base/fork.h"

static int generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* guards the list; innermost lock */
static struct fork_handler *handlers;

/* Keeps the list consistent in the child. */
static void before_fork(void) { pthread_mutex_lock(&lock); }
static void in_parent(void) { pthread_mutex_unlock(&lock); }

static void in_child(void) {
  pthread_mutex_init(&lock, NULL);
  generation++;
  for (struct fork_handler *at = handlers; at; at = at->next) at->in_child(at->context);
}

static void register_handlers(void) { pthread_atfork(before_fork, in_parent, in_child); }

int fork_generation(void) {
  pthread_once(&once, register_handlers);
  return generation;
}

void fork_register(struct fork_handler *handler, void (*function)(void *context), void *context) {
  pthread_once(&once, register_handlers);
  pthread_mutex_lock(&lock);
  if (!handler->link) {
    *handler = (struct fork_handler){handlers, &handlers, function, context};
    if (handlers) handlers->link = &handler->next;
    handlers = handler;
  }
  pthread_mutex_unlock(&lock);
}

void fork_unregister(struct fork_handler *handler) {
  pthread_mutex_lock(&lock);
  if (handler->link) {
    *handler->link = handler->next;
    if (handler->next) handler->next->link = handler->link;
    *handler = (struct fork_handler){0};
  }
  pthread_mutex_unlock(&lock);
}

static void init_mutex(void *mutex) { pthread_mutex_init(mutex, NULL); }

void fork_mutex_register(pthread_mutex_t *mutex, struct fork_handler *handler) {
  fork_register(handler, init_mutex, mutex);
}

void fork_mutex_init(pthread_mutex_t *mutex, struct fork_handler *handler) {
  pthread_mutex_init(mutex, NULL);
  fork_mutex_register(mutex, handler);
}

void fork_mutex_destroy(pthread_mutex_t *mutex, struct fork_handler *handler) {
  fork_unregister(handler);
  pthread_mutex_destroy(mutex);
}

situ_status fork_check(int since, const char *device) {
  if (since == fork_generation()) return NULL;
  return situ_status_create(
      SITU_FAILED_PRECONDITION,
      "%s was opened before this process was forked, and its queues do not exist in the "
      "child.\nStart "
      "child processes before the first use of a GPU, or start them anew (spawn, exec).",
      device);
}
