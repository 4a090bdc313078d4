/* SPDX-License-Identifier: Apache-2.0
 * team.h: threads for the yardsticks: the simplest way to use all cores. */
#ifndef SITU_BENCH_TEAM_H
#define SITU_BENCH_TEAM_H

#include <stdint.h>

/* A part of the work: the items begin <= i < end, done by thread `rank`. */
typedef void team_work(void *context, int rank, int64_t begin, int64_t end);

/* Does the items 0 <= i < count on as many threads as situ uses, each an equal part in multiples of
 * 1024 items; the caller is one of them. */
void team_run(team_work *work, void *context, int64_t count);

/* The number of threads. */
int team_size(void);

#endif
