/* SPDX-License-Identifier: Apache-2.0
 * variable_access.c: finds out which variables a run reads and assigns. A variable of the session
 * is a slot of its state; in the body of a function it is a feed, the memory that the caller lends.
 */
#include "graph/variable.h"
#include "plan/builder.h"

bool variable_access_is_variable(const struct program *program, const struct slot *slot) {
  if (slot->kind == SLOT_STATE) return !slot->initial;
  return slot->kind == SLOT_FEED &&
         program->graph->nodes[slot->node]->schema->op->flags & OP_VARIABLE;
}

/* The first command that accesses a variable either assigns it or reads its old value. */
static void access_slot(const struct program *program, struct slot *slot, bool sets, int32_t node) {
  if (!variable_access_is_variable(program, slot) || slot->read_before_write || slot->written)
    return;
  slot->written = sets;
  slot->read_before_write = !sets;
  slot->first_reader = node;
}

/* Handles a host op that tests whether a variable is initialized: it is if an earlier command
 * assigns it. */
static bool access_probe(const struct program *program, const struct plan_command *command) {
  if (!(program->graph->nodes[command->node]->schema->op->flags & OP_PROBES)) return false;
  struct host_op *host_op = &program->host_ops[command->launch];
  host_op->is_set = program->slots[host_op->in[0]].written;
  return true;
}

/* Whether an op passes input `index`, a variable by reference or by handle, to a function: whether
 * that reads the variable is known when it runs. */
static bool is_passed(const struct program *program, const struct node *node, int32_t index,
                      const struct slot *slot) {
  const struct edge edge = node->inputs[index];
  if (!node_calls_function(node) || !variable_access_is_variable(program, slot)) return false;
  return program->graph->nodes[edge.node]->schema->op->flags & OP_VARIABLE ||
         variable_of(program->graph, edge);
}

static situ_status access_host_op(const struct builder *builder,
                                  const struct plan_command *command) {
  struct program *program = builder->program;
  if (access_probe(program, command)) return NULL;
  const struct node *node = program->graph->nodes[command->node];
  struct host_op *host_op = &program->host_ops[command->launch];
  for (int32_t k = 0; k < host_op->n_in; k++) {
    if (host_op->in[k] < 0) continue;
    struct slot *slot = &program->slots[host_op->in[k]];
    if (!is_passed(program, node, k, slot)) {
      access_slot(program, slot, false, command->node);
      continue;
    }
    if (!host_op->passed)
      host_op->passed = ARENA_ARRAY(&program->arena, enum passed_variable, host_op->n_in);
    if (!host_op->passed) return NO_MEMORY();
    host_op->passed[k] = slot->written ? PASSED_ASSIGNED : PASSED_VARIABLE;
  }
  return NULL;
}

static void access_call(const struct builder *builder, const struct plan_command *command) {
  const struct program *program = builder->program;
  const struct node *node = program->graph->nodes[command->node];
  const bool sets = node->schema->op->flags & OP_SETS;
  const int32_t target = sets ? builder_value(builder, node->inputs[0])->slot : -1;
  const struct launch *launch = &program->launches[command->launch];
  for (int a = 0; a < launch->n_args; a++) {
    const int32_t slot = launch->args[a].kind == ARG_SLOT ? launch->args[a].slot : -1;
    if (slot >= 0 && slot != target)
      access_slot(program, &program->slots[slot], false, command->node);
  }
  if (target < 0) return;
  access_slot(program, &program->slots[target], true, command->node);
  program->slots[target].written = variable_access_is_variable(program, &program->slots[target]);
}

/* A fetch of what a node reads from a lent variable shares its memory; a fetch of the variable
 * itself hands the reference on. */
static void access_fetches(const struct program *program) {
  for (int32_t i = 0; i < program->n_fetches; i++) {
    const struct fetch *fetch = &program->fetches[i];
    if (fetch->slot < 0) continue;
    const struct node *node = program->graph->nodes[fetch->edge.node];
    if (!(node->schema->op->flags & OP_VARIABLE) && !variable_of(program->graph, fetch->edge))
      access_slot(program, &program->slots[fetch->slot], false, node->id);
  }
}

static bool has_variables(const struct program *program) {
  for (int32_t i = 0; i < program->n_slots; i++)
    if (variable_access_is_variable(program, &program->slots[i])) return true;
  return false;
}

situ_status variable_access_find(const struct builder *builder) {
  const struct program *program = builder->program;
  if (!has_variables(program)) return NULL;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind == COMMAND_COPY || command->kind == COMMAND_ALL_REDUCE)
      access_slot(program, &program->slots[command->from], false, command->node);
    if (command->kind == COMMAND_HOST) TRY(access_host_op(builder, command));
    if (command->kind == COMMAND_CALL) access_call(builder, command);
  }
  access_fetches(program);
  return NULL;
}
