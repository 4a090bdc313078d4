/* SPDX-License-Identifier: Apache-2.0
 * sets.h: nodes that must be together: joined by reference edges and by colocation. */
#ifndef SITU_PLACE_SETS_H
#define SITU_PLACE_SETS_H

#include "place/state.h"

/* Which part of two claims does not go together. */
enum sets_part { PART_NONE, PART_ASSIGNED, PART_RESOURCE, PART_REQUESTED, PART_KINDS };

/* Joins what reference edges and then what colocation groups say. */
situ_status sets_join(struct placer *placer) SITU_MUST_USE;

/* The set of a node, or NULL where it is alone. */
struct set *sets_find(struct placer *placer, int32_t node);

/* From now on the set is on this device. */
situ_status sets_narrow(struct placer *placer, struct set *set, int32_t device) SITU_MUST_USE;

#endif
