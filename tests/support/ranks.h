/* SPDX-License-Identifier: Apache-2.0
 * ranks.h: runs something in several processes that make a cluster. */
#ifndef SITU_TESTS_RANKS_H
#define SITU_TESTS_RANKS_H

#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "situ/cluster.h"

enum { RANKS_SECONDS = 1200, RANKS_MOST = 8 };

/* In a child: joins and runs the body. */
static inline bool ranks_body(int rank, int size, const char *name, bool (*body)(int rank)) {
  const situ_cluster_config config = {.rank = rank, .size = size, .name = name};
  const situ_status status = situ_cluster_join(&config);
  if (status) fprintf(stderr, "rank %d: %s\n", rank, situ_status_message(status));
  if (status) return false;
  const bool ok = body(rank);
  situ_cluster_leave();
  return ok;
}

/* How many ranks of `size` say that all went well. A rank that hangs is ended by a signal. */
static inline int ranks_run(int size, bool (*body)(int rank)) {
  static int count;
  pid_t children[RANKS_MOST];
  char name[64];
  snprintf(name, sizeof name, "test-%d-%d", (int)getpid(), count++);
  fflush(NULL);
  for (int i = 0; i < size; i++) {
    children[i] = fork();
    if (children[i]) continue;
    alarm(RANKS_SECONDS);
    const bool ok = ranks_body(i, size, name, body);
    fflush(NULL);
    _exit(ok ? 0 : 1);
  }
  int good = 0;
  for (int i = 0; i < size; i++) {
    int status = -1;
    if (children[i] < 0 || waitpid(children[i], &status, 0) != children[i]) continue;
    if (WIFSIGNALED(status)) fprintf(stderr, "rank %d: signal %d\n", i, WTERMSIG(status));
    good += WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good;
}

#endif
