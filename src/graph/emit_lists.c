/* SPDX-License-Identifier: Apache-2.0
 * emit_lists.c: adds a node whose inputs are lists of values (situ_emit_lists). */
#include <stdlib.h>
#include <string.h>

#include "graph/build.h"

/* The total number of values; -1 if a list is invalid. */
static int count_all(const situ_values *inputs, int n_inputs) {
  int64_t total = 0;
  for (int i = 0; i < n_inputs; i++) {
    if (inputs[i].count < 0 || (inputs[i].count && !inputs[i].items)) return -1;
    total += inputs[i].count;
  }
  return total > INT32_MAX ? -1 : (int)total;
}

static situ_value fail(situ_graph *graph, situ_status status) {
  if (graph)
    graph_set_error(graph, status);
  else
    situ_status_release(status);
  return graph_invalid_value(graph);
}

situ_value situ_emit_lists(situ_graph *graph, const char *op, const char *name,
                           const situ_values *inputs, int n_inputs, const situ_attr *attrs,
                           int n_attrs) {
  const int total = n_inputs < 0 || (n_inputs && !inputs) ? -1 : count_all(inputs, n_inputs);
  if (total < 0)
    return fail(graph,
                INVALID("situ_emit_lists of '%s': a list of inputs is NULL.", op ? op : "NULL"));
  situ_value *all = malloc(((size_t)total + 1) * sizeof *all);
  if (!all) return fail(graph, NO_MEMORY());
  int count = 0;
  for (int i = 0; i < n_inputs; i++)
    for (int k = 0; k < inputs[i].count; k++) all[count++] = inputs[i].items[k];
  const situ_value value = situ_emit(graph, op, name, all, count, attrs, n_attrs);
  free(all);
  return value;
}
