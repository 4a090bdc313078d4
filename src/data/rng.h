/* SPDX-License-Identifier: Apache-2.0
 * rng.h: the random number stream of an iterator (Philox, bit-compatible with TensorFlow for
 * equal seeds). */
#ifndef SITU_DATA_RNG_H
#define SITU_DATA_RNG_H

#include "data/data.h"
#include "kernel/philox_stream.h"

/* Creates the stream of a cursor. Params `first` and `first` + 1 are the seeds; two zeros mean
 * random seeds. `reseed`: each cursor gets new seeds from the seed generator of the dataset. */
situ_status rng_begin(const struct cursor *cursor, int first, bool reseed,
                      struct rng *out) SITU_MUST_USE;

/* Records the seeds of a dataset that the iteration has not opened yet. `share_state`: its cursors
 * use the shared state of the dataset. */
situ_status rng_record_seeds(struct iteration *iteration, situ_dataset *dataset,
                             bool share_state) SITU_MUST_USE;

#endif
