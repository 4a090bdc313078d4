/* SPDX-License-Identifier: Apache-2.0
 * plan.c: runs the passes of the planner, and grows the arrays of the program. */
#include "plan/plan.h"

#include <stdlib.h>
#include <string.h>

#include "plan/builder.h"

/* Doubles an array if it is full. The old array stays in the arena. NULL when memory runs out. */
static void *grow(struct arena *arena, void *items, int32_t count, int32_t *capacity, size_t size) {
  if (count < *capacity) return items;
  const int32_t more = *capacity ? *capacity * 2 : 64;
  char *moved = arena_alloc(arena, size * (size_t)more);
  if (!moved) return NULL;
  if (count) memcpy(moved, items, size * (size_t)count);
  *capacity = more;
  return moved;
}

int32_t builder_add_slot(struct builder *builder, const struct slot *slot) {
  struct program *program = builder->program;
  struct slot *slots = grow(&program->arena, program->slots, program->n_slots,
                            &builder->slot_capacity, sizeof *slots);
  if (!slots) return -1;
  program->slots = slots;
  slots[program->n_slots] = *slot;
  slots[program->n_slots].first = slots[program->n_slots].first_rebinding = -1;
  program->n_states += slot->kind == SLOT_STATE;
  return program->n_slots++;
}

bool builder_add_rebinding(struct builder *builder, int32_t command, int32_t arg, int32_t slot) {
  struct program *program = builder->program;
  struct rebinding *rebindings = grow(&program->arena, program->rebindings, program->n_rebindings,
                                      &builder->rebinding_capacity, sizeof *rebindings);
  if (!rebindings) return false;
  program->rebindings = rebindings;
  rebindings[program->n_rebindings] =
      (struct rebinding){command, arg, program->slots[slot].first_rebinding};
  program->slots[slot].first_rebinding = program->n_rebindings++;
  return true;
}

void builder_add_wait(struct builder *builder, int32_t command) {
  struct index_list *waits = &builder->waits;
  if (command < 0 || builder->one_queue) return;
  /* Duplicates are usually adjacent (x + x); others are harmless. */
  for (int32_t i = waits->count - 1; i >= 0 && i >= waits->count - 4; i--)
    if (waits->items[i] == command) return;
  int32_t *items =
      grow(&builder->scratch, waits->items, waits->count, &waits->capacity, sizeof *items);
  if (!items) return; /* scratch.failed is set */
  waits->items = items;
  items[waits->count++] = command;
}

int32_t builder_add_command(struct builder *builder, const struct plan_command *command) {
  struct program *program = builder->program;
  struct plan_command *commands = grow(&program->arena, program->commands, program->n_commands,
                                       &builder->command_capacity, sizeof *commands);
  const int32_t n = builder->waits.count;
  int32_t *waits = n ? arena_alloc(&program->arena, sizeof *waits * (size_t)n) : NULL;
  if (!commands || (n && !waits)) return -1;
  if (n) memcpy(waits, builder->waits.items, sizeof *waits * (size_t)n);
  builder->waits.count = 0;
  program->commands = commands;
  commands[program->n_commands] = *command;
  commands[program->n_commands].waits = waits;
  commands[program->n_commands].n_waits = n;
  return program->n_commands++;
}

int32_t builder_add_host_op(struct builder *builder, const struct host_op *host_op) {
  struct program *program = builder->program;
  struct host_op *host_ops = grow(&program->arena, program->host_ops, program->n_host_ops,
                                  &builder->host_op_capacity, sizeof *host_ops);
  if (!host_ops) return -1;
  program->host_ops = host_ops;
  host_ops[program->n_host_ops] = *host_op;
  host_ops[program->n_host_ops].first_view = program->n_views;
  program->n_views += host_op->n_in;
  return program->n_host_ops++;
}

bool builder_add_check(struct builder *builder, const struct check *check) {
  struct program *program = builder->program;
  struct check *checks = grow(&program->arena, program->checks, program->n_checks,
                              &builder->check_capacity, sizeof *checks);
  if (!checks) return false;
  program->checks = checks;
  checks[program->n_checks++] = *check;
  return true;
}

int32_t builder_add_all_reduce(struct builder *builder, const struct all_reduce *all_reduce) {
  struct program *program = builder->program;
  struct all_reduce *all_reduces =
      grow(&program->arena, program->all_reduces, program->n_all_reduces,
           &builder->all_reduce_capacity, sizeof *all_reduces);
  if (!all_reduces) return -1;
  program->all_reduces = all_reduces;
  all_reduces[program->n_all_reduces] = *all_reduce;
  return program->n_all_reduces++;
}

struct launch *builder_add_launch(struct builder *builder) {
  struct program *program = builder->program;
  struct launch *launches = grow(&program->arena, program->launches, program->n_launches,
                                 &builder->launch_capacity, sizeof *launches);
  if (!launches) return NULL;
  program->launches = launches;
  return &launches[program->n_launches++];
}

/* Allocates the arrays with the capacity that most graphs need, and finds out whether one queue
 * executes everything. */
