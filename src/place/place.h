/* SPDX-License-Identifier: Apache-2.0
 * place.h: places a graph: the device of each node and the reason for it. */
#ifndef SITU_PLACE_PLACE_H
#define SITU_PLACE_PLACE_H

#include "device/device.h"
#include "graph/graph.h"
#include "place/placer.h"

/* Zero-initialized: the defaults of a session. */
struct place_options {
  bool soft;               /* allow_soft_placement */
  bool any_task;           /* treat all jobs, replicas and tasks as this process */
  bool reference;          /* exactly as TensorFlow 2.21: see placer.h */
  const int32_t *previous; /* the devices of the first n_previous nodes in an earlier placement:
                              stateful nodes keep theirs */
  int32_t n_previous;
};

/* Allocated in an arena; refers to the graph and the devices. */
struct placement {
  const struct situ_graph *graph;
  const struct device_list *devices;
  int32_t n_nodes;
  const int32_t *device; /* per node */
  const struct place_reason *reasons;
  const char *warning; /* requests that soft placement dropped, or NULL */
};

/* Places all nodes of a graph, or fails with the node and the cause. */
situ_status place_graph(const struct situ_graph *graph, const struct device_list *devices,
                        const struct place_options *options, struct arena *arena,
                        struct placement *out) SITU_MUST_USE;

/* Appends the reason for a node's device: "requested '/gpu:2'", "GPU has priority over CPU and has
 * a kernel for float". */
void place_explain(const struct placement *placement, int32_t node, struct strbuf *out);

#endif
