/* SPDX-License-Identifier: Apache-2.0
 * fused_update.c: fuses a sum over devices, the element-wise calls on the sum (an optimizer step)
 * and the copies before and after to one call (host/fused_update.h), which reads its inputs on the
 * devices that hold them and writes the results to all devices that need them. Requires kernels
 * that can access the memory of other devices. Results are bit-identical to those without fusion.
 */
#include "host/fused_update.h"

#include <string.h>

#include "plan/builder.h"

/* Minimum elements per thread and per device; a fused call does more work per element than others.
 */
enum { GRAIN = 8192, PART = 16384, MAX_DEVICES = 64 };

/* Commands that are fused to one call, which takes the place of the last of them. */
struct group {
  int32_t first, last; /* list of members, linked by fusion.next */
  int32_t end;         /* the last call among them */
  int32_t node, device;
  uint64_t devices; /* bit i: device i holds inputs or outputs too and may do a part of the work */
  situ_type type;
  int64_t items;
  int32_t n_peers;             /* copies between devices */
  int32_t n_inside;            /* values that need no memory */
  int32_t n_args;              /* of all kernels */
  int32_t first_part, n_parts; /* the fused calls, one per device */
  bool open;                   /* commands may still join */
};

/* Arrays per command or slot; -1: none. */
struct fusion {
  struct builder *builder;
  struct program *program;
  struct group *groups;
  int32_t n_groups;
  int32_t *group; /* per command */
  int32_t *next;  /* per command: the next member of its group */
  int32_t *place; /* per command: its index in the new program */
  const struct plan_command *old;
  int32_t *user;     /* per command: the command that waits for it; n_commands: several */
  int32_t *copy;     /* per slot: the copy between devices that writes it, if it has one user */
  int32_t *producer; /* per slot: the group that writes it */
  int32_t *inside;   /* per slot: its index among the group's values without memory */
  int32_t *source;   /* per slot: the slot of another device to read instead */
};

static const struct backend *backend_of(const struct fusion *s, int32_t device) {
  return s->builder->request->devices->devices[device]->backend;
}

static bool is_member(const struct fusion *s, int32_t command) {
  return s->group[command] >= 0 && s->old[command].kind == COMMAND_CALL;
}

/* Whether a copy is between devices whose kernels can access both ends. */
static bool is_peer_copy(const struct fusion *s, const struct plan_command *command) {
  if (command->kind != COMMAND_COPY || command->once) return false;
  const struct slot *from = &s->program->slots[command->from];
  const struct slot *to = &s->program->slots[command->to];
  const struct backend *backend = backend_of(s, from->device);
  const bool is_new = to->kind == SLOT_BLOCK || to->kind == SLOT_RESULT;
  return backend->fuses_updates && backend == backend_of(s, to->device) &&
         from->device != to->device && from->kind != SLOT_STATE && is_new && command->bytes;
}

static bool is_elementwise(const struct fusion *s, const struct plan_command *command) {
  if (command->kind != COMMAND_CALL || command->once) return false;
  const struct launch *launch = &s->program->launches[command->launch];
  const struct op_def *op = s->program->graph->nodes[command->node]->schema->op;
  const struct backend *backend = backend_of(s, command->device);
  return launch->elementwise && launch->n_args <= FUSED_UPDATE_MAX_ARGS && backend->fuses_updates &&
         !(op->flags & OP_UPDATES) && fused_update_kernel_id(launch) &&
         fused_update_kernel.host[launch->type];
}

/* Whether a call writes the slot: it is an output of its node, on the device of the call. */
static bool writes(const struct fusion *s, const struct plan_command *call, int32_t slot) {
  const struct slot *to = &s->program->slots[slot];
  return to->node == call->node && to->device == call->device && to->output >= 0 &&
         (to->kind == SLOT_BLOCK || to->kind == SLOT_RESULT);
}

/* The open group that a call waits for and can join, or -1. */
static int32_t group_for_call(const struct fusion *s, const struct plan_command *command) {
  const struct launch *launch = &s->program->launches[command->launch];
  for (int32_t w = 0; w < command->n_waits; w++) {
    const int32_t number = s->group[command->waits[w]];
    const struct group *group = number < 0 ? NULL : &s->groups[number];
    if (group && group->open && is_member(s, command->waits[w]) &&
        group->device == command->device && group->type == launch->type &&
        group->items == launch->items)
      return number;
  }
  return -1;
}

/* The group that produces the source of a copy, or -1. The copy waits for nothing else, so the
 * fused call can write the target as well. */
static int32_t group_for_copy(const struct fusion *s, const struct plan_command *command) {
  const int32_t number = s->producer[command->from];
  if (number < 0 || command->n_waits != 1 || s->group[command->waits[0]] != number) return -1;
  const struct group *group = &s->groups[number];
  return command->bytes == (size_t)group->items * situ_type_size(group->type) ? number : -1;
}

