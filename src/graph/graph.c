/* SPDX-License-Identifier: Apache-2.0
 * graph.c: creates and destroys graphs; accessors of graphs and values. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/grow.h"
#include "graph/scope.h"
#include "graph/spec.h"
#include "schema/function.h"
#include "tensor/shape.h"

static void destroy(struct situ_graph *graph) {
  for (int32_t i = 0; i < graph->n_tensors; i++) situ_tensor_release(graph->tensors[i]);
  for (int32_t i = 0; i < graph->n_functions; i++) situ_graph_release(graph->functions[i]->graph);
  scope_destroy(graph);
  graph_destroy_shared(graph);
  map_free(&graph->spec_numbers);
  map_free(&graph->variables);
  situ_status_release(graph->error);
  arena_free(&graph->arena);
  free(graph->nodes);
  free(graph->specs);
  free(graph->tensors);
  free(graph->functions);
  free(graph);
}

situ_graph *situ_graph_create(void) {
  struct situ_graph *graph = calloc(1, sizeof *graph);
  if (!graph) return NULL;
  graph->references = 1;
  const struct device_name none = {0};
  if (graph_create_shared(graph) && scope_create(graph) && spec_intern(graph, &none, NULL) == 0)
    return graph;
  destroy(graph);
  return NULL;
}

situ_graph *situ_graph_retain(situ_graph *graph) {
  if (graph) __atomic_add_fetch(&graph->references, 1, __ATOMIC_RELAXED);
  return graph;
}

void situ_graph_release(situ_graph *graph) {
  if (!graph || __atomic_sub_fetch(&graph->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  destroy(graph);
}

void graph_set_error(struct situ_graph *graph, situ_status status) {
  if (!status) return;
  GRAPH_GUARD(graph);
  graph_invalidate_snapshot(graph);
  graph->error = status_first(graph->error, status);
}

void situ_graph_set_origin(situ_graph *graph, const char *place) {
  GRAPH_GUARD(graph);
  if (!graph || (place && graph->origin && !strcmp(graph->origin, place))) return;
  graph->origin = place ? arena_strndup(&graph->arena, place, strlen(place)) : NULL;
}

situ_status situ_graph_status(const situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return INVALID("The graph is NULL.");
  return status_copy(graph->error);
}

situ_status situ_graph_take_error(situ_graph *graph) {
  GRAPH_GUARD(graph);
  if (!graph) return INVALID("situ_graph_take_error: the graph is NULL.");
  const situ_status status = graph->error;
  graph->error = NULL;
  return status;
}

bool graph_retain_tensor(struct situ_graph *graph, situ_tensor *tensor) {
  if (!GROW(graph->tensors, graph->n_tensors, graph->tensor_capacity)) return false;
  graph->tensors[graph->n_tensors++] = situ_tensor_retain(tensor);
  return true;
}

/* Values */

static const struct node *node_of(situ_value value) {
  const struct situ_graph *graph = value.graph;
  if (!graph || value.node < 0 || value.node >= graph->n_nodes) return NULL;
  return graph->nodes[value.node];
}

static const struct output *output_of(situ_value value) {
  const struct node *node = node_of(value);
  if (!node || value.output < 0 || value.output >= node->n_outputs) return NULL;
  return &node->outputs[value.output];
}

situ_value graph_value(struct situ_graph *graph, const struct node *node) {
  return (situ_value){graph, node->id, node->n_outputs ? 0 : -1};
}

situ_status graph_check_value(const struct situ_graph *graph, situ_value value, bool needs_output,
                              const char *where, int index) {
  GRAPH_GUARD(graph);
  if (!value.graph || value.node < 0)
    return INVALID("%s: value %d is invalid; it comes from a call that failed.", where, index);
  if (value.graph != graph) return INVALID("%s: value %d belongs to another graph.", where, index);
  const struct node *node = node_of(value);
  if (!node) return INVALID("%s: value %d: there is no node %d.", where, index, (int)value.node);
  if (output_of(value) || (!needs_output && !node->n_outputs)) return NULL;
  if (!node->n_outputs)
    return INVALID("%s: value %d: node '%s' (op: '%s') has no outputs.", where, index, node->name,
                   node->schema->op->name);
  return INVALID("%s: value %d: node '%s' has no output %d.", where, index, node->name,
                 (int)value.output);
}

