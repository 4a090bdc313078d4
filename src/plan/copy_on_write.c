/* SPDX-License-Identifier: Apache-2.0
 * copy_on_write.c: copies the value read from a variable before the variable changes.
 *
 * A read through a handle (OP_READS) shares the variable's memory. Commands are added in graph
 * order; before one that updates a variable, the values read from it that are still used later are
 * copied. A training step needs no copies: its updates come last.
 *
 * A read by reference sees the current contents of the variable, as in TensorFlow. It is copied
 * only if a deferred node would read it after the update. */
#include <string.h>

#include "plan/builder.h"

/* Sets builder->last_use. Fetches are used until the end. */
static situ_status find_uses(struct builder *builder) {
  const struct plan_request *request = builder->request;
  if (builder->last_use) return NULL;
  builder->last_use = ARENA_ARRAY(&builder->scratch, int32_t, builder->n_values + 1);
  if (!builder->last_use) return NO_MEMORY();
  for (int32_t i = 0; i < builder->n_values; i++) builder->last_use[i] = -1;
  for (int32_t i = 0; i < request->graph->n_nodes; i++) {
    const struct node *node = request->graph->nodes[i];
    if (builder->live[i] != LIVE_RUN) continue;
    /* Ops that may block run last. */
    const int32_t when = node->schema->op->flags & OP_BLOCKS ? INT32_MAX : i;
    for (int32_t k = 0; k < node->n_inputs; k++) {
      const struct value *value = builder_value(builder, node->inputs[k]);
      builder->last_use[value - builder->values] = when;
    }
  }
  for (int32_t i = 0; i < request->n_fetches; i++) {
    const struct edge edge = request->fetches[i];
    if (edge.output < 0 || builder->program->fetches[i].fetched_earlier) continue;
    builder->last_use[builder_value(builder, edge) - builder->values] = INT32_MAX;
  }
  return NULL;
}

/* Whether a value read from the slot is used after the node updates it. If the step is split, every
 * use counts: the next program is not planned yet. */
static bool outlives(const struct builder *builder, int32_t value, int32_t slot, int32_t node) {
  const struct value *read = &builder->values[value];
  const bool is_split = builder->missing.node >= 0;
  return read->snapshot && read->slot == slot && builder->last_use[value] >= (is_split ? 0 : node);
}

situ_status copy_on_write_save(struct builder *builder, const struct node *update, int32_t slot) {
  struct index_list pending = builder->waits;
  int32_t copy = -1, command = -1;
  TRY(find_uses(builder));
  builder->waits = (struct index_list){0};
  situ_status status = NULL;
  for (int32_t i = 0; i < builder->n_values && !status; i++) {
    struct value *value = &builder->values[i];
    if (!outlives(builder, i, slot, update->id)) continue;
    if (copy < 0) status = commands_copy_value(builder, value, update->id, &copy, &command);
    if (status) break;
    value->slot = copy;
    value->command = command;
    value->snapshot = false;
  }
  builder->waits = pending;
  return status;
}

/* Whether deferred nodes before the update read the reference, and no node after it does. */
static bool is_read_late(const struct builder *builder, int32_t reference, int32_t update) {
  const struct situ_graph *graph = builder->request->graph;
  bool is_deferred = false;
  for (int32_t i = reference + 1; i < graph->n_nodes; i++)
    for (int32_t k = 0; builder->live[i] && k < graph->nodes[i]->n_inputs; k++) {
      if (graph->nodes[i]->inputs[k].node != reference) continue;
      if (i > update) return false;
      is_deferred |= builder->deferred[i];
    }
  return is_deferred;
}

