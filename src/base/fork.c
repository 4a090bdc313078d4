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
