/* SPDX-License-Identifier: Apache-2.0
 * prefetch.h: prefetching: threads that read or compute elements before they are requested. */
#ifndef SITU_DATA_PREFETCH_H
#define SITU_DATA_PREFETCH_H

#include "data/data.h"

struct prefetch;

/* Threads read elements from `source`, map them with `work` (NULL: unchanged) and buffer up to
 * `capacity` results. `work` runs concurrently, borrows its inputs and creates n_components
 * tensors. */
struct prefetch_work {
  struct cursor *source;
  situ_status (*work)(const struct cursor *cursor, situ_tensor *const *element, int n,
                      situ_tensor **components);
  const struct cursor *cursor; /* for `work` */
  int n_components;            /* of a result */
  int capacity, threads;
};
situ_status prefetch_start(const struct prefetch_work *work, struct prefetch **out) SITU_MUST_USE;

/* Gets the next result, in the order of the source. */
situ_status prefetch_pop(struct prefetch *prefetch, situ_tensor **components,
                         bool *end) SITU_MUST_USE;

/* Stops and joins the threads; NULL is ignored. Does not close the source. */
void prefetch_stop(struct prefetch *prefetch);

/* Returns the number of threads: `requested`, or that of the cores for SITU_AUTOTUNE. */
int prefetch_threads(int requested);

#endif