static void add_member(struct fusion *s, int32_t index, int32_t number, int32_t n_args) {
  struct group *group = &s->groups[number];
  if (group->last >= 0) s->next[group->last] = index;
  if (group->first < 0) group->first = index;
  group->last = index;
  group->n_args += n_args;
  s->group[index] = number;
}

/* Adds the device of a slot to a group. */
static void add_peer(struct fusion *s, int32_t number, int32_t slot) {
  const int32_t device = s->program->slots[slot].device;
  struct group *group = &s->groups[number];
  group->n_peers++;
  if (device < MAX_DEVICES && device != group->device) group->devices |= UINT64_C(1) << device;
}

/* Adds the copies of a call's arguments from other devices to its group if nothing else waits for
 * them: the fused call reads the source. */
static void absorb_copies(struct fusion *s, const struct launch *launch, int32_t number) {
  for (int32_t a = 0; a < launch->n_args; a++) {
    const int32_t slot = launch->elementwise >> a & 1 ? launch->args[a].slot : -1;
    const int32_t copy = slot < 0 ? -1 : s->copy[slot];
    if (copy < 0 || s->group[copy] >= 0 || s->group[s->user[copy]] != number) continue;
    s->source[slot] = s->old[copy].from;
    add_peer(s, number, s->old[copy].from);
    add_member(s, copy, number, 0);
  }
}

static void join_call(struct fusion *s, int32_t index, int32_t number) {
  const struct plan_command *command = &s->old[index];
  const struct launch *launch = &s->program->launches[command->launch];
  if (number < 0) {
    number = s->n_groups++;
    s->groups[number] = (struct group){.first = -1,
                                       .last = -1,
                                       .device = command->device,
                                       .type = launch->type,
                                       .items = launch->items,
                                       .open = true};
  }
  s->groups[number].end = index;
  s->groups[number].node = command->node;
  add_member(s, index, number, FUSED_UPDATE_HEADER + launch->n_args);
  for (int32_t a = 0; a < launch->n_args; a++)
    if (launch->elementwise >> a & 1 && writes(s, command, launch->args[a].slot))
      s->producer[launch->args[a].slot] = number;
  absorb_copies(s, launch, number);
}

static void join_copy(struct fusion *s, int32_t index, int32_t number) {
  add_peer(s, number, s->old[index].to);
  add_member(s, index, number, FUSED_UPDATE_HEADER + 3);
}

/* Closes the groups that a command outside of them waits for: it must run after all members. */
static void close_groups(struct fusion *s, int32_t index) {
  const struct plan_command *command = &s->old[index];
  for (int32_t w = 0; w < command->n_waits; w++) {
    const int32_t on = s->group[command->waits[w]];
    if (on >= 0 && on != s->group[index]) s->groups[on].open = false;
  }
}

/* Finds the copies between devices that exactly one command waits for. */
static void find_copies(struct fusion *s) {
  const int32_t n = s->program->n_commands;
  for (int32_t i = n - 1; i >= 0; i--)
    for (int32_t w = 0; w < s->old[i].n_waits; w++) {
      int32_t *user = &s->user[s->old[i].waits[w]];
      *user = *user == -1 || *user == i ? i : n;
    }
  for (int32_t i = 0; i < n; i++)
    if (s->user[i] >= 0 && s->user[i] < n && is_peer_copy(s, &s->old[i])) s->copy[s->old[i].to] = i;
}

static void find_groups(struct fusion *s) {
  const struct program *program = s->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &s->old[i];
    if (is_elementwise(s, command)) {
      join_call(s, i, group_for_call(s, command));
    } else if (is_peer_copy(s, command)) {
      const int32_t number = group_for_copy(s, command);
      if (number >= 0) join_copy(s, i, number);
    }
    close_groups(s, i);
  }
}

/* ---- Values that need no memory ---- */

/* Dissolves groups that access no other device. */
static void drop_local_groups(struct fusion *s) {
  for (int32_t i = 0; i < s->program->n_commands; i++)
    if (s->group[i] >= 0 && !s->groups[s->group[i]].n_peers) s->group[i] = -1;
  for (int32_t i = 0; i < s->program->n_slots; i++)
    if (s->producer[i] >= 0 && !s->groups[s->producer[i]].n_peers) s->producer[i] = -1;
}

/* A slot needs memory if a command outside of its group accesses it. */
static void access_slot(struct fusion *s, int32_t command, int32_t slot) {
  if (slot >= 0 && s->producer[slot] != s->group[command]) s->inside[slot] = -1;
}

