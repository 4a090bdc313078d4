/* SPDX-License-Identifier: Apache-2.0
 * fork.h: whether this process is a copy of the one that started something. Threads do not survive a fork, so whoever
 * owns one remembers the generation and refuses to go on in another. */
#ifndef SITU_BASE_FORK_H
#define SITU_BASE_FORK_H

/* A number that is greater in a child than in its parent. */
int fork_generation(void);

#endif
