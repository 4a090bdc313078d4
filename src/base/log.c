/* SPDX-License-Identifier: Apache-2.0
 * log.c: warnings of the library on standard error. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { MAX_LINE = 2048, MAX_LOGGED = 256 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static uint64_t logged[MAX_LOGGED];
static int n_logged;

static uint64_t hash_line(const char *line) {
  uint64_t hash = 1469598103934665603u;
  for (; *line; line++) hash = (hash ^ (unsigned char)*line) * 1099511628211u;
  return hash;
}

/* A thread of the parent may have held the lock. */
static void reset_lock(void) { pthread_mutex_init(&lock, NULL); }

static void register_fork_handler(void) { pthread_atfork(NULL, NULL, reset_lock); }

/* Returns whether the line is new and remembers it. After MAX_LOGGED distinct lines nothing is
 * logged. */
static bool is_first_time(const char *line) {
  const uint64_t hash = hash_line(line);
  pthread_once(&fork_once, register_fork_handler);
  pthread_mutex_lock(&lock);
  bool is_new = n_logged < MAX_LOGGED;
  for (int i = 0; i < n_logged && is_new; i++) is_new = logged[i] != hash;
  if (is_new) logged[n_logged++] = hash;
  pthread_mutex_unlock(&lock);
  return is_new;
}

void log_warn(const char *format, ...) {
  char line[MAX_LINE];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  fprintf(stderr, "situ: %s\n", line);
}

void log_warn_once(const char *format, ...) {
  char line[MAX_LINE];
  va_list list;
  va_start(list, format);
  vsnprintf(line, sizeof line, format, list);
  va_end(list);
  if (is_first_time(line)) fprintf(stderr, "situ: %s\n", line);
}