static void access_slots(struct fusion *s, int32_t index) {
  const struct program *program = s->program;
  const struct plan_command *command = &s->old[index];
  if (command->kind == COMMAND_COPY) access_slot(s, index, command->from);
  if (command->kind == COMMAND_CALL) {
    const struct launch *launch = &program->launches[command->launch];
    for (int32_t a = 0; a < launch->n_args; a++)
      if (launch->args[a].kind == ARG_SLOT) access_slot(s, index, launch->args[a].slot);
  }
  if (command->kind == COMMAND_HOST) {
    const struct host_op *host_op = &program->host_ops[command->launch];
    for (int32_t k = 0; k < host_op->n_in; k++) access_slot(s, index, host_op->in[k]);
  }
}

static void find_inside_values(struct fusion *s) {
  const struct program *program = s->program;
  for (int32_t i = 0; i < program->n_slots; i++)
    s->inside[i] = s->producer[i] >= 0 && program->slots[i].kind == SLOT_BLOCK ? 0 : -1;
  for (int32_t i = 0; i < program->n_commands; i++) access_slots(s, i);
  for (int32_t i = 0; i < program->n_slots; i++) {
    if (s->inside[i] < 0) continue;
    struct group *group = &s->groups[s->producer[i]];
    s->inside[i] = group->n_inside < FUSED_UPDATE_MAX_TEMPS ? group->n_inside++ : -1;
  }
}

/* ---- The new calls ---- */

/* A range of a group's elements and the fused call that computes it. */
struct part {
  const struct group *group;
  int32_t device;
  int64_t begin;
  struct launch *launch;
};

static void add_number(struct launch *launch, int64_t number) {
  launch->args[launch->n_args++] = (struct launch_arg){.kind = ARG_INTEGER, .integer = number};
}

/* Adds an argument with one element per item. Returns whether it is a value without memory. */
static bool add_elements(const struct fusion *s, const struct part *part, struct launch_arg arg) {
  struct launch *launch = part->launch;
  const int64_t size = (int64_t)situ_type_size(part->group->type);
  if (s->source[arg.slot] >= 0) arg.slot = s->source[arg.slot];
  if (s->inside[arg.slot] >= 0) {
    add_number(launch, s->inside[arg.slot]);
    return true;
  }
  const double bytes = (double)(launch->items * size);
  launch->bytes += bytes;
  if (s->program->slots[arg.slot].device != part->device) launch->peer_bytes += bytes;
  arg.offset += part->begin * size;
  launch->args[launch->n_args++] = arg;
  return false;
}

static void add_kernel(const struct fusion *s, const struct part *part, const struct launch *from,
                       int64_t kernel) {
  struct launch *launch = part->launch;
  const int32_t head = launch->n_args;
  int64_t inside = 0;
  add_number(launch, kernel);
  add_number(launch, from->n_args);
  add_number(launch, from->elementwise);
  add_number(launch, 0);
  add_number(launch, (int64_t)situ_type_size(part->group->type));
  for (int32_t a = 0; a < from->n_args; a++)
    if (!(from->elementwise >> a & 1))
      launch->args[launch->n_args++] = from->args[a];
    else if (add_elements(s, part, from->args[a]))
      inside |= INT64_C(1) << a;
  launch->args[head + FUSED_UPDATE_TEMPS].integer = inside;
  launch->flops += from->flops * (double)launch->items / (double)part->group->items;
}

/* A copy as a call of fused_update_copy. */
static void add_copy(const struct fusion *s, const struct part *part,
                     const struct plan_command *copy) {
  struct launch_arg args[3] = {
      {.kind = ARG_SLOT, .slot = copy->from},
      {.kind = ARG_SLOT, .slot = copy->to},
      {.kind = ARG_INTEGER, .integer = (int64_t)situ_type_size(part->group->type)}};
  const struct launch from = {.n_args = 3, .elementwise = 3, .args = args};
  add_kernel(s, part, &from, (int64_t)(intptr_t)fused_update_copy);
}

/* Records the fused call of a part. Copies of inputs are left out: the call reads their sources. */
static situ_status record_part(struct fusion *s, const struct part *part) {
  const struct program *program = s->program;
  const int32_t number = s->group[part->group->first];
  struct launch *launch = part->launch;
  launch->args = ARENA_ARRAY(&s->program->arena, struct launch_arg, part->group->n_args + 1);
  if (!launch->args) return NO_MEMORY();
  add_number(launch, 0);
  for (int32_t i = part->group->first; i >= 0; i = s->next[i]) {
    const struct plan_command *command = &s->old[i];
    if (command->kind == COMMAND_COPY && s->producer[command->from] != number) continue;
    launch->args[0].integer++;
    if (command->kind == COMMAND_COPY) {
      add_copy(s, part, command);
    } else {
      const struct launch *from = &program->launches[command->launch];
      add_kernel(s, part, from, fused_update_kernel_id(from));
    }
  }
  return NULL;
}

