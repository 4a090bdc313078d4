/* SPDX-License-Identifier: Apache-2.0
 * import_order.c: the node order of the placement log (graph_import_order). */
#include <stdlib.h>

#include "graph/graph.h"

/* The consumers of every node: those of node i are ids[starts[i]] to ids[starts[i + 1] - 1]. */
struct consumers {
  int64_t *starts;
  int32_t *ids;
};

static int64_t count_edges(const struct situ_graph *graph) {
  int64_t count = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    count += graph->nodes[i]->n_inputs + graph->nodes[i]->n_controls;
  return count;
}

static int32_t producer(const struct node *node, int32_t index) {
  return index < node->n_inputs ? node->inputs[index].node : node->controls[index - node->n_inputs];
}

/* Counting sort of the edges by producer; consumers stay in the order of the graph. */
static void fill_consumers(const struct situ_graph *graph, const struct consumers *out) {
  const int32_t n = graph->n_nodes;
  for (int32_t i = 0; i < n; i++) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs + node->n_controls; k++)
      out->starts[producer(node, k) + 1]++;
  }
  for (int32_t i = 0; i < n; i++) out->starts[i + 1] += out->starts[i];
  for (int32_t i = 0; i < n; i++) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs + node->n_controls; k++)
      out->ids[out->starts[producer(node, k)]++] = i;
  }
  for (int32_t i = n; i > 0; i--) out->starts[i] = out->starts[i - 1];
  out->starts[0] = 0;
}

/* Depth-first search; `stack` and `missing` have n_nodes elements. */
static void sort_nodes(const struct situ_graph *graph, const struct consumers *consumers,
                       int32_t *stack, int32_t *missing, int32_t *order) {
  int32_t depth = 0, done = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    missing[i] = graph->nodes[i]->n_inputs + graph->nodes[i]->n_controls;
    if (!missing[i]) stack[depth++] = i;
  }
  while (depth) {
    const int32_t id = stack[--depth];
    order[done++] = id;
    for (int64_t k = consumers->starts[id]; k < consumers->starts[id + 1]; k++)
      if (!--missing[consumers->ids[k]]) stack[depth++] = consumers->ids[k];
  }
}

situ_status graph_import_order(const struct situ_graph *graph, int32_t *order) {
  const size_t n = (size_t)graph->n_nodes, edges = (size_t)count_edges(graph);
  struct consumers consumers = {calloc(n + 1, sizeof(int64_t)),
                                malloc((edges + 1) * sizeof(int32_t))};
  int32_t *stack = malloc((2 * n + 1) * sizeof *stack);
  const bool ok = consumers.starts && consumers.ids && stack;
  if (ok) {
    fill_consumers(graph, &consumers);
    sort_nodes(graph, &consumers, stack, stack + n, order);
  }
  free(consumers.starts);
  free(consumers.ids);
  free(stack);
  return ok ? NULL : NO_MEMORY();
}
