/* SPDX-License-Identifier: Apache-2.0
 * initializers.h: finds the nodes that initialize variables. */
#ifndef SITU_API_INITIALIZERS_H
#define SITU_API_INITIALIZERS_H

#include "graph/graph.h"

/* Finds the initializer of each variable, as a fetch: the first node that assigns it, as
 * tf.Variable creates it. `out` has room for graph->n_nodes edges. */
situ_status initializers_find(const struct situ_graph *graph, struct arena *scratch,
                              struct edge *fetches, int32_t *n_fetches) SITU_MUST_USE;

/* Finds the nodes without consumers. Those that only assign variables
 * (tf.global_variables_initializer, the restore op of a Saver) are excluded if there are others:
 * they run before a step, not in it. `out` has room for graph->n_nodes edges. */
situ_status initializers_find_sinks(const struct situ_graph *graph, struct arena *scratch,
                                    struct edge *fetches, int32_t *n_fetches) SITU_MUST_USE;

#endif
