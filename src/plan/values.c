/* SPDX-License-Identifier: Apache-2.0
 * values.c: infers the shapes of a run, and evaluates the small tensors that planning depends on
 * (shapes, axes, sizes). They are evaluated on the host by the ops' own kernels if they depend on
 * constants, shapes and feeds only. */
#include <string.h>

#include "graph/variable.h"
#include "plan/builder.h"
#include "graph/eval.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

enum { MAX_DEPTH = 256, MAX_STATIC_BYTES = 64 * 1024 };

static const situ_tensor *get_static_value(struct builder *builder, struct edge edge, int depth);

struct call values_make_call(const struct builder *builder, const struct node *node,
                             struct operand *in, struct operand *out) {
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct value *value = builder_value(builder, node->inputs[i]);
    in[i] = (struct operand){
        .type = value->type, .slot = -1, .shape = *value->shape, .value = value->static_value};
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

/* Uses the elements of a feed and copies them: they are part of the program's cache key. */
static const situ_tensor *get_feed_value(struct builder *builder, struct value *value) {
  const struct plan_feed *feed = &builder->request->feeds[value->feed];
  struct feed *to = &builder->program->feeds[value->feed];
  const situ_tensor *tensor = feed->tensor;
  if (!tensor || !situ_tensor_data(tensor) || tensor->bytes > MAX_STATIC_BYTES) return NULL;
  if (!to->value) {
    to->value = arena_alloc(&builder->program->arena, tensor->bytes);
    if (!to->value) return NULL;
    memcpy(to->value, situ_tensor_data(tensor), tensor->bytes);
  }
  value->static_value = tensor;
  return tensor;
}

static bool own_tensor(struct builder *builder, situ_tensor *tensor) {
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

/* Evaluates a node on the host. NULL on failure: the run reports the error. */
static const situ_tensor *evaluate(struct builder *builder, const struct node *node,
                                   int32_t output) {
  struct operand *in = ARENA_ARRAY(&builder->scratch, struct operand, node->n_inputs + 1);
  struct operand *out = ARENA_ARRAY(&builder->scratch, struct operand, node->n_outputs + 1);
  situ_tensor **results = ARENA_ARRAY(&builder->scratch, situ_tensor *, node->n_outputs + 1);
  if (builder->scratch.failed) return NULL;
  struct call call = values_make_call(builder, node, in, out);
  const situ_status status = eval_call(&call, results);
  if (status) {
    situ_status_release(status);
    return NULL;
  }
  for (int32_t i = 0; i < node->n_outputs; i++) {
    if (own_tensor(builder, results[i]))
      builder_value(builder, (struct edge){node->id, i})->static_value = results[i];
    else
      situ_tensor_release(results[i]);
  }
  return builder_value(builder, (struct edge){node->id, output})->static_value;
}

static bool evaluate_inputs(struct builder *builder, const struct node *node, int depth) {
  if (node->schema->op->flags & OP_SHAPE_ONLY) return true;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!get_static_value(builder, node->inputs[i], depth + 1)) return false;
  return true;
}

static const situ_tensor *get_static_value(struct builder *builder, struct edge edge, int depth) {
  struct value *value = builder_value(builder, edge);
  if (value->static_value) return value->static_value;
  if (value->feed >= 0) return get_feed_value(builder, value);
  const struct node *node = builder->request->graph->nodes[edge.node];
  const unsigned flags = node->schema->op->flags;
  size_t bytes = 0;
  if (flags & (OP_FED | OP_STATEFUL | OP_VARIABLE) || depth > MAX_DEPTH || !value->shape)
    return NULL;
  if (builder_is_host_op(node)) return NULL;
  if (!shape_bytes(value->type, value->shape, &bytes) || bytes > MAX_STATIC_BYTES) return NULL;
  if (!evaluate_inputs(builder, node, depth)) return NULL;
  return evaluate(builder, node, edge.output);
}

/* Defers the node until the value or shape of an input is known. A feed in host memory is final: no
 * later program will know more about it. */
static situ_status defer(struct builder *builder, const struct node *node, int32_t input) {
  const int32_t feed = builder_value(builder, node->inputs[input])->feed;
  if (feed >= 0 && !builder->request->feeds[feed].device)
    return status_at_node(
        situ_status_create(SITU_UNIMPLEMENTED,
                           "Input %d of '%s' (%s) determines a shape and must not be larger than "
                           "%d bytes.",
                           input, node->name, node->schema->op->name, (int)MAX_STATIC_BYTES),
        node->name);
  if (builder->missing.node < 0) builder->missing = node->inputs[input];
  builder->is_blocked = true;
  return NULL;
}

/* Kernels need the shapes of their inputs at planning time; host ops read them from the tensors. */
static situ_status require_shapes(struct builder *builder, const struct node *node) {
  if (builder_is_host_op(node)) return NULL;
  for (int32_t i = 0; i < node->n_inputs && !builder->is_blocked; i++)
    if (!shape_is_known(builder_value(builder, node->inputs[i])->shape))
      TRY(defer(builder, node, i));
  return NULL;
}

static situ_status require_host_inputs(struct builder *builder, const struct node *node) {
  if (!node->schema->op->host || !*node->schema->op->host) return NULL;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (!schema_input_port(node->schema, node->attrs, i)->is_host) continue;
    if (get_static_value(builder, node->inputs[i], 0) || builder_is_host_op(node)) continue;
    return defer(builder, node, i);
  }
  return NULL;
}

