/* SPDX-License-Identifier: Apache-2.0
 * emit.c: adds a node to a graph (situ_emit).
 *
 * Large graphs have a hundred thousand nodes, so a node needs only two allocations in the graph's
 * arena: the node with its inputs, and its name. */
#include <string.h>

#include "graph/attrs.h"
#include "graph/build.h"
#include "graph/infer.h"
#include "graph/scope.h"
#include "graph/variable.h"
#include "situ/cluster.h"

bool emit_begin(struct situ_graph *graph, const struct schema *schema, int32_t n_inputs,
                struct draft *out) {
  const size_t attrs = sizeof(struct attr_value) * (size_t)schema->n_attrs;
  const size_t inputs = sizeof(struct edge) * (size_t)n_inputs;
  struct node *node = arena_alloc(&graph->arena, sizeof *node + inputs);
  out->attrs =
      schema->n_attrs <= DRAFT_ATTRS ? out->inline_attrs : arena_alloc(&graph->arena, attrs);
  if (!node || !out->attrs) return false;
  memset(out->attrs, 0, attrs);
  out->node = node;
  out->inputs = (struct edge *)(void *)(node + 1);
  *node = (struct node){
      .schema = schema, .n_inputs = n_inputs, .inputs = out->inputs, .origin = graph->origin};
  return true;
}

static situ_status append(struct situ_graph *graph, struct node *node) {
  if (!graph_grow_nodes(graph)) return NO_MEMORY();
  graph_invalidate_snapshot(graph);
  node->id = graph->n_nodes;
  graph->nodes[graph->n_nodes++] = node;
  if (!(node->schema->op->flags & OP_VARIABLE) || variable_register(graph, node)) return NULL;
  graph->n_nodes--;
  return NO_MEMORY();
}

situ_status emit_finish(struct situ_graph *graph, struct draft *draft) {
  struct node *node = draft->node;
  situ_status status = infer_types(graph, draft);
  if (status)
    return status_note(status, "at node '%s' (op: '%s')", node->name, node->schema->op->name);
  status = infer_shapes(graph, node);
  if (!status) status = append(graph, node);
  return status ? status_at_node(status, node->name) : NULL;
}

situ_status emit_unknown_op(const char *op) {
  const char *nearest = schema_nearest(op);
  return situ_status_create(SITU_NOT_FOUND, "Op type not registered '%s'%s%s%s", op,
                            nearest ? "; did you mean '" : "", nearest ? nearest : "",
                            nearest ? "'?" : "");
}

/* Uses a name unchanged, outside of all scopes: TensorFlow's rule for names that end in "/". */
static situ_status use_exact_name(struct situ_graph *graph, const char *name, size_t length,
                                  const char **out) {
  *out = arena_strndup(&graph->arena, name, length);
  if (!*out) return NO_MEMORY();
  if (!names_legal(*out)) return INVALID("'%s' is not a valid node name", *out);
  if (graph_find(graph, *out, length) >= 0)
    return INVALID("Duplicate node name in graph: '%s'", *out);
  return names_add(&graph->scopes->names, &graph->arena, *out, graph->n_nodes) ? NULL : NO_MEMORY();
}

/* The default name of a node is that of its op. */
static situ_status choose_name(struct situ_graph *graph, const struct schema *schema,
                               const char *name, const char **out) {
  struct names *names = &graph->scopes->names;
  const char *prefix = scope_prefix(graph);
  if (!name || !*name) {
    *out =
        names_unique_op(names, &graph->arena, prefix, schema->op->name, schema->id, graph->n_nodes);
    return *out ? NULL : NO_MEMORY();
  }
  const size_t length = strlen(name);
  if (name[length - 1] == '/') return use_exact_name(graph, name, length - 1, out);
  if (!(*prefix ? names_legal_inside(name) : names_legal(name)))
    return INVALID("'%s%s' is not a valid node name", prefix, name);
  *out = names_unique(names, &graph->arena, prefix, name, graph->n_nodes);
  return *out ? NULL : NO_MEMORY();
}

