/* SPDX-License-Identifier: Apache-2.0
 * saved_results.c: intermediate results that a forward kernel saves for its gradient kernel, such
 * as the argmax of MaxPool for MaxPoolGrad. The gradient's op definition names the forward op
 * (`forward_op`). If both are in the program, on one device and with the same operands, the forward
 * call saves the result and the gradient reads it; otherwise the gradient recomputes it. */
#include <string.h>

#include "plan/builder.h"

static bool same_edge(struct edge a, struct edge b) {
  return a.node == b.node && a.output == b.output;
}

/* Whether the inputs of a node begin with the inputs of `producer` and its computed outputs. */
static bool has_operands_of(const struct builder *builder, const struct node *node,
                            const struct node *producer) {
  if (node->n_inputs < producer->n_inputs + producer->n_outputs) return false;
  for (int32_t i = 0; i < producer->n_inputs; i++)
    if (!same_edge(node->inputs[i], producer->inputs[i])) return false;
  for (int32_t i = 0; i < producer->n_outputs; i++) {
    const struct edge edge = {producer->id, i};
    if (!same_edge(node->inputs[producer->n_inputs + i], edge)) return false;
    if (builder_value(builder, edge)->feed >= 0) return false;
  }
  return true;
}

static int32_t memory_device(const struct builder *builder, const struct node *node) {
  return builder_memory_device(builder, builder->request->placement[node->id]);
}

situ_status saved_results_find_producer(struct builder *builder, const struct node *node) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct node *producer = graph->nodes[node->inputs[i].node];
    if (strcmp(producer->schema->op->name, node->schema->op->forward_op) != 0 ||
        builder->live[producer->id] != LIVE_RUN ||
        memory_device(builder, producer) != memory_device(builder, node) ||
        !has_operands_of(builder, node, producer))
      continue;
    if (!builder->saved_results)
      builder->saved_results =
          ARENA_ARRAY(&builder->scratch, struct saved_result_state, graph->n_nodes + 1);
    if (!builder->saved_results) return NO_MEMORY();
    builder->saved_results[producer->id].requested = true;
    builder->saved_results[node->id].producer = producer->id + 1;
    return NULL;
  }
  return NULL;
}

const struct saved_result *saved_results_get(const struct builder *builder,
                                             const struct node *node) {
  const int32_t producer = builder->saved_results ? builder->saved_results[node->id].producer : 0;
  const struct saved_result *saved = producer ? &builder->saved_results[producer - 1].saved : NULL;
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
