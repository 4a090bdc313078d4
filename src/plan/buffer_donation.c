/* SPDX-License-Identifier: Apache-2.0
 * buffer_donation.c: results that reuse the buffer of a feed, such as the new value of a variable
 * in place of the old one. The caller offers the buffer (plan_feed.donate). It is reused if the
 * result is computed element by element after every other command that reads the feed. */
#include <string.h>

#include "plan/builder.h"
#include "tensor/shape.h"

/* The slots of a feed and of the result that would reuse its buffer, and the command that writes
 * the result. */
struct pair {
  int32_t from, to;
  int32_t writer;
};

/* How often a command reads or writes a slot. */
static int32_t count_uses(const struct program *program, const struct plan_command *command,
                          int32_t slot) {
  int32_t count = 0;
  if (command->kind == COMMAND_COPY || command->kind == COMMAND_ALL_REDUCE)
    return (command->from == slot) + (command->to == slot);
  if (command->kind == COMMAND_CALL) {
    const struct launch *launch = &program->launches[command->launch];
    for (int32_t a = 0; a < launch->n_args; a++)
      count += launch->args[a].kind == ARG_SLOT && launch->args[a].slot == slot;
  }
  if (command->kind == COMMAND_HOST) {
    const struct host_op *host_op = &program->host_ops[command->launch];
    for (int32_t k = 0; k < host_op->n_in; k++) count += host_op->in[k] == slot;
  }
  return count;
}

/* Whether a call reads each element of `from` before it writes that element of `to`. */
static bool is_safe_call(const struct program *program, const struct plan_command *command,
                         const struct pair *pair) {
  const struct launch *launch = &program->launches[command->launch];
  int32_t from = -1, to = -1;
  if (!launch->elementwise) return false;
  for (int32_t a = launch->n_args - 1; a >= 0; a--) {
    if (launch->args[a].kind != ARG_SLOT) continue;
    const int32_t slot = launch->args[a].slot;
    if ((slot == pair->from || slot == pair->to) && !(launch->elementwise >> a & 1)) return false;
    if (slot == pair->to) to = a;
    if (slot == pair->from && from >= 0) return false;
    if (slot == pair->from) from = a;
  }
  return from < to;
}

static bool is_safe(const struct program *program, const struct plan_command *command,
                    const struct pair *pair) {
  if (command->once) return false;
  if (command->kind == COMMAND_COPY) return command->to == pair->to && command->from != pair->from;
  return command->kind == COMMAND_CALL && is_safe_call(program, command, pair);
}

/* Finds the command that writes the result: the first that accesses it, if its node has no other
 * command that does. */
static bool find_writer(const struct program *program, struct pair *pair) {
  const struct plan_command *commands = program->commands;
  int32_t i = 0;
  while (i < program->n_commands && !count_uses(program, &commands[i], pair->to)) i++;
  pair->writer = i;
  if (i == program->n_commands || !is_safe(program, &commands[i], pair)) return false;
  return i + 1 == program->n_commands || commands[i + 1].kind != commands[i].kind ||
         commands[i + 1].node != commands[i].node ||
         !count_uses(program, &commands[i + 1], pair->to);
}

/* Makes a writer wait for all readers of the feed; false when memory runs out. */
static bool add_waits(struct builder *builder, int32_t writer, const struct index_list *readers) {
  struct plan_command *command = &builder->program->commands[writer];
  const size_t old = (size_t)command->n_waits, more = (size_t)readers->count;
  if (builder->one_queue || !more) return true;
  int32_t *waits = arena_alloc(&builder->program->arena, sizeof *waits * (old + more));
  if (!waits) return false;
  if (old) memcpy(waits, command->waits, sizeof *waits * old);
  memcpy(waits + old, readers->items, sizeof *waits * more);
  command->waits = waits;
  command->n_waits = (int32_t)(old + more);
  return true;
}

/* Collects the commands that read the feed; false if one comes after the writer. */
static bool find_readers(const struct builder *builder, const struct pair *pair,
                         struct index_list *out) {
  const struct program *program = builder->program;
  out->count = 0;
  for (int32_t i = 0; i < program->n_commands; i++) {
    if (i == pair->writer || !count_uses(program, &program->commands[i], pair->from)) continue;
    if (i > pair->writer) return false;
    out->items[out->count++] = i;
  }
  for (int32_t i = 0; i < program->n_fetches; i++)
    if (program->fetches[i].slot == pair->from) return false;
  return true;
}

static bool is_compatible(const struct program *program, const struct feed *feed,
                          const struct fetch *fetch, int32_t index) {
  const struct slot *to = fetch->slot < 0 ? NULL : &program->slots[fetch->slot];
  return feed->slot >= 0 && to && to->kind == SLOT_RESULT && to->index == index &&
         to->device == feed->device && feed->type == fetch->type &&
         shape_equal(&feed->shape, &fetch->shape);
}

situ_status buffer_donation_find(struct builder *builder) {
  struct program *program = builder->program;
  struct index_list readers = {0};
  if (program->check_numerics || builder->missing.node >= 0 || builder->request->previous)
    return NULL;
  for (int32_t i = 0; i < program->n_feeds; i++) {
    const struct feed *feed = &program->feeds[i];
    if (feed->donate < 1 || feed->donate > program->n_requested) continue;
    struct fetch *fetch = &program->fetches[feed->donate - 1];
    struct pair pair = {feed->slot, fetch->slot, 0};
    if (!is_compatible(program, feed, fetch, feed->donate - 1)) continue;
    if (!readers.items)
      readers.items = ARENA_ARRAY(&builder->scratch, int32_t, program->n_commands + 1);
    if (!readers.items) return NO_MEMORY();
    if (!find_writer(program, &pair) || !find_readers(builder, &pair, &readers)) continue;
    if (!add_waits(builder, pair.writer, &readers)) return NO_MEMORY();
    fetch->donated_feed = i;
  }
  return NULL;
}