/* ---- The new program ---- */

/* Makes the next command wait for an old one, or for the fused calls that replace it. */
static void add_wait(struct fusion *s, int32_t old) {
  const int32_t number = s->group[old];
  const int32_t first = number < 0 ? s->place[old] : s->groups[number].first_part;
  const int32_t count = number < 0 ? 1 : s->groups[number].n_parts;
  for (int32_t i = 0; i < count; i++) builder_add_wait(s->builder, first + i);
}

static situ_status add_part(struct fusion *s, int32_t number, int32_t device, int64_t begin,
                            int64_t end) {
  struct group *group = &s->groups[number];
  struct launch *launch = builder_add_launch(s->builder);
  if (!launch) return NO_MEMORY();
  *launch = (struct launch){.kernel = &fused_update_kernel,
                            .type = group->type,
                            .items = end - begin,
                            .grain = GRAIN,
                            .node = s->program->graph->nodes[group->node]->name};
  const struct part part = {group, device, begin, launch};
  TRY(record_part(s, &part));
  for (int32_t i = group->first; i >= 0; i = s->next[i])
    for (int32_t w = 0; w < s->old[i].n_waits; w++)
      if (s->group[s->old[i].waits[w]] != number) add_wait(s, s->old[i].waits[w]);
  const struct plan_command call = {.kind = COMMAND_CALL,
                                    .node = group->node,
                                    .device = device,
                                    .queue = QUEUE_COMPUTE,
                                    .launch = s->program->n_launches - 1};
  const int32_t added = builder_add_command(s->builder, &call);
  if (!group->n_parts++) group->first_part = added;
  return added < 0 ? NO_MEMORY() : NULL;
}

/* Distributes a group's elements over its devices. */
static situ_status add_group(struct fusion *s, int32_t number) {
  const struct group *group = &s->groups[number];
  const int64_t max_parts = min_i64(1 + __builtin_popcountll(group->devices), group->items / PART);
  const int64_t size = (group->items / max_i64(1, max_parts) + PART - 1) / PART * PART;
  uint64_t others = group->devices;
  int32_t device = group->device;
  for (int64_t begin = 0; begin < group->items; begin += size) {
    TRY(add_part(s, number, device, begin, min_i64(group->items, begin + size)));
    device = others ? __builtin_ctzll(others) : 0;
    others &= others - 1;
  }
  return NULL;
}

static situ_status rewrite_commands(struct fusion *s) {
  struct program *program = s->program;
  const int32_t n = program->n_commands;
  program->commands = NULL;
  program->n_commands = s->builder->command_capacity = 0;
  for (int32_t i = 0; i < n; i++) {
    const int32_t number = s->group[i];
    if (number >= 0) {
      if (s->groups[number].end == i) TRY(add_group(s, number));
      continue;
    }
    for (int32_t w = 0; w < s->old[i].n_waits; w++) add_wait(s, s->old[i].waits[w]);
    s->place[i] = builder_add_command(s->builder, &s->old[i]);
    if (s->place[i] < 0) return NO_MEMORY();
  }
  return NULL;
}

/* Allocates an array of `count` elements, all -1. */
static int32_t *alloc_indices(const struct fusion *s, int32_t count) {
  int32_t *items = ARENA_ARRAY(&s->builder->scratch, int32_t, count + 1);
  if (items) memset(items, 0xff, sizeof *items * ((size_t)count + 1));
  return items;
}

static bool has_peer_copies(const struct fusion *s) {
  for (int32_t i = 0; i < s->program->n_commands; i++)
    if (is_peer_copy(s, &s->old[i])) return true;
  return false;
}

situ_status fused_update_fuse(struct builder *builder) {
  struct program *program = builder->program;
  struct fusion s = {.builder = builder, .program = program, .old = program->commands};
  if (builder->one_queue || program->n_checks || program->n_all_reduces || !has_peer_copies(&s))
    return NULL;
  s.groups = ARENA_ARRAY(&builder->scratch, struct group, program->n_commands + 1);
  s.user = alloc_indices(&s, program->n_commands);
  s.group = alloc_indices(&s, program->n_commands);
  s.next = alloc_indices(&s, program->n_commands);
  s.place = alloc_indices(&s, program->n_commands);
  s.producer = alloc_indices(&s, program->n_slots);
  s.inside = alloc_indices(&s, program->n_slots);
  s.source = alloc_indices(&s, program->n_slots);
  s.copy = alloc_indices(&s, program->n_slots);
  if (builder->scratch.failed) return NO_MEMORY();
  find_copies(&s);
  find_groups(&s);
  drop_local_groups(&s);
  find_inside_values(&s);
  return rewrite_commands(&s);
}
