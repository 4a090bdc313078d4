/* SPDX-License-Identifier: Apache-2.0
 * copy_on_write.c: copies the value read from a variable before the variable changes.
 *
 * A read of a variable by its handle (OP_READS) shares the variable's memory. Commands stand in the
 * order of the graph; when one is about to change a variable, what was read of it and is still to
 * be used is copied first. In a training step nothing is: the updates come last.
 *
 * A read by reference sees what the variable holds at any time, as in TensorFlow; only what the
 * next part of a step would see too late is copied. */
#include <string.h>

#include "plan/builder.h"

/* By value: the last node that uses it; those that a program gives back are used to the end. */
static situ_status find_uses(struct builder *builder) {
  const struct plan_request *request = builder->request;
  if (builder->last_use) return NULL;
  builder->last_use = ARENA_ARRAY(&builder->scratch, int32_t, builder->n_values + 1);
  if (!builder->last_use) return NO_MEMORY();
  for (int32_t i = 0; i < builder->n_values; i++) builder->last_use[i] = -1;
  for (int32_t i = 0; i < request->graph->n_nodes; i++) {
    const struct node *node = request->graph->nodes[i];
    if (builder->live[i] != LIVE_RUN) continue;
    /* What may wait for others runs last of all. */
    const int32_t when = node->schema->op->flags & OP_BLOCKS ? INT32_MAX : i;
    for (int32_t k = 0; k < node->n_inputs; k++) {
      const struct value *value = builder_value(builder, node->inputs[k]);
      builder->last_use[value - builder->values] = when;
    }
  }
  for (int32_t i = 0; i < request->n_fetches; i++) {
    const struct edge edge = request->fetches[i];
    if (edge.output < 0 || builder->program->fetches[i].given) continue;
    builder->last_use[builder_value(builder, edge) - builder->values] = INT32_MAX;
  }
  return NULL;
}

/* Whether a value that was read of the memory is needed when the node has changed it. Behind a cut
 * (the next part of the step is not planned yet) whatever anybody uses is. */
static bool outlives(const struct builder *builder, int32_t value, int32_t slot, int32_t node) {
  const struct value *read = &builder->values[value];
  const bool cut = builder->need.node >= 0;
  return read->snapshot && read->slot == slot && builder->last_use[value] >= (cut ? 0 : node);
}

situ_status copy_on_write_save(struct builder *builder, const struct node *update, int32_t slot) {
  struct numbers pending = builder->waits;
  int32_t copy = -1, command = -1;
  TRY(find_uses(builder));
  builder->waits = (struct numbers){0};
  situ_status status = NULL;
  for (int32_t i = 0; i < builder->n_values && !status; i++) {
    struct value *value = &builder->values[i];
    if (!outlives(builder, i, slot, update->id)) continue;
    if (copy < 0) status = commands_duplicate(builder, value, update->id, &copy, &command);
    if (status) break;
    value->slot = copy;
    value->command = command;
    value->snapshot = false;
  }
  builder->waits = pending;
  return status;
}

/* Whether nodes of the next part that stand before the update see the output, and none behind it.
 */
static bool is_left_behind(const struct builder *builder, int32_t seen, int32_t update) {
  const struct situ_graph *graph = builder->request->graph;
  bool left = false;
  for (int32_t i = seen + 1; i < graph->n_nodes; i++)
    for (int32_t k = 0; builder->live[i] && k < graph->nodes[i]->n_inputs; k++) {
      if (graph->nodes[i]->inputs[k].node != seen) continue;
      if (i > update) return false;
      left |= builder->deferred[i];
    }
  return left;
}

situ_status copy_on_write_save_references(struct builder *builder, const struct node *update,
                                          int32_t slot) {
  const struct numbers pending = builder->waits;
  situ_status status = NULL;
  if (builder->need.node < 0) return NULL; /* no next part so far */
  builder->waits = (struct numbers){0};
  for (int32_t i = 0; i < update->id && !status; i++) {
    const struct node *node = builder->request->graph->nodes[i];
    if (builder->live[i] != LIVE_RUN || builder->deferred[i]) continue;
    if (!builder_is_window(builder, node)) continue;
    struct value *value = builder_value(builder, (struct edge){i, 0});
    if (value->slot != slot || !is_left_behind(builder, i, update->id)) continue;
    struct value copy = *value;
    status = commands_duplicate(builder, value, update->id, &copy.slot, &copy.command);
    *value = copy;
  }
  builder->waits = pending;
  return status;
}

