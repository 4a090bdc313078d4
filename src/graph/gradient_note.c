/* SPDX-License-Identifier: Apache-2.0
 * gradient_note.c: which values of a graph are the gradients of variables. */
#include <string.h>

#include "graph/build.h"
#include "situ/gradient.h"

void situ_gradient_register(situ_graph *graph, const char *variable, const situ_value *parts,
                            int n_parts) {
  if (!graph || !variable || !parts || n_parts < 1 || n_parts > GRADIENT_PARTS) return;
  GRAPH_GUARD(graph);
  struct gradient_note *note = ARENA_ARRAY(&graph->arena, struct gradient_note, 1);
  const char *name = note ? arena_strndup(&graph->arena, variable, strlen(variable)) : NULL;
  if (!name) return;
  for (int i = 0; i < n_parts; i++) {
    if (parts[i].graph != graph || parts[i].node < 0 || parts[i].output < 0) return;
    note->parts[i] = (struct edge){parts[i].node, parts[i].output};
  }
  note->variable = name;
  note->n_parts = n_parts;
  note->next = graph->gradient_notes;
  graph->gradient_notes = note;
  graph_changed(graph);
}
