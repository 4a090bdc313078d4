/* SPDX-License-Identifier: Apache-2.0
 * philox_stream.h: the words of a Philox generator one by one, on the host; bit-compatible with
 * TensorFlow for equal seeds. */
#ifndef SITU_KERNEL_PHILOX_STREAM_H
#define SITU_KERNEL_PHILOX_STREAM_H

#include "kernel/host.h"
#include "kernel/philox.h"

/* A Philox stream, returned word by word. */
struct rng {
  struct philox state;
  struct words words;
  int used; /* words used; 0: `words` is empty */
};

/* The stream of two seeds. */
static inline struct rng rng_create(int64_t seed, int64_t seed2) {
  const u64 key = (u64)seed, counter = (u64)seed2;
  return (struct rng){
      .state = {{0, 0, (u32)counter, (u32)(counter >> 32)}, {(u32)key, (u32)(key >> 32)}}};
}

static inline u32 rng_next(struct rng *rng) {
  if (!rng->used) {
    rng->words = philox_words(rng->state);
    rng->state = philox_skip(rng->state, 1);
  }
  const u32 word = rng->words.at[rng->used];
  rng->used = (rng->used + 1) % 4;
  return word;
}

/* Drops what is left of a block, so that the next word begins a new one. */
static inline void rng_align(struct rng *rng) { rng->used = 0; }

/* A double from 0 to before 1. */
static inline double rng_double(struct rng *rng) {
  const u32 high = rng_next(rng);
  return philox_wide(high, rng_next(rng));
}

#endif
