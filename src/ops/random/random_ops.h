/* SPDX-License-Identifier: Apache-2.0
 * random_ops.h: generator state that the random ops share. */
#ifndef SITU_OPS_RANDOM_RANDOM_OPS_H
#define SITU_OPS_RANDOM_RANDOM_OPS_H

#include "schema/call.h"

/* Blocks of the generator that TensorFlow sets aside for each output. */
enum { RANDOM_BLOCKS_PER_OUTPUT = 256 };

#define RANDOM_SEEDS " Equal seeds yield equal numbers on every device."

/* The generator of a node with attributes `seed` and `seed2`: state of the session. */
situ_status random_state(struct call *call, int32_t *slot) SITU_MUST_USE;

/* Fails unless input `input` may be the two seeds of a stateless op. */
situ_status random_need_seeds(const struct call *call, int input) SITU_MUST_USE;

/* A generator that begins with the two numbers of input `seeds`, in scratch memory. */
situ_status random_mixed(struct call *call, int seeds, int32_t *slot) SITU_MUST_USE;

/* Records that the generator goes on by `blocks` blocks of four words. */
situ_status random_skip(struct call *call, int32_t state, int64_t blocks) SITU_MUST_USE;

#endif
