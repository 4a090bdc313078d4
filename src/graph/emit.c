/* SPDX-License-Identifier: Apache-2.0
 * emit.c: adding a node: name, attributes, types, shapes.
 *
 * This is called a hundred thousand times to build a large graph: a node is two pieces of the
 * graph's arena, and nothing is allocated besides. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "graph/build.h"
#include "graph/grow.h"
#include "graph/scope.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

bool emit_begin(struct situ_graph *graph, const struct schema *schema, int32_t n_inputs,
                struct draft *out) {
  const size_t attrs = sizeof(struct attr_value) * (size_t)schema->n_attrs;
  const size_t inputs = sizeof(struct edge) * (size_t)n_inputs;
  struct node *node = arena_alloc(&graph->arena, sizeof *node + attrs + inputs);
  if (!node) return false;
  out->node = node;
  out->attrs = (struct attr_value *)(void *)(node + 1);
  out->inputs = (struct edge *)(void *)(out->attrs + schema->n_attrs);
  memset(out->attrs, 0, attrs);
  *node = (struct node){
      .schema = schema, .n_inputs = n_inputs, .inputs = out->inputs, .attrs = out->attrs};
  return true;
}

/* Shapes */

enum { FEW = 8 }; /* operands that fit on the stack */

/* The value of a constant node, else NULL. */
static const situ_tensor *constant_of(const struct node *node) {
  if (!(node->schema->op->flags & OP_CONSTANT)) return NULL;
  const int attr = schema_attr(node->schema, "value");
  return attr < 0 ? NULL : node->attrs[attr].tensor;
}

static void fill_inputs(const struct situ_graph *graph, const struct node *node,
                        struct operand *in) {
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct node *from = graph->nodes[node->inputs[i].node];
    const struct output *output = &from->outputs[node->inputs[i].output];
    in[i] = (struct operand){output->type, -1, output->shape, constant_of(from)};
  }
}

/* TensorFlow's end of the sentence: which node, and what it was given. */
static situ_status shape_failure(situ_status status, const struct call *call) {
  struct text text = {0};
  const char *message = situ_status_message(status);
  size_t length = strlen(message);
  if (length && message[length - 1] == '.') length--;
  text_add_n(&text, message, length);
  text_addf(&text, " for '%s' (op: '%s') with input shapes: ", call->node, call->schema->op->name);
  for (int i = 0; i < call->n_in; i++) {
    char shape[SHAPE_TEXT];
    text_addf(&text, "%s%s", i ? ", " : "", shape_print(&call->in[i].shape, shape));
  }
  const situ_code code = situ_status_code(status);
  situ_status_release(status);
  status = text.failed ? NO_MEMORY() : situ_status_create(code, "%s.", text_get(&text));
  text_free(&text);
  return status;
}

static situ_status call_shape(struct call *call) {
  const struct op *op = call->schema->op;
  for (int i = 0; i < call->n_out; i++)
    call->out[i] = (struct operand){schema_output_type(call->schema, call->attrs, i), -1,
                                    SITU_ANY_SHAPE, NULL};
  situ_status status = op->shape ? op->shape(call) : NULL;
  for (int i = 0; !status && i < call->n_out; i++) status = shape_check(&call->out[i].shape);
  return status ? shape_failure(status, call) : NULL;
}

/* Sets the outputs' types and shapes; `operands` has room for all inputs and outputs. */
static situ_status infer(const struct situ_graph *graph, struct node *node,
                         struct operand *operands) {
  struct call call = {.schema = node->schema,
                      .attrs = node->attrs,
                      .node = node->name,
                      .n_in = node->n_inputs,
                      .n_out = node->n_outputs,
                      .in = operands,
                      .out = operands + node->n_inputs};
  fill_inputs(graph, node, call.in);
  TRY(call_shape(&call));
  for (int32_t i = 0; i < node->n_outputs; i++)
    node->outputs[i] = (struct output){call.out[i].type, call.out[i].shape};
  return NULL;
}

