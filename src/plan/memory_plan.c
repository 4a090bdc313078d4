/* SPDX-License-Identifier: Apache-2.0
 * memory_plan.c: static memory planning. Computes the lifetime of each value, then replays the
 * allocations in command order on the devices' own allocator (BFC) over an imaginary region. The
 * plan it returns and the peak are the layout of the device's block. Outputs of in-place calls
 * take over the memory of an input that dies with the call. */
#include <string.h>

#include "device/bfc.h"
#include "plan/builder.h"

/* Extends the lifetime of a slot to command i. */
static void extend(struct slot *slot, int32_t i) {
  if (slot->first < 0) slot->first = i;
  if (slot->last < i) slot->last = i;
}

/* Copies run concurrently with kernels: the target is allocated from the first command on, and the
 * source is kept until the last. */
static void extend_copy(struct program *program, const struct plan_command *command, int32_t i) {
  struct slot *from = &program->slots[command->from], *to = &program->slots[command->to];
  if (from->first < 0) from->first = i;
  from->last = program->n_commands;
  to->first = 0;
  if (to->last < i) to->last = i;
}

/* A call that accesses another device's memory runs concurrently with that device's kernels. */
static void extend_peer(const struct program *program, struct slot *slot) {
  if (slot->first < 0) slot->first = 0;
  slot->last = program->n_commands;
}

static bool extend_call(struct builder *builder, const struct plan_command *command, int32_t i) {
  const struct program *program = builder->program;
  const struct launch *launch = &program->launches[command->launch];
  for (int a = 0; a < launch->n_args; a++) {
    const int32_t number = launch->args[a].slot;
    if (launch->args[a].kind != ARG_SLOT || number < 0) continue;
    struct slot *slot = &program->slots[number];
    if (slot->device == command->device)
      extend(slot, i);
    else
      extend_peer(program, slot);
    if ((slot->kind == SLOT_FEED || slot->kind == SLOT_RESULT || slot->kind == SLOT_HOST_OUTPUT) &&
        !builder_add_rebinding(builder, i, a, number))
      return false;
  }
  return true;
}

static void extend_host_op(struct program *program, const struct plan_command *command, int32_t i) {
  const struct host_op *host_op = &program->host_ops[command->launch];
  for (int32_t k = 0; k < host_op->n_in; k++)
    if (host_op->in[k] >= 0) extend(&program->slots[host_op->in[k]], i);
}

/* Constants that later commands or fetches read live as long as the frame. */
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

/* Commands without a fixed order: what one of them uses is in use during all of them. */
static void extend_dynamic(struct program *program) {
  for (int32_t i = 0; i < program->n_slots; i++) {
    struct slot *slot = &program->slots[i];
    if (slot->first < 0 || slot->first >= program->dynamic_end ||
        slot->last < program->dynamic_begin)
      continue;
    if (slot->first > program->dynamic_begin) slot->first = program->dynamic_begin;
    extend(slot, program->dynamic_end);
  }
}

static bool find_lifetimes(struct builder *builder) {
  struct program *program = builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind == COMMAND_CALL && !extend_call(builder, command, i)) return false;
    if (command->kind == COMMAND_COPY) extend_copy(program, command, i);
    if (command->kind == COMMAND_HOST) extend_host_op(program, command, i);
    for (int32_t k = command->from; command->kind == COMMAND_CHECK_NUMERICS && k < command->to; k++)
      extend(&program->slots[program->checks[k].slot], i);
    if (command->kind == COMMAND_ALL_REDUCE) {
      extend(&program->slots[command->from], i);
      extend(&program->slots[command->to], i);
    }
  }
  keep_constants(program);
  if (program->dynamic_order) extend_dynamic(program);
  return true;
}

/* Lists of the slots whose lifetime begins or ends at a command. */
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

/* The memory of one device during planning. The allocator manages a region that does not exist. */
struct lane_state {
  struct bfc *bfc;
  struct lane lane;
};

