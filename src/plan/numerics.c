/* SPDX-License-Identifier: Apache-2.0
 * numerics.c: adds numeric checks to a program. After each call that can produce NaN or infinities,
 * a kernel on the same device counts them (ops/math/check_numerics.h). The host reads the counters
 * only before side effects (variable updates, host ops) and at the end, so that devices stay busy
 * and no variable is assigned a value that fails a check. */
#include "plan/numerics.h"

#include "base/strbuf.h"
#include "ops/math/check_numerics.h"
#include "plan/builder.h"
#include "tensor/shape.h"

/* The slot with the counters of a device; it grows with each check. */
static situ_status get_counters(struct builder *builder, int32_t device, int32_t node,
                                int32_t *out) {
  struct numerics *numerics = &builder->numerics;
  if (!numerics->counts)
    numerics->counts =
        ARENA_ARRAY(&builder->scratch, int32_t, builder->request->devices->count + 1);
  if (!numerics->counts) return NO_MEMORY();
  if (!numerics->counts[device]) {
    const struct slot slot = {.kind = SLOT_BLOCK, .device = device, .node = node, .output = -1};
    const int32_t number = builder_add_slot(builder, &slot);
    if (number < 0) return NO_MEMORY();
    numerics->counts[device] = number + 1;
  }
  *out = numerics->counts[device] - 1;
  return NULL;
}

/* Saves types and shapes of a node's operands for the error message. */
static situ_status save_operands(struct builder *builder, const struct node *node,
                                 const struct operand **out) {
  const int32_t n = node->n_inputs + node->n_outputs;
  struct operand *operands = ARENA_ARRAY(&builder->program->arena, struct operand, n + 1);
  if (!operands) return NO_MEMORY();
  values_make_call(builder, node, operands, operands + node->n_inputs);
  for (int32_t i = 0; i < n; i++) operands[i].value = NULL; /* freed when planning ends */
  *out = operands;
  return NULL;
}

/* Adds the call that counts in a value. Readers of the value wait for it. */
static situ_status add_count(struct builder *builder, const struct node *node, struct value *value,
                             struct check *check) {
  struct program *program = builder->program;
  const int64_t elements = situ_shape_count(*value->shape);
  TRY(get_counters(builder, value->device, node->id, &check->slot));
  check->first = (int64_t)(program->slots[check->slot].bytes / sizeof(int32_t));
  check->pieces = check_numerics_pieces(elements);
  program->slots[check->slot].bytes += sizeof(int32_t[3]) * (size_t)check->pieces;
  struct recorder recorder = {.arena = &builder->scratch};
  struct call call = {.node = node->name, .to = &recorder};
  struct plan_command count = {.kind = COMMAND_CALL,
                               .node = node->id,
                               .device = value->device,
                               .queue = QUEUE_COMPUTE,
                               .once = value->constant};
  TRY(check_numerics_record(&call, value->type, elements, 0, 1, check->first));
  TRY(record_launch(builder, recorder.launches, node, (int32_t[]){value->slot, check->slot},
                    &count.launch));
  builder_add_wait(builder, value->command);
  value->command = check->command = builder_add_command(builder, &count);
  return check->command < 0 ? NO_MEMORY() : NULL;
}

static bool is_checked(const struct value *value) {
  return value->slot >= 0 && check_numerics_concerns(value->type) && shape_is_known(value->shape) &&
         situ_shape_count(*value->shape) > 0;
}

static situ_status check_value(struct builder *builder, const struct node *node, int32_t output,
                               const struct operand *operands) {
  struct check check = {.node = node->id, .output = output, .operands = operands};
  struct value *value = builder_value(builder, (struct edge){node->id, output});
  if (!is_checked(value)) return NULL;
  const struct index_list pending = builder->waits;
  builder->waits = (struct index_list){0};
  const situ_status status = add_count(builder, node, value, &check);
  builder->waits = pending;
  if (status) return status;
  builder->node_command[node->id] = check.command;
  return builder_add_check(builder, &check) ? NULL : NO_MEMORY();
}

/* Constants are checked at planning time. */
static situ_status check_constant(const struct builder *builder, const struct node *node) {
  const struct value *value = builder_value(builder, (struct edge){node->id, 0});
  if (value->feed >= 0 || !value->static_value || !check_numerics_concerns(value->type))
    return NULL;
  const struct numerics_counts counts = check_numerics_count(value->static_value);
  if (!check_numerics_is_odd(&counts)) return NULL;
  const struct operand operand = {.type = value->type, .shape = *value->shape};
  return numerics_failure(builder->request->graph, node, 0, NULL, &operand, &counts);
}

/* Whether a node computes new values on a device. The outputs of host ops are checked when they
 * have run. */
static bool computes(const struct node *node) {
  const unsigned passive = OP_ALIAS | OP_VARIABLE | OP_SETS | OP_FED;
  return !(node->schema->op->flags & passive) && !builder_is_host_op(node);
}

