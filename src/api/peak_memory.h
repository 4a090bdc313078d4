/* SPDX-License-Identifier: Apache-2.0
 * peak_memory.h: the peak device memory of a session that runs programs one after another. */
#ifndef SITU_API_PEAK_MEMORY_H
#define SITU_API_PEAK_MEMORY_H

#include "plan/program.h"

/* Bytes of one device. */
struct peak {
  uint64_t peak;      /* the smallest limit with which all programs run */
  uint64_t variables; /* persistent state of the session */
  uint64_t step;      /* the last program: block, results and results of host ops */
  uint64_t earlier;   /* the maximum of the same over the earlier programs */
};

/* Replays the allocations of exec/frame.c and the idle frames of api/program_cache.c for `n`
 * programs of a new session, with the allocation policy of the device but without memory. `limit`
 * is the current limit of the device: peak <= limit if and only if the programs run with it. */
situ_status peak_memory_find(const struct program *const *programs, int n, struct device *device,
                             uint64_t limit, struct peak *out) SITU_MUST_USE;

#endif
