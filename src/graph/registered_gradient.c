/* SPDX-License-Identifier: Apache-2.0
 * registered_gradient.c: registers values of a graph as gradients of variables. */
#include <string.h>

#include "graph/build.h"
#include "situ/gradient.h"

void situ_gradient_register(situ_graph *graph, const char *variable, const situ_value *parts,
                            int n_parts) {
  if (!graph || !variable || !parts || n_parts < 1 || n_parts > GRADIENT_PARTS) return;
  GRAPH_GUARD(graph);
  struct registered_gradient *gradient = ARENA_ARRAY(&graph->arena, struct registered_gradient, 1);
  const char *name = gradient ? arena_strndup(&graph->arena, variable, strlen(variable)) : NULL;
  if (!name) return;
  for (int i = 0; i < n_parts; i++) {
    if (parts[i].graph != graph || parts[i].node < 0 || parts[i].output < 0) return;
    gradient->parts[i] = (struct edge){parts[i].node, parts[i].output};
  }
  gradient->variable = name;
  gradient->n_parts = n_parts;
  gradient->next = graph->registered_gradients;
  graph->registered_gradients = gradient;
  graph_invalidate_snapshot(graph);
}
