/* SPDX-License-Identifier: Apache-2.0
 * host_ops.c: compiles a host op to a command: copies its inputs to the host; its outputs are the
 * tensors that it returns at run time. */
#include <string.h>

#include "graph/variable.h"
#include "plan/builder.h"
#include "tensor/shape.h"

/* Strings, handles and variants are always in host memory, and so are tensors of unknown size: the
 * planner cannot add copies of those. */
static int32_t output_device(const struct builder *builder, const struct node *node, int32_t device,
                             int32_t index) {
  const situ_type type = node->outputs[index].type;
  const situ_shape *shape = builder_value(builder, (struct edge){node->id, index})->shape;
  if (!shape_is_known(shape)) return builder_memory_device(builder, 0);
  const bool in_host = type == SITU_STRING || type == SITU_RESOURCE || type == SITU_VARIANT;
  return in_host ? builder_memory_device(builder, 0) : device;
}

/* Finds the outputs that nothing reads, for ops that need not compute them (OP_LAZY). */
static situ_status find_unused(struct builder *builder, const struct node *node, const bool **out) {
  const struct plan_request *request = builder->request;
  if (!(node->schema->op->flags & OP_LAZY)) return NULL;
  bool *unused = ARENA_ARRAY(&builder->program->arena, bool, node->n_outputs + 1);
  if (!unused) return NO_MEMORY();
  for (int32_t i = 0; i < node->n_outputs; i++) unused[i] = true;
  for (int32_t i = node->id + 1; i < request->graph->n_nodes; i++) {
    const struct node *reader = request->graph->nodes[i];
    if (!builder->live[i]) continue;
    for (int32_t k = 0; k < reader->n_inputs; k++)
      if (reader->inputs[k].node == node->id) unused[reader->inputs[k].output] = false;
  }
  for (int32_t i = 0; i < request->n_fetches; i++)
    if (request->fetches[i].node == node->id && request->fetches[i].output >= 0)
      unused[request->fetches[i].output] = false;
  *out = unused;
  return NULL;
}

static situ_status add_output(struct builder *builder, const struct node *node, int32_t device,
                              int32_t index, int32_t *slot) {
  const struct value *value = builder_value(builder, (struct edge){node->id, index});
  struct slot output_slot = {
      .kind = SLOT_HOST_OUTPUT, .device = device, .node = node->id, .output = index};
  if (!shape_bytes(value->type, value->shape, &output_slot.bytes))
    output_slot.bytes = 0; /* unknown */
  *slot = builder_add_slot(builder, &output_slot);
  return *slot < 0 ? NO_MEMORY() : NULL;
}

/* Copies an input to the host unless the op accepts it anywhere. */
static situ_status add_input(struct builder *builder, struct edge edge, bool anywhere,
                             int32_t *slot) {
  int32_t command = -1;
  if (anywhere) {
    TRY(commands_assign_slot(builder, edge));
    *slot = builder_value(builder, edge)->slot;
    command = builder_value(builder, edge)->command;
  } else {
    TRY(commands_copy_to(builder, edge, builder_memory_device(builder, 0), slot, &command));
  }
  builder_add_wait(builder, command);
  return NULL;
}

/* The planner represents the handle of a variable by the variable's memory, so only function calls
 * (OP_DEVICE_INPUTS) can pass it on. */
static situ_status check_handle(const struct builder *builder, const struct node *node,
                                int32_t input) {
  if (node->schema->op->flags & OP_DEVICE_INPUTS ||
      schema_input_port(node->schema, node->attrs, input)->is_handle)
    return NULL;
  const struct node *variable = variable_of(builder->request->graph, node->inputs[input]);
  if (!variable) return NULL;
  return INVALID("%s ('%s') does not accept the handle of a variable ('%s').",
                 node->schema->op->name, node->name, variable->name);
}

static situ_status add_operands(struct builder *builder, const struct node *node, int32_t device,
                                struct host_op *out) {
  struct arena *arena = &builder->program->arena;
  const int32_t n = node->n_inputs + node->n_outputs;
  int32_t *slots = ARENA_ARRAY(arena, int32_t, n + 1);
  situ_shape *shapes = ARENA_ARRAY(arena, situ_shape, n + 1);
  situ_type *types = ARENA_ARRAY(arena, situ_type, node->n_inputs + 1);
  if (arena->failed) return NO_MEMORY();
  const bool anywhere = node->schema->op->flags & (OP_DEVICE_INPUTS | OP_PROBES);
  for (int32_t i = 0; i < node->n_inputs; i++) {
    TRY(check_handle(builder, node, i));
    TRY(add_input(builder, node->inputs[i], anywhere, &slots[i]));
    shapes[i] = *builder_value(builder, node->inputs[i])->shape;
    types[i] = builder_value(builder, node->inputs[i])->type;
  }
  for (int32_t i = 0; i < node->n_outputs; i++) {
    const int32_t at = output_device(builder, node, device, i);
    TRY(add_output(builder, node, at, i, &slots[node->n_inputs + i]));
    shapes[node->n_inputs + i] = *builder_value(builder, (struct edge){node->id, i})->shape;
  }
  *out = (struct host_op){.node = node->id,
                          .n_in = node->n_inputs,
                          .n_out = node->n_outputs,
                          .in = slots,
                          .out = slots + node->n_inputs,
                          .shapes = shapes,
                          .types = types};
  return find_unused(builder, node, &out->unused);
}

situ_status host_ops_add(struct builder *builder, const struct node *node, int32_t device) {
  struct host_op host_op;
  if (!(node->schema->op->flags & OP_DEVICE_INPUTS)) device = builder_memory_device(builder, 0);
  TRY(add_operands(builder, node, device, &host_op));
  for (int32_t i = 0; i < node->n_controls; i++)
    builder_add_wait(builder, builder->node_command[node->controls[i]]);
  const int32_t number = builder_add_host_op(builder, &host_op);
  const struct plan_command call = {.kind = COMMAND_HOST,
                                    .node = node->id,
                                    .device = builder_memory_device(builder, 0),
                                    .launch = number};
  const int32_t command = number < 0 ? -1 : builder_add_command(builder, &call);
  if (command < 0) return NO_MEMORY();
  builder->node_command[node->id] = command;
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0) continue;
    value->slot = host_op.out[i];
    value->device = output_device(builder, node, device, i);
    value->command = command;
  }
  return NULL;
}
