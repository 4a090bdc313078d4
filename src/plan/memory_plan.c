/* SPDX-License-Identifier: Apache-2.0
 * memory_plan.c: memory planning: the offset of each value in its device's block, from
 * lifetimes, with the allocator that devices use, so that the peak of a step is known before it
 * runs. */
#include <string.h>

#include "device/bfc.h"
#include "plan/builder.h"

/* Touches a slot by command i. */
static void touch(struct slot *slot, int32_t i) {
  if (slot->first < 0) slot->first = i;
  if (slot->last < i) slot->last = i;
}

/* A copy runs on a queue of its own, beside the kernels: what it writes is taken from the
 * beginning, what it reads is kept to the end. */
static void touch_copy(struct program *program, const struct plan_command *command, int32_t i) {
  struct slot *from = &program->slots[command->from], *to = &program->slots[command->to];
  if (from->first < 0) from->first = i;
  from->last = program->n_commands;
  to->first = 0;
  if (to->last < i) to->last = i;
}

/* The same of what a call reads or writes on other devices: it runs beside their kernels. */
static void touch_far(const struct program *program, struct slot *slot) {
  if (slot->first < 0) slot->first = 0;
  slot->last = program->n_commands;
}

static bool touch_call(struct builder *builder, const struct plan_command *command, int32_t i) {
  const struct program *program = builder->program;
  const struct launch *launch = &program->launches[command->launch];
  for (int a = 0; a < launch->n_args; a++) {
    const int32_t number = launch->args[a].slot;
    if (launch->args[a].kind != ARG_SLOT || number < 0) continue;
    struct slot *slot = &program->slots[number];
    if (slot->device == command->device)
      touch(slot, i);
    else
      touch_far(program, slot);
    if ((slot->kind == SLOT_FEED || slot->kind == SLOT_RESULT || slot->kind == SLOT_MADE) &&
        !builder_move(builder, i, a, number))
      return false;
  }
  return true;
}

/* What a host op reads must be there until it has run. */
static void touch_host(struct program *program, const struct plan_command *command, int32_t i) {
  const struct host_op *host_op = &program->host_ops[command->launch];
  for (int32_t k = 0; k < host_op->n_in; k++)
    if (host_op->in[k] >= 0) touch(&program->slots[host_op->in[k]], i);
}

/* What constants' commands made and others read must last for all runs of a frame. */
static void keep_constants(struct program *program) {
  for (int32_t i = 0; i < program->n_slots; i++) {
    struct slot *slot = &program->slots[i];
    if (slot->first >= 0 && slot->first < program->n_once && slot->last >= program->n_once) {
      slot->first = 0;
      slot->last = program->n_commands;
    }
  }
  for (int32_t i = 0; i < program->n_fetches; i++) {
    struct slot *slot =
        program->fetches[i].slot < 0 ? NULL : &program->slots[program->fetches[i].slot];
    if (slot && program->fetches[i].constant && slot->first >= 0) {
      slot->first = 0;
      slot->last = program->n_commands;
    }
  }
}

static bool find_lifetimes(struct builder *builder) {
  struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind == COMMAND_CALL && !touch_call(builder, command, i)) return false;
    if (command->kind == COMMAND_COPY) touch_copy(program, command, i);
    if (command->kind == COMMAND_HOST) touch_host(program, command, i);
    for (int32_t k = command->from; command->kind == COMMAND_LOOK && k < command->to; k++)
      touch(&program->slots[program->checks[k].slot], i);
    if (command->kind == COMMAND_REDUCE) {
      touch(&program->slots[command->from], i);
      touch(&program->slots[command->to], i);
    }
  }
  keep_constants(program);
  for (int32_t i = 0; i < program->n_slots && program->free_order; i++) {
    struct slot *slot = &program->slots[i]; /* nobody knows when it is read */
    if (slot->first < 0) continue;
    slot->first = 0;
    slot->last = program->n_commands;
  }
  return true;
}

/* Lists of slots by the command where they begin and end. */
struct events {
  int32_t *begin, *end;           /* per command: first slot, or -1 */
  int32_t *next_begin, *next_end; /* per slot */
};

