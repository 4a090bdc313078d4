/* SPDX-License-Identifier: Apache-2.0
 * placement_log.h: log_device_placement: the guides' lines on standard output.
 *
 * Each call writes its lines at once and flushes, so that they stand together, in order with what
 * the program itself prints. Names are legacy (`/gpu:0`) with SITU_DEVICE_NAMES=legacy.
 */
#ifndef SITU_PLACE_PLACEMENT_LOG_H
#define SITU_PLACE_PLACEMENT_LOG_H

#include "place/place.h"

/* Prints "Device mapping:" and a line for each device that has a description. */
void placement_log_mapping(const struct device_list *devices);

/* Prints a line "name: device" for each node, in the order of graph_stack_order. */
situ_status placement_log_nodes(const struct placement *placement) SITU_MUST_USE;

/* A node of a function. */
struct placement_log_node {
  bool runs, is_argument; /* neither: it is not printed */
  int32_t device;
};

/* Prints a line "name: (Op): device" for each node of a function that is to be printed: those
 * with inputs and the arguments (as _Arg) first, then constants and other generators, as
 * TensorFlow's placer does. `nodes` has an element for each node of the graph. */
situ_status placement_log_function(const struct placement *placement,
                                   const struct placement_log_node *nodes) SITU_MUST_USE;

#endif
