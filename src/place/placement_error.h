/* SPDX-License-Identifier: Apache-2.0
 * placement_error.h: the errors of the placer: the node, its requested device, and suggestions. */
#ifndef SITU_PLACE_PLACEMENT_ERROR_H
#define SITU_PLACE_PLACEMENT_ERROR_H

#include "place/colocation.h"

/* Checks what each node asks for by itself: a kernel somewhere, a well-formed request, a device
 * beforehand that exists and can run it. */
situ_status placement_error_members(struct placer *placer) SITU_MUST_USE;

/* A node found no device. Outside the reference policy the node is named that would have been tried
 * first in the order of the guides. */
situ_status placement_error_node(struct placer *placer, int32_t node) SITU_MUST_USE;

/* What is fixed on both ends of a reference edge differs; `what` is "assigned" or "resource". */
situ_status placement_error_edge(struct placer *placer, struct place_reference edge,
                                 const char *what, int32_t from, int32_t to) SITU_MUST_USE;

/* Two nodes that must be together cannot be. */
situ_status placement_error_join(struct placer *placer, int32_t x, int32_t y,
                                 enum colocation_part part, bool by_reference) SITU_MUST_USE;

/* A set cannot be on the device that one of its nodes got. */
situ_status placement_error_narrow(struct placer *placer, const struct set *set,
                                   int32_t device) SITU_MUST_USE;

#endif
