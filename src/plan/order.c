/* SPDX-License-Identifier: Apache-2.0
 * order.c: schedules the commands: a topological sort that puts constants first and prefers
 * commands that only enqueue work on devices to those that the calling thread executes, so that
 * devices are busy while the host computes. Also removes waits that queue order implies. */
#include <string.h>

#include "plan/builder.h"

/* Among the ready commands the lowest priority class runs first. */
enum {
  CLASS_DEVICE,      /* device commands that wait for no other device */
  CLASS_DEVICE_WAIT, /* device commands that do */
  CLASS_HOST,        /* commands of the calling thread */
  CLASS_HOST_OP,     /* host ops */
  CLASS_BLOCKING,    /* host ops that may block */
  N_CLASSES
};

/* Whether the calling thread executes the command. */
static bool is_on_host(const struct builder *builder, const struct plan_command *command) {
  return builder->request->devices->devices[command->device]->backend->is_host;
}

/* Whether a kernel waits for another device or for a copy from one. */
static bool waits_for_device(const struct builder *builder, const struct plan_command *command) {
  const struct program *program = builder->program;
  for (int32_t w = 0; w < command->n_waits && command->kind == COMMAND_CALL; w++) {
    const struct plan_command *other = &program->commands[command->waits[w]];
    const int32_t from =
        other->kind == COMMAND_COPY ? program->slots[other->from].device : other->device;
    if (from != command->device && !program->devices->devices[from]->backend->is_host) return true;
  }
  return false;
}

static int class_of(const struct builder *builder, const struct plan_command *command) {
  if (command->kind == COMMAND_HOST)
    return builder->program->graph->nodes[command->node]->schema->op->flags & OP_BLOCKS
               ? CLASS_BLOCKING
               : CLASS_HOST_OP;
  if (is_on_host(builder, command)) return CLASS_HOST;
  return waits_for_device(builder, command) ? CLASS_DEVICE_WAIT : CLASS_DEVICE;
}

/* The reverse of `waits`: the commands that wait for command i are users[start[i] .. start[i + 1]),
 * and pending[i] is the number of commands that i still waits for. */
struct users {
  int32_t *start, *users, *pending;
};

static bool find_users(struct builder *builder, struct users *out) {
  const struct program *program = builder->program;
  const int32_t n = program->n_commands;
  int32_t total = 0;
  out->start = ARENA_ARRAY(&builder->scratch, int32_t, n + 2);
  out->pending = ARENA_ARRAY(&builder->scratch, int32_t, n + 1);
  if (builder->scratch.failed) return false;
  for (int32_t i = 0; i < n; i++) {
    const struct plan_command *command = &program->commands[i];
    out->pending[i] = command->n_waits;
    total += command->n_waits;
    for (int32_t w = 0; w < command->n_waits; w++) out->start[command->waits[w] + 2]++;
  }
  out->users = ARENA_ARRAY(&builder->scratch, int32_t, total + 1);
  if (!out->users) return false;
  for (int32_t i = 1; i <= n + 1; i++) out->start[i] += out->start[i - 1];
  for (int32_t i = 0; i < n; i++)
    for (int32_t w = 0; w < program->commands[i].n_waits; w++)
      out->users[out->start[program->commands[i].waits[w] + 1]++] = i;
  return true;
}

/* A queue of command indices. */
struct fifo {
  int32_t *items, head, tail;
};

/* The queue of the lowest class with a ready command; NULL: none. */
static struct fifo *first_ready(struct fifo ready[N_CLASSES]) {
  for (int k = 0; k < N_CLASSES; k++)
    if (ready[k].head < ready[k].tail) return &ready[k];
  return NULL;
}

/* Appends a command to the order and makes the commands ready that waited for it only. */
static void append(struct builder *builder, bool once, int32_t command, int32_t *order,
                   int32_t *count, struct users *users, struct fifo ready[N_CLASSES]) {
  const struct program *program = builder->program;
  order[(*count)++] = command;
  for (int32_t u = users->start[command]; u < users->start[command + 1]; u++) {
    const int32_t user = users->users[u];
    if (--users->pending[user] || program->commands[user].once != once) continue;
    struct fifo *to = &ready[class_of(builder, &program->commands[user])];
    to->items[to->tail++] = user;
  }
}

/* Whether all commands of an all-reduce are ready. */
static bool is_complete(const struct all_reduce *all_reduce, const struct users *users) {
  for (int32_t i = 0; i < all_reduce->n; i++)
    if (users->pending[all_reduce->commands[i]] >= 0) return false;
  return true;
}

/* Appends all commands with this value of `once` to the order: order[k] is the k-th command. The
 * commands of an all-reduce are appended together. */
