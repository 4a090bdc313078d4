/* SPDX-License-Identifier: Apache-2.0
 * all_reduce.c: finds all-reduces that a collective library (NCCL) can run: n nodes that sum the
 * same n inputs, one node and one input on each of n devices. */
#include "plan/builder.h"
#include "tensor/shape.h"

enum { MAX_DEVICES = 64 };

/* The nodes of an all-reduce; nodes[i] is on the device of input i. */
struct parts {
  const struct node *nodes[MAX_DEVICES];
  int n_found;
};

static const struct device *device_at(const struct builder *builder, int32_t number) {
  return builder->request->devices->devices[number];
}

static int32_t home_of(const struct builder *builder, const struct node *node) {
  return builder_memory_device(builder, builder->request->placement[node->id]);
}

/* Whether the inputs are on different devices of a back end whose library supports the type. */
static bool is_supported(const struct builder *builder, const struct node *node) {
  const struct value *first = builder_value(builder, node->inputs[0]);
  const struct comm *comm = device_at(builder, first->device)->backend->comm;
  if (!comm || !comm->supports(first->type) || situ_shape_count(*first->shape) < 1) return false;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    const struct device *device =
        device_at(builder, builder_value(builder, node->inputs[i])->device);
    if (device->backend->comm != comm) return false;
    for (int32_t k = 0; k < i; k++) {
      const struct value *other = builder_value(builder, node->inputs[k]);
      if (device_at(builder, other->device)->physical == device->physical) return false;
    }
  }
  return true;
}

/* Whether a node belongs to the same all-reduce and has no command yet. */
static bool is_part(const struct builder *builder, const struct node *first,
                    const struct node *node) {
  if (builder->live[node->id] != LIVE_RUN || node->schema != first->schema || node->n_controls ||
      node->n_inputs != first->n_inputs || builder->node_command[node->id] >= 0)
    return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (node->inputs[i].node != first->inputs[i].node ||
        node->inputs[i].output != first->inputs[i].output)
      return false;
  return true;
}

/* Assigns a node to the input on its device. */
static void assign_part(const struct builder *builder, const struct node *node,
                        struct parts *parts) {
  const int32_t home = home_of(builder, node);
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (builder_value(builder, node->inputs[i])->device != home || parts->nodes[i]) continue;
    parts->nodes[i] = node;
    parts->n_found++;
    return;
  }
}

static bool find_parts(const struct builder *builder, const struct node *node,
                       struct parts *parts) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = node->id; i < graph->n_nodes && parts->n_found < node->n_inputs; i++)
    if (is_part(builder, node, graph->nodes[i])) assign_part(builder, graph->nodes[i], parts);
  return parts->n_found == node->n_inputs;
}

static situ_status add_part(struct builder *builder, const struct parts *parts, int32_t index,
                            int32_t all_reduce) {
  const struct node *node = parts->nodes[index];
  const struct value *input = builder_value(builder, node->inputs[index]);
  struct value *sum = builder_value(builder, (struct edge){node->id, 0});
  struct slot slot = {.kind = SLOT_BLOCK, .device = input->device, .node = node->id};
  shape_bytes(input->type, input->shape, &slot.bytes);
  struct plan_command part = {.kind = COMMAND_ALL_REDUCE,
                              .node = node->id,
                              .device = input->device,
                              .queue = QUEUE_COMPUTE,
                              .launch = all_reduce,
                              .from = input->slot,
                              .to = builder_add_slot(builder, &slot),
                              .bytes = slot.bytes};
  builder_add_wait(builder, input->command);
  const int32_t command = part.to < 0 ? -1 : builder_add_command(builder, &part);
  if (command < 0) return NO_MEMORY();
  builder->program->all_reduces[all_reduce].commands[index] = command;
  builder->node_command[node->id] = sum->command = command;
  sum->slot = part.to;
  sum->device = part.device;
  return NULL;
}

situ_status all_reduce_add(struct builder *builder, const struct node *node, bool *added) {
  struct parts parts = {0};
  *added = builder->node_command[node->id] >= 0;
  if (*added || builder->program->check_numerics || node->n_inputs < 2 ||
      node->n_inputs > MAX_DEVICES || node->n_controls)
    return NULL;
  for (int32_t i = 0; i < node->n_inputs; i++) TRY(commands_assign_slot(builder, node->inputs[i]));
  if (!is_supported(builder, node) || !find_parts(builder, node, &parts)) return NULL;
  const struct value *first = builder_value(builder, node->inputs[0]);
  struct all_reduce all_reduce = {
      .type = first->type,
      .count = situ_shape_count(*first->shape),
      .n = node->n_inputs,
      .commands = ARENA_ARRAY(&builder->program->arena, int32_t, node->n_inputs)};
  const int32_t number = all_reduce.commands ? builder_add_all_reduce(builder, &all_reduce) : -1;
  if (number < 0) return NO_MEMORY();
  for (int32_t i = 0; i < node->n_inputs; i++) TRY(add_part(builder, &parts, i, number));
  *added = true;
  return NULL;
}