situ_status copy_on_write_save_references(struct builder *builder, const struct node *update,
                                          int32_t slot) {
  const struct index_list pending = builder->waits;
  situ_status status = NULL;
  if (builder->missing.node < 0) return NULL; /* nothing is deferred so far */
  builder->waits = (struct index_list){0};
  for (int32_t i = 0; i < update->id && !status; i++) {
    const struct node *node = builder->request->graph->nodes[i];
    if (builder->live[i] != LIVE_RUN || builder->deferred[i]) continue;
    if (!builder_is_reference(builder, node)) continue;
    struct value *value = builder_value(builder, (struct edge){i, 0});
    if (value->slot != slot || !is_read_late(builder, i, update->id)) continue;
    struct value copy = *value;
    status = commands_copy_value(builder, value, update->id, &copy.slot, &copy.command);
    *value = copy;
  }
  builder->waits = pending;
  return status;
}

/* ---- Waits between accesses to a variable ---- */

struct reader {
  int32_t command;
  struct reader *next;
};

/* The accesses to a slot since its last write. */
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
  return variable_access_is_variable(builder->program, &builder->program->slots[slot]);
}

static void read_slot(struct pass *pass, int32_t slot) {
  struct builder *builder = pass->builder;
  if (!is_state(builder, slot)) return;
  struct history *history = &pass->histories[slot];
  struct reader *reader = ARENA_ARRAY(&builder->scratch, struct reader, 1);
  if (!reader) return;
  builder_add_wait(builder, history->writer);
  *reader = (struct reader){pass->command, history->readers};
  history->readers = reader;
}

static void write_slot(struct pass *pass, int32_t slot) {
  if (!is_state(pass->builder, slot)) return;
  struct history *history = &pass->histories[slot];
  if (history->writer == pass->command) return;
  builder_add_wait(pass->builder, history->writer);
  for (const struct reader *r = history->readers; r; r = r->next)
    if (r->command != pass->command) builder_add_wait(pass->builder, r->command);
  *history = (struct history){pass->command, NULL};
}

/* Whether the node updates the variable in the slot. */
static bool updates(const struct builder *builder, const struct node *node, int32_t slot) {
  if (!(node->schema->op->flags & OP_UPDATES) && !node->schema->op->compute) return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (schema_input_port(node->schema, node->attrs, i)->is_ref &&
        builder_value(builder, node->inputs[i])->slot == slot)
      return true;
  return false;
}

static void access_slot(struct pass *pass, const struct node *node, int32_t slot) {
  if (!is_state(pass->builder, slot)) return;
  if (updates(pass->builder, node, slot))
    write_slot(pass, slot);
  else
    read_slot(pass, slot);
}

static void access_slots(struct pass *pass, const struct plan_command *command) {
  const struct program *program = pass->builder->program;
  const struct node *node = program->graph->nodes[command->node];
  if (command->kind == COMMAND_COPY || command->kind == COMMAND_ALL_REDUCE)
    read_slot(pass, command->from);
  if (command->kind == COMMAND_CALL) {
    const struct launch *launch = &program->launches[command->launch];
    for (int a = 0; a < launch->n_args; a++)
      if (launch->args[a].kind == ARG_SLOT) access_slot(pass, node, launch->args[a].slot);
  }
  if (command->kind == COMMAND_HOST && !(node->schema->op->flags & OP_BLOCKS)) {
    const struct host_op *host_op = &program->host_ops[command->launch];
    for (int32_t k = 0; k < host_op->n_in; k++) access_slot(pass, node, host_op->in[k]);
  }
}

/* Appends builder->waits to the waits of a command. */
static situ_status append_waits(struct builder *builder, struct plan_command *command) {
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

situ_status copy_on_write_add_waits(struct builder *builder) {
  struct program *program = builder->program;
  if (builder->one_queue) return NULL;
  struct pass pass = {builder, ARENA_ARRAY(&builder->scratch, struct history, program->n_slots + 1),
                      0};
  if (!pass.histories) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_slots; i++) pass.histories[i].writer = -1;
  builder->waits.count = 0;
  for (int32_t i = 0; i < program->n_commands; i++) {
    pass.command = i;
    access_slots(&pass, &program->commands[i]);
    TRY(append_waits(builder, &program->commands[i]));
  }
  return NULL;
}
