/* SPDX-License-Identifier: Apache-2.0
 * child.h: runs something in a child of fork, which must not hang. */
#ifndef SITU_TESTS_CHILD_H
#define SITU_TESTS_CHILD_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "situ/status.h"

enum { CHILD_SECONDS = 600 };

/* Whether children of a process whose other threads allocate may allocate, too: the allocators
 * of ASan and TSan have no handlers for fork, so that a child may find them locked for ever. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { CHILD_MAY_ALLOCATE = 0 };
#else
enum { CHILD_MAY_ALLOCATE = 1 };
#endif

/* Runs `body` in a child and returns its result. The child prints its own failure; if it hangs, a
 * signal ends it. */
static inline bool child_succeeds(bool (*body)(void *context), void *context) {
  fflush(NULL);
  const pid_t child = fork();
  if (child == 0) {
    alarm(CHILD_SECONDS);
    const bool ok = body(context);
    fflush(NULL);
    _exit(ok ? 0 : 1);
  }
  int status = -1;
  if (child < 0 || waitpid(child, &status, 0) != child) return false;
  if (WIFSIGNALED(status)) fprintf(stderr, "the child was ended by signal %d\n", WTERMSIG(status));
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* In a child: whether a status is a failure with that code and part of a text. Releases it. */
static inline bool child_expects(situ_status status, situ_code code, const char *part) {
  const bool ok = situ_status_code(status) == code && strstr(situ_status_message(status), part);
  if (!ok)
    fprintf(stderr, "expected %s with '%s', not %s: %s\n", situ_code_name(code), part,
            situ_code_name(situ_status_code(status)), situ_status_message(status));
  situ_status_release(status);
  return ok;
}

#endif
