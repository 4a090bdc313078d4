/* SPDX-License-Identifier: Apache-2.0
 * value.c: public constructors of attributes, constants and placeholders. */
#include "graph/build.h"
#include "situ/static_value.h"

situ_attr situ_attr_int(const char *name, int64_t value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_INT, .integer = value};
}

situ_attr situ_attr_float(const char *name, double value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_FLOAT, .real = value};
}

situ_attr situ_attr_bool(const char *name, bool value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_BOOL, .integer = value};
}

situ_attr situ_attr_type(const char *name, situ_type value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_TYPE, .integer = value};
}

situ_attr situ_attr_shape(const char *name, situ_shape value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_SHAPE, .shape = value};
}

situ_attr situ_attr_string(const char *name, const char *value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_STRING, .text = value};
}

situ_attr situ_attr_tensor(const char *name, situ_tensor *value) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_TENSOR, .tensor = value};
}

situ_attr situ_attr_types(const char *name, const int64_t *types, int count) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_TYPES, .integer = count, .integers = types};
}

situ_attr situ_attr_shapes(const char *name, const situ_shape *shapes, int count) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_SHAPES, .integer = count, .shapes = shapes};
}

situ_attr situ_attr_function(const char *name, const char *function) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_FUNCTION, .text = function};
}

situ_attr situ_attr_ints(const char *name, const int64_t *values, int count) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_INTS, .integer = count, .integers = values};
}

situ_attr situ_attr_floats(const char *name, const double *values, int count) {
  return (situ_attr){.name = name, .kind = SITU_ATTR_FLOATS, .integer = count, .reals = values};
}

situ_value situ_constant_tensor(situ_graph *graph, const char *name, situ_tensor *tensor) {
  GRAPH_GUARD(graph);
  if (!graph || graph->error) return graph_invalid_value(graph);
  if (!tensor) {
    graph_set_error(graph, INVALID("situ_constant_tensor: tensor is NULL."));
    return graph_invalid_value(graph);
  }
  const situ_attr attrs[] = {situ_attr_tensor("value", tensor),
                             situ_attr_type("dtype", situ_tensor_type(tensor))};
  return situ_emit(graph, "Const", name, NULL, 0, attrs, 2);
}

situ_value situ_constant(situ_graph *graph, const char *name, situ_type type, situ_shape shape,
                         const void *data) {
  GRAPH_GUARD(graph);
  if (!graph || graph->error) return graph_invalid_value(graph);
  situ_tensor *tensor = NULL;
  const situ_status status = situ_tensor_create(type, shape, data, &tensor);
  graph_set_error(graph,
                  status ? status_note(status, "at constant '%s'", name ? name : "Const") : NULL);
  const situ_value value =
      tensor ? situ_constant_tensor(graph, name, tensor) : graph_invalid_value(graph);
  situ_tensor_release(tensor);
  return value;
}

situ_tensor *situ_value_constant(situ_value value) {
  GRAPH_GUARD(value.graph);
  if (!situ_value_valid(value)) return NULL;
  const struct node *node = value.graph->nodes[value.node];
  if (!(node->schema->op->flags & OP_CONSTANT)) return NULL;
  return node->attrs[schema_attr(node->schema, "value")].tensor;
}

situ_tensor *situ_value_static(situ_value value, unsigned *unknown) {
  *unknown = 0;
  situ_tensor *constant = situ_value_constant(value);
  if (constant || !situ_value_valid(value)) return constant;
  GRAPH_GUARD(value.graph);
  const struct known *known = value.graph->nodes[value.node]->outputs[value.output].known;
  if (!known) return NULL;
  *unknown = known->unknown;
  return (situ_tensor *)known->tensor;
}

situ_value situ_placeholder(situ_graph *graph, const char *name, situ_type type, situ_shape shape) {
  const situ_attr attrs[] = {situ_attr_type("dtype", type), situ_attr_shape("shape", shape)};
  return situ_emit(graph, "Placeholder", name, NULL, 0, attrs, 2);
}
