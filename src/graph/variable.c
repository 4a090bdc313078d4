/* SPDX-License-Identifier: Apache-2.0
 * variable.c: resolves references and handles to variables, by container and name. */
#include "graph/variable.h"

#include <string.h>

#include "base/strbuf.h"
#include "graph/build.h"
#include "tensor/shape.h"

static const struct attr_value *find_attr(const struct node *node, const char *name) {
  const int number = schema_attr(node->schema, name);
  return number < 0 ? NULL : &node->attrs[number];
}

static const char *string_attr(const struct node *node, const char *name) {
  const struct attr_value *value = find_attr(node, name);
  return value && value->text ? value->text : "";
}

situ_type variable_type(const struct node *node) { return find_attr(node, "dtype")->type; }

const situ_shape *variable_shape(const struct node *node) {
  return find_attr(node, "shape")->shape;
}

const struct node *variable_of(const struct situ_graph *graph, struct edge handle) {
  GRAPH_GUARD(graph);
  const struct node *node = graph->nodes[handle.node];
  if (!node->n_outputs || node->outputs[handle.output].type != SITU_RESOURCE) return NULL;
  while (node->schema->op->flags & OP_ALIAS) node = graph->nodes[node->inputs[0].node];
  return node->schema->op->flags & OP_VARIABLE ? node : NULL;
}

struct output variable_value(const struct situ_graph *graph, struct edge edge) {
  GRAPH_GUARD(graph);
  const struct node *variable = variable_of(graph, edge);
  if (!variable) return graph->nodes[edge.node]->outputs[edge.output];
  return (struct output){.type = variable_type(variable), .shape = *variable_shape(variable)};
}

const char *variable_name(const struct node *node) {
  const char *shared = string_attr(node, "shared_name");
  return *shared ? shared : node->name;
}

const char *variable_container(const struct node *node) { return string_attr(node, "container"); }

/* Container and name as one string; NULL when memory runs out. */
static const char *make_key(struct strbuf *buffer, const struct node *node) {
  const char *container = string_attr(node, "container");
  if (!*container) return variable_name(node);
  strbuf_appendf(buffer, "%s//%s", container, variable_name(node));
  return buffer->failed ? NULL : strbuf_get(buffer);
}

bool variable_register(struct situ_graph *graph, const struct node *node) {
  struct strbuf buffer = {0};
  const char *key = make_key(&buffer, node);
  if (key && buffer.length) key = arena_strndup(&graph->arena, key, buffer.length);
  strbuf_free(&buffer);
  int32_t found = -1;
  return key && map_find_or_put(&graph->variables, key, node->id, &found);
}

situ_status variable_first(const struct situ_graph *graph, const struct node *node, int32_t *out) {
  struct strbuf buffer = {0};
  const struct situ_graph *live = graph_live(graph);
  const char *key = make_key(&buffer, node);
  graph_lock(live);
  *out = key ? map_get(&live->variables, key, strlen(key)) : -1;
  graph_unlock(live);
  strbuf_free(&buffer);
  if (*out < 0) return NO_MEMORY();
  const struct node *first = graph->nodes[*out];
  if (variable_type(first) == variable_type(node) &&
      shape_equal(variable_shape(first), variable_shape(node)))
    return NULL;
  return INVALID("'%s' and '%s' declare variable '%s' with different types or shapes.", first->name,
                 node->name, variable_name(node));
}
