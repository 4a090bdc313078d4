/* SPDX-License-Identifier: Apache-2.0
 * saved_results.c: forward results that kernels save for other kernels, besides values. An op
 * that needs what another one found out anyway (MaxPoolGrad: where the largest elements are)
 * names that op in its row (`asks`). Where both are in a program, on one device and with the
 * same operands, the first is told that it is awaited, and the second reads what it kept; else
 * each op does without. */
#include <string.h>

#include "plan/builder.h"

static bool same_edge(struct edge a, struct edge b) {
  return a.node == b.node && a.output == b.output;
}

/* Whether the first inputs of a node are those of `maker`, and then its outputs, as it makes them.
 */
static bool has_operands_of(const struct builder *builder, const struct node *node,
                            const struct node *maker) {
  if (node->n_inputs < maker->n_inputs + maker->n_outputs) return false;
  for (int32_t i = 0; i < maker->n_inputs; i++)
    if (!same_edge(node->inputs[i], maker->inputs[i])) return false;
  for (int32_t i = 0; i < maker->n_outputs; i++) {
    const struct edge edge = {maker->id, i};
    if (!same_edge(node->inputs[maker->n_inputs + i], edge)) return false;
    if (builder_value(builder, edge)->feed >= 0) return false;
  }
  return true;
}

static int32_t home(const struct builder *builder, const struct node *node) {
  return builder_home(builder, builder->request->placement[node->id]);
}

situ_status saved_results_ask(struct builder *builder, const struct node *node) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct node *maker = graph->nodes[node->inputs[i].node];
    if (strcmp(maker->schema->op->name, node->schema->op->asks) != 0 ||
        builder->live[maker->id] != LIVE_RUN || home(builder, maker) != home(builder, node) ||
        !has_operands_of(builder, node, maker))
      continue;
    if (!builder->saved_results)
      builder->saved_results =
          ARENA_ARRAY(&builder->scratch, struct saved_result_state, graph->n_nodes + 1);
    if (!builder->saved_results) return NO_MEMORY();
    builder->saved_results[maker->id].awaited = true;
    builder->saved_results[node->id].maker = maker->id + 1;
    return NULL;
  }
  return NULL;
}

const struct saved_result *saved_results_find(const struct builder *builder,
                                              const struct node *node) {
  const int32_t maker = builder->saved_results ? builder->saved_results[node->id].maker : 0;
  const struct saved_result *saved = maker ? &builder->saved_results[maker - 1].saved : NULL;
  return saved && saved->bytes ? saved : NULL;
}

void saved_results_set(struct builder *builder, const struct node *node,
                       const struct recording *recording, const int32_t *slots) {
  for (int32_t i = 0; i < recording->recorder.n_scratch && builder->saved_results; i++) {
    const struct saved_result *saved = recording->recorder.scratch[i].saved;
    if (!saved) continue;
    struct saved_result *to = &builder->saved_results[node->id].saved;
    *to = *saved;
    to->slot = slots[saved->slot];
  }
}
