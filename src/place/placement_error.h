/* SPDX-License-Identifier: Apache-2.0
 * placement_error.h: the errors of the placer: the node, its requested device, and suggestions. */
#ifndef SITU_PLACE_PLACEMENT_ERROR_H
#define SITU_PLACE_PLACEMENT_ERROR_H

#include "place/colocation.h"

/* Checks each node by itself: it must have a kernel, a well-formed request, and a valid previous
 * assignment. */
situ_status placement_error_check_nodes(struct placer *placer) SITU_MUST_USE;

/* The error of a node without a device. Outside the reference policy, names the first such node in
 * the order of graph_import_order, as TensorFlow's guides do. */
situ_status placement_error_node(struct placer *placer, int32_t node) SITU_MUST_USE;

/* The ends of a reference edge are fixed to different devices; `what` is "assigned" or "resource".
 */
situ_status placement_error_edge(struct placer *placer, struct place_reference edge,
                                 const char *what, int32_t from, int32_t to) SITU_MUST_USE;

/* Two nodes that must be colocated conflict in `part`. */
situ_status placement_error_join(struct placer *placer, int32_t x, int32_t y,
                                 enum colocation_part part, bool by_reference) SITU_MUST_USE;

/* A set is not compatible with the device of one of its nodes. */
situ_status placement_error_assign(struct placer *placer, const struct set *set,
                                   int32_t device) SITU_MUST_USE;

#endif