struct memory_plan {
  struct builder *builder;
  struct events events;
  struct lane_state *lanes; /* per device */
  int32_t *handles;         /* per slot: of its allocation; -1: none */
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

static struct lane_state *lane_of(struct memory_plan *plan, int32_t device) {
  struct lane_state *state = &plan->lanes[device];
  if (!state->bfc) {
    state->bfc = bfc_create(&(struct bfc_options){.limit = UINT64_C(1) << 46},
                            (struct bfc_sub_allocator){state, imaginary_alloc, imaginary_free});
    state->lane.device = device;
    state->lane.peak_slot = -1;
  }
  return state;
}

static bool allocate(struct memory_plan *plan, int32_t number, int32_t command) {
  struct slot *slot = &plan->builder->program->slots[number];
  struct lane_state *state = lane_of(plan, slot->device);
  struct bfc_chunk piece;
  const size_t align = plan->builder->request->devices->devices[slot->device]->info.align;
  const size_t bytes = align ? round_up(slot->bytes, align) : slot->bytes;
  if (!state->bfc || !bfc_alloc(state->bfc, bytes, &piece)) return false;
  slot->offset = piece.offset;
  plan->handles[number] = piece.handle;
  if (piece.offset + piece.size > state->lane.block_bytes) {
    state->lane.block_bytes = piece.offset + piece.size;
    state->lane.peak_command = command;
  }
  return true;
}

static void release(struct memory_plan *plan, int32_t number) {
  const struct slot *slot = &plan->builder->program->slots[number];
  /* The region begins at address 0. */
  const struct bfc_chunk piece = {.handle = plan->handles[number], .address = slot->offset};
  if (piece.handle >= 0) bfc_free(plan->lanes[slot->device].bfc, &piece);
}

/* Whether the command that writes `to` is the last to read `from`, so that `to` can reuse it. */
static bool can_reuse(const struct slot *from, const struct slot *to, int32_t command) {
  return from->kind == SLOT_BLOCK && from->last == command && from->first < command &&
         from->bytes == to->bytes && from->device == to->device;
}

/* Whether the slot is an input of the node or a copy of it. */
static bool is_input(const struct builder *builder, const struct node *node, int input,
                     int32_t slot) {
  const struct value *value = builder_value(builder, node->inputs[input]);
  if (value->slot == slot) return true;
  for (const struct replica *r = value->replicas; r; r = r->next)
    if (r->slot == slot) return true;
  return false;
}

/* Transfers the memory of slot `from` to slot `to`. */
static void transfer(struct memory_plan *plan, int32_t from, int32_t to) {
  struct slot *slots = plan->builder->program->slots;
  plan->handles[to] = plan->handles[from];
  plan->handles[from] = -1;
  slots[to].offset = slots[from].offset;
}

/* Runs an all-reduce in place if its input dies with it. */
static bool reuse_all_reduce_input(struct memory_plan *plan, int32_t number, int32_t index) {
  const struct program *program = plan->builder->program;
  const int32_t from = program->commands[index].from;
  if (plan->handles[from] < 0 || !can_reuse(&program->slots[from], &program->slots[number], index))
    return false;
  transfer(plan, from, number);
  return true;
}

/* Gives the output of an in-place call the memory of an input that dies with it. */
static bool reuse_input(struct memory_plan *plan, int32_t number, int32_t index) {
  const struct program *program = plan->builder->program;
  const struct plan_command *command = &program->commands[index];
  if (command->kind == COMMAND_ALL_REDUCE) return reuse_all_reduce_input(plan, number, index);
  if (command->kind != COMMAND_CALL) return false;
  const struct node *node = program->graph->nodes[command->node];
  const unsigned flags = node->schema->op->flags;
  if (!(flags & (OP_INPLACE | OP_INPLACE_FIRST))) return false;
  const struct launch *launch = &program->launches[command->launch];
  for (int a = 0; a < launch->n_args; a++) {
    const int32_t from = launch->args[a].kind == ARG_SLOT ? launch->args[a].slot : -1;
    if (from < 0 || from == number || plan->handles[from] < 0) continue;
    if (!(flags & OP_INPLACE) && !is_input(plan->builder, node, 0, from)) continue;
    if (!can_reuse(&program->slots[from], &program->slots[number], index)) continue;
    transfer(plan, from, number);
    return true;
  }
  return false;
}

static bool assign_offsets(struct memory_plan *plan) {
  const struct program *program = plan->builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    for (int32_t s = plan->events.begin[i]; s >= 0; s = plan->events.next_begin[s])
      if (!reuse_input(plan, s, i) && !allocate(plan, s, i)) return false;
    for (int32_t s = plan->events.end[i]; s >= 0; s = plan->events.next_end[s]) release(plan, s);
  }
  return true;
}

/* Finds the largest value alive at the peak, which out-of-memory errors name. */
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
  if (peak->output < 0) return; /* scratch memory has no shape */
  lane->peak_shape = *builder_value(builder, (struct edge){peak->node, peak->output})->shape;
}

static bool make_lanes(struct memory_plan *plan) {
  struct program *program = plan->builder->program;
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    struct lane_state *state = lane_of(plan, command->device);
    if (!state->bfc) return false;
    state->lane.n_calls += command->kind == COMMAND_CALL || command->kind == COMMAND_ALL_REDUCE;
  }
  program->lanes = ARENA_ARRAY(&program->arena, struct lane, program->devices->count + 1);
  for (int32_t d = 0; d < program->devices->count && program->lanes; d++) {
    if (!plan->lanes[d].bfc) continue;
    find_peak(plan->builder, &plan->lanes[d].lane);
    program->lanes[program->n_lanes++] = plan->lanes[d].lane;
  }
  return program->lanes;
}

situ_status memory_plan_assign(struct builder *builder) {
  struct program *program = builder->program;
  struct memory_plan plan = {.builder = builder};
  plan.lanes =
      ARENA_ARRAY(&builder->scratch, struct lane_state, builder->request->devices->count + 1);
  const size_t bytes = sizeof *plan.handles * ((size_t)program->n_slots + 1);
  plan.handles = arena_alloc(&builder->scratch, bytes);
  bool ok = !builder->scratch.failed && find_lifetimes(builder);
  if (ok) memset(plan.handles, 0xff, bytes);
  if (ok) ok = list_events(builder, &plan.events);
  if (ok) ok = assign_offsets(&plan);
  if (ok) ok = make_lanes(&plan);
  for (int32_t d = 0; plan.lanes && d < builder->request->devices->count; d++)
    bfc_destroy(plan.lanes[d].bfc);
  return ok ? NULL : NO_MEMORY();
}
