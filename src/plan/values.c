/* SPDX-License-Identifier: Apache-2.0
 * values.c: shapes of this run, and the few values that are needed to plan it: shapes, axes, sizes.
 * They are computed here, by the same kernels, where they depend on constants and shapes alone. */
#include <string.h>

#include "graph/variable.h"
#include "plan/builder.h"
#include "graph/eval.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { MAX_DEPTH = 256, MAX_KNOWN_BYTES = 64 * 1024 };

static const situ_tensor *known(struct builder *builder, struct edge edge, int depth);

struct call values_call(const struct builder *builder, const struct node *node, struct operand *in,
                        struct operand *out) {
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct value *value = builder_value(builder, node->inputs[i]);
    in[i] = (struct operand){
        .type = value->type, .slot = -1, .shape = *value->shape, .value = value->known};
  }
  for (int32_t i = 0; i < node->n_outputs; i++) {
    const struct value *value = builder_value(builder, (struct edge){node->id, i});
    out[i] = (struct operand){.type = value->type, .slot = -1};
    if (value->shape) out[i].shape = *value->shape;
  }
  return (struct call){.schema = node->schema,
                       .attrs = node->attrs,
                       .node = node->name,
                       .n_in = node->n_inputs,
                       .n_out = node->n_outputs,
                       .in = in,
                       .out = out};
}

/* A fed value becomes part of what the program was made for. */
static const situ_tensor *known_feed(struct builder *builder, struct value *value) {
  const struct plan_feed *feed = &builder->request->feeds[value->feed];
  struct feed *to = &builder->program->feeds[value->feed];
  const situ_tensor *tensor = feed->tensor;
  if (!tensor || !situ_tensor_data(tensor) || tensor->bytes > MAX_KNOWN_BYTES) return NULL;
  if (!to->value) {
    to->value = arena_alloc(&builder->program->arena, tensor->bytes);
    if (!to->value) return NULL;
    memcpy(to->value, situ_tensor_data(tensor), tensor->bytes);
  }
  value->known = tensor;
  return tensor;
}

static bool keep(struct builder *builder, situ_tensor *tensor) {
  if (builder->n_owned == builder->owned_capacity) {
    const int32_t capacity = builder->owned_capacity ? builder->owned_capacity * 2 : 64;
    situ_tensor **owned = ARENA_ARRAY(&builder->scratch, situ_tensor *, capacity);
    if (!owned) return false;
    if (builder->n_owned) memcpy(owned, builder->owned, sizeof *owned * (size_t)builder->n_owned);
    builder->owned = owned;
    builder->owned_capacity = capacity;
  }
  builder->owned[builder->n_owned++] = tensor;
  return true;
}

/* Computes a node whose inputs are known on the host; NULL where that fails, and the run will say
 * why. */
static const situ_tensor *evaluate(struct builder *builder, const struct node *node,
                                   int32_t output) {
  struct operand *in = ARENA_ARRAY(&builder->scratch, struct operand, node->n_inputs + 1);
  struct operand *out = ARENA_ARRAY(&builder->scratch, struct operand, node->n_outputs + 1);
  situ_tensor **results = ARENA_ARRAY(&builder->scratch, situ_tensor *, node->n_outputs + 1);
  if (builder->scratch.failed) return NULL;
  struct call call = values_call(builder, node, in, out);
  const situ_status status = eval_call(&call, results);
  if (status) {
    situ_status_release(status);
    return NULL;
  }
  for (int32_t i = 0; i < node->n_outputs; i++) {
    if (keep(builder, results[i]))
      builder_value(builder, (struct edge){node->id, i})->known = results[i];
    else
      situ_tensor_release(results[i]);
  }
  return builder_value(builder, (struct edge){node->id, output})->known;
}

static bool inputs_known(struct builder *builder, const struct node *node, int depth) {
  if (node->schema->op->flags & OP_SHAPE_ONLY) return true;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!known(builder, node->inputs[i], depth + 1)) return false;
  return true;
}

