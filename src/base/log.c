/* SPDX-License-Identifier: Apache-2.0
 * log.c: see log.h. */
#include "base/log.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>

enum { MAX_LINE = 2048, MAX_SAID = 256 };

static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_once_t fork_once = PTHREAD_ONCE_INIT;
static uint64_t said[MAX_SAID];
static int n_said;

static uint64_t hash_line(const char *line) {
  uint64_t hash = 1469598103934665603u;
  for (; *line; line++) hash = (hash ^ (unsigned char)*line) * 1099511628211u;
  return hash;
}

/* Another thread of the parent may have held the lock. */
static void in_child(void) { pthread_mutex_init(&said_lock, NULL); }

static void watch_forks(void) { pthread_atfork(NULL, NULL, in_child); }

/* Whether the line is new; remembers it. Past MAX_SAID distinct lines nothing more is said. */
static bool first_time(const char *line) {
  const uint64_t hash = hash_line(line);
  pthread_once(&fork_once, watch_forks);
  pthread_mutex_lock(&said_lock);
  bool is_new = n_said < MAX_SAID;
  for (int i = 0; i < n_said && is_new; i++) is_new = said[i] != hash;
  if (is_new) said[n_said++] = hash;
  pthread_mutex_unlock(&said_lock);
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
  if (first_time(line)) fprintf(stderr, "situ: %s\n", line);
}
