/* SPDX-License-Identifier: Apache-2.0
 * random_ops.h: generator state that the random ops share. */
#ifndef SITU_OPS_RANDOM_RANDOM_OPS_H
#define SITU_OPS_RANDOM_RANDOM_OPS_H

#include "schema/call.h"

#define RANDOM_KEY_INPUTS "key:uint64 counter:uint64 alg:int32"

/* Blocks of the generator that TensorFlow sets aside for each output. */
enum { RANDOM_BLOCKS_PER_OUTPUT = 256 };

#define RANDOM_SEEDS " Equal seeds yield equal numbers on every device."

/* The generator of a node with attributes `seed` and `seed2`: state of the session. */
situ_status random_state(struct call *call, int32_t *slot) SITU_MUST_USE;

/* Fails unless input `input` may be the two seeds of a stateless op. */
situ_status random_need_seeds(const struct call *call, int input) SITU_MUST_USE;

/* A generator that begins with the two numbers of input `seeds`, in scratch memory. */
situ_status random_mixed(struct call *call, int seeds, int32_t *slot) SITU_MUST_USE;

/* A generator with the key and counter of inputs `key` and `key + 1`, in scratch memory. */
situ_status random_keyed(struct call *call, int key, int32_t *slot) SITU_MUST_USE;

/* Fails unless inputs `key` to `key + 2` may be a key, a counter and an algorithm. */
situ_status random_need_key(struct call *call, int key) SITU_MUST_USE;

/* Sets the shape of the result to input 0 and the shape of the parameters. */
situ_status random_samples_shape(struct call *call, const situ_shape *parameters) SITU_MUST_USE;

/* Fails with that message unless the shape of the result ends with that of the parameters. */
situ_status random_need_ending(const struct call *call, const situ_shape *parameters,
                               const char *message) SITU_MUST_USE;

/* Records that the generator is advanced by `blocks` blocks of four words. */
situ_status random_skip(struct call *call, int32_t state, int64_t blocks) SITU_MUST_USE;

#endif
