/* SPDX-License-Identifier: Apache-2.0
 * prune.c: marks the nodes that the fetches depend on, stopping at feeds. */
#include <string.h>

#include "plan/builder.h"

/* Whether an output is fed. Nodes with feeds are marked live first, so most lookups end early. */
static bool is_fed(const struct builder *builder, struct edge edge) {
  if (!builder->live[edge.node]) return false;
  const struct plan_request *request = builder->request;
  for (int32_t i = 0; i < request->n_feeds; i++)
    if (request->feeds[i].edge.node == edge.node && request->feeds[i].edge.output == edge.output)
      return true;
  return false;
}

/* Whether a previous program of the step executed the node. */
static bool is_done(const struct builder *builder, int32_t node) {
  const struct program *previous = builder->request->previous;
  return previous && previous->done[node];
}

/* Marks the producer of a value. A LIVE_FED node becomes LIVE_RUN when one of its outputs that is
 * not fed is used. A node that a previous program executed and whose value is not fed is a
 * reference to a variable. */
static void mark(struct builder *builder, struct edge edge) {
  if (is_fed(builder, edge)) return;
  if (!is_done(builder, edge.node)) {
    builder->live[edge.node] = LIVE_RUN;
    return;
  }
  builder->live[edge.node] = LIVE_REFERENCE;
  mark(builder, builder->request->graph->nodes[edge.node]->inputs[0]);
}

void prune_bind_reference(struct builder *builder, const struct node *node) {
  *builder_value(builder, (struct edge){node->id, 0}) = *builder_value(builder, node->inputs[0]);
}

/* Whether a control input is a placeholder that is fed: there is nothing to wait for. */
static bool is_fed_placeholder(const struct builder *builder, int32_t node) {
  const struct op_def *op = builder->request->graph->nodes[node]->schema->op;
  return op->flags & OP_FED && is_fed(builder, (struct edge){node, 0});
}

static void mark_control(struct builder *builder, int32_t node) {
  if (!is_done(builder, node) && !is_fed_placeholder(builder, node)) builder->live[node] = LIVE_RUN;
}

static void mark_inputs(struct builder *builder, const struct node *node) {
  for (int32_t i = 0; i < node->n_inputs; i++) mark(builder, node->inputs[i]);
  for (int32_t i = 0; i < node->n_controls; i++) mark_control(builder, node->controls[i]);
}

/* Numbers the outputs of live and fed nodes. */
static situ_status number_values(struct builder *builder, int32_t n_nodes) {
  struct node *const *nodes = builder->request->graph->nodes;
  int32_t count = 0;
  for (int32_t i = 0; i < n_nodes; i++) {
    builder->node_command[i] = -1; /* also for control inputs that ran in a previous program */
    if (!builder->live[i]) continue;
    builder->first_value[i] = count;
    count += nodes[i]->n_outputs;
  }
  builder->n_values = count;
  builder->values = ARENA_ARRAY(&builder->scratch, struct value, count + 1);
  return builder->scratch.failed ? NO_MEMORY() : NULL;
}

static void set_fed_values(struct builder *builder) {
  const struct plan_request *request = builder->request;
  for (int32_t i = 0; i < builder->n_values; i++)
    builder->values[i] = (struct value){.slot = -1, .command = -1, .feed = -1};
  for (int32_t i = 0; i < request->n_feeds; i++) {
    struct value *value = builder_value(builder, request->feeds[i].edge);
    value->feed = i;
    value->type = request->feeds[i].type;
    value->shape = &builder->program->feeds[i].shape;
    value->device = builder_memory_device(builder, request->feeds[i].device);
  }
}

situ_status prune_mark_live(struct builder *builder) {
  const struct plan_request *request = builder->request;
  const int32_t n_nodes = request->graph->n_nodes;
  builder->live = arena_zero(&builder->scratch, (size_t)n_nodes + 1);
  builder->deferred = arena_zero(&builder->scratch, (size_t)n_nodes + 1);
  builder->first_value = arena_alloc(&builder->scratch, sizeof(int32_t) * ((size_t)n_nodes + 1));
  builder->node_command = arena_alloc(&builder->scratch, sizeof(int32_t) * ((size_t)n_nodes + 1));
  if (builder->scratch.failed) return NO_MEMORY();
  for (int32_t i = 0; i < request->n_feeds; i++)
    builder->live[request->feeds[i].edge.node] = LIVE_FED;
  for (int32_t i = 0; i < request->n_fetches; i++) {
    const struct edge edge = request->fetches[i];
    if (builder->program->fetches[i].fetched_earlier) continue;
    if (edge.output < 0)
      builder->live[edge.node] = LIVE_RUN;
    else
      mark(builder, edge);
  }
  for (int32_t i = n_nodes - 1; i >= 0; i--)
    if (builder->live[i] == LIVE_RUN) mark_inputs(builder, request->graph->nodes[i]);
  TRY(number_values(builder, n_nodes));
  set_fed_values(builder);
  for (int32_t i = 0; i < n_nodes; i++)
    if (builder->live[i] == LIVE_FED) builder->live[i] = LIVE_NONE;
  return NULL;
}