static situ_status infer_outputs(struct situ_graph *graph, struct node *node) {
  const size_t count = (size_t)node->n_inputs + (size_t)node->n_outputs;
  node->outputs = arena_alloc(&graph->arena, sizeof *node->outputs * (size_t)node->n_outputs);
  if (!node->outputs) return NO_MEMORY();
  struct operand few[FEW];
  if (count <= FEW) return infer(graph, node, few);
  struct operand *operands = malloc(count * sizeof *operands);
  if (!operands) return NO_MEMORY();
  const situ_status status = infer(graph, node, operands);
  free(operands);
  return status;
}

/* Types */

static situ_status resolve(const struct situ_graph *graph, const struct draft *draft,
                           situ_type *types) {
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

static situ_status resolve_types(const struct situ_graph *graph, const struct draft *draft) {
  situ_type few[FEW];
  if (draft->node->n_inputs <= FEW) return resolve(graph, draft, few);
  situ_type *types = malloc((size_t)draft->node->n_inputs * sizeof *types);
  if (!types) return NO_MEMORY();
  const situ_status status = resolve(graph, draft, types);
  free(types);
  return status;
}

static situ_status append(struct situ_graph *graph, struct node *node) {
  int32_t found = -1;
  if (!GROW(graph->nodes, graph->n_nodes, graph->node_capacity)) return NO_MEMORY();
  if (!map_find_or_put(&graph->names, node->name, graph->n_nodes, &found)) return NO_MEMORY();
  if (found >= 0) return INVALID("Duplicate node name in graph: '%s'", node->name);
  node->id = graph->n_nodes;
  graph->nodes[graph->n_nodes++] = node;
  return NULL;
}

situ_status emit_finish(struct situ_graph *graph, const struct draft *draft) {
  struct node *node = draft->node;
  situ_status status = resolve_types(graph, draft);
  if (status)
    return status_note(status, "at node '%s' (op: '%s')", node->name, node->schema->op->name);
  status = infer_outputs(graph, node);
  if (!status) status = append(graph, node);
  return status ? status_at_node(status, node->name) : NULL;
}

/* Attributes */

static situ_status no_such_attr(const struct schema *schema, const char *name) {
  struct text list = {0};
  for (int i = 0; i < schema->n_attrs; i++)
    text_addf(&list, "%s%s", i ? ", " : "", schema->attrs[i].name);
  const situ_status status =
      INVALID("NodeDef mentions attr '%s' not in Op '%s', which has: %s", name, schema->op->name,
              list.length ? text_get(&list) : "none");
  text_free(&list);
  return status;
}

static situ_status copy_list(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  if (attr->integer < 0 || (attr->integer && !attr->integers))
    return INVALID("Attribute '%s': a list of %lld integers.", attr->name,
                   (long long)attr->integer);
  int64_t *items = ARENA_ARRAY(arena, int64_t, attr->integer);
  if (!items) return NO_MEMORY();
  for (int64_t i = 0; i < attr->integer; i++) items[i] = attr->integers[i];
  out->list.items = items;
  out->list.count = attr->integer;
  return NULL;
}

static situ_status copy_shape(struct arena *arena, const situ_attr *attr, struct attr_value *out) {
  TRY(shape_check(&attr->shape));
  situ_shape *shape = arena_alloc(arena, sizeof *shape);
  if (!shape) return NO_MEMORY();
  *shape = attr->shape;
  out->shape = shape;
  return NULL;
}

/* Constants are kept in host memory. */
static situ_status hold_tensor(struct situ_graph *graph, const situ_attr *attr, situ_tensor **out) {
  if (!attr->tensor) return INVALID("Attribute '%s': the tensor is NULL.", attr->name);
  TRY(tensor_host(attr->tensor, out));
  const bool held = graph_hold(graph, *out);
  situ_tensor_release(*out);
  return held ? NULL : NO_MEMORY();
}

static situ_status copy_value(struct situ_graph *graph, const situ_attr *attr,
                              struct attr_value *out) {
  out->kind = attr->kind;
  switch (attr->kind) {
    case SITU_ATTR_INT:
      out->integer = attr->integer;
      return NULL;
    case SITU_ATTR_BOOL:
      out->integer = attr->integer != 0;
      return NULL;
    case SITU_ATTR_FLOAT:
      out->real = attr->real;
      return NULL;
    case SITU_ATTR_TYPE:
      out->type = (situ_type)attr->integer;
      if (situ_type_size(out->type)) return NULL;
      return INVALID("Attribute '%s': %lld is no element type.", attr->name,
                     (long long)attr->integer);
    case SITU_ATTR_SHAPE:
      return copy_shape(&graph->arena, attr, out);
    case SITU_ATTR_STRING:
      if (!attr->text) return INVALID("Attribute '%s': the text is NULL.", attr->name);
      out->text = arena_text(&graph->arena, attr->text, strlen(attr->text));
      return out->text ? NULL : NO_MEMORY();
    case SITU_ATTR_TENSOR:
      return hold_tensor(graph, attr, &out->tensor);
    case SITU_ATTR_INTS:
      return copy_list(&graph->arena, attr, out);
    case SITU_ATTR_NONE:
      break;
  }
  return INVALID("Attribute '%s': %d is no kind of attribute.", attr->name, (int)attr->kind);
}

situ_status emit_set(struct situ_graph *graph, const struct draft *draft, const situ_attr *attr) {
  const struct schema *schema = draft->node->schema;
  if (!attr->name) return INVALID("An attribute without a name.");
  const int index = schema_attr(schema, attr->name);
  if (index < 0) return no_such_attr(schema, attr->name);
  if (draft->attrs[index].kind != SITU_ATTR_NONE)
    return INVALID("Attribute '%s' is given twice.", attr->name);
  return copy_value(graph, attr, &draft->attrs[index]);
}

/* Nodes as users add them */

situ_status emit_unknown_op(const char *op) {
  const char *nearest = schema_nearest(op);
  return situ_status_create(SITU_NOT_FOUND, "Op type not registered '%s'%s%s%s", op,
                            nearest ? "; did you mean '" : "", nearest ? nearest : "",
                            nearest ? "'?" : "");
}

/* TensorFlow's rule: "a/" is a name as it stands, outside of all scopes. */
static situ_status choose_name(struct situ_graph *graph, const char *name, const char **out) {
  const size_t length = strlen(name);
  const bool is_final = name[length - 1] == '/';
  *out = is_final ? arena_text(&graph->arena, name, length - 1)
                  : names_unique(&graph->scopes->names, &graph->arena, scope_prefix(graph), name);
  if (!*out) return NO_MEMORY();
  if (!names_legal(*out)) return INVALID("'%s' is not a valid node name", *out);
  if (is_final && !names_mark(&graph->scopes->names, &graph->arena, *out)) return NO_MEMORY();
  return NULL;
}

static situ_status set_inputs(const struct situ_graph *graph, const struct draft *draft,
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

static situ_status set_parts(struct situ_graph *graph, const struct draft *draft,
                             const situ_value *inputs, const situ_attr *attrs, int n_attrs) {
  TRY(set_inputs(graph, draft, inputs));
  for (int i = 0; i < n_attrs; i++) TRY(emit_set(graph, draft, &attrs[i]));
  return NULL;
}

static situ_status add_node(struct situ_graph *graph, const struct draft *draft, const char *name,
                            const situ_value *inputs, const situ_attr *attrs, int n_attrs) {
  struct node *node = draft->node;
  TRY(choose_name(graph, name, &node->name));
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
  if (!graph || graph->error) return graph_no_value(graph);
  const struct schema *schema = op ? schema_find(op) : NULL;
  struct draft draft;
  situ_status status = NULL;
  if (!schema)
    status = op ? emit_unknown_op(op) : INVALID("situ_emit: op is NULL.");
  else if (n_inputs < 0 || (n_inputs && !inputs))
    status = INVALID("situ_emit of '%s': %d inputs at NULL.", op, n_inputs);
  else if (n_attrs < 0 || (n_attrs && !attrs))
    status = INVALID("situ_emit of '%s': %d attributes at NULL.", op, n_attrs);
  else if (!emit_begin(graph, schema, n_inputs, &draft))
    status = NO_MEMORY();
  else
    status = add_node(graph, &draft, name && *name ? name : op, inputs, attrs, n_attrs);
  if (!status) return graph_value(graph, draft.node);
  graph_fail(graph, status);
  return graph_no_value(graph);
}
