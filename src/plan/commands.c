/* SPDX-License-Identifier: Apache-2.0
 * commands.c: compiles nodes to kernel calls and adds the copies between devices that they need. A
 * value is copied at most once to each device. */
#include <string.h>

#include "graph/variable.h"
#include "plan/builder.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static bool is_host(const struct builder *builder, int32_t device) {
  return builder->request->devices->devices[device]->backend->is_host;
}

static size_t value_bytes(const struct value *value) {
  size_t bytes = 0;
  shape_bytes(value->type, value->shape, &bytes);
  return bytes;
}

static situ_status add_slot(struct builder *builder, const struct slot *slot, int32_t *out) {
  *out = builder_add_slot(builder, slot);
  return *out < 0 ? NO_MEMORY() : NULL;
}

static situ_status add_command(struct builder *builder, const struct plan_command *command,
                               int32_t *out) {
  *out = builder_add_command(builder, command);
  return *out < 0 ? NO_MEMORY() : NULL;
}

situ_status commands_assign_slot(struct builder *builder, struct edge edge) {
  struct value *value = builder_value(builder, edge);
  if (value->slot >= 0) return NULL;
  struct slot slot = {
      .device = value->feed >= 0 ? value->device : builder_memory_device(builder, 0),
      .node = edge.node,
      .output = edge.output,
      .bytes = value_bytes(value)};
  if (value->feed >= 0) {
    slot.kind = SLOT_FEED;
    slot.index = value->feed;
  } else {
    slot.kind = SLOT_CONSTANT;
    slot.constant = value->static_value;
  }
  TRY(add_slot(builder, &slot, &value->slot));
  value->device = slot.device;
  if (value->feed >= 0) builder->program->feeds[value->feed].slot = value->slot;
  return NULL;
}

/* A copy enters a queue of the device that is not the host; between two GPUs, of the receiver. */
static struct plan_command copy_command(const struct builder *builder, int32_t node, int32_t from,
                                        int32_t to, bool once) {
  const struct slot *slots = builder->program->slots;
  const bool to_host = is_host(builder, slots[to].device);
  return (struct plan_command){.kind = COMMAND_COPY,
                               .node = node,
                               .device = to_host ? slots[from].device : slots[to].device,
                               .queue = to_host ? QUEUE_OUT : QUEUE_IN,
                               .from = from,
                               .to = to,
                               .bytes = slots[from].bytes,
                               .once = once};
}

/* Whether a copy between the devices need not go through the host. */
static bool are_peers(const struct builder *builder, int32_t a, int32_t b) {
  struct device *const *devices = builder->request->devices->devices;
  return devices[a]->backend == devices[b]->backend && devices[a]->backend->peer;
}

static situ_status add_replica(struct builder *builder, struct edge edge, struct value *value,
                               int32_t device, struct replica *replica) {
  int32_t from = value->slot, after = value->command;
  const bool direct = is_host(builder, device) || is_host(builder, value->device) ||
                      are_peers(builder, value->device, device);
  if (!direct)
    TRY(commands_copy_to(builder, edge, builder_memory_device(builder, 0), &from, &after));
  const struct slot slot = {.kind = SLOT_BLOCK,
                            .device = device,
                            .node = edge.node,
                            .output = edge.output,
                            .bytes = value_bytes(value)};
  TRY(add_slot(builder, &slot, &replica->slot));
  /* builder->waits holds what the caller's command waits for; the copy has its own waits. */
  const struct index_list pending = builder->waits;
  builder->waits = (struct index_list){0};
  builder_add_wait(builder, after);
  const struct plan_command copy =
      copy_command(builder, edge.node, from, replica->slot, value->constant);
  const situ_status status = add_command(builder, &copy, &replica->command);
  builder->waits = pending;
  return status;
}

situ_status commands_copy_to(struct builder *builder, struct edge edge, int32_t device,
                             int32_t *slot, int32_t *command) {
  struct value *value = builder_value(builder, edge);
  TRY(commands_assign_slot(builder, edge));
  *slot = value->slot;
  *command = value->command;
  if (value->device == device) return NULL;
  struct replica *replica = value->replicas;
  while (replica && replica->device != device) replica = replica->next;
  if (!replica) {
    replica = ARENA_ARRAY(&builder->scratch, struct replica, 1);
    if (!replica) return NO_MEMORY();
    replica->device = device;
    TRY(add_replica(builder, edge, value, device, replica));
    replica->next = value->replicas;
    value->replicas = replica;
  }
  *slot = replica->slot;
  *command = replica->command;
  return NULL;
}

