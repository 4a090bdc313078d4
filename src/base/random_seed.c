/* SPDX-License-Identifier: Apache-2.0
 * random_seed.c: seeds from the system, or derived from SITU_SEED. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/random_seed.h"

/* SplitMix64: words that look like chance out of numbers that follow each other. */
static uint64_t mix(uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

situ_status random_seed_next(uint64_t seeds[2]) {
  static _Atomic uint64_t taken;
  const char *text = getenv("SITU_SEED");
  if (!text || !*text)
    return getrandom(seeds, 2 * sizeof *seeds, 0) == 2 * sizeof *seeds
               ? NULL
               : INTERNAL("The system gives no random numbers");
  char *end = NULL;
  errno = 0;
  const uint64_t seed = (uint64_t)strtoll(text, &end, 10);
  if (errno || *end) return INVALID("SITU_SEED=%s is no whole number", text);
  const uint64_t first = mix(seed) + 2 * atomic_fetch_add(&taken, 1);
  seeds[0] = mix(first);
  seeds[1] = mix(first + 1);
  return NULL;
}
