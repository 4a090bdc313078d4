/* SPDX-License-Identifier: Apache-2.0
 * fork.c: see fork.h. */
#include "base/fork.h"

#include <pthread.h>

static int generation;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void in_child(void) { generation++; }

static void watch(void) { pthread_atfork(NULL, NULL, in_child); }

int fork_generation(void) {
  pthread_once(&once, watch);
  return generation;
}

situ_status fork_check(int since, const char *device) {
  if (since == fork_generation()) return NULL;
  return situ_status_create(
      SITU_FAILED_PRECONDITION,
      "%s was opened before this process was forked, and its queues did not come along.\nStart "
      "child processes before the first use of a GPU, or start them anew (spawn, exec).",
      device);
}
