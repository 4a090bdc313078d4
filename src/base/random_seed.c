/* SPDX-License-Identifier: Apache-2.0
 * random_seed.c: seeds from the system, or derived from SITU_SEED. */
#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/random.h>

#include "base/random_seed.h"

/* SplitMix64. */
static uint64_t splitmix64(uint64_t number) {
  number += 0x9E3779B97F4A7C15u;
  number = (number ^ number >> 30) * 0xBF58476D1CE4E5B9u;
  number = (number ^ number >> 27) * 0x94D049BB133111EBu;
  return number ^ number >> 31;
}

situ_status random_seed_next(uint64_t seeds[2]) {
  static _Atomic uint64_t n_calls;
  const char *text = getenv("SITU_SEED");
  if (!text || !*text)
    return getrandom(seeds, 2 * sizeof *seeds, 0) == 2 * sizeof *seeds
               ? NULL
               : INTERNAL("getrandom failed");
  char *end = NULL;
  errno = 0;
  const uint64_t seed = (uint64_t)strtoll(text, &end, 10);
  if (errno || *end) return INVALID("SITU_SEED=%s is not an integer", text);
  const uint64_t first = splitmix64(seed) + 2 * atomic_fetch_add(&n_calls, 1);
  seeds[0] = splitmix64(first);
  seeds[1] = splitmix64(first + 1);
  return NULL;
}
