/* SPDX-License-Identifier: Apache-2.0
 * plan.c: implements situ_plan: placement, copies and memory of a run that is not executed. */
#include <stdlib.h>
#include <string.h>

#include "api/initializers.h"
#include "api/peak_memory.h"
#include "api/session.h"
#include "tensor/shape.h"

struct situ_plan {
  struct arena arena;
  situ_placement *placed;
  situ_copy *copies;
  situ_memory_need *needs;
  situ_kernel *kernels;
  uint64_t variables, gradients;
  const char *uncounted;
  int n_placed, n_copies, n_needs, n_kernels;
};

static const char *copy_string(situ_plan *plan, const char *text) {
  return arena_strndup(&plan->arena, text, strlen(text));
}

static situ_status show_placement(const struct situ_session *session, situ_plan *plan) {
  const struct situ_graph *graph = session->snapshot;
  plan->placed = ARENA_ARRAY(&plan->arena, situ_placement, graph->n_nodes + 1);
  if (!plan->placed) return NO_MEMORY();
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    struct strbuf cause = {0};
    place_explain(&session->placement, i, &cause);
    plan->placed[i] = (situ_placement){
        .node = copy_string(plan, node->name),
        .op = node->schema->op->name,
        .requested = copy_string(plan, node->spec ? graph->specs[node->spec].written : ""),
        .assigned = session->devices->devices[session->placement.device[i]]->full,
        .cause = copy_string(plan, strbuf_get(&cause))};
    plan->arena.failed = plan->arena.failed || cause.failed;
    strbuf_free(&cause);
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
        (situ_copy){.value = copy_string(plan, program->graph->nodes[command->node]->name),
                    .from = program->devices->devices[from->device]->full,
                    .to = program->devices->devices[to->device]->full,
                    .bytes = command->bytes,
                    .once = command->once};
  }
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

/* The programs of a new session: the variable initializers, if the step needs them, and the step.
 * */
struct session_programs {
  struct program *programs[2];
  int n;
  situ_status failed; /* why the initializers cannot be planned; NULL: they can */
};

static const struct program *step_of(const struct session_programs *session_programs) {
  return session_programs->programs[session_programs->n - 1];
}

static const struct lane *lane_of(const struct program *program, int32_t device) {
  for (int32_t i = 0; i < program->n_lanes; i++)
    if (program->lanes[i].device == device) return &program->lanes[i];
  return NULL;
}

static situ_status show_need(const struct session_programs *session_programs, struct device *device,
                             situ_plan *plan) {
  situ_memory_info info;
  struct peak peak;
  const struct lane *lane = lane_of(step_of(session_programs), device->number);
  TRY(situ_device_memory_info(device->number, &info));
  TRY(peak_memory_find((const struct program *const *)session_programs->programs,
                       session_programs->n, device, info.limit, &peak));
  if (!lane && !peak.peak) return NULL;
  plan->needs[plan->n_needs++] = (situ_memory_need){.device = device->full,
                                                    .peak_bytes = peak.peak,
                                                    .limit_bytes = info.limit,
                                                    .kernels = lane ? lane->n_calls : 0,
                                                    .variable_bytes = peak.variables,
                                                    .step_bytes = peak.step,
                                                    .initializer_bytes = peak.earlier};
  return NULL;
}

static situ_status show_needs(const struct session_programs *session_programs, situ_plan *plan) {
  const struct device_list *devices = step_of(session_programs)->devices;
  plan->needs = ARENA_ARRAY(&plan->arena, situ_memory_need, devices->count + 1);
  if (!plan->needs) return NO_MEMORY();
  for (int i = 0; i < devices->count; i++)
    TRY(show_need(session_programs, devices->devices[i], plan));
  return NULL;
}

