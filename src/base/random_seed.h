/* SPDX-License-Identifier: Apache-2.0
 * random_seed.h: seeds for random ops for which the program sets none. */
#ifndef SITU_BASE_RANDOM_SEED_H
#define SITU_BASE_RANDOM_SEED_H

#include "base/base.h"

/* Returns two seeds that differ in every process; with SITU_SEED=N the sequence is the same in
 * every process, so that a program without seeds is reproducible. */
situ_status random_seed_next(uint64_t seeds[2]) SITU_MUST_USE;

#endif