static situ_status set_inputs(const struct situ_graph *graph, struct draft *draft,
                              const situ_value *inputs) {
  for (int32_t i = 0; i < draft->node->n_inputs; i++) {
    const situ_value value = inputs[i];
    if (value.graph != graph || (uint32_t)value.node >= (uint32_t)graph->n_nodes ||
        (uint32_t)value.output >= (uint32_t)graph->nodes[value.node]->n_outputs)
      return graph_check_value(graph, value, true, draft->node->schema->op->name, i);
    draft->inputs[i] = (struct edge){value.node, value.output};
  }
  return NULL;
}

static situ_status set_parts(struct situ_graph *graph, struct draft *draft,
                             const situ_value *inputs, const situ_attr *attrs, int n_attrs) {
  TRY(set_inputs(graph, draft, inputs));
  for (int i = 0; i < n_attrs; i++) TRY(attrs_set(graph, draft, &attrs[i]));
  return NULL;
}

static situ_status add_node(struct situ_graph *graph, struct draft *draft, const char *name,
                            const situ_value *inputs, const situ_attr *attrs, int n_attrs) {
  struct node *node = draft->node;
  TRY(choose_name(graph, node->schema, name, &node->name));
  const situ_status status = set_parts(graph, draft, inputs, attrs, n_attrs);
  if (status)
    return status_at_node(
        status_note(status, "at node '%s' (op: '%s')", node->name, node->schema->op->name),
        node->name);
  if (!scope_apply(graph, node)) return NO_MEMORY();
  return emit_finish(graph, draft);
}

situ_value situ_emit(situ_graph *graph, const char *op, const char *name, const situ_value *inputs,
                     int n_inputs, const situ_attr *attrs, int n_attrs) {
  GRAPH_GUARD(graph);
  if (!graph || graph->error) return graph_invalid_value(graph);
  const struct schema *schema = op ? schema_find(op) : NULL;
  struct draft draft;
  situ_status status = NULL;
  if (!schema)
    status = op ? emit_unknown_op(op) : INVALID("situ_emit: op is NULL.");
  else if (n_inputs < 0 || (n_inputs && !inputs))
    status = INVALID("situ_emit of '%s': %d inputs, but the array is NULL.", op, n_inputs);
  else if (n_attrs < 0 || (n_attrs && !attrs))
    status = INVALID("situ_emit of '%s': %d attributes, but the array is NULL.", op, n_attrs);
  else if (!emit_begin(graph, schema, n_inputs, &draft))
    status = NO_MEMORY();
  else
    status = add_node(graph, &draft, name, inputs, attrs, n_attrs);
  if (!status) return graph_value(graph, draft.node);
  graph_set_error(graph, status);
  return graph_invalid_value(graph);
}

static situ_status copy_node(struct situ_graph *graph, struct draft *draft, const struct node *from,
                             const situ_value *inputs) {
  struct node *node = draft->node;
  const size_t n_attrs = (size_t)from->schema->n_attrs;
  TRY(use_exact_name(graph, from->name, strlen(from->name), &node->name));
  TRY(set_inputs(graph, draft, inputs));
  if (n_attrs) memcpy(draft->attrs, from->attrs, sizeof *draft->attrs * n_attrs);
  if (!scope_apply(graph, node)) return NO_MEMORY();
  node->origin = from->origin;
  TRY(emit_finish(graph, draft));
  node->outputs = from->outputs; /* including shapes set by situ_value_set_shape */
  node->has_set_shape = from->has_set_shape;
  return NULL;
}

situ_value situ_emit_copy(situ_graph *graph, situ_value value, const situ_value *inputs,
                          int n_inputs) {
  GRAPH_GUARD(graph);
  if (!graph || graph->error) return graph_invalid_value(graph);
  struct draft draft;
  situ_status status = NULL;
  const bool exists = value.graph && value.node >= 0 && value.node < graph_count(value.graph);
  const struct node *from = exists ? graph_node(value.graph, value.node) : NULL;
  if (!from || n_inputs != from->n_inputs || (n_inputs && !inputs))
    status = INVALID("situ_emit_copy: a node with %d inputs was expected.", n_inputs);
  else if (!emit_begin(graph, from->schema, n_inputs, &draft))
    status = NO_MEMORY();
  else
    status = copy_node(graph, &draft, from, inputs);
  if (!status) return graph_value(graph, draft.node);
  graph_set_error(graph, status);
  return graph_invalid_value(graph);
}