/* Lists what needs an amount of memory that is known only at run time, such as function bodies. */
static situ_status show_uncounted(const struct session_programs *session_programs,
                                  situ_plan *plan) {
  struct strbuf text = {0};
  int n = 0;
  for (int p = 0; p < session_programs->n; p++) {
    const struct program *program = session_programs->programs[p];
    for (int32_t i = 0; i < program->n_host_ops; i++) {
      const struct node *node = program->graph->nodes[program->host_ops[i].node];
      if (!node_calls_function(node)) continue;
      if (n < 3)
        strbuf_appendf(&text, "%s'%s' (%s)", n ? ", " : "the functions of ", node->name,
                       node->schema->op->name);
      n++;
    }
  }
  if (n > 3) strbuf_appendf(&text, " and %d more", n - 3);
  if (session_programs->failed)
    strbuf_appendf(&text, "%sthe initializers of the variables (%s)", n ? ", and " : "",
                   situ_status_message(session_programs->failed));
  if (text.length) plan->uncounted = copy_string(plan, strbuf_get(&text));
  strbuf_free(&text);
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

static situ_status show_kernels(const struct program *program, situ_plan *plan) {
  plan->kernels = ARENA_ARRAY(&plan->arena, situ_kernel, program->n_commands + 1);
  if (!plan->kernels) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_commands; i++) {
    const struct plan_command *command = &program->commands[i];
    if (command->kind != COMMAND_CALL || command->once) continue;
    const struct launch *launch = &program->launches[command->launch];
    plan->kernels[plan->n_kernels++] =
        (situ_kernel){.node = copy_string(plan, program->graph->nodes[command->node]->name),
                      .device = program->devices->devices[command->device]->full,
                      .flops = launch->flops,
                      .bytes = launch->bytes};
  }
  for (int32_t i = 0; i < program->n_slots; i++) {
    const struct slot *slot = &program->slots[i];
    if (slot->kind == SLOT_STATE && !slot->initial && slot->output >= 0)
      plan->variables += slot->bytes;
  }
  for (int32_t i = 0; i < program->n_gradients; i++) plan->gradients += program->gradients[i].bytes;
  return plan->arena.failed ? NO_MEMORY() : NULL;
}

static bool is_fed(const struct plan_feed *feeds, int32_t n, int32_t node, int32_t output) {
  for (int32_t i = 0; i < n; i++)
    if (feeds[i].edge.node == node && feeds[i].edge.output == output) return true;
  return false;
}

/* Placeholders that are not fed count as fed if their static shape is known. */
static situ_status find_feeds(const struct situ_session *session, const situ_feed *feeds,
                              int n_feeds, struct arena *arena, struct plan_request *request) {
  const struct situ_graph *graph = session->snapshot;
  struct plan_feed *out = ARENA_ARRAY(arena, struct plan_feed, graph->n_nodes + n_feeds + 1);
  if (!out) return NO_MEMORY();
  int32_t n = 0;
  for (int i = 0; i < n_feeds; i++) {
    TRY(session_check_feed(session, graph, &feeds[i], i, true));
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
    out = ARENA_ARRAY(arena, struct edge, session->snapshot->n_nodes + 1);
    if (!out) return NO_MEMORY();
    TRY(initializers_find_sinks(session->snapshot, arena, out, &n));
  } else {
    out = ARENA_ARRAY(arena, struct edge, n_fetches);
    if (!out) return NO_MEMORY();
    for (int i = 0; i < n_fetches; i++) {
      TRY(session_check_value(session, session->snapshot, fetches[i], "Fetch", i));
      const struct node *node = session->snapshot->nodes[fetches[i].node];
      out[i] = (struct edge){node->id, node->n_outputs ? fetches[i].output : -1};
    }
  }
  request->fetches = out;
  request->n_fetches = n;
  return NULL;
}

static bool needs_variables(const struct program *program) {
  for (int32_t i = 0; i < program->n_slots; i++)
    if (program->slots[i].kind == SLOT_STATE && program->slots[i].read_before_write) return true;
  return false;
}