/* Waits for the control inputs of an input that is a static value. */
static void wait_for_controls(struct builder *builder, struct edge edge) {
  const struct value *value = builder_value(builder, edge);
  if (value->feed < 0 && value->ordered) builder_add_wait(builder, value->command);
}

/* Copies the inputs to the node's device and waits for them and for the control inputs. */
static situ_status prepare_inputs(struct builder *builder, const struct node *node, int32_t device,
                                  int32_t *slots) {
  const bool updates = node->schema->op->flags & OP_UPDATES;
  if (updates && builder_value(builder, node->inputs[0])->device != device)
    return INVALID("'%s' updates '%s', which is on another device.", node->name,
                   builder->request->graph->nodes[node->inputs[0].node]->name);
  const bool has_host_inputs = node->schema->op->host && *node->schema->op->host;
  for (int32_t i = 0; i < node->n_inputs; i++) {
    slots[i] = -1;
    int32_t command = -1;
    if (has_host_inputs && schema_input_port(node->schema, node->attrs, i)->is_host) {
      wait_for_controls(builder, node->inputs[i]);
      continue;
    }
    TRY(commands_copy_to(builder, node->inputs[i], device, &slots[i], &command));
    builder_add_wait(builder, command);
  }
  for (int32_t i = 0; i < node->n_controls; i++)
    builder_add_wait(builder, builder->node_command[node->controls[i]]);
  return NULL;
}

/* Whether a node is executed in the first run of a frame only. */
static bool is_once(const struct builder *builder, const struct node *node) {
  return node->n_outputs && builder_value(builder, (struct edge){node->id, 0})->constant;
}

/* Joins the collected waits to one command: the only one, or a COMMAND_NOOP. */
static situ_status join_waits(struct builder *builder, const struct node *node, int32_t *command) {
  if (builder->waits.count <= 1 && !node->n_controls) {
    *command = builder->waits.count ? builder->waits.items[0] : -1;
    builder->waits.count = 0;
    return NULL;
  }
  const struct plan_command noop = {.kind = COMMAND_NOOP,
                                    .node = node->id,
                                    .device = builder_memory_device(builder, 0),
                                    .once = is_once(builder, node)};
  return add_command(builder, &noop, command);
}

/* Makes the readers of a node that executes nothing wait for its control inputs. */
static situ_status add_controls(struct builder *builder, const struct node *node) {
  if (!node->n_controls) return NULL;
  for (int32_t i = 0; i < node->n_controls; i++)
    builder_add_wait(builder, builder->node_command[node->controls[i]]);
  TRY(join_waits(builder, node, &builder->node_command[node->id]));
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed < 0) value->command = builder->node_command[node->id];
  }
  return NULL;
}

static situ_status add_alias(struct builder *builder, const struct node *node, int32_t device) {
  struct operand in = {0};
  int32_t command = -1;
  TRY(commands_copy_to(builder, node->inputs[0], device, &in.slot, &command));
  builder_add_wait(builder, command);
  for (int32_t i = 1; i < node->n_inputs; i++) wait_for_controls(builder, node->inputs[i]);
  for (int32_t i = 0; i < node->n_controls; i++)
    builder_add_wait(builder, builder->node_command[node->controls[i]]);
  struct value *value = builder_value(builder, (struct edge){node->id, 0});
  TRY(join_waits(builder, node, &value->command));
  builder->node_command[node->id] = value->command;
  if (value->feed >= 0) return NULL;
  const struct value *from = builder_value(builder, node->inputs[0]);
  value->slot = in.slot;
  value->device = builder->program->slots[in.slot].device;
  value->snapshot = from->slot == in.slot && (node->schema->op->flags & OP_READS || from->snapshot);
  return NULL;
}

static situ_status make_output_slots(struct builder *builder, const struct node *node,
                                     int32_t device, const struct recording *recording,
                                     int32_t *slots) {
  const bool updates = node->schema->op->flags & OP_UPDATES && node->n_outputs;
  if (updates) slots[node->n_inputs] = slots[0];
  for (int32_t i = updates; i < node->n_outputs; i++) {
    const struct slot slot = {.kind = SLOT_BLOCK,
                              .device = device,
                              .node = node->id,
                              .output = i,
                              .bytes = recording->output_bytes[i]};
    TRY(add_slot(builder, &slot, &slots[node->n_inputs + i]));
  }
  return NULL;
}

