/* SPDX-License-Identifier: Apache-2.0
 * numerics.c: programs that are checked for NaN and infinities. Behind each call whose outputs can
 * have some stands one that counts them, on the same device (ops/math/check_numerics.h). The caller
 * looks at the counts before anything is changed that outlives the run, before host ops, and at the
 * end: so a device is kept busy, and no variable gets what a check would have refused. */
#include "plan/numerics.h"

#include "base/strbuf.h"
#include "ops/math/check_numerics.h"
#include "plan/builder.h"
#include "tensor/shape.h"

/* The slot with the counts of a device; it grows with each check. */
static situ_status counts_of(struct builder *builder, int32_t device, int32_t node, int32_t *out) {
  struct numerics *numerics = &builder->numerics;
  if (!numerics->counts)
    numerics->counts =
        ARENA_ARRAY(&builder->scratch, int32_t, builder->request->devices->count + 1);
  if (!numerics->counts) return NO_MEMORY();
  if (!numerics->counts[device]) {
    const struct slot slot = {.kind = SLOT_BLOCK, .device = device, .node = node, .output = -1};
    const int32_t number = builder_slot(builder, &slot);
    if (number < 0) return NO_MEMORY();
    numerics->counts[device] = number + 1;
  }
  *out = numerics->counts[device] - 1;
  return NULL;
}

/* What a failure will tell of a node's operands. */
static situ_status keep_operands(struct builder *builder, const struct node *node,
                                 const struct operand **out) {
  const int32_t n = node->n_inputs + node->n_outputs;
  struct operand *operands = ARENA_ARRAY(&builder->program->arena, struct operand, n + 1);
  if (!operands) return NO_MEMORY();
  values_call(builder, node, operands, operands + node->n_inputs);
  for (int32_t i = 0; i < n; i++) operands[i].value = NULL; /* the plan does not keep them */
  *out = operands;
  return NULL;
}

/* Adds the call that counts in a value; whoever reads the value comes behind it. */
static situ_status add_count(struct builder *builder, const struct node *node, struct value *value,
                             struct check *check) {
  struct program *program = builder->program;
  const int64_t elements = situ_shape_count(*value->shape);
  TRY(counts_of(builder, value->device, node->id, &check->slot));
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
  builder_wait(builder, value->command);
  value->command = check->command = builder_command(builder, &count);
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
  const struct numbers pending = builder->waits;
  builder->waits = (struct numbers){0};
  const situ_status status = add_count(builder, node, value, &check);
  builder->waits = pending;
  if (status) return status;
  builder->node_command[node->id] = check.command;
  return builder_check(builder, &check) ? NULL : NO_MEMORY();
}

/* A constant is looked at here and now. */
static situ_status check_constant(const struct builder *builder, const struct node *node) {
  const struct value *value = builder_value(builder, (struct edge){node->id, 0});
  if (value->feed >= 0 || !value->known || !check_numerics_concerns(value->type)) return NULL;
  const struct numerics_counts odd = check_numerics_count(value->known);
  if (!check_numerics_is_odd(&odd)) return NULL;
  const struct operand operand = {.type = value->type, .shape = *value->shape};
  return numerics_failure(builder->request->graph, node, 0, NULL, &operand, &odd);
}

/* Whether a node's outputs can have what its inputs have not: not where it stands for what is there
 * already, nor where it is a host op: those are looked at when they have run. */
static bool is_maker(const struct node *node) {
  const unsigned idle = OP_ALIAS | OP_VARIABLE | OP_SETS | OP_FED;
  return !(node->schema->op->flags & idle) && !builder_is_hosted(node);
}

situ_status numerics_add(struct builder *builder, const struct node *node) {
  if (node->schema->op->flags & OP_CONSTANT) return check_constant(builder, node);
  if (!is_maker(node)) return NULL;
  const struct operand *operands = NULL;
  for (int32_t i = 0; i < node->n_outputs; i++) {
    const struct value *value = builder_value(builder, (struct edge){node->id, i});
    if (value->feed >= 0 || !is_checked(value)) continue;
    if (!operands) TRY(keep_operands(builder, node, &operands));
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
    TRY(commands_settle(builder, edge));
    TRY(check_value(builder, node, edge.output, operand));
  }
  return NULL;
}