static const situ_tensor *known(struct builder *builder, struct edge edge, int depth) {
  struct value *value = builder_value(builder, edge);
  if (value->known) return value->known;
  if (value->feed >= 0) return known_feed(builder, value);
  const struct node *node = builder->request->graph->nodes[edge.node];
  const unsigned flags = node->schema->op->flags;
  size_t bytes = 0;
  if (flags & (OP_FED | OP_STATEFUL | OP_VARIABLE) || depth > MAX_DEPTH || !value->shape)
    return NULL;
  if (builder_is_hosted(node)) return NULL;
  if (!shape_bytes(value->type, value->shape, &bytes) || bytes > MAX_KNOWN_BYTES) return NULL;
  if (!inputs_known(builder, node, depth)) return NULL;
  return evaluate(builder, node, edge.output);
}

/* The node at hand must wait for an input: for its value, or for its shape. What was fed already is
 * there, and no later part will know more of it. */
static situ_status lack(struct builder *builder, const struct node *node, int32_t input) {
  const int32_t feed = builder_value(builder, node->inputs[input])->feed;
  if (feed >= 0 && !builder->request->feeds[feed].device)
    return status_at_node(
        situ_status_create(SITU_UNIMPLEMENTED,
                           "Input %d of '%s' (%s) must be known to plan the call, and it is more "
                           "than %d bytes.",
                           input, node->name, node->schema->op->name, (int)MAX_KNOWN_BYTES),
        node->name);
  if (builder->need.node < 0) builder->need = node->inputs[input];
  builder->lacks = true;
  return NULL;
}

/* Kernels need the shapes of their inputs; host ops see them when they run. */
static situ_status know_shapes(struct builder *builder, const struct node *node) {
  if (builder_is_hosted(node)) return NULL;
  for (int32_t i = 0; i < node->n_inputs && !builder->lacks; i++)
    if (!shape_is_known(builder_value(builder, node->inputs[i])->shape))
      TRY(lack(builder, node, i));
  return NULL;
}

static situ_status know_host_inputs(struct builder *builder, const struct node *node) {
  if (!node->schema->op->host || !*node->schema->op->host) return NULL;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (!schema_input_port(node->schema, node->attrs, i)->is_host) continue;
    if (known(builder, node->inputs[i], 0) || builder_is_hosted(node)) continue;
    return lack(builder, node, i);
  }
  return NULL;
}

/* Whether the value of an output was known when the graph was built, and is the same now. */
static bool was_known(const struct builder *builder, struct edge edge) {
  const struct node *node = builder->request->graph->nodes[edge.node];
  const struct known *known = node->outputs[edge.output].known;
  if (builder_value(builder, edge)->feed >= 0) return false;
  return node->schema->op->flags & OP_CONSTANT || (known && !known->open);
}

/* Whether the shapes that the graph inferred while it was built hold for this run, and its row has
 * seen all values that it checks. */
static bool shapes_hold(const struct builder *builder, const struct node *node) {
  if (node->told && node->schema->op->shape && !builder_is_hosted(node)) return false;
  for (int32_t i = 0; i < node->n_outputs; i++)
    if (!shape_is_known(&node->outputs[i].shape)) return false;
  struct node *const *nodes = builder->request->graph->nodes;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct edge from = node->inputs[i];
    const situ_shape *built = &nodes[from.node]->outputs[from.output].shape;
    const situ_shape *shape = builder_value(builder, from)->shape;
    if (shape != built && !shape_equal(shape, built)) return false;
    if (schema_input_port(node->schema, node->attrs, i)->is_host && !was_known(builder, from) &&
        !builder_is_hosted(node))
      return false;
  }
  return true;
}

