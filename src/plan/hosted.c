/* SPDX-License-Identifier: Apache-2.0
 * hosted.c: turns a host op into a command: its inputs are brought to the host, its outputs are the
 * tensors that it makes. */
#include <string.h>

#include "plan/builder.h"
#include "tensor/shape.h"

static situ_status add_output(struct builder *builder, const struct node *node, int32_t device,
                              int32_t index, int32_t *slot) {
  const struct value *value = builder_value(builder, (struct edge){node->id, index});
  struct slot made = {.kind = SLOT_MADE, .device = device, .node = node->id, .output = index};
  if (!shape_bytes(value->type, value->shape, &made.bytes)) made.bytes = 0; /* not known yet */
  *slot = builder_slot(builder, &made);
  return *slot < 0 ? NO_MEMORY() : NULL;
}

/* Inputs come to the host, or stay where they are. */
static situ_status add_input(struct builder *builder, struct edge edge, bool anywhere,
                             int32_t *slot) {
  int32_t command = -1;
  if (anywhere) {
    TRY(commands_settle(builder, edge));
    *slot = builder_value(builder, edge)->slot;
    command = builder_value(builder, edge)->command;
  } else {
    TRY(commands_bring(builder, edge, builder_home(builder, 0), slot, &command));
  }
  builder_wait(builder, command);
  return NULL;
}

static situ_status add_operands(struct builder *builder, const struct node *node, int32_t device,
                                struct host_op *out) {
  struct arena *arena = &builder->program->arena;
  const int32_t n = node->n_inputs + node->n_outputs;
  int32_t *slots = ARENA_ARRAY(arena, int32_t, n + 1);
  situ_shape *shapes = ARENA_ARRAY(arena, situ_shape, n + 1);
  if (arena->failed) return NO_MEMORY();
  const bool anywhere = node->schema->op->flags & OP_ANYWHERE;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    TRY(add_input(builder, node->inputs[i], anywhere, &slots[i]));
    shapes[i] = *builder_value(builder, node->inputs[i])->shape;
  }
  for (int32_t i = 0; i < node->n_outputs; i++) {
    TRY(add_output(builder, node, device, i, &slots[node->n_inputs + i]));
    shapes[node->n_inputs + i] = *builder_value(builder, (struct edge){node->id, i})->shape;
  }
  *out = (struct host_op){.node = node->id,
                          .n_in = node->n_inputs,
                          .n_out = node->n_outputs,
                          .in = slots,
                          .out = slots + node->n_inputs,
                          .shapes = shapes};
  return NULL;
}

situ_status hosted_add(struct builder *builder, const struct node *node, int32_t device) {
  struct host_op host_op;
  if (!(node->schema->op->flags & OP_ANYWHERE)) device = builder_home(builder, 0);
  TRY(add_operands(builder, node, device, &host_op));
  for (int32_t i = 0; i < node->n_controls; i++)
    builder_wait(builder, builder->node_command[node->controls[i]]);
  const int32_t number = builder_host_op(builder, &host_op);
  const struct plan_command call = {
      .kind = COMMAND_HOST, .node = node->id, .device = builder_home(builder, 0), .launch = number};
  const int32_t command = number < 0 ? -1 : builder_command(builder, &call);
  if (command < 0) return NO_MEMORY();
  builder->node_command[node->id] = command;
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0) continue;
    value->slot = host_op.out[i];
    value->device = device;
    value->command = command;
  }
  return NULL;
}
