/* SPDX-License-Identifier: Apache-2.0
 * function.c: adds functions to a graph (situ_function_add) and finds them by name. */
#include <string.h>

#include "graph/build.h"
#include "schema/function.h"

const struct function *graph_function(const struct situ_graph *graph, const char *name) {
  GRAPH_GUARD(graph);
  for (int32_t i = 0; i < graph->n_functions; i++)
    if (!strcmp(graph->functions[i]->name, name)) return graph->functions[i];
  return NULL;
}

/* Copies values of the body with their types and static shapes. */
static situ_status copy_values(const struct situ_graph *body, const situ_value *from, int n,
                               situ_value *to, situ_type *types, situ_shape *shapes) {
  for (int i = 0; i < n; i++) {
    TRY(graph_check_value(body, from[i], true, "situ_function_add", i));
    const struct output *output = &graph_node(body, from[i].node)->outputs[from[i].output];
    to[i] = from[i];
    types[i] = output->type;
    shapes[i] = output->shape;
  }
  return NULL;
}

static situ_status add_function(struct situ_graph *graph, const char *name, situ_graph *body,
                                situ_values inputs, situ_values outputs) {
  if (!name || !body || body == graph)
    return INVALID("situ_function_add: a function needs a name and its own graph.");
  if (graph_function(graph, name)) return INVALID("The graph already has a function '%s'.", name);
  TRY(situ_graph_status(body));
  struct arena *arena = &graph->arena;
  const int n = inputs.count + outputs.count;
  struct function *function = ARENA_ARRAY(arena, struct function, 1);
  situ_value *values = ARENA_ARRAY(arena, situ_value, n + 1);
  situ_type *types = ARENA_ARRAY(arena, situ_type, n + 1);
  situ_shape *shapes = ARENA_ARRAY(arena, situ_shape, n + 1);
  if (arena->failed || !graph_grow_functions(graph)) return NO_MEMORY();
  *function = (struct function){.name = arena_strndup(arena, name, strlen(name)),
                                .n_inputs = inputs.count,
                                .n_outputs = outputs.count,
                                .inputs = values,
                                .outputs = values + inputs.count,
                                .types = types,
                                .shapes = shapes};
  if (!function->name) return NO_MEMORY();
  TRY(copy_values(body, inputs.items, inputs.count, values, types, shapes));
  TRY(copy_values(body, outputs.items, outputs.count, values + inputs.count, types + inputs.count,
                  shapes + inputs.count));
  function->graph = situ_graph_retain(body);
  graph_invalidate_snapshot(graph);
  graph->functions[graph->n_functions++] = function;
  return NULL;
}

void situ_function_add(situ_graph *graph, const char *name, situ_graph *body,
                       const situ_value *inputs, int n_inputs, const situ_value *outputs,
                       int n_outputs) {
  GRAPH_GUARD(graph);
  if (!graph || graph->error) return;
  graph_set_error(graph, add_function(graph, name, body, (situ_values){inputs, n_inputs},
                                      (situ_values){outputs, n_outputs}));
}
