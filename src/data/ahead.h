/* SPDX-License-Identifier: Apache-2.0
 * ahead.h: threads that work ahead of who asks: elements of a cursor, read or computed. */
#ifndef SITU_DATA_AHEAD_H
#define SITU_DATA_AHEAD_H

#include "data/data.h"

struct ahead;

/* Threads pull elements from `source`, let `work` make others of them (NULL: they stay) and keep
 * up to `room` for who asks. `work` runs in several threads; it takes over nothing, and makes
 * n_parts tensors. */
struct ahead_work {
  struct cursor *source;
  situ_status (*work)(const struct cursor *cursor, situ_tensor *const *row, int n,
                      situ_tensor **parts);
  const struct cursor *cursor; /* for `work` */
  int n_parts;                 /* of what comes out */
  int room, threads;
};
situ_status ahead_start(const struct ahead_work *work, struct ahead **out) SITU_MUST_USE;

/* The next element, in the order of the source. */
situ_status ahead_next(struct ahead *ahead, situ_tensor **parts, bool *end) SITU_MUST_USE;

/* Ends and joins the threads; NULL is nothing. The source is left to the caller. */
void ahead_stop(struct ahead *ahead);

/* How many threads to take where that was left to us. */
int ahead_threads(int asked);

#endif
