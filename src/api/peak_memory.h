/* SPDX-License-Identifier: Apache-2.0
 * peak_memory.h: the peak device memory of a session that runs programs one after another. */
#ifndef SITU_API_PEAK_MEMORY_H
#define SITU_API_PEAK_MEMORY_H

#include "plan/program.h"

/* Bytes of one device. */
struct peak {
  uint64_t peak;      /* the smallest limit with which all programs run */
  uint64_t variables; /* state that the session keeps between runs */
  uint64_t step;      /* the last program: its block, its results and what host ops make */
  uint64_t earlier;   /* the same for the programs before the last one; the largest */
};

/* Replays the allocations of exec/frame.c and the idle frames of api/program_cache.c for `n`
 * programs of a new session on an allocator with the policy of the device, but without memory.
 * `limit` is what the device allows now: peak <= limit if and only if the programs run with it. */
situ_status peak_memory_find(const struct program *const *programs, int n, struct device *device,
                             uint64_t limit, struct peak *out) SITU_MUST_USE;

#endif
