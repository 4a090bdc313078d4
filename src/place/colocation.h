/* SPDX-License-Identifier: Apache-2.0
 * colocation.h: colocation groups: nodes joined by reference edges and colocation constraints. */
#ifndef SITU_PLACE_COLOCATION_H
#define SITU_PLACE_COLOCATION_H

#include "place/state.h"

/* Which part of two claims does not go together. */
enum colocation_part { PART_NONE, PART_ASSIGNED, PART_RESOURCE, PART_REQUESTED, PART_KINDS };

/* Joins what reference edges and then what colocation groups say. */
situ_status colocation_join(struct placer *placer) SITU_MUST_USE;

/* The set of a node, or NULL where it is alone. */
struct set *colocation_find(struct placer *placer, int32_t node);

/* From now on the set is on this device. */
situ_status colocation_narrow(struct placer *placer, struct set *set, int32_t device) SITU_MUST_USE;

#endif
