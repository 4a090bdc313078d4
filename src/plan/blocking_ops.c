/* SPDX-License-Identifier: Apache-2.0
 * blocking_ops.c: detects programs whose host ops may block on each other, such as a Dequeue and an
 * Enqueue, or two calls of Python functions, that no dependency orders. No static schedule is
 * correct for them: the run chooses the order (program->dynamic_order), of all commands or of those
 * from the first to the last call of a function. */
#include "plan/builder.h"

static unsigned flags_of(const struct program *program, int32_t command) {
  const struct plan_command *c = &program->commands[command];
  return c->kind == COMMAND_HOST ? program->graph->nodes[c->node]->schema->op->flags : 0;
}

/* Marks the command and everything it depends on. */
static void mark_ancestors(const struct program *program, int32_t command, bool *is_ancestor) {
  for (int32_t i = 0; i < program->n_commands; i++) is_ancestor[i] = i == command;
  for (int32_t i = command; i >= 0; i--)
    for (int32_t w = 0; is_ancestor[i] && w < program->commands[i].n_waits; w++)
      is_ancestor[program->commands[i].waits[w]] = true;
}

/* Whether no dependency orders `unblocker`, on which others may block, and an op that may block. */
static bool is_unordered(struct program *program, int32_t unblocker, const bool *ancestors,
                         bool *is_ancestor) {
  for (int32_t i = 0; i < program->n_commands; i++) {
    const unsigned flags = flags_of(program, i);
    if (!(flags & OP_BLOCKS) || flags & OP_UNBLOCKS || ancestors[i]) continue;
    mark_ancestors(program, i, is_ancestor);
    if (!is_ancestor[unblocker]) return true;
  }
  return false;
}

/* Whether a call of a function does not depend on one of the calls before it. */
static bool is_concurrent(const struct program *program, int32_t call, const bool *ancestors) {
  for (int32_t i = 0; i < call; i++)
    if (flags_of(program, i) & OP_CALLS && !ancestors[i]) return true;
  return false;
}

/* The run chooses the order of all commands, or (until the schedule is known) of none. */
static void set_dynamic(struct program *program, bool all) {
  program->dynamic_order = true;
  program->dynamic_end = all ? program->n_commands : 0;
}

situ_status blocking_ops_find(struct builder *builder) {
  struct program *program = builder->program;
  unsigned all_flags = 0;
  if (builder->one_queue) return NULL;
  for (int32_t i = 0; i < program->n_commands; i++) all_flags |= flags_of(program, i);
  if (all_flags & OP_COLLECTIVE) return NULL; /* all processes must use the same order */
  if (!(all_flags & (OP_UNBLOCKS | OP_CALLS))) return NULL;
  bool *marks = ARENA_ARRAY(&builder->scratch, bool, 2 * program->n_commands + 1);
  if (!marks) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_commands && !program->dynamic_end; i++) {
    const unsigned flags = flags_of(program, i);
    if (!(flags & (OP_UNBLOCKS | OP_CALLS))) continue;
    mark_ancestors(program, i, marks);
    if (flags & OP_UNBLOCKS && is_unordered(program, i, marks, marks + program->n_commands))
      set_dynamic(program, true);
    else if (flags & OP_CALLS && is_concurrent(program, i, marks))
      set_dynamic(program, false);
  }
  return NULL;
}

/* Finds the commands from the first to the last call of a function. */
static void find_calls(struct program *program) {
  program->dynamic_begin = -1;
  for (int32_t i = 0; i < program->n_commands; i++) {
    if (!(flags_of(program, i) & OP_CALLS)) continue;
    if (program->dynamic_begin < 0) program->dynamic_begin = i;
    program->dynamic_end = i + 1;
  }
}

situ_status blocking_ops_save_dependencies(struct builder *builder, const int32_t *place) {
  struct program *program = builder->program;
  if (program->dynamic_order && !program->dynamic_end) find_calls(program);
  for (int32_t i = 0; i < program->n_commands && program->dynamic_order; i++) {
    struct plan_command *command = &program->commands[i];
    int32_t *dependencies = ARENA_ARRAY(&program->arena, int32_t, command->n_waits + 1);
    if (!dependencies) return NO_MEMORY();
    for (int32_t w = 0; w < command->n_waits; w++) dependencies[w] = place[command->waits[w]];
    command->dependencies = dependencies;
    command->n_dependencies = command->n_waits;
  }
  return NULL;
}
