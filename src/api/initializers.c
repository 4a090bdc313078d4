/* SPDX-License-Identifier: Apache-2.0
 * initializers.c: see initializers.h. */
#include "api/initializers.h"

#include "graph/variable.h"
#include "schema/op_def.h"
#include "schema/schema.h"

/* Returns the first node of the variable that a reference or handle value refers to, or -1. */
static int32_t variable_behind(const struct situ_graph *graph, struct edge edge) {
  const struct node *node = graph->nodes[edge.node];
  while (node->schema->op->flags & OP_UPDATES && node->n_inputs && !edge.output) {
    edge = node->inputs[0];
    node = graph->nodes[edge.node];
  }
  if (!(node->schema->op->flags & OP_VARIABLE)) node = variable_of(graph, edge);
  int32_t first = -1;
  if (!node) return -1;
  situ_status_release(variable_first(graph, node, &first));
  return first;
}

static bool assigns(const struct node *node) {
  return node->schema->op->flags & OP_SETS && node->n_inputs;
}

situ_status initializers_find(const struct situ_graph *graph, struct arena *scratch,
                              struct edge *fetches, int32_t *n_fetches) {
  char *assigned = arena_zero(scratch, (size_t)graph->n_nodes + 1);
  if (!assigned) return NO_MEMORY();
  *n_fetches = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (!assigns(graph->nodes[i])) continue;
    const int32_t variable = variable_behind(graph, graph->nodes[i]->inputs[0]);
    if (variable < 0 || assigned[variable]) continue;
    assigned[variable] = 1;
    fetches[(*n_fetches)++] = (struct edge){i, -1};
  }
  return NULL;
}

/* What a node and its dependencies do with variables. */
enum { SETS = 1, READS = 2 };

static char touches(const struct situ_graph *graph, const struct node *node, const char *before) {
  char found = 0;
  for (int32_t k = 0; k < node->n_controls; k++) found |= before[node->controls[k]];
  for (int32_t k = 0; k < node->n_inputs; k++) {
    found |= before[node->inputs[k].node];
    if (variable_behind(graph, node->inputs[k]) < 0) continue;
    found |= !k && assigns(node) ? SETS : READS;
  }
  return found;
}

situ_status initializers_find_sinks(const struct situ_graph *graph, struct arena *scratch,
                                    struct edge *fetches, int32_t *n_fetches) {
  char *read = arena_zero(scratch, (size_t)graph->n_nodes + 1);
  char *found = arena_zero(scratch, (size_t)graph->n_nodes + 1);
  if (scratch->failed) return NO_MEMORY();
  int32_t steps = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs; k++) read[node->inputs[k].node] = 1;
    for (int32_t k = 0; k < node->n_controls; k++) read[node->controls[k]] = 1;
    found[i] = touches(graph, node, found);
  }
  for (int32_t i = 0; i < graph->n_nodes; i++) steps += !read[i] && found[i] != SETS;
  *n_fetches = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (!read[i] && (!steps || found[i] != SETS))
      fetches[(*n_fetches)++] = (struct edge){i, graph->nodes[i]->n_outputs ? 0 : -1};
  return NULL;
}