static situ_status reserve(struct builder *builder) {
  const struct plan_request *request = builder->request;
  struct program *program = builder->program;
  int32_t n_live = 0, n_calls = 0;
  builder->one_queue = true;
  for (int32_t i = 0; i < request->graph->n_nodes; i++) {
    if (!builder->live[i]) continue;
    n_live++;
    if (builder_memory_device(builder, request->placement[i])) builder->one_queue = false;
    const struct op_def *op = request->graph->nodes[i]->schema->op;
    if (op->flags & OP_CALLS) n_calls++;
    if (op->flags & OP_BLOCKS || n_calls > 1) builder->one_queue = false;
    if (op->forward_op) TRY(saved_results_find_producer(builder, request->graph->nodes[i]));
  }
  for (int32_t i = 0; i < request->n_feeds; i++)
    if (builder_memory_device(builder, request->feeds[i].device)) builder->one_queue = false;
  builder->slot_capacity = builder->n_values + request->n_fetches + 16;
  builder->command_capacity = builder->launch_capacity = n_live + 16;
  program->slots =
      arena_alloc(&program->arena, sizeof(struct slot) * (size_t)builder->slot_capacity);
  program->commands =
      arena_alloc(&program->arena, sizeof(struct plan_command) * (size_t)builder->command_capacity);
  program->launches =
      arena_alloc(&program->arena, sizeof(struct launch) * (size_t)builder->launch_capacity);
  builder->recordings = ARENA_ARRAY(&builder->scratch, struct recording, schema_count());
  return program->arena.failed || builder->scratch.failed ? NO_MEMORY() : NULL;
}

static situ_status begin(struct builder *builder) {
  static _Atomic uint64_t last_id;
  const struct plan_request *request = builder->request;
  struct program *program = builder->program;
  program->id = ++last_id;
  program->graph = request->graph;
  program->devices = request->devices;
  program->keep_on_device = request->keep_on_device;
  program->check_numerics = request->check_numerics;
  program->n_feeds = request->n_feeds;
  program->n_fetches = program->n_requested = request->n_fetches;
  program->previous_id = request->previous ? request->previous->id : 0;
  program->feeds = ARENA_ARRAY(&program->arena, struct feed, request->n_feeds + 1);
  program->fetches = ARENA_ARRAY(&program->arena, struct fetch, request->n_fetches + 1);
  if (program->arena.failed) return NO_MEMORY();
  for (int32_t i = 0; i < request->n_feeds; i++)
    program->feeds[i] = (struct feed){.edge = request->feeds[i].edge,
                                      .slot = -1,
                                      .device = request->feeds[i].device,
                                      .donate = request->feeds[i].donate,
                                      .type = request->feeds[i].type,
                                      .shape = request->feeds[i].shape};
  for (int32_t i = 0; i < request->n_fetches; i++)
    program->fetches[i] = (struct fetch){
        .edge = request->fetches[i],
        .fetched_earlier = request->previous && (request->previous->fetches[i].fetched_earlier ||
                                                 !request->previous->fetches[i].deferred),
        .slot = -1,
        .donated_feed = -1};
  builder->missing.node = -1;
  TRY(prune_mark_live(builder));
  return reserve(builder);
}

static situ_status add_node(struct builder *builder, const struct node *node) {
  const bool check_numerics = builder->request->check_numerics;
  if (check_numerics) TRY(numerics_add_check_before(builder, node));
  TRY(commands_add(builder, node));
  return check_numerics ? numerics_add(builder, node) : NULL;
}

/* Infers the shapes of a node. If that fails after an assertion, the assertion runs first: its
 * error takes precedence, as in TensorFlow. */
static situ_status infer_or_defer(struct builder *builder, const struct node *node) {
  const situ_status status = values_infer(builder, node);
  if (!status || !continuation_follows_effect(builder, node)) return status;
  situ_status_release(status);
  builder->is_blocked = true;
  if (builder->missing.node < 0) builder->missing = (struct edge){node->id, 0};
  return NULL;
}

static situ_status add_nodes(struct builder *builder) {
  const struct situ_graph *graph = builder->request->graph;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (!builder->live[i]) continue;
    if (builder->live[i] == LIVE_REFERENCE) {
      prune_bind_reference(builder, node);
      continue;
    }
    builder->is_blocked = false;
    if (builder->missing.node >= 0 && continuation_is_deferred(builder, node)) {
      builder->deferred[i] = 1;
      continue;
    }
    TRY(infer_or_defer(builder, node));
    builder->deferred[i] = builder->is_blocked;
    if (!builder->is_blocked) TRY(add_node(builder, node));
  }
  return builder->scratch.failed || builder->program->arena.failed ? NO_MEMORY() : NULL;
}

static situ_status finish(struct builder *builder) {
  if (builder->missing.node >= 0) TRY(continuation_collect(builder));
  if (builder->request->gradients) TRY(variable_gradients_find(builder));
  TRY(commands_add_fetches(builder));
  TRY(numerics_add_check(builder));
  TRY(copy_on_write_add_waits(builder));
  TRY(buffer_donation_find(builder));
  TRY(order_commands(builder));
  TRY(memory_plan_assign(builder));
  return builder->scratch.failed || builder->program->arena.failed ? NO_MEMORY() : NULL;
}

situ_status plan_compile(const struct plan_request *request, struct program **out,
                         struct edge *missing) {
  *out = NULL;
  struct builder builder = {.request = request, .program = calloc(1, sizeof *builder.program)};
  if (!builder.program) return NO_MEMORY();
  situ_status status = begin(&builder);
  if (!status && request->check_feeds) status = numerics_add_feeds(&builder);
  if (!status) status = add_nodes(&builder);
  if (!status) status = finish(&builder);
  *missing = builder.missing;
  for (int32_t i = 0; i < builder.n_owned; i++) situ_tensor_release(builder.owned[i]);
  arena_free(&builder.scratch);
  if (status)
    plan_free(builder.program);
  else
    *out = builder.program;
  return status;
}

void plan_free(struct program *program) {
  if (!program) return;
  arena_free(&program->arena);
  free(program);
}