bool situ_value_valid(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  return output_of(value) || (node && !node->n_outputs && value.output == -1);
}

situ_value situ_value_output(situ_value value, int output) {
  GRAPH_GUARD(value.graph);
  const situ_value other = {value.graph, value.node, output};
  return output_of(other) ? other : graph_invalid_value(value.graph);
}

situ_value situ_value_input(situ_value value, int index) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  if (!node || index < 0 || index >= node->n_inputs) return graph_invalid_value(value.graph);
  return (situ_value){value.graph, node->inputs[index].node, node->inputs[index].output};
}

situ_value situ_value_control(situ_value value, int index) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  if (!node || index < 0 || index >= node->n_controls) return graph_invalid_value(value.graph);
  return graph_value(value.graph, value.graph->nodes[node->controls[index]]);
}

const char *situ_value_name(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  return node ? node->name : "";
}

const char *situ_value_op(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  return node ? node->schema->op->name : "";
}

situ_type situ_value_type(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct output *output = output_of(value);
  return output ? output->type : SITU_NO_TYPE;
}

situ_shape situ_value_shape(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct output *output = output_of(value);
  return output ? output->shape : SITU_ANY_SHAPE;
}

situ_status situ_value_set_shape(situ_value value, situ_shape shape) {
  GRAPH_GUARD(value.graph);
  if (!output_of(value)) return INVALID("situ_value_set_shape: the value is invalid.");
  const struct node *old = value.graph->nodes[value.node];
  const struct output *current = &old->outputs[value.output];
  if (!shape_compatible(&current->shape, &shape))
    return INVALID("The shape is not compatible with the shape of '%s'.", situ_value_name(value));
  const situ_shape merged = shape_merge(&current->shape, &shape);
  if (shape_equal(&merged, &current->shape)) return NULL;
  const size_t size = sizeof(struct output) * (size_t)old->n_outputs;
  struct output *outputs = arena_alloc(&value.graph->arena, size);
  struct node *node = outputs ? graph_writable_node(value.graph, value.node) : NULL;
  if (!node) return NO_MEMORY();
  memcpy(outputs, node->outputs, size);
  outputs[value.output].shape = merged;
  node->outputs = outputs;
  node->has_set_shape = true;
  return NULL;
}

const char *situ_value_device(situ_value value) {
  GRAPH_GUARD(value.graph);
  const struct node *node = node_of(value);
  return node ? value.graph->specs[node->spec].canonical : "";
}

int situ_graph_count(const situ_graph *graph) { return graph ? graph_count(graph) : 0; }

situ_value situ_graph_node(situ_graph *graph, int index) {
  GRAPH_GUARD(graph);
  if (!graph || index < 0 || index >= graph->n_nodes) return graph_invalid_value(graph);
  return graph_value(graph, graph->nodes[index]);
}

int32_t graph_find(const struct situ_graph *graph, const char *name, size_t length) {
  const struct situ_graph *live = graph_live(graph);
  GRAPH_GUARD(live);
  const int32_t id = names_find(&graph->scopes->names, live, name, length);
  return id < graph->n_nodes ? id : -1; /* a snapshot does not have newer nodes */
}

size_t graph_parse_tensor_name(const char *text, size_t length, int32_t *output) {
  const char *colon = memchr(text, ':', length);
  *output = 0;
  if (!colon) return length;
  const char *end = text + length;
  int64_t number = 0;
  if (colon + 1 == end) return 0;
  for (const char *at = colon + 1; at < end; at++) {
    if (*at < '0' || *at > '9') return 0;
    number = number * 10 + (*at - '0');
    if (number > INT32_MAX) return 0;
  }
  *output = (int32_t)number;
  return (size_t)(colon - text);
}

situ_value situ_graph_find(situ_graph *graph, const char *name) {
  GRAPH_GUARD(graph);
  int32_t output = 0;
  if (!graph || !name) return graph_invalid_value(graph);
  const size_t length = graph_parse_tensor_name(name, strlen(name), &output);
  const int32_t id = length ? graph_find(graph, name, length) : -1;
  if (id < 0) return graph_invalid_value(graph);
  const struct node *node = graph->nodes[id];
  if (!node->n_outputs && !name[length]) return graph_value(graph, node);
  return situ_value_output(graph_value(graph, node), output);
}
