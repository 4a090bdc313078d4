/* SPDX-License-Identifier: Apache-2.0
 * continuation.c: splits a step where a shape depends on data: the nodes that the next part
 * runs, and the values that it needs. */
#include <string.h>

#include "plan/builder.h"

bool continuation_must_wait(const struct builder *builder, const struct node *node) {
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (builder->deferred[node->inputs[i].node] &&
        builder_value(builder, node->inputs[i])->feed < 0)
      return true;
  for (int32_t i = 0; i < node->n_controls; i++)
    if (builder->deferred[node->controls[i]]) return true;
  return false;
}

/* Marks the inputs that come from this part; returns how many are new. */
static int32_t mark_inputs(struct builder *builder, const struct node *node) {
  struct node *const *nodes = builder->request->graph->nodes;
  int32_t count = 0;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct edge edge = node->inputs[i];
    const struct node *from = nodes[edge.node];
    if (builder->deferred[edge.node] || builder_is_source(from)) continue;
    if (from->schema->op->flags & OP_UPDATES && !edge.output) continue; /* a reference */
    if (builder_is_window(builder, from)) continue; /* the next part opens it again */
    struct value *value = builder_value(builder, edge);
    if (value->feed >= 0) continue;
    count += !value->crosses;
    value->crosses = true;
    value->to_host |= schema_input_port(node->schema, node->attrs, i)->is_host;
  }
  return count;
}

/* Whether every part has the node that needs it: nothing runs. */
static bool repeats(const struct builder *builder, const struct node *node) {
  return builder_is_source(node) || builder_is_window(builder, node);
}

/* Which nodes have run when this part has: what is live and does not wait. */
static situ_status note_done(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  struct program *program = builder->program;
  const struct program *before = builder->request->before;
  program->done = arena_zero(&program->arena, (size_t)graph->n_nodes + 1);
  if (!program->done) return NO_MEMORY();
  for (int32_t i = 0; i < graph->n_nodes; i++)
    program->done[i] =
        (before && before->done[i]) || (builder->live[i] == LIVE_RUN && !builder->deferred[i] &&
                                        !repeats(builder, graph->nodes[i]));
  return NULL;
}

situ_status continuation_collect(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  struct program *program = builder->program;
  int32_t count = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (builder->deferred[i]) count += mark_inputs(builder, graph->nodes[i]);
  for (int32_t i = 0; i < program->n_asked; i++) {
    const struct edge edge = program->fetches[i].edge;
    if (!program->fetches[i].given && builder->deferred[edge.node] &&
        (edge.output < 0 || builder_value(builder, edge)->feed < 0))
      program->fetches[i].deferred = true;
  }
  struct fetch *fetches = ARENA_ARRAY(&program->arena, struct fetch, program->n_asked + count + 1);
  if (!fetches) return NO_MEMORY();
  memcpy(fetches, program->fetches, sizeof *fetches * (size_t)program->n_asked);
  program->fetches = fetches;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int32_t k = 0; builder->live[i] && k < graph->nodes[i]->n_outputs; k++)
      if (builder_value(builder, (struct edge){i, k})->crosses)
        fetches[program->n_fetches++] =
            (struct fetch){.edge = {i, k}, .slot = -1, .donated_feed = -1};
  return note_done(builder);
}
