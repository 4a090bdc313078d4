/* SPDX-License-Identifier: Apache-2.0
 * ranks.h: devices sorted by preference. A set of devices is a bit mask by rank, so its lowest bit
 * is the best device. */
#ifndef SITU_PLACE_RANKS_H
#define SITU_PLACE_RANKS_H

#include "place/placer.h"

struct ranks {
  int32_t count, words; /* devices; words of a mask */
  int32_t *order;       /* the device of each rank */
  int32_t *rank;        /* the rank of each device */
};

/* Sorts devices by the priority of their kind, then by name: numerically, or as strings under the
 * reference policy (GPU:10 before GPU:2). */
situ_status ranks_create(const struct place_problem *problem, struct arena *arena,
                         struct ranks *out) SITU_MUST_USE;

/* The lowest bit that two masks have in common, or -1. */
int32_t ranks_first(const struct ranks *ranks, const uint64_t *a, const uint64_t *b);

/* Whether a rank is in a mask. */
static inline bool ranks_hold(const uint64_t *mask, int32_t rank) {
  return mask[rank / 64] >> (rank % 64) & 1;
}

/* Adds a rank to a mask. */
static inline void ranks_add(uint64_t *mask, int32_t rank) {
  mask[rank / 64] |= (uint64_t)1 << (rank % 64);
}

#endif
