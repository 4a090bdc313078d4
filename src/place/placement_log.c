/* SPDX-License-Identifier: Apache-2.0
 * placement_log.c: prints the placement log in TensorFlow's format. */
#include "place/placement_log.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"

static void print(const struct strbuf *lines) {
  fwrite(strbuf_get(lines), 1, lines->length, stdout);
  fflush(stdout);
}

situ_status placement_log_mapping(const struct device_list *devices) {
  struct strbuf lines = {0};
  for (int i = 0; i < devices->count; i++) {
    const struct device *device = devices->devices[i];
    if (!*device->description) continue;
    if (!lines.length) strbuf_append(&lines, "Device mapping:\n");
    strbuf_appendf(&lines, "%s -> %s\n", device_log_name(device), device->description);
  }
  if (!lines.length) strbuf_append(&lines, "Device mapping: no known devices.\n");
  const situ_status s = lines.failed ? NO_MEMORY() : NULL;
  if (!s) print(&lines);
  strbuf_free(&lines);
  return s;
}

static bool is_generator(const struct node *node) {
  return node->n_inputs == 0 && node->n_outputs == 1;
}

static void add_node(const struct placement *placement, int32_t id,
                     const struct placement_log_node *how, struct strbuf *lines) {
  const struct node *node = placement->graph->nodes[id];
  strbuf_appendf(lines, "%s: (%s): %s\n", node->name,
                 how->is_argument ? "_Arg" : node->schema->op->name,
                 device_log_name(placement->devices->devices[how->device]));
}

situ_status placement_log_function(const struct placement *placement,
                                   const struct placement_log_node *nodes) {
  struct strbuf lines = {0};
  for (int pass = 0; pass < 2; pass++)
    for (int32_t i = 0; i < placement->n_nodes; i++) {
      const bool is_late = nodes[i].runs && is_generator(placement->graph->nodes[i]);
      if ((nodes[i].runs || nodes[i].is_argument) && is_late == (pass == 1))
        add_node(placement, i, &nodes[i], &lines);
    }
  const situ_status s = lines.failed ? NO_MEMORY() : NULL;
  if (!s && lines.length) print(&lines);
  strbuf_free(&lines);
  return s;
}

situ_status placement_log_nodes(const struct placement *placement) {
  const struct situ_graph *graph = placement->graph;
  int32_t *order = malloc(sizeof *order * (size_t)(placement->n_nodes + 1));
  struct strbuf lines = {0};
  situ_status s = order ? graph_import_order(graph, order) : NO_MEMORY();
  for (int32_t i = 0; !s && i < placement->n_nodes; i++) {
    const struct device *device = placement->devices->devices[placement->device[order[i]]];
    strbuf_appendf(&lines, "%s: %s\n", graph->nodes[order[i]]->name, device_log_name(device));
  }
  if (!s && lines.failed) s = NO_MEMORY();
  if (!s) print(&lines);
  strbuf_free(&lines);
  free(order);
  return s;
}
