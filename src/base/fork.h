/* SPDX-License-Identifier: Apache-2.0
 * fork.h: whether this process is a copy of the one that started something.
 *
 * Threads do not survive a fork, and a lock that another thread held stays locked for ever. So
 * whoever owns a thread remembers the generation and refuses to go on in another; and a lock of the
 * whole process is made anew in the child (pthread_atfork), where no other thread can hold it. */
#ifndef SITU_BASE_FORK_H
#define SITU_BASE_FORK_H

#include "base/base.h"

/* A number that is greater in a child than in its parent. */
int fork_generation(void);

/* FailedPrecondition where this process was forked after that generation, in which `device` was
 * opened; else NULL. */
situ_status fork_check(int generation, const char *device) SITU_MUST_USE;

#endif
