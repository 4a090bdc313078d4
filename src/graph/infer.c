/* SPDX-License-Identifier: Apache-2.0
 * infer.c: infers types, attributes and shapes of a new node from those of its inputs.
 *
 * Outputs and attributes that equal those of an input or of the previous node of the same op are
 * shared with it: large graphs consist of many similar nodes. */
#include "graph/infer.h"

#include <stdlib.h>
#include <string.h>

#include "base/strbuf.h"
#include "graph/static_values.h"
#include "graph/scope.h"
#include "graph/variable.h"
#include "schema/port_shape.h"
#include "tensor/shape.h"

/* Shapes */

enum { INLINE_OPERANDS = 8 }; /* allocated on the stack */

/* The value of a constant, or of an output whose static value is complete, else NULL. */
static const situ_tensor *static_value(const struct node *node, const struct output *output) {
  if (output->known && !output->known->unknown) return output->known->tensor;
  if (!(node->schema->op->flags & OP_CONSTANT)) return NULL;
  const int attr = schema_attr(node->schema, "value");
  return attr < 0 ? NULL : node->attrs[attr].tensor;
}

static void fill_inputs(const struct situ_graph *graph, const struct node *node,
                        struct operand *in) {
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct node *from = graph->nodes[node->inputs[i].node];
    const struct output *output = &from->outputs[node->inputs[i].output];
    in[i].type = output->type;
    in[i].slot = -1;
    in[i].shape = output->shape;
    in[i].value = static_value(from, output);
    in[i].known = output->known;
  }
}

/* Replaces handles by their variables: shape functions see the variable's type and shape. */
static situ_status resolve_handles(const struct situ_graph *graph, const struct node *node,
                                   struct operand *in) {
  for (int32_t i = 0; node->schema->has_handles && i < node->n_inputs; i++) {
    const situ_op_port *port = schema_input_port(node->schema, node->attrs, i);
    if (!port->is_handle) continue;
    const struct node *variable = variable_of(graph, node->inputs[i]);
    const situ_type type =
        port->handle_attr < 0 ? SITU_NO_TYPE : node->attrs[port->handle_attr].type;
    if (variable && type != SITU_NO_TYPE && variable_type(variable) != type)
      return INVALID("Trying to use variable '%s' with wrong dtype. Expected %s got %s",
                     variable->name, situ_type_name(type), situ_type_name(variable_type(variable)));
    in[i] = (struct operand){.type = variable ? variable_type(variable) : type,
                             .slot = -1,
                             .shape = variable ? *variable_shape(variable) : SITU_ANY_SHAPE};
  }
  return NULL;
}

/* Appends node and input shapes to a shape error, as TensorFlow does. */
static situ_status describe_shape_error(situ_status status, const struct call *call) {
  struct strbuf buffer = {0};
  const char *message = situ_status_message(status);
  size_t length = strlen(message);
  if (length && message[length - 1] == '.') length--;
  strbuf_append_n(&buffer, message, length);
  strbuf_appendf(&buffer, " for '%s' (op: '%s') with input shapes: ", call->node,
                 call->schema->op->name);
  for (int i = 0; i < call->n_in; i++) {
    char shape[SHAPE_STRING_SIZE];
    strbuf_appendf(&buffer, "%s%s", i ? ", " : "", shape_print(&call->in[i].shape, shape));
  }
  const situ_code code = situ_status_code(status);
  situ_status_release(status);
  status = buffer.failed ? NO_MEMORY() : situ_status_create(code, "%s.", strbuf_get(&buffer));
  strbuf_free(&buffer);
  return status;
}

static situ_status call_shape_function(struct call *call) {
  for (int i = 0; i < call->n_out; i++)
    call->out[i] = (struct operand){.type = schema_output_type(call->schema, call->attrs, i),
                                    .slot = -1,
                                    .shape = SITU_ANY_SHAPE};
  situ_status status = call_infer_shapes(call);
  for (int i = 0; !status && i < call->n_out; i++) status = shape_check(&call->out[i].shape);
  if (!status) return NULL;
  return call->building ? describe_shape_error(status, call) : call_describe_error(call, status);
}

/* An input equal to the node's only output, which can share it; or NULL. */
static const struct output *find_equal(const struct situ_graph *graph, const struct node *node,
                                       const struct operand *out) {
  for (int32_t i = 0; i < node->n_inputs && i < INLINE_OPERANDS; i++) {
    const struct edge from = node->inputs[i];
    const struct output *output = &graph->nodes[from.node]->outputs[from.output];
    if (output->type == out->type && output->known == out->known &&
        shape_equal(&output->shape, &out->shape))
      return output;
  }
  return NULL;
}

