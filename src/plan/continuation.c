/* SPDX-License-Identifier: Apache-2.0
 * continuation.c: splits a step where a shape depends on computed data: finds the nodes that are
 * deferred to the next program, and the values that the next program needs. */
#include <string.h>

#include "plan/builder.h"

bool continuation_is_deferred(const struct builder *builder, const struct node *node) {
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (builder->deferred[node->inputs[i].node] &&
        builder_value(builder, node->inputs[i])->feed < 0)
      return true;
  for (int32_t i = 0; i < node->n_controls; i++)
    if (builder->deferred[node->controls[i]]) return true;
  return false;
}

/* Whether the node runs in this program for its effect only, such as an assertion. */
static bool is_effect(const struct builder *builder, int32_t index) {
  const struct node *node = builder->request->graph->nodes[index];
  return builder->live[index] == LIVE_RUN && !node->n_outputs &&
         node->schema->op->flags & OP_STATEFUL;
}

/* Marks the nodes that must run before the node, in `before`. */
static void mark_predecessors(const struct node *node, char *before) {
  for (int32_t i = 0; i < node->n_inputs; i++) before[node->inputs[i].node] = 1;
  for (int32_t i = 0; i < node->n_controls; i++) before[node->controls[i]] = 1;
}

bool continuation_follows_effect(struct builder *builder, const struct node *node) {
  const struct situ_graph *graph = builder->request->graph;
  char *before = arena_zero(&builder->scratch, (size_t)graph->n_nodes + 1);
  if (!before) return false;
  mark_predecessors(node, before);
  for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
    if (!before[i]) continue;
    if (is_effect(builder, i)) return true;
    mark_predecessors(graph->nodes[i], before);
  }
  return false;
}

/* Marks the inputs that this program computes for a deferred node. Returns how many are new. */
static int32_t mark_inputs(struct builder *builder, const struct node *node) {
  struct node *const *nodes = builder->request->graph->nodes;
  int32_t count = 0;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct edge edge = node->inputs[i];
    const struct node *from = nodes[edge.node];
    if (builder->deferred[edge.node] || builder_is_storage(from)) continue;
    if (from->schema->op->flags & OP_UPDATES && !edge.output) continue; /* a reference */
    if (builder_is_reference(builder, from)) continue; /* the next program repeats it */
    struct value *value = builder_value(builder, edge);
    if (value->feed >= 0) continue;
    count += !value->used_by_next;
    value->used_by_next = true;
    value->used_on_host |= schema_input_port(node->schema, node->attrs, i)->is_host;
  }
  return count;
}

/* Whether each program of the step has the node: it executes nothing. */
static bool is_repeated(const struct builder *builder, const struct node *node) {
  return builder_is_storage(node) || builder_is_reference(builder, node);
}

/* Sets program->done: the nodes executed by this and the previous programs of the step. */
static situ_status set_done(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  struct program *program = builder->program;
  const struct program *previous = builder->request->previous;
  program->done = arena_zero(&program->arena, (size_t)graph->n_nodes + 1);
  if (!program->done) return NO_MEMORY();
  for (int32_t i = 0; i < graph->n_nodes; i++)
    program->done[i] =
        (previous && previous->done[i]) || (builder->live[i] == LIVE_RUN && !builder->deferred[i] &&
                                            !is_repeated(builder, graph->nodes[i]));
  return NULL;
}

situ_status continuation_collect(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  struct program *program = builder->program;
  int32_t count = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (builder->deferred[i]) count += mark_inputs(builder, graph->nodes[i]);
  for (int32_t i = 0; i < program->n_requested; i++) {
    const struct edge edge = program->fetches[i].edge;
    if (!program->fetches[i].fetched_earlier && builder->deferred[edge.node] &&
        (edge.output < 0 || builder_value(builder, edge)->feed < 0))
      program->fetches[i].deferred = true;
  }
  struct fetch *fetches =
      ARENA_ARRAY(&program->arena, struct fetch, program->n_requested + count + 1);
  if (!fetches) return NO_MEMORY();
  memcpy(fetches, program->fetches, sizeof *fetches * (size_t)program->n_requested);
  program->fetches = fetches;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    for (int32_t k = 0; builder->live[i] && k < graph->nodes[i]->n_outputs; k++)
      if (builder_value(builder, (struct edge){i, k})->used_by_next)
        fetches[program->n_fetches++] =
            (struct fetch){.edge = {i, k}, .slot = -1, .donated_feed = -1};
  return set_done(builder);
}
