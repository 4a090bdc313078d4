/* SPDX-License-Identifier: Apache-2.0
 * blocking_ops.c: programs whose host ops may block on each other, as a Dequeue for an Enqueue
 * of the same run that nothing puts before it: no order that is chosen here is right, so the run
 * finds one. */
#include "plan/builder.h"

static unsigned flags_of(const struct program *program, int32_t command) {
  const struct plan_command *c = &program->commands[command];
  return c->kind == COMMAND_HOST ? program->graph->nodes[c->node]->schema->op->flags : 0;
}

/* Marks the commands that a command comes after. */
static void mark_before(const struct program *program, int32_t command, bool *before) {
  for (int32_t i = 0; i < program->n_commands; i++) before[i] = i == command;
  for (int32_t i = command; i >= 0; i--)
    for (int32_t w = 0; before[i] && w < program->commands[i].n_waits; w++)
      before[program->commands[i].waits[w]] = true;
}

/* Whether a command that others may wait for and one that may wait have no order. */
static bool is_loose(struct program *program, int32_t giver, const bool *before_giver,
                     bool *before) {
  for (int32_t i = 0; i < program->n_commands; i++) {
    const unsigned flags = flags_of(program, i);
    if (!(flags & OP_BLOCKS) || flags & OP_GIVES || before_giver[i]) continue;
    mark_before(program, i, before);
    if (!before[giver]) return true;
  }
  return false;
}

situ_status blocking_ops_find(struct builder *builder) {
  struct program *program = builder->program;
  bool gives = false;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const unsigned flags = flags_of(program, i);
    if (flags & OP_TOGETHER) return NULL; /* the order is everybody's */
    gives = gives || flags & OP_GIVES;
  }
  if (!gives) return NULL;
  bool *marks = ARENA_ARRAY(&builder->scratch, bool, 2 * program->n_commands + 1);
  if (!marks) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_commands && !program->free_order; i++) {
    if (!(flags_of(program, i) & OP_GIVES)) continue;
    mark_before(program, i, marks);
    program->free_order = is_loose(program, i, marks, marks + program->n_commands);
  }
  return NULL;
}

situ_status blocking_ops_save_dependencies(struct builder *builder, const int32_t *place) {
  struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_commands && program->free_order; i++) {
    struct plan_command *command = &program->commands[i];
    int32_t *needs = ARENA_ARRAY(&program->arena, int32_t, command->n_waits + 1);
    if (!needs) return NO_MEMORY();
    for (int32_t w = 0; w < command->n_waits; w++) needs[w] = place[command->waits[w]];
    command->needs = needs;
    command->n_needs = command->n_waits;
  }
  return NULL;
}