static situ_status set_outputs(struct situ_graph *graph, struct node *node,
                               const struct operand *out) {
  node->outputs = node->n_outputs == 1 ? find_equal(graph, node, out) : NULL;
  if (node->outputs || !node->n_outputs) return NULL;
  struct output *outputs = arena_alloc(&graph->arena, sizeof *outputs * (size_t)node->n_outputs);
  if (!outputs) return NO_MEMORY();
  for (int32_t i = 0; i < node->n_outputs; i++)
    outputs[i] = (struct output){out[i].type, out[i].shape, out[i].known};
  node->outputs = outputs;
  return NULL;
}

/* `operands` has n_inputs + n_outputs elements. */
static situ_status infer(struct situ_graph *graph, struct node *node, struct operand *operands) {
  struct call call = {.schema = node->schema,
                      .attrs = node->attrs,
                      .node = node->name,
                      .n_in = node->n_inputs,
                      .n_out = node->n_outputs,
                      .in = operands,
                      .out = operands + node->n_inputs,
                      .building = !graph->is_eager};
  fill_inputs(graph, node, call.in);
  TRY(resolve_handles(graph, node, call.in));
  TRY(call_shape_function(&call));
  if (call.building) TRY(static_values_find(graph, &call));
  return set_outputs(graph, node, call.out);
}

situ_status infer_shapes(struct situ_graph *graph, struct node *node) {
  const size_t count = (size_t)node->n_inputs + (size_t)node->n_outputs;
  struct operand inline_buffer[INLINE_OPERANDS];
  if (count <= INLINE_OPERANDS) return infer(graph, node, inline_buffer);
  struct operand *operands = malloc(count * sizeof *operands);
  if (!operands) return NO_MEMORY();
  const situ_status status = infer(graph, node, operands);
  free(operands);
  return status;
}

/* Types */

static situ_status resolve(const struct situ_graph *graph, struct draft *draft, situ_type *types) {
  struct node *node = draft->node;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct node *from = graph->nodes[node->inputs[i].node];
    types[i] = from->outputs[node->inputs[i].output].type;
  }
  int n_out = 0;
  TRY(schema_resolve(node->schema, node->name, types, node->n_inputs, draft->attrs, &n_out));
  node->n_outputs = n_out;
  return NULL;
}

static situ_status resolve_types(const struct situ_graph *graph, struct draft *draft) {
  situ_type inline_buffer[INLINE_OPERANDS];
  if (draft->node->n_inputs <= INLINE_OPERANDS) return resolve(graph, draft, inline_buffer);
  situ_type *types = malloc((size_t)draft->node->n_inputs * sizeof *types);
  if (!types) return NO_MEMORY();
  const situ_status status = resolve(graph, draft, types);
  free(types);
  return status;
}

/* Whether two scalar attributes are equal; pointers are not compared. */
static bool same_value(const struct attr_value *a, const struct attr_value *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
    case SITU_ATTR_INT:
    case SITU_ATTR_BOOL:
      return a->integer == b->integer;
    case SITU_ATTR_TYPE:
      return a->type == b->type;
    case SITU_ATTR_NONE:
      return true;
    default:
      return false;
  }
}

static bool same_attrs(const struct schema *schema, const struct attr_value *a,
                       const struct attr_value *b) {
  for (int i = 0; i < schema->n_attrs; i++)
    if (!same_value(&a[i], &b[i])) return false;
  return true;
}

/* Shares the attributes of the last node of this op if they are equal, else copies them. */
static bool set_attrs(struct situ_graph *graph, const struct draft *draft) {
  const struct schema *schema = draft->node->schema;
  struct recent_attrs *recent = &graph->scopes->attrs[schema->id % RECENT];
  if (recent->schema != schema || !same_attrs(schema, recent->attrs, draft->attrs)) {
    const size_t bytes = (size_t)schema->n_attrs * sizeof *draft->attrs;
    struct attr_value *copy = arena_alloc(&graph->arena, bytes);
    if (!copy) return false;
    memcpy(copy, draft->attrs, bytes);
    *recent = (struct recent_attrs){schema, copy};
  }
  draft->node->attrs = recent->attrs;
  return true;
}

situ_status infer_types(struct situ_graph *graph, struct draft *draft) {
  TRY(resolve_types(graph, draft));
  return set_attrs(graph, draft) ? NULL : NO_MEMORY();
}
