/* SPDX-License-Identifier: Apache-2.0
 * plan.c: the public view of a plan: where everything goes and what it needs, before anything runs.
 */
#include <stdlib.h>
#include <string.h>

#include "api/session.h"
#include "tensor/shape.h"

struct situ_plan {
  struct arena arena;
  situ_placed *placed;
  situ_copy *copies;
  situ_need *needs;
  situ_kernel *kernels;
  uint64_t variables;
  int n_placed, n_copies, n_needs, n_kernels;
};

static const char *keep(situ_plan *plan, const char *text) {
  return arena_text(&plan->arena, text, strlen(text));
}

static situ_status show_placement(const struct situ_session *session, situ_plan *plan) {
  const struct situ_graph *graph = session->graph;
  plan->placed = ARENA_ARRAY(&plan->arena, situ_placed, graph->n_nodes + 1);
  if (!plan->placed) return NO_MEMORY();
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    struct text cause = {0};
    place_explain(&session->placement, i, &cause);
    plan->placed[i] =
        (situ_placed){.node = keep(plan, node->name),
                      .op = node->schema->op->name,
                      .requested = keep(plan, node->spec ? graph->specs[node->spec].written : ""),
                      .assigned = session->devices->devices[session->placement.device[i]]->full,
                      .cause = keep(plan, text_get(&cause))};
    text_free(&cause);
  }
  plan->n_placed = graph->n_nodes;
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

static situ_status show_copies(const struct program *program, situ_plan *plan) {
  plan->copies = ARENA_ARRAY(&plan->arena, situ_copy, program->n_commands + 1);
  if (!plan->copies) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind != COMMAND_COPY) continue;
    const struct slot *from = &program->slots[command->from], *to = &program->slots[command->to];
    plan->copies[plan->n_copies++] =
        (situ_copy){.value = keep(plan, program->graph->nodes[command->node]->name),
                    .from = program->devices->devices[from->device]->full,
                    .to = program->devices->devices[to->device]->full,
                    .bytes = command->bytes,
                    .once = command->once};
  }
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

static situ_status show_needs(const struct program *program, situ_plan *plan) {
  plan->needs = ARENA_ARRAY(&plan->arena, situ_need, program->n_lanes + 1);
  if (!plan->needs) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_lanes; i++) {
    const struct lane *lane = &program->lanes[i];
    situ_memory_info info;
    TRY(situ_device_memory_info(lane->device, &info));
    plan->needs[plan->n_needs++] =
        (situ_need){.device = program->devices->devices[lane->device]->full,
                    .peak_bytes = lane->block_bytes,
                    .limit_bytes = info.limit,
                    .kernels = lane->n_calls};
  }
  return NULL;
}

static situ_status show_kernels(const struct program *program, situ_plan *plan) {
  plan->kernels = ARENA_ARRAY(&plan->arena, situ_kernel, program->n_commands + 1);
  if (!plan->kernels) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind != COMMAND_CALL || command->once) continue;
    const struct launch *launch = &program->launches[command->launch];
    plan->kernels[plan->n_kernels++] =
        (situ_kernel){.node = keep(plan, program->graph->nodes[command->node]->name),
                      .device = program->devices->devices[command->device]->full,
                      .flops = launch->flops,
                      .bytes = launch->bytes};
  }
  for (int32_t i = 0; i < program->n_slots; i++) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind == SLOT_STATE && !slot->initial && slot->output >= 0)
      plan->variables += slot->bytes;
  }
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

/* All nodes that nobody reads: what a run without fetches would be for. */
static situ_status find_ends(const struct situ_graph *graph, struct arena *arena,
                             struct edge **fetches, int32_t *n_fetches) {
  char *read = arena_zero(arena, (size_t)graph->n_nodes + 1);
  *fetches = ARENA_ARRAY(arena, struct edge, graph->n_nodes + 1);
  if (arena->failed) return NO_MEMORY();
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; k < node->n_inputs; k++) read[node->inputs[k].node] = 1;
    for (int32_t k = 0; k < node->n_controls; k++) read[node->controls[k]] = 1;
  }
  *n_fetches = 0;
  for (int32_t i = 0; i < graph->n_nodes; i++)
    if (!read[i])
      (*fetches)[(*n_fetches)++] = (struct edge){i, graph->nodes[i]->n_outputs ? 0 : -1};
  return NULL;
}

static bool is_fed(const struct plan_feed *feeds, int32_t n, int32_t node, int32_t output) {
  for (int32_t i = 0; i < n; i++)
    if (feeds[i].edge.node == node && feeds[i].edge.output == output) return true;
  return false;
}

