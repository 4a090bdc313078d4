/* SPDX-License-Identifier: Apache-2.0
 * placement_log.h: log_device_placement: lines on standard output as in TensorFlow's guides.
 *
 * Each call writes all its lines in one write and flushes, so that they are not interleaved with
 * the program's own output. Device names are legacy (`/gpu:0`) with SITU_DEVICE_NAMES=legacy.
 */
#ifndef SITU_PLACE_PLACEMENT_LOG_H
#define SITU_PLACE_PLACEMENT_LOG_H

#include "place/place.h"

/* Prints "Device mapping:" and a line for each device that has a description. */
situ_status placement_log_mapping(const struct device_list *devices) SITU_MUST_USE;

/* Prints a line "name: device" for each node, in the order of graph_import_order. */
situ_status placement_log_nodes(const struct placement *placement) SITU_MUST_USE;

/* A node of a function. */
struct placement_log_node {
  bool runs, is_argument; /* printed if one is set */
  int32_t device;
};

/* Prints a line "name: (Op): device" for each node of a function that runs or is an argument
 * (printed as _Arg): generators such as constants last, as TensorFlow's placer does. `nodes` has
 * one element per node of the graph. */
situ_status placement_log_function(const struct placement *placement,
                                   const struct placement_log_node *nodes) SITU_MUST_USE;

#endif