situ_status numerics_add(struct builder *builder, const struct node *node) {
  if (node->schema->op->flags & OP_CONSTANT) return check_constant(builder, node);
  if (!computes(node)) return NULL;
  const struct operand *operands = NULL;
  for (int32_t i = 0; i < node->n_outputs; i++) {
    const struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0 || !is_checked(value)) continue;
    if (!operands) TRY(save_operands(builder, node, &operands));
    TRY(check_value(builder, node, i, operands));
  }
  return NULL;
}

situ_status numerics_add_feeds(struct builder *builder) {
  const struct plan_request *request = builder->request;
  for (int32_t i = 0; i < request->n_feeds; i++) {
    const struct edge edge = request->feeds[i].edge;
    const struct node *node = request->graph->nodes[edge.node];
    if (!(node->schema->op->flags & OP_FED) || !check_numerics_concerns(request->feeds[i].type))
      continue;
    struct operand *operand = ARENA_ARRAY(&builder->program->arena, struct operand, 1);
    if (!operand) return NO_MEMORY();
    *operand = (struct operand){.type = request->feeds[i].type, .shape = request->feeds[i].shape};
    TRY(commands_assign_slot(builder, edge));
    TRY(check_value(builder, node, edge.output, operand));
  }
  return NULL;
}

situ_status numerics_add_check(struct builder *builder) {
  struct numerics *numerics = &builder->numerics;
  const struct program *program = builder->program;
  if (numerics->n_checked == program->n_checks) return NULL;
  const struct plan_command check = {.kind = COMMAND_CHECK_NUMERICS,
                                     .node = program->checks[numerics->n_checked].node,
                                     .device = builder_memory_device(builder, 0),
                                     .from = numerics->n_checked,
                                     .to = program->n_checks};
  const struct index_list pending = builder->waits;
  builder->waits = (struct index_list){0};
  for (int32_t i = check.from; i < check.to; i++)
    builder_add_wait(builder, program->checks[i].command);
  builder_add_wait(builder, numerics->last_check - 1);
  numerics->last_check = builder_add_command(builder, &check) + 1;
  builder->waits = pending;
  numerics->n_checked = check.to;
  return numerics->last_check ? NULL : NO_MEMORY();
}

situ_status numerics_add_check_before(struct builder *builder, const struct node *node) {
  if (!(node->schema->op->flags & OP_UPDATES) && !builder_is_host_op(node)) return NULL;
  TRY(numerics_add_check(builder));
  builder_add_wait(builder, builder->numerics.last_check - 1);
  return NULL;
}

/* ---- The error message ---- */

static void add_operand(struct strbuf *message, const struct situ_graph *graph,
                        const struct node *node, int32_t index, const struct operand *operand) {
  char shape[SHAPE_STRING_SIZE];
  const struct edge from = node->inputs[index];
  strbuf_append(message, "Tensor(");
  if (!graph->is_eager)
    strbuf_appendf(message, "\"%s:%d\", ", graph->nodes[from.node]->name, from.output);
  strbuf_appendf(message, "shape=%s, dtype=%s)\n", shape_print_python(&operand->shape, shape),
                 situ_type_numpy(operand->type));
}

static void add_inputs(struct strbuf *message, const struct situ_graph *graph,
                       const struct node *node, const struct operand *in) {
  if (!in || !node->n_inputs) return;
  if (node->n_inputs == 1)
    strbuf_append(message, "\n  Input tensor: ");
  else
    strbuf_appendf(message, "\n  Input tensors (%d):\n", node->n_inputs);
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (node->n_inputs > 1) strbuf_appendf(message, "         %d: ", i);
    add_operand(message, graph, node, i, &in[i]);
  }
}

static void add_counter(struct strbuf *message, const char *kind, int64_t count) {
  if (count) strbuf_appendf(message, "  # of %s elements: %lld\n", kind, (long long)count);
}

situ_status numerics_failure(const struct situ_graph *graph, const struct node *node, int output,
                             const struct operand *in, const struct operand *out,
                             const struct numerics_counts *counts) {
  char shape[SHAPE_STRING_SIZE];
  struct strbuf message = {0};
  strbuf_appendf(
      &message,
      "!!! Detected Infinity or NaN in output %d of %s op \"%s\" (# of outputs: %d) !!!\n", output,
      graph->is_eager ? "eagerly-executing" : "graph", node->schema->op->name, node->n_outputs);
  strbuf_appendf(&message, "  dtype: <dtype: '%s'>\n  shape: %s\n", situ_type_numpy(out->type),
                 shape_print_python(&out->shape, shape));
  add_counter(&message, "-Inf", counts->lows);
  add_counter(&message, "+Inf", counts->highs);
  add_counter(&message, "+NaN", counts->nans);
  add_inputs(&message, graph, node, in);
  if (node->origin) strbuf_appendf(&message, "\n  Op's creation: %s\n", node->origin);
  strbuf_appendf(&message, " : Tensor had %s values", check_numerics_kinds(counts));
  const situ_status status = message.failed ? NO_MEMORY() : INVALID("%s", strbuf_get(&message));
  strbuf_free(&message);
  return status_at_node(status, node->name);
}