/* Adds the slots of the scratch memory and state that `record` requested. */
static situ_status add_scratch(struct builder *builder, const struct node *node, int32_t device,
                               const struct recording *recording, int32_t *slots) {
  struct arena *arena = &builder->program->arena;
  for (int32_t i = 0; i < recording->recorder.n_scratch; i++) {
    const struct scratch *scratch = &recording->recorder.scratch[i];
    struct slot slot = {.kind = scratch->initial ? SLOT_STATE : SLOT_BLOCK,
                        .device = device,
                        .node = node->id,
                        .output = -1 - i,
                        .bytes = scratch->bytes};
    if (scratch->initial) { /* the program outlives the recording */
      void *initial = arena_alloc(arena, scratch->bytes);
      if (!initial) return NO_MEMORY();
      slot.initial = memcpy(initial, scratch->initial, scratch->bytes);
    }
    TRY(add_slot(builder, &slot, &slots[scratch->slot]));
  }
  return NULL;
}

/* The slot of a variable that another node refers to as well, or -1. */
static int32_t find_variable(const struct builder *builder, int32_t first, int32_t device) {
  const struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_slots; i++) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind == SLOT_STATE && slot->node == first && !slot->output && slot->device == device)
      return i;
  }
  return -1;
}

/* A variable is state without an initial value; its readers read the state's memory. */
static situ_status add_variable(struct builder *builder, const struct node *node, int32_t device) {
  struct value *value = builder_value(builder, (struct edge){node->id, 0});
  if (value->feed >= 0) return NULL;
  struct slot slot = {.kind = SLOT_STATE, .device = device, .bytes = value_bytes(value)};
  TRY(status_at_node(variable_first(builder->request->graph, node, &slot.node), node->name));
  value->device = device;
  if (slot.node != node->id) value->slot = find_variable(builder, slot.node, device);
  return value->slot >= 0 ? NULL : add_slot(builder, &slot, &value->slot);
}

situ_status commands_copy_value(struct builder *builder, const struct value *value, int32_t node,
                                int32_t *slot, int32_t *command) {
  const struct slot *from = &builder->program->slots[value->slot];
  const struct slot to = {.kind = SLOT_BLOCK,
                          .device = from->device,
                          .node = from->node,
                          .output = from->output,
                          .bytes = from->bytes};
  TRY(add_slot(builder, &to, slot));
  builder_add_wait(builder, value->command);
  const struct plan_command copy = copy_command(builder, node, value->slot, *slot, false);
  return add_command(builder, &copy, command);
}

/* Preserves the values read from the variables that a node updates. */
static situ_status save_snapshots(struct builder *builder, const struct node *node) {
  if (!(node->schema->op->flags & OP_UPDATES)) return NULL;
  if (!node->schema->has_handles) {
    TRY(commands_assign_slot(builder, node->inputs[0]));
    return copy_on_write_save_references(builder, node,
                                         builder_value(builder, node->inputs[0])->slot);
  }
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (!schema_input_port(node->schema, node->attrs, i)->is_handle) continue;
    TRY(commands_assign_slot(builder, node->inputs[i]));
    TRY(copy_on_write_save(builder, node, builder_value(builder, node->inputs[i])->slot));
  }
  return NULL;
}

/* Adds one command per recorded launch; the first one waits for the inputs. */
static situ_status add_launches(struct builder *builder, const struct node *node, int32_t device,
                                const struct recording *recording, const int32_t *slots,
                                int32_t *last) {
  struct plan_command call = {.kind = COMMAND_CALL,
                              .node = node->id,
                              .device = device,
                              .queue = QUEUE_COMPUTE,
                              .once = is_once(builder, node)};
  for (int32_t i = 0; i < recording->recorder.n_launches; i++) {
    TRY(record_launch(builder, &recording->recorder.launches[i], node, slots, &call.launch));
    if (i) builder_add_wait(builder, *last);
    TRY(add_command(builder, &call, last));
  }
  return NULL;
}

static situ_status add_calls(struct builder *builder, const struct node *node, int32_t device,
                             const struct recording *recording, int32_t *slots) {
  TRY(save_snapshots(builder, node));
  TRY(prepare_inputs(builder, node, device, slots));
  TRY(make_output_slots(builder, node, device, recording, slots));
  const struct saved_result *saved = saved_results_get(builder, node);
  if (saved) slots[node->n_inputs + node->n_outputs] = saved->slot;
  TRY(add_scratch(builder, node, device, recording, slots));
  saved_results_set(builder, node, recording, slots);
  int32_t last = -1;
  TRY(recording->recorder.n_launches ? add_launches(builder, node, device, recording, slots, &last)
                                     : join_waits(builder, node, &last));
  /* Assigning an empty tensor launches no kernel. */
  if (node->schema->op->flags & OP_SETS && node->n_inputs && !recording->recorder.n_launches)
    builder->program->slots[slots[0]].written = true;
  builder->node_command[node->id] = last;
  for (int32_t i = 0; i < node->n_outputs; i++) {
    struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0) continue;
    value->slot = slots[node->n_inputs + i];
    value->device = device;
    value->command = last;
  }
  return NULL;
}