/* The order of those who touch a variable's memory */

struct reader {
  int32_t command;
  struct reader *next;
};

/* What happened to a slot so far. */
struct history {
  int32_t writer; /* -1: none */
  struct reader *readers;
};

struct pass {
  struct builder *builder;
  struct history *histories; /* by slot */
  int32_t command;
};

static bool is_state(const struct builder *builder, int32_t slot) {
  if (slot < 0) return false;
  const struct slot *at = &builder->program->slots[slot];
  const struct node *node = builder->program->graph->nodes[at->node];
  return (at->kind == SLOT_STATE && !at->initial) ||
         (at->kind == SLOT_FEED && node->schema->op->flags & OP_VARIABLE);
}

static void read_slot(struct pass *pass, int32_t slot) {
  struct builder *builder = pass->builder;
  if (!is_state(builder, slot)) return;
  struct history *history = &pass->histories[slot];
  struct reader *reader = ARENA_ARRAY(&builder->scratch, struct reader, 1);
  if (!reader) return;
  builder_wait(builder, history->writer);
  *reader = (struct reader){pass->command, history->readers};
  history->readers = reader;
}

static void write_slot(struct pass *pass, int32_t slot) {
  if (!is_state(pass->builder, slot)) return;
  struct history *history = &pass->histories[slot];
  if (history->writer == pass->command) return;
  builder_wait(pass->builder, history->writer);
  for (const struct reader *r = history->readers; r; r = r->next)
    if (r->command != pass->command) builder_wait(pass->builder, r->command);
  *history = (struct history){pass->command, NULL};
}

/* Whether the node changes the variable that lies in the slot. */
static bool changes(const struct builder *builder, const struct node *node, int32_t slot) {
  if (!(node->schema->op->flags & OP_UPDATES) && !node->schema->op->compute) return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (schema_input_port(node->schema, node->attrs, i)->is_ref &&
        builder_value(builder, node->inputs[i])->slot == slot)
      return true;
  return false;
}

static void touch(struct pass *pass, const struct node *node, int32_t slot) {
  if (!is_state(pass->builder, slot)) return;
  if (changes(pass->builder, node, slot))
    write_slot(pass, slot);
  else
    read_slot(pass, slot);
}

static void touch_all(struct pass *pass, const struct plan_command *command) {
  const struct program *program = pass->builder->program;
  const struct node *node = program->graph->nodes[command->node];
  if (command->kind == COMMAND_COPY || command->kind == COMMAND_REDUCE)
    read_slot(pass, command->from);
  if (command->kind == COMMAND_CALL) {
    const struct launch *launch = &program->launches[command->launch];
    for (int a = 0; a < launch->n_args; a++)
      if (launch->args[a].kind == ARG_SLOT) touch(pass, node, launch->args[a].slot);
  }
  if (command->kind == COMMAND_HOST && !(node->schema->op->flags & OP_BLOCKS)) {
    const struct host_op *host_op = &program->host_ops[command->launch];
    for (int32_t k = 0; k < host_op->n_in; k++) touch(pass, node, host_op->in[k]);
  }
}

/* Puts what was collected behind the waits that the command has. */
static situ_status add_waits(struct builder *builder, struct plan_command *command) {
  const int32_t n = command->n_waits + builder->waits.count;
  if (!builder->waits.count) return NULL;
  int32_t *waits = arena_alloc(&builder->program->arena, sizeof *waits * (size_t)n);
  if (!waits) return NO_MEMORY();
  if (command->n_waits) memcpy(waits, command->waits, sizeof *waits * (size_t)command->n_waits);
  memcpy(waits + command->n_waits, builder->waits.items,
         sizeof *waits * (size_t)builder->waits.count);
  command->waits = waits;
  command->n_waits = n;
  builder->waits.count = 0;
  return NULL;
}

situ_status copy_on_write_order(struct builder *builder) {
  struct program *program = builder->program;
  if (builder->one_queue) return NULL;
  struct pass pass = {builder, ARENA_ARRAY(&builder->scratch, struct history, program->n_slots + 1),
                      0};
  if (!pass.histories) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_slots; i++) pass.histories[i].writer = -1;
  builder->waits.count = 0;
  for (int32_t i = 0; i < program->n_commands; i++) {
    pass.command = i;
    touch_all(&pass, &program->commands[i]);
    TRY(add_waits(builder, &program->commands[i]));
  }
  return NULL;
}