static bool list_events(struct builder *builder, struct events *out) {
  const struct program *program = builder->program;
  const size_t commands = (size_t)program->n_commands + 1, slots = (size_t)program->n_slots + 1;
  out->begin = arena_alloc(&builder->scratch, commands * sizeof(int32_t));
  out->end = arena_alloc(&builder->scratch, commands * sizeof(int32_t));
  out->next_begin = arena_alloc(&builder->scratch, slots * sizeof(int32_t));
  out->next_end = arena_alloc(&builder->scratch, slots * sizeof(int32_t));
  if (builder->scratch.failed) return false;
  memset(out->begin, 0xff, commands * sizeof(int32_t));
  memset(out->end, 0xff, commands * sizeof(int32_t));
  for (int32_t i = program->n_slots - 1; i >= 0; i--) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind != SLOT_BLOCK || slot->first < 0 || !slot->bytes) continue;
    out->next_begin[i] = out->begin[slot->first];
    out->begin[slot->first] = i;
    out->next_end[i] = out->end[slot->last];
    out->end[slot->last] = i;
  }
  return true;
}

/* The memory of one device while it is planned. The allocator cuts a region that does not exist. */
struct lane_state {
  struct bfc *bfc;
  struct lane lane;
};

struct offsets {
  struct builder *builder;
  struct events events;
  struct lane_state *lanes; /* per device number */
  int32_t *handles;         /* per slot: of its piece; -1: none */
};

static bool imaginary_alloc(void *context, size_t bytes, void **region, uint64_t *address) {
  (void)bytes;
  *region = context;
  *address = 0;
  return true;
}

static void imaginary_free(void *context, void *region, uint64_t address, size_t bytes) {
  (void)context;
  (void)region;
  (void)address;
  (void)bytes;
}

static struct lane_state *lane_of(struct offsets *offsets, int32_t device) {
  struct lane_state *state = &offsets->lanes[device];
  if (!state->bfc) {
    state->bfc = bfc_create(&(struct bfc_options){.limit = UINT64_C(1) << 46},
                            (struct bfc_sub_allocator){state, imaginary_alloc, imaginary_free});
    state->lane.device = device;
    state->lane.peak_slot = -1;
  }
  return state;
}

static bool take(struct offsets *offsets, int32_t number, int32_t command) {
  struct slot *slot = &offsets->builder->program->slots[number];
  struct lane_state *state = lane_of(offsets, slot->device);
  struct bfc_chunk piece;
  const size_t align = offsets->builder->request->devices->devices[slot->device]->info.align;
  const size_t bytes = align ? round_up(slot->bytes, align) : slot->bytes;
  if (!state->bfc || !bfc_alloc(state->bfc, bytes, &piece)) return false;
  slot->offset = piece.offset;
  offsets->handles[number] = piece.handle;
  if (piece.offset + piece.size > state->lane.block_bytes) {
    state->lane.block_bytes = piece.offset + piece.size;
    state->lane.peak_command = command;
  }
  return true;
}

static void give(struct offsets *offsets, int32_t number) {
  const struct slot *slot = &offsets->builder->program->slots[number];
  /* The region begins at address 0. */
  const struct bfc_chunk piece = {.handle = offsets->handles[number], .address = slot->offset};
  if (piece.handle >= 0) bfc_free(offsets->lanes[slot->device].bfc, &piece);
}

/* Whether a call that begins `to` may write it over `from`, which ends with it. */
static bool may_replace(const struct slot *from, const struct slot *to, int32_t command) {
  return from->kind == SLOT_BLOCK && from->last == command && from->first < command &&
         from->bytes == to->bytes && from->device == to->device;
}

/* Whether the slot is an input of the node, at home or as a copy. */
static bool is_input(const struct builder *builder, const struct node *node, int input,
                     int32_t slot) {
  const struct value *value = builder_value(builder, node->inputs[input]);
  if (value->slot == slot) return true;
  for (const struct replica *r = value->replicas; r; r = r->next)
    if (r->slot == slot) return true;
  return false;
}

/* Lets a slot have the memory of another one. */
static void hand_over(struct offsets *offsets, int32_t from, int32_t to) {
  struct slot *slots = offsets->builder->program->slots;
  offsets->handles[to] = offsets->handles[from];
  offsets->handles[from] = -1;
  slots[to].offset = slots[from].offset;
}

