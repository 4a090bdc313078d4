/* SPDX-License-Identifier: Apache-2.0
 * prefetch.h: prefetching: threads that read or compute elements before they are requested. */
#ifndef SITU_DATA_PREFETCH_H
#define SITU_DATA_PREFETCH_H

#include "data/data.h"

struct prefetch;

/* Threads pull elements from `source`, let `work` make others of them (NULL: they stay) and keep
 * up to `room` for who asks. `work` runs in several threads; it takes over nothing, and makes
 * n_parts tensors. */
struct prefetch_work {
  struct cursor *source;
  situ_status (*work)(const struct cursor *cursor, situ_tensor *const *row, int n,
                      situ_tensor **parts);
  const struct cursor *cursor; /* for `work` */
  int n_parts;                 /* of what comes out */
  int room, threads;
};
situ_status prefetch_start(const struct prefetch_work *work, struct prefetch **out) SITU_MUST_USE;

/* The next element, in the order of the source. */
situ_status prefetch_pop(struct prefetch *prefetch, situ_tensor **parts, bool *end) SITU_MUST_USE;

/* Ends and joins the threads; NULL is nothing. The source is left to the caller. */
void prefetch_stop(struct prefetch *prefetch);

/* How many threads to take where that was left to us. */
int prefetch_threads(int asked);

#endif
