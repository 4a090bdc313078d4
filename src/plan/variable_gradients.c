/* SPDX-License-Identifier: Apache-2.0
 * variable_gradients.c: finds the gradients of variables that a program computes: those registered
 * with the graph (situ_gradient_register) or, in a graph without any (read from a file), the inputs
 * of its update ops. */
#include <string.h>

#include "graph/variable.h"
#include "plan/builder.h"
#include "tensor/shape.h"

/* Whether this program computes the value. */
static bool is_computed(const struct builder *builder, struct edge edge) {
  return builder->live[edge.node] && builder->live[edge.node] != LIVE_REFERENCE &&
         !builder->deferred[edge.node] && builder_value(builder, edge)->feed < 0;
}

static size_t bytes_of(const struct builder *builder, struct edge edge) {
  const struct plan_request *request = builder->request;
  for (int32_t i = 0; i < request->n_feeds; i++) {
    const struct plan_feed *feed = &request->feeds[i];
    size_t feed_bytes = 0;
    if (feed->edge.node != edge.node || feed->edge.output != edge.output) continue;
    return shape_bytes(feed->type, &feed->shape, &feed_bytes) ? feed_bytes : 0;
  }
  const struct value *value = builder->live[edge.node] ? builder_value(builder, edge) : NULL;
  size_t bytes = 0;
  return value && value->shape && shape_bytes(value->type, value->shape, &bytes) ? bytes : 0;
}

/* Adds a gradient. A variable counts once, even if several towers compute its gradient. */
static void add_gradient(struct builder *builder, const char *variable, size_t bytes) {
  struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_gradients; i++) {
    if (strcmp(program->gradients[i].variable, variable) != 0) continue;
    if (program->gradients[i].bytes < bytes) program->gradients[i].bytes = bytes;
    return;
  }
  program->gradients[program->n_gradients++] = (struct program_gradient){variable, bytes};
}

static void add_registered(struct builder *builder) {
  const struct registered_gradient *gradient = builder->request->graph->registered_gradients;
  for (; gradient; gradient = gradient->next) {
    size_t bytes = 0;
    if (!is_computed(builder, gradient->parts[0])) continue;
    for (int i = 0; i < gradient->n_parts; i++) bytes += bytes_of(builder, gradient->parts[i]);
    add_gradient(builder, gradient->variable, bytes);
  }
}

/* ---- Update ops ---- */

static const struct node *find_variable(const struct situ_graph *graph, struct edge edge) {
  const struct node *node = graph->nodes[edge.node];
  while (node->schema->op->flags & OP_UPDATES && node->n_inputs)
    node = graph->nodes[node->inputs[0].node];
  return node->schema->op->flags & OP_VARIABLE ? node : variable_of(graph, edge);
}

static int32_t find_input(const struct node *node, const char *port) {
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!strcmp(schema_input_port(node->schema, node->attrs, i)->name, port)) return i;
  return -1;
}

/* Whether a node is in the name scope that TensorFlow's optimizers open for the update of a
 * variable: "train/update_w/ScatterSub". */
static bool is_in_scope(const struct node *node, const char *variable) {
  const size_t length = strlen(variable);
  for (const char *at = strstr(node->name, "update_"); at; at = strstr(at + 1, "update_")) {
    if ((at == node->name || at[-1] == '/') && !strncmp(at + 7, variable, length) &&
        at[7 + length] == '/')
      return true;
  }
  return false;
}

/* The size of the gradient input of an update op: `grad` with its `indices`, or the `updates` of a
 * scatter op in the name scope of an optimizer; 0: none. */
static size_t gradient_bytes(const struct builder *builder, const struct node *node,
                             const struct node *variable) {
  int32_t gradient = find_input(node, "grad");
  if (gradient < 0 && is_in_scope(node, variable->name)) gradient = find_input(node, "updates");
  if (gradient < 0) return 0;
  const struct node *producer = builder->request->graph->nodes[node->inputs[gradient].node];
  const int32_t segments = find_input(producer, "segment_ids"),
                indices = find_input(node, "indices");
  if (segments > 0 &&
      is_in_scope(producer, variable->name)) /* duplicate indices are summed first */
    return bytes_of(builder, producer->inputs[0]) + bytes_of(builder, producer->inputs[segments]);
  return bytes_of(builder, node->inputs[gradient]) +
         (indices < 0 ? 0 : bytes_of(builder, node->inputs[indices]));
}

/* The gradient size of a variable that an optimizer updates by several ops, as Adam does for sparse
 * gradients: the scatter op on one of its slot variables has the same size. */
static size_t slot_gradient_bytes(const struct builder *builder, const struct node *variable) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (!builder->live[i] || !(node->schema->op->flags & OP_UPDATES)) continue;
    if (!is_in_scope(node, variable->name)) continue;
    const size_t bytes = gradient_bytes(builder, node, variable);
    if (bytes) return bytes;
  }
  size_t bytes = 0;
  return shape_bytes(variable_type(variable), variable_shape(variable), &bytes) ? bytes : 0;
}

static void add_updates(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (!builder->live[i] || builder->deferred[i] || !node->n_inputs) continue;
    if (!(node->schema->op->flags & OP_UPDATES)) continue;
    const struct node *variable = find_variable(graph, node->inputs[0]);
    if (!variable) continue;
    size_t bytes = gradient_bytes(builder, node, variable);
    if (!bytes && is_in_scope(node, variable->name)) bytes = slot_gradient_bytes(builder, variable);
    if (bytes) add_gradient(builder, variable_name(variable), bytes);
  }
}

static int32_t max_gradients(const struct situ_graph *graph) {
  int32_t n = graph->n_nodes + 1;
  for (const struct registered_gradient *gradient = graph->registered_gradients; gradient;
       gradient = gradient->next)
    n++;
  return n;
}

situ_status variable_gradients_find(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  struct program *program = builder->program;
  program->gradients = ARENA_ARRAY(&program->arena, struct program_gradient, max_gradients(graph));
  if (!program->gradients) return NO_MEMORY();
  if (graph->registered_gradients)
    add_registered(builder);
  else
    add_updates(builder);
  return NULL;
}