/* Whether shape inference at graph construction already saw the value of an output. */
static bool was_known_at_build(const struct builder *builder, struct edge edge) {
  const struct node *node = builder->request->graph->nodes[edge.node];
  const struct known *known = node->outputs[edge.output].known;
  if (builder_value(builder, edge)->feed >= 0) return false;
  return node->schema->op->flags & OP_CONSTANT || (known && !known->unknown);
}

/* Whether the output shapes inferred at graph construction are valid for this run. */
static bool are_shapes_final(const struct builder *builder, const struct node *node) {
  if (node->has_set_shape && node->schema->op->shape && !builder_is_host_op(node)) return false;
  for (int32_t i = 0; i < node->n_outputs; i++)
    if (!shape_is_known(&node->outputs[i].shape)) return false;
  struct node *const *nodes = builder->request->graph->nodes;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct edge from = node->inputs[i];
    const situ_shape *build_shape = &nodes[from.node]->outputs[from.output].shape;
    const situ_shape *shape = builder_value(builder, from)->shape;
    if (shape != build_shape && !shape_equal(shape, build_shape)) return false;
    if (schema_input_port(node->schema, node->attrs, i)->is_host &&
        !was_known_at_build(builder, from) && !builder_is_host_op(node))
      return false;
  }
  return true;
}

/* Repeats shape inference with the input shapes of this run. */
static situ_status infer_shapes(struct builder *builder, const struct node *node) {
  struct operand *in = ARENA_ARRAY(&builder->scratch, struct operand, node->n_inputs + 1);
  struct operand *out = ARENA_ARRAY(&builder->scratch, struct operand, node->n_outputs + 1);
  situ_shape *shapes = ARENA_ARRAY(&builder->scratch, situ_shape, node->n_outputs + 1);
  if (builder->scratch.failed) return NO_MEMORY();
  struct call call = values_make_call(builder, node, in, out);
  TRY(status_at_node(call_describe_error(&call, call_infer_shapes(&call)), node->name));
  for (int32_t i = 0; i < node->n_outputs; i++) {
    char shape[256];
    if (!shape_is_known(&out[i].shape) && !builder_is_host_op(node))
      return status_at_node(
          situ_status_create(SITU_UNIMPLEMENTED,
                             "Output %d of '%s' (%s) has shape %s, which is not fully defined. "
                             "Kernels need fully defined shapes.",
                             i, node->name, node->schema->op->name,
                             shape_print(&out[i].shape, shape)),
          node->name);
    shapes[i] = out[i].shape;
    builder_value(builder, (struct edge){node->id, i})->shape = &shapes[i];
  }
  return NULL;
}

static bool is_constant(const struct builder *builder, const struct node *node) {
  const unsigned flags = node->schema->op->flags;
  if (flags & (OP_STATEFUL | OP_FED | OP_VARIABLE) || node->n_controls) return false;
  if (builder_is_host_op(node)) return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!builder_value(builder, node->inputs[i])->constant) return false;
  return true;
}

/* Whether an output is fetched and stays on its device: then every run must compute it. */
static bool is_fetched_on_device(const struct builder *builder, const struct node *node) {
  const struct plan_request *request = builder->request;
  bool is_fetched = false;
  for (int32_t i = 0; request->keep_on_device && i < request->n_fetches; i++)
    is_fetched = is_fetched || request->fetches[i].node == node->id;
  return is_fetched;
}

/* The planner treats the handle of a variable as the variable: its type and shape. */
static void resolve_handle(const struct builder *builder, const struct node *node,
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

/* Whether readers of a node's outputs must run after a control input, even if the outputs are
 * static values. */
static bool is_ordered(const struct builder *builder, const struct node *node) {
  bool ordered = node->n_controls > 0;
  for (int32_t i = 0; i < node->n_inputs && !ordered; i++) {
    const struct value *value = builder_value(builder, node->inputs[i]);
    ordered = value->feed < 0 && value->ordered;
  }
  return ordered;
}

/* Sets type, shape and flags of the outputs that are not fed. */
static void init_outputs(const struct builder *builder, const struct node *node) {
  const bool constant = is_constant(builder, node) && !is_fetched_on_device(builder, node);
  const bool ordered = is_ordered(builder, node);
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0) continue;
    value->type = node->outputs[i].type;
    value->shape = &node->outputs[i].shape;
    value->constant = constant;
    value->ordered = ordered;
    if (value->type == SITU_RESOURCE) resolve_handle(builder, node, value);
    if (node->schema->op->flags & OP_CONSTANT)
      value->static_value = node->attrs[schema_attr(node->schema, "value")].tensor;
  }
}

static situ_status missing_feed_error(const struct node *node) {
  char shape[256];
  const struct output *output = &node->outputs[0];
  return status_at_node(
      INVALID("You must feed a value for placeholder tensor '%s' with dtype %s and shape %s",
              node->name, situ_type_name(output->type), shape_print(&output->shape, shape)),
      node->name);
}

situ_status values_infer(struct builder *builder, const struct node *node) {
  if (node->schema->op->flags & OP_FED) return missing_feed_error(node);
  init_outputs(builder, node);
  TRY(require_shapes(builder, node));
  if (!builder->is_blocked) TRY(require_host_inputs(builder, node));
  if (builder->is_blocked || are_shapes_final(builder, node)) return NULL;
  return infer_shapes(builder, node);
}