static situ_status plan_program(const struct plan_request *request, struct program **out) {
  struct edge need;
  TRY(plan_compile(request, out, &need));
  if (need.node < 0) return NULL;
  return situ_status_create(
      SITU_UNIMPLEMENTED,
      "The plan depends on the value of '%s', which is known only at run time: "
      "feed it to plan with a value of your choice.",
      request->graph->nodes[need.node]->name);
}

/* Plans one run of all variable initializers, like tf.global_variables_initializer. If that fails,
 * their memory is unknown. */
static situ_status plan_initializers(const struct plan_request *step, struct arena *scratch,
                                     struct session_programs *out) {
  struct plan_request request = *step;
  struct edge *fetches = ARENA_ARRAY(scratch, struct edge, step->graph->n_nodes + 1);
  if (!fetches) return NO_MEMORY();
  TRY(initializers_find(step->graph, scratch, fetches, &request.n_fetches));
  request.fetches = fetches;
  if (!request.n_fetches) return NULL;
  struct program *program = NULL;
  out->failed = plan_program(&request, &program);
  if (out->failed) {
    plan_free(program);
    return NULL;
  }
  out->programs[1] = out->programs[0];
  out->programs[0] = program;
  out->n = 2;
  return NULL;
}

static situ_status create_plan(struct situ_session *session, const struct plan_request *request,
                               struct arena *scratch, situ_plan *plan) {
  struct session_programs session_programs = {.n = 1};
  situ_status status = plan_program(request, &session_programs.programs[0]);
  if (!status && needs_variables(session_programs.programs[0]))
    status = plan_initializers(request, scratch, &session_programs);
  const struct program *step = step_of(&session_programs);
  if (!status) status = show_placement(session, plan);
  if (!status) status = show_copies(step, plan);
  if (!status) status = show_needs(&session_programs, plan);
  if (!status) status = show_kernels(step, plan);
  if (!status) status = show_uncounted(&session_programs, plan);
  for (int i = 0; i < session_programs.n; i++) plan_free(session_programs.programs[i]);
  situ_status_release(session_programs.failed);
  return status;
}

situ_status situ_plan_create(situ_session *session, const situ_feed *feeds, int n_feeds,
                             const situ_value *fetches, int n_fetches, situ_plan **out) {
  if (!session || !out || (n_feeds && !feeds) || (n_fetches && !fetches))
    return INVALID("situ_plan_create: an argument is NULL.");
  *out = NULL;
  situ_plan *plan = calloc(1, sizeof *plan);
  if (!plan) return NO_MEMORY();
  struct arena scratch = {0};
  struct plan_request request = {.gradients = true};
  pthread_mutex_lock(&session->lock);
  situ_status status = session_check_open(session);
  if (!status) status = session_place(session);
  request.graph = session->snapshot;
  request.devices = session->devices;
  request.placement = session->placement.device;
  if (!status) status = find_feeds(session, feeds, n_feeds, &scratch, &request);
  if (!status) status = find_fetches(session, fetches, n_fetches, &scratch, &request);
  if (!status) status = create_plan(session, &request, &scratch, plan);
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

const situ_placement *situ_plan_placements(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_placed : 0;
  return plan ? plan->placed : NULL;
}

const situ_copy *situ_plan_copies(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_copies : 0;
  return plan ? plan->copies : NULL;
}

const situ_memory_need *situ_plan_memory(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_needs : 0;
  return plan ? plan->needs : NULL;
}

const situ_kernel *situ_plan_kernels(const situ_plan *plan, int *count) {
  *count = plan ? plan->n_kernels : 0;
  return plan ? plan->kernels : NULL;
}

uint64_t situ_plan_variable_bytes(const situ_plan *plan) { return plan ? plan->variables : 0; }

uint64_t situ_plan_gradient_bytes(const situ_plan *plan) { return plan ? plan->gradients : 0; }

const char *situ_plan_uncounted(const situ_plan *plan) { return plan ? plan->uncounted : NULL; }

void situ_plan_release(situ_plan *plan) {
  if (!plan) return;
  arena_free(&plan->arena);
  free(plan);
}
