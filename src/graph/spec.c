/* SPDX-License-Identifier: Apache-2.0
 * spec.c: interns requested devices by their canonical and written forms. */
#include "graph/spec.h"

#include <string.h>

#include "graph/build.h"

/* `shown` is the form that situ_value_device and GraphDefs report. */
static int32_t intern(struct situ_graph *graph, const struct device_name *name, const char *shown,
                      const char *written) {
  /* Equal devices written differently are different specs, so that errors can quote each. The index
   * is part of the key because the canonical form omits an index without a kind. */
  const char *key = arena_format(&graph->arena, "%s\n%s\n%d", shown, written,
                                 name->has_index ? (int)name->index : -1);
  if (!key) return -1;
  const int32_t found = map_get(&graph->spec_numbers, key, strlen(key));
  if (found >= 0) return found;
  if (!graph_grow_specs(graph)) return -1;
  const struct spec spec = {*name, arena_strndup(&graph->arena, shown, strlen(shown)),
                            arena_strndup(&graph->arena, written, strlen(written))};
  if (!spec.canonical || !spec.written) return -1;
  if (!map_put(&graph->spec_numbers, key, graph->n_specs)) return -1;
  graph_invalidate_snapshot(graph);
  graph->specs[graph->n_specs] = spec;
  return graph->n_specs++;
}

int32_t spec_intern(struct situ_graph *graph, const struct device_name *name, const char *written) {
  char canonical[NAME_SIZE];
  name_print(name, canonical, sizeof canonical);
  return intern(graph, name, canonical, written ? written : canonical);
}

situ_status spec_parse_exact(struct situ_graph *graph, const char *written, int32_t *out) {
  struct device_name name = {0};
  TRY(name_parse_any(written, &name));
  *out = intern(graph, &name, written, written);
  return *out < 0 ? NO_MEMORY() : NULL;
}

situ_status spec_parse(struct situ_graph *graph, const char *written, int32_t outer, int32_t *out) {
  struct device_name inner = {0}, merged = {0};
  TRY(name_parse_any(written, &inner));
  const struct spec enclosing = graph->specs[outer];
  name_nest(&enclosing.name, &inner, &merged);
  /* Quote the scope that determines the whole device, if there is one. */
  if (name_equal(&merged, &enclosing.name))
    *out = outer;
  else
    *out = spec_intern(graph, &merged, name_equal(&merged, &inner) ? written : NULL);
  return *out < 0 ? NO_MEMORY() : NULL;
}