situ_status numerics_look(struct builder *builder) {
  struct numerics *numerics = &builder->numerics;
  const struct program *program = builder->program;
  if (numerics->seen == program->n_checks) return NULL;
  const struct plan_command look = {.kind = COMMAND_LOOK,
                                    .node = program->checks[numerics->seen].node,
                                    .device = builder_home(builder, 0),
                                    .from = numerics->seen,
                                    .to = program->n_checks};
  const struct numbers pending = builder->waits;
  builder->waits = (struct numbers){0};
  for (int32_t i = look.from; i < look.to; i++) builder_wait(builder, program->checks[i].command);
  builder_wait(builder, numerics->look - 1);
  numerics->look = builder_command(builder, &look) + 1;
  builder->waits = pending;
  numerics->seen = look.to;
  return numerics->look ? NULL : NO_MEMORY();
}

situ_status numerics_before(struct builder *builder, const struct node *node) {
  if (!(node->schema->op->flags & OP_UPDATES) && !builder_is_hosted(node)) return NULL;
  TRY(numerics_look(builder));
  builder_wait(builder, builder->numerics.look - 1);
  return NULL;
}

/* Failures */

static void add_operand(struct strbuf *text, const struct situ_graph *graph,
                        const struct node *node, int32_t index, const struct operand *operand) {
  char shape[SHAPE_STRING_SIZE];
  const struct edge from = node->inputs[index];
  strbuf_append(text, "Tensor(");
  if (!graph->at_once)
    strbuf_appendf(text, "\"%s:%d\", ", graph->nodes[from.node]->name, from.output);
  strbuf_appendf(text, "shape=%s, dtype=%s)\n", shape_print_python(&operand->shape, shape),
                 situ_type_numpy(operand->type));
}

static void add_inputs(struct strbuf *text, const struct situ_graph *graph, const struct node *node,
                       const struct operand *in) {
  if (!in || !node->n_inputs) return;
  if (node->n_inputs == 1)
    strbuf_append(text, "\n  Input tensor: ");
  else
    strbuf_appendf(text, "\n  Input tensors (%d):\n", node->n_inputs);
  for (int32_t i = 0; i < node->n_inputs; i++) {
    if (node->n_inputs > 1) strbuf_appendf(text, "         %d: ", i);
    add_operand(text, graph, node, i, &in[i]);
  }
}

static void add_number(struct strbuf *text, const char *what, int64_t count) {
  if (count) strbuf_appendf(text, "  # of %s elements: %lld\n", what, (long long)count);
}

situ_status numerics_failure(const struct situ_graph *graph, const struct node *node, int output,
                             const struct operand *in, const struct operand *out,
                             const struct numerics_counts *odd) {
  char shape[SHAPE_STRING_SIZE];
  struct strbuf text = {0};
  strbuf_appendf(
      &text, "!!! Detected Infinity or NaN in output %d of %s op \"%s\" (# of outputs: %d) !!!\n",
      output, graph->at_once ? "eagerly-executing" : "graph", node->schema->op->name,
      node->n_outputs);
  strbuf_appendf(&text, "  dtype: <dtype: '%s'>\n  shape: %s\n", situ_type_numpy(out->type),
                 shape_print_python(&out->shape, shape));
  add_number(&text, "-Inf", odd->lows);
  add_number(&text, "+Inf", odd->highs);
  add_number(&text, "+NaN", odd->nans);
  add_inputs(&text, graph, node, in);
  if (node->origin) strbuf_appendf(&text, "\n  Op's creation: %s\n", node->origin);
  strbuf_appendf(&text, " : Tensor had %s values", check_numerics_kinds(odd));
  const situ_status status = text.failed ? NO_MEMORY() : INVALID("%s", strbuf_get(&text));
  strbuf_free(&text);
  return status_at_node(status, node->name);
}
