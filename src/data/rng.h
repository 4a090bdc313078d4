/* SPDX-License-Identifier: Apache-2.0
 * rng.h: the random number stream of an iterator (Philox, bit-compatible with TensorFlow for
 * equal seeds). */
#ifndef SITU_DATA_RNG_H
#define SITU_DATA_RNG_H

#include "data/data.h"
#include "kernel/host.h"
#include "kernel/philox.h"

/* Philox, one word after the other. */
struct rng {
  struct philox state;
  struct words words;
  int used; /* of `words`; 0: there are none yet */
};

u32 rng_next(struct rng *rng);

/* The dice of a cursor of a data set whose params `first` and `first` + 1 are seeds; two of 0 are
 * anybody's. `anew`: the data set has a generator of seeds, and each cursor takes other ones. */
situ_status rng_begin(const struct cursor *cursor, int first, bool anew,
                      struct rng *out) SITU_MUST_USE;

/* Marks the seeds that a data set has, or will begin with, where the walk has not come to it yet.
 * `shares`: its cursors share them. */
situ_status rng_mark(struct iteration *iteration, situ_dataset *dataset, bool shares) SITU_MUST_USE;

#endif
