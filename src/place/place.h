/* SPDX-License-Identifier: Apache-2.0
 * place.h: the devices of a graph's nodes, each with its reason. */
#ifndef SITU_PLACE_PLACE_H
#define SITU_PLACE_PLACE_H

#include "device/device.h"
#include "graph/graph.h"
#include "place/placer.h"

/* Zero is what a session does by default. */
struct place_options {
  bool soft;               /* allow_soft_placement */
  bool any_task;           /* every job, replica and task that is named is in this process */
  bool reference;          /* TensorFlow 2.21 to the letter */
  const int32_t *previous; /* the devices of the first n_previous nodes in an earlier placement:
                              nodes with state keep theirs */
  int32_t n_previous;
};

/* Lives in its arena, as long as the graph and the devices. */
struct placement {
  const struct situ_graph *graph;
  const struct device_list *devices;
  int32_t n_nodes;
  const int32_t *device; /* the number of each node's device */
  const struct place_reason *reasons;
  const char *warning; /* what soft placement moved, or NULL */
};

/* Places every node of a graph, or fails and says which node and why. */
situ_status place_graph(const struct situ_graph *graph, const struct device_list *devices,
                        const struct place_options *options, struct arena *arena,
                        struct placement *out) SITU_MUST_USE;

/* Appends why a node is where it is: "asked for '/gpu:2'", "GPU has priority over CPU and has a
 * kernel for float". */
void place_explain(const struct placement *placement, int32_t node, struct strbuf *out);

#endif
