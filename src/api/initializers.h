/* SPDX-License-Identifier: Apache-2.0
 * initializers.h: which nodes of a graph give its variables their initial values. */
#ifndef SITU_API_INITIALIZERS_H
#define SITU_API_INITIALIZERS_H

#include "graph/graph.h"

/* The node that gives each variable its initial value, as a fetch: the first one that assigns it,
 * as TensorFlow's tf.Variable makes it. Room for graph->n_nodes edges. */
situ_status initializers_find(const struct situ_graph *graph, struct arena *scratch,
                              struct edge *fetches, int32_t *n_fetches) SITU_MUST_USE;

/* The nodes that nobody reads. Those that only assign variables (tf.global_variables_initializer,
 * the restore op of a Saver) are left out where there are others: they run before a step, not in
 * it. Room for graph->n_nodes edges. */
situ_status initializers_ends(const struct situ_graph *graph, struct arena *scratch,
                              struct edge *fetches, int32_t *n_fetches) SITU_MUST_USE;

#endif