/* Asks the row again, now that the shapes of all inputs are known. */
static situ_status infer(struct builder *builder, const struct node *node) {
  struct operand *in = ARENA_ARRAY(&builder->scratch, struct operand, node->n_inputs + 1);
  struct operand *out = ARENA_ARRAY(&builder->scratch, struct operand, node->n_outputs + 1);
  situ_shape *shapes = ARENA_ARRAY(&builder->scratch, situ_shape, node->n_outputs + 1);
  if (builder->scratch.failed) return NO_MEMORY();
  struct call call = values_call(builder, node, in, out);
  TRY(status_at_node(call_describe_error(&call, node->schema->op->shape(&call)), node->name));
  for (int32_t i = 0; i < node->n_outputs; i++) {
    char text[256];
    if (!shape_is_known(&out[i].shape) && !builder_is_hosted(node))
      return status_at_node(
          situ_status_create(SITU_UNIMPLEMENTED,
                             "Output %d of '%s' (%s) has the shape %s, which is not known "
                             "before it runs.",
                             i, node->name, node->schema->op->name,
                             shape_print(&out[i].shape, text)),
          node->name);
    shapes[i] = out[i].shape;
    builder_value(builder, (struct edge){node->id, i})->shape = &shapes[i];
  }
  return NULL;
}

static bool is_constant(const struct builder *builder, const struct node *node) {
  const unsigned flags = node->schema->op->flags;
  if (flags & (OP_STATEFUL | OP_FED | OP_VARIABLE) || node->n_controls) return false;
  if (builder_is_hosted(node)) return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!builder_value(builder, node->inputs[i])->constant) return false;
  return true;
}

/* Whether a result of the node has to stay where it is computed: then it is computed in each run.
 */
static bool is_kept(const struct builder *builder, const struct node *node) {
  const struct plan_request *request = builder->request;
  bool kept = false;
  for (int32_t i = 0; request->keep && i < request->n_fetches; i++)
    kept = kept || request->fetches[i].node == node->id;
  return kept;
}

/* In a plan the handle of a variable is the variable. */
static void see_variable(const struct builder *builder, const struct node *node,
                         struct value *value) {
  const unsigned flags = node->schema->op->flags;
  if (flags & OP_VARIABLE) {
    value->type = variable_type(node);
    value->shape = variable_shape(node);
  } else if (flags & OP_ALIAS) {
    value->type = builder_value(builder, node->inputs[0])->type;
    value->shape = builder_value(builder, node->inputs[0])->shape;
  }
}

/* Whether what reads the outputs of a node has to come after a control input, even where their
 * elements are known before. */
static bool is_ordered(const struct builder *builder, const struct node *node) {
  bool ordered = node->n_controls > 0;
  for (int32_t i = 0; i < node->n_inputs && !ordered; i++) {
    const struct value *value = builder_value(builder, node->inputs[i]);
    ordered = value->feed < 0 && value->ordered;
  }
  return ordered;
}

/* Outputs that are fed keep what the feed says. */
static void begin_outputs(const struct builder *builder, const struct node *node) {
  const bool constant = is_constant(builder, node) && !is_kept(builder, node);
  const bool ordered = is_ordered(builder, node);
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0) continue;
    value->type = node->outputs[i].type;
    value->shape = &node->outputs[i].shape;
    value->constant = constant;
    value->ordered = ordered;
    if (value->type == SITU_RESOURCE) see_variable(builder, node, value);
    if (node->schema->op->flags & OP_CONSTANT)
      value->known = node->attrs[schema_attr(node->schema, "value")].tensor;
  }
}

static situ_status not_fed(const struct node *node) {
  char shape[256];
  const struct output *output = &node->outputs[0];
  return status_at_node(
      INVALID("You must feed a value for placeholder tensor '%s' with dtype %s and shape %s",
              node->name, situ_type_name(output->type), shape_print(&output->shape, shape)),
      node->name);
}

situ_status values_infer(struct builder *builder, const struct node *node) {
  if (node->schema->op->flags & OP_FED) return not_fed(node);
  begin_outputs(builder, node);
  TRY(know_shapes(builder, node));
  if (!builder->lacks) TRY(know_host_inputs(builder, node));
  if (builder->lacks || shapes_hold(builder, node)) return NULL;
  return infer(builder, node);
}
