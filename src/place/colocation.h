/* SPDX-License-Identifier: Apache-2.0
 * colocation.h: colocation groups: nodes joined by reference edges and colocation constraints. */
#ifndef SITU_PLACE_COLOCATION_H
#define SITU_PLACE_COLOCATION_H

#include "place/state.h"

/* The part of two constraints that conflicts. */
enum colocation_part { PART_NONE, PART_ASSIGNED, PART_RESOURCE, PART_REQUESTED, PART_KINDS };

/* Joins the nodes of reference edges, then those of colocation groups. */
situ_status colocation_join(struct placer *placer) SITU_MUST_USE;

/* The set of a node, or NULL if it is not colocated. */
struct set *colocation_find(struct placer *placer, int32_t node);

/* Assigns the set to a device. */
situ_status colocation_assign(struct placer *placer, struct set *set, int32_t device) SITU_MUST_USE;

#endif