static bool schedule(struct builder *builder, bool once, int32_t *order, int32_t *count,
                     struct users *users) {
  const struct program *program = builder->program;
  const int32_t n = program->n_commands;
  struct fifo ready[N_CLASSES];
  for (int k = 0; k < N_CLASSES; k++)
    ready[k] = (struct fifo){ARENA_ARRAY(&builder->scratch, int32_t, n + 1), 0, 0};
  if (builder->scratch.failed) return false;
  for (int32_t i = 0; i < n; i++)
    if (!users->pending[i] && program->commands[i].once == once) {
      struct fifo *to = &ready[class_of(builder, &program->commands[i])];
      to->items[to->tail++] = i;
    }
  for (struct fifo *from = first_ready(ready); from; from = first_ready(ready)) {
    const int32_t command = from->items[from->head++];
    const struct all_reduce *all_reduce =
        program->commands[command].kind == COMMAND_ALL_REDUCE
            ? &program->all_reduces[program->commands[command].launch]
            : NULL;
    users->pending[command] = -1;
    if (all_reduce && !is_complete(all_reduce, users)) continue;
    for (int32_t i = 0; i < (all_reduce ? all_reduce->n : 1); i++)
      append(builder, once, all_reduce ? all_reduce->commands[i] : command, order, count, users,
             ready);
  }
  return true;
}

/* The order of a program of the calling thread alone: graph order, constants first. */
static void keep_order(const struct program *program, int32_t *order) {
  int32_t count = 0;
  for (int pass = 1; pass >= 0; pass--)
    for (int32_t i = 0; i < program->n_commands; i++)
      if (program->commands[i].once == pass) order[count++] = i;
}

/* Keeps only the waits that queue order does not imply: the last one of each other queue. Commands
 * of the calling thread complete before it continues and need no wait. */
static void reduce_waits(const struct builder *builder, const int32_t *place, int32_t self) {
  struct plan_command *commands = builder->program->commands;
  struct plan_command *command = &commands[self];
  int32_t *waits = (int32_t *)command->waits, n = 0;
  for (int32_t w = 0; w < command->n_waits; w++) {
    const int32_t on = place[waits[w]];
    const struct plan_command *other = &commands[on];
    if (is_on_host(builder, other)) continue;
    if (other->device == command->device && other->queue == command->queue) continue;
    int32_t k = builder->program->dynamic_order ? n : 0; /* the last one is not known then */
    while (k < n &&
           (commands[waits[k]].device != other->device || commands[waits[k]].queue != other->queue))
      k++;
    if (k == n) waits[n++] = on;
    if (waits[k] < on) waits[k] = on;
  }
  command->n_waits = n;
  for (int32_t w = 0; w < n; w++) commands[waits[w]].signal = true;
}

/* Schedules a program with several queues. */
static situ_status schedule_all(struct builder *builder, int32_t *order) {
  int32_t count = 0;
  struct users users;
  if (!find_users(builder, &users)) return NO_MEMORY();
  if (!schedule(builder, true, order, &count, &users)) return NO_MEMORY();
  if (!schedule(builder, false, order, &count, &users)) return NO_MEMORY();
  const int32_t lost = builder->program->n_commands - count;
  return lost ? INTERNAL("Scheduling lost %d commands of a program.", lost) : NULL;
}

/* Whether the commands are already in their final order. */
static bool is_ordered(const struct builder *builder) {
  const struct program *program = builder->program;
  if (!builder->one_queue) return false;
  for (int32_t i = 0; i < program->n_commands; i++)
    if (program->commands[i].once) return false;
  return true;
}

static situ_status reorder(struct builder *builder) {
  struct program *program = builder->program;
  const int32_t n = program->n_commands;
  int32_t *order = ARENA_ARRAY(&builder->scratch, int32_t, n + 1);
  int32_t *place = ARENA_ARRAY(&builder->scratch, int32_t, n + 1);
  struct plan_command *commands = arena_alloc(&program->arena, sizeof *commands * ((size_t)n + 1));
  if (!commands || builder->scratch.failed) return NO_MEMORY();
  if (program->host_only)
    keep_order(program, order);
  else
    TRY(schedule_all(builder, order));
  for (int32_t i = 0; i < n; i++) {
    place[order[i]] = i;
    commands[i] = program->commands[order[i]];
    if (commands[i].once) program->n_once = i + 1;
  }
  program->commands = commands;
  for (int32_t j = 0; j < program->n_all_reduces; j++)
    for (int32_t i = 0; i < program->all_reduces[j].n; i++)
      program->all_reduces[j].commands[i] = place[program->all_reduces[j].commands[i]];
  TRY(blocking_ops_save_dependencies(builder, place));
  for (int32_t i = 0; i < n && !program->host_only; i++) reduce_waits(builder, place, i);
  return NULL;
}

situ_status order_commands(struct builder *builder) {
  builder->program->host_only = builder->one_queue;
  TRY(blocking_ops_find(builder));
  if (!is_ordered(builder)) TRY(reorder(builder));
  return variable_access_find(builder);
}