situ_status commands_add(struct builder *builder, const struct node *node) {
  const unsigned flags = node->schema->op->flags;
  if (flags & (OP_CONSTANT | OP_VARIABLE)) TRY(add_controls(builder, node));
  if (flags & OP_CONSTANT) return NULL;
  const int32_t device = builder_memory_device(builder, builder->request->placement[node->id]);
  if (flags & OP_VARIABLE) return add_variable(builder, node, device);
  if (builder_is_host_op(node))
    return status_at_node(host_ops_add(builder, node, device), node->name);
  if (flags & OP_ALIAS) return status_at_node(add_alias(builder, node, device), node->name);
  if (flags & OP_ALL_REDUCE) {
    bool added = false;
    TRY(all_reduce_add(builder, node, &added));
    if (added) return NULL;
  }
  const struct recording *recording = NULL;
  TRY(status_at_node(record_node(builder, node, device, &recording), node->name));
  const int32_t n = node->n_inputs + node->n_outputs + 1 + recording->recorder.n_scratch;
  int32_t inline_buffer[16] = {0}, *slots = inline_buffer;
  if (n > 16) slots = arena_alloc(&builder->scratch, sizeof *slots * (size_t)n);
  if (!slots) return NO_MEMORY();
  return status_at_node(add_calls(builder, node, device, recording, slots), node->name);
}

/* Whether a result stays on the device that computes it. */
static bool stays_on_device(const struct builder *builder, int32_t index) {
  const struct fetch *fetch = &builder->program->fetches[index];
  if (index < builder->program->n_requested) return builder->request->keep_on_device;
  return !builder_value(builder, fetch->edge)->used_on_host;
}

/* Copies a value into the memory of a result. */
static situ_status copy_result(struct builder *builder, struct fetch *fetch, int32_t index,
                               int32_t from, int32_t after) {
  const struct slot *source = &builder->program->slots[from];
  const struct slot slot = {.kind = SLOT_RESULT,
                            .device = stays_on_device(builder, index)
                                          ? source->device
                                          : builder_memory_device(builder, 0),
                            .index = index,
                            .node = source->node,
                            .output = source->output,
                            .bytes = source->bytes};
  TRY(add_slot(builder, &slot, &fetch->slot));
  builder_add_wait(builder, after);
  const struct plan_command copy =
      copy_command(builder, fetch->edge.node, from, fetch->slot, false);
  int32_t command = -1;
  return add_command(builder, &copy, &command);
}

static situ_status add_fetch(struct builder *builder, struct fetch *fetch, int32_t index) {
  struct value *value = builder_value(builder, fetch->edge);
  const struct node *handle = variable_of(builder->request->graph, fetch->edge);
  if (handle && value->feed < 0)
    return INVALID(
        "'%s' is the handle of a variable, which cannot be fetched. Fetch a "
        "ReadVariableOp of it.",
        handle->name);
  TRY(commands_assign_slot(builder, fetch->edge));
  fetch->type = value->type;
  fetch->shape = *value->shape;
  fetch->constant = value->constant;
  const int32_t host = builder_memory_device(builder, 0);
  int32_t command = -1;
  if (value->constant) return commands_copy_to(builder, fetch->edge, host, &fetch->slot, &command);
  struct slot *slot = &builder->program->slots[value->slot];
  fetch->slot = value->slot;
  if (slot->kind == SLOT_FEED || slot->kind == SLOT_RESULT || slot->kind == SLOT_CONSTANT)
    return NULL;
  if (slot->kind == SLOT_HOST_OUTPUT && (value->device == host || stays_on_device(builder, index)))
    return NULL;
  if (slot->kind == SLOT_BLOCK && (value->device == host || stays_on_device(builder, index))) {
    slot->kind = SLOT_RESULT;
    slot->index = index;
    return NULL;
  }
  return copy_result(builder, fetch, index, value->slot, value->command);
}

situ_status commands_add_fetches(struct builder *builder) {
  for (int32_t i = 0; i < builder->program->n_fetches; i++) {
    struct fetch *fetch = &builder->program->fetches[i];
    if (!fetch->fetched_earlier && !fetch->deferred && fetch->edge.output >= 0)
      TRY(add_fetch(builder, fetch, i));
  }
  return NULL;
}