/* The same for a joint sum, whose term lies where the sum is. */
static bool sum_takes_over(struct offsets *offsets, int32_t number, int32_t index) {
  const struct program *program = offsets->builder->program;
  const int32_t from = program->commands[index].from;
  if (offsets->handles[from] < 0 ||
      !may_replace(&program->slots[from], &program->slots[number], index))
    return false;
  hand_over(offsets, from, number);
  return true;
}

/* Lets the output of an element-wise call take the memory of an input that dies with it. */
static bool take_over(struct offsets *offsets, int32_t number, int32_t index) {
  const struct program *program = offsets->builder->program;
  const struct plan_command *command = &program->commands[index];
  if (command->kind == COMMAND_REDUCE) return sum_takes_over(offsets, number, index);
  if (command->kind != COMMAND_CALL) return false;
  const struct node *node = program->graph->nodes[command->node];
  const unsigned flags = node->schema->op->flags;
  if (!(flags & (OP_INPLACE | OP_INPLACE_FIRST))) return false;
  const struct launch *launch = &program->launches[command->launch];
  for (int a = 0; a < launch->n_args; a++) {
    const int32_t from = launch->args[a].kind == ARG_SLOT ? launch->args[a].slot : -1;
    if (from < 0 || from == number || offsets->handles[from] < 0) continue;
    if (!(flags & OP_INPLACE) && !is_input(offsets->builder, node, 0, from)) continue;
    if (!may_replace(&program->slots[from], &program->slots[number], index)) continue;
    hand_over(offsets, from, number);
    return true;
  }
  return false;
}

static bool walk(struct offsets *offsets) {
  const struct program *program = offsets->builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    for (int32_t s = offsets->events.begin[i]; s >= 0; s = offsets->events.next_begin[s])
      if (!take_over(offsets, s, i) && !take(offsets, s, i)) return false;
    for (int32_t s = offsets->events.end[i]; s >= 0; s = offsets->events.next_end[s])
      give(offsets, s);
  }
  return true;
}

/* The largest value that lives when the block is fullest: the one to name when it does not fit. */
static void find_peak(const struct builder *builder, struct lane *lane) {
  const struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_slots; i++) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind != SLOT_BLOCK || slot->device != lane->device || slot->first < 0) continue;
    if (slot->first > lane->peak_command || slot->last < lane->peak_command) continue;
    if (lane->peak_slot < 0 || slot->bytes > program->slots[lane->peak_slot].bytes)
      lane->peak_slot = i;
  }
  if (lane->peak_slot < 0) return;
  const struct slot *peak = &program->slots[lane->peak_slot];
  if (peak->output < 0) return; /* scratch has no shape */
  lane->peak_shape = *builder_value(builder, (struct edge){peak->node, peak->output})->shape;
}

static void make_lanes(struct offsets *offsets) {
  struct program *program = offsets->builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    struct lane_state *state = lane_of(offsets, command->device);
    state->lane.n_calls += command->kind == COMMAND_CALL || command->kind == COMMAND_REDUCE;
  }
  program->lanes = ARENA_ARRAY(&program->arena, struct lane, program->devices->count + 1);
  for (int32_t d = 0; d < program->devices->count && program->lanes; d++) {
    if (!offsets->lanes[d].bfc) continue;
    find_peak(offsets->builder, &offsets->lanes[d].lane);
    program->lanes[program->n_lanes++] = offsets->lanes[d].lane;
  }
}

situ_status memory_plan_assign(struct builder *builder) {
  struct program *program = builder->program;
  struct offsets offsets = {.builder = builder};
  offsets.lanes =
      ARENA_ARRAY(&builder->scratch, struct lane_state, builder->request->devices->count + 1);
  const size_t bytes = sizeof *offsets.handles * ((size_t)program->n_slots + 1);
  offsets.handles = arena_alloc(&builder->scratch, bytes);
  bool ok = !builder->scratch.failed && find_lifetimes(builder);
  if (ok) memset(offsets.handles, 0xff, bytes);
  if (ok) ok = list_events(builder, &offsets.events);
  if (ok) ok = walk(&offsets);
  if (ok) make_lanes(&offsets);
  for (int32_t d = 0; offsets.lanes && d < builder->request->devices->count; d++)
    bfc_destroy(offsets.lanes[d].bfc);
  return ok ? NULL : NO_MEMORY();
}
