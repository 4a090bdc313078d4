/* SPDX-License-Identifier: Apache-2.0
 * log.h: log_device_placement: the guides' lines on standard output.
 *
 * Each call writes its lines at once and flushes, so that they stand together, in order with what
 * the program itself prints. Names are legacy (`/gpu:0`) with SITU_DEVICE_NAMES=legacy.
 */
#ifndef SITU_PLACE_LOG_H
#define SITU_PLACE_LOG_H

#include "place/place.h"

/* Prints "Device mapping:" and a line for each device that has a description. */
void log_mapping(const struct device_list *devices);

/* Prints a line "name: device" for each node, in the order of graph_stack_order. */
situ_status log_nodes(const struct placement *placement) SITU_MUST_USE;

#endif