/* Placeholders that nobody feeds count as fed where the graph knows their shape. */
static situ_status find_feeds(const struct situ_session *session, const situ_feed *feeds,
                              int n_feeds, struct arena *arena, struct plan_request *request) {
  const struct situ_graph *graph = session->graph;
  struct plan_feed *out = ARENA_ARRAY(arena, struct plan_feed, graph->n_nodes + n_feeds + 1);
  if (!out) return NO_MEMORY();
  int32_t n = 0;
  for (int i = 0; i < n_feeds; i++) {
    TRY(session_check_feed(session, &feeds[i], i, true));
    const struct edge edge = {feeds[i].value.node, feeds[i].value.output};
    if (is_fed(out, n, edge.node, edge.output))
      return INVALID("'%s:%d' is fed twice.", graph->nodes[edge.node]->name, edge.output);
    const struct output *output = &graph->nodes[edge.node]->outputs[edge.output];
    out[n++] = (struct plan_feed){
        .edge = edge,
        .type = output->type,
        .shape = feeds[i].tensor ? situ_tensor_shape(feeds[i].tensor) : output->shape,
        .tensor = feeds[i].tensor};
  }
  const int32_t given = n;
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (!(node->schema->op->flags & OP_FED) || !shape_is_known(&node->outputs[0].shape)) continue;
    if (!is_fed(out, given, i, 0))
      out[n++] = (struct plan_feed){
          .edge = {i, 0}, .type = node->outputs[0].type, .shape = node->outputs[0].shape};
  }
  request->feeds = out;
  request->n_feeds = n;
  return NULL;
}

static situ_status find_fetches(const struct situ_session *session, const situ_value *fetches,
                                int n_fetches, struct arena *arena, struct plan_request *request) {
  struct edge *out = NULL;
  int32_t n = n_fetches;
  if (!n_fetches) {
    TRY(find_ends(session->graph, arena, &out, &n));
  } else {
    out = ARENA_ARRAY(arena, struct edge, n_fetches);
    if (!out) return NO_MEMORY();
    for (int i = 0; i < n_fetches; i++) {
      TRY(session_check_value(session, fetches[i], "Fetch", i));
      const struct node *node = session->graph->nodes[fetches[i].node];
      out[i] = (struct edge){node->id, node->n_outputs ? fetches[i].output : -1};
    }
  }
  request->fetches = out;
  request->n_fetches = n;
  return NULL;
}

static situ_status make(struct situ_session *session, const struct plan_request *request,
                        situ_plan *plan) {
  struct program *program = NULL;
  struct edge need;
  TRY(plan_make(request, &program, &need));
  situ_status status = NULL;
  if (need.node >= 0)
    status = situ_status_create(SITU_UNIMPLEMENTED,
                                "The plan depends on the value of '%s', which only a run can give: "
                                "feed it to plan with a value of your choice.",
                                request->graph->nodes[need.node]->name);
  if (!status) status = show_placement(session, plan);
  if (!status) status = show_copies(program, plan);
  if (!status) status = show_needs(program, plan);
  if (!status) status = show_kernels(program, plan);
  plan_free(program);
  return status;
}

situ_status situ_plan_create(situ_session *session, const situ_feed *feeds, int n_feeds,
                             const situ_value *fetches, int n_fetches, situ_plan **out) {
  if (!session || !out || (n_feeds && !feeds) || (n_fetches && !fetches))
    return INVALID("situ_plan_create: an argument is NULL.");
  *out = NULL;
  TRY(situ_graph_status(session->graph));
  situ_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NO_MEMORY();
  struct arena scratch = {0};
  struct plan_request request = {.graph = session->graph};
  pthread_mutex_lock(&session->lock);
  situ_status status = session_check_open(session);
  if (!status) status = session_place(session);
  request.devices = session->devices;
  request.placement = session->placement.device;
  if (!status) status = find_feeds(session, feeds, n_feeds, &scratch, &request);
  if (!status) status = find_fetches(session, fetches, n_fetches, &scratch, &request);
  if (!status) status = make(session, &request, plan);
  pthread_mutex_unlock(&session->lock);
  arena_free(&scratch);
  if (status)
    situ_plan_release(plan);
  else
    *out = plan;
  return status;
}

situ_status situ_plan_place(situ_session *session, situ_plan **out) {
  if (!session || !out) return INVALID("situ_plan_place: an argument is NULL.");
  *out = NULL;
  TRY(situ_graph_status(session->graph));
  situ_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NO_MEMORY();
  pthread_mutex_lock(&session->lock);
  situ_status status = session_check_open(session);
  if (!status) status = session_place(session);
  if (!status) status = show_placement(session, plan);
  pthread_mutex_unlock(&session->lock);
  if (status)
    situ_plan_release(plan);
  else
    *out = plan;
  return status;
}

const situ_placed *situ_plan_placed(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_placed : 0;
  return plan ? plan->placed : NULL;
}

const situ_copy *situ_plan_copies(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_copies : 0;
  return plan ? plan->copies : NULL;
}

const situ_need *situ_plan_needs(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_needs : 0;
  return plan ? plan->needs : NULL;
}

const situ_kernel *situ_plan_kernels(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_kernels : 0;
  return plan ? plan->kernels : NULL;
}

uint64_t situ_plan_variables(const situ_plan *plan) { return plan ? plan->variables : 0; }

void situ_plan_release(situ_plan *plan) {
  if (!plan) return;
  arena_free(&plan->arena);
  free(plan);
}
