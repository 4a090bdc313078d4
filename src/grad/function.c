/* SPDX-License-Identifier: Apache-2.0
 * function.c: builds the gradient of a function of a graph.
 *
 * The gradient's nodes are added to the function's own graph. Forward values that they read are not
 * recomputed: a run of the function saves them on a tape, and a run of the gradient is fed with
 * them. */
#include "grad/function.h"

#include <stdio.h>
#include <string.h>

#include "graph/build.h"
#include "graph/variable.h"
#include "ops/gradient.h"
#include "ops/state/variable_ops.h"
#include "ops/control/function_tape.h"

/* ---- Dependence of outputs on inputs ---- */

static bool is_differentiable(const struct situ_graph *graph, const char *reached,
                              struct edge edge) {
  return reached[edge.node] && gradient_is_real(variable_value(graph, edge).type);
}

static void propagate(const struct situ_graph *graph, char *reached) {
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (reached[i] || node->schema->op->flags & OP_NO_GRADIENT) continue;
    for (int32_t k = 0; k < node->n_inputs && !reached[i]; k++)
      reached[i] = is_differentiable(graph, reached, node->inputs[k]);
  }
}

situ_status function_propagate(const struct function *function, const bool *in, bool *out) {
  const struct situ_graph *graph = NULL;
  struct arena arena = {0};
  TRY(graph_snapshot(function->graph, &graph));
  char *reached = arena_zero(&arena, (size_t)graph->n_nodes + 1);
  if (!reached) return NO_MEMORY();
  for (int i = 0; i < function->n_inputs; i++)
    if (in[i]) reached[function->inputs[i].node] = 1;
  propagate(graph, reached);
  for (int i = 0; i < function->n_outputs; i++)
    out[i] = is_differentiable(
        graph, reached, (struct edge){function->outputs[i].node, function->outputs[i].output});
  arena_free(&arena);
  return NULL;
}

/* ---- Building the gradient ---- */

struct builder {
  struct arena arena;
  situ_graph *graph;
  const struct function *function;
  const struct gradient_request *request;
  int32_t first; /* first node of the gradient */
  int n_ys, n_xs, n_read;
  int n_pulled;    /* the first xs: inputs of the function that come from a tape */
  situ_value list; /* input: list of the gradients of the taped values */
  situ_value *ys, *dys, *xs, *dxs;
  int *numbers;     /* indices of the pulled xs on their tape */
  situ_value *read; /* forward values that the gradient reads */
  int *taped;       /* their indices on the function's tape */
};

static void add_y(struct builder *builder, situ_value y, situ_value dy) {
  builder->ys[builder->n_ys] = y;
  builder->dys[builder->n_ys++] = dy;
}

/* Collects the ys: outputs of the function, and taped values whose gradients are passed in. */
static void collect_ys(struct builder *builder) {
  const struct function *function = builder->function;
  for (int i = 0; i < function->n_outputs; i++) {
    const situ_value y = function->outputs[i];
    const struct output of = variable_value(builder->graph, (struct edge){y.node, y.output});
    if (builder->request->has_dy[i])
      add_y(builder, y, situ_placeholder(builder->graph, "gradients/dy", of.type, of.shape));
  }
  if (!builder->request->tape_has_dy) return;
  builder->list = situ_placeholder(builder->graph, "gradients/dtape", SITU_VARIANT, SITU_SCALAR);
  for (int i = 0; i < function->n_pulled; i++) {
    const struct function_saved *saved = function->saved;
    const situ_value y = saved->values[function->pulled[i]];
    add_y(builder, y, function_tape_item(builder->graph, builder->list, y, function->pulled[i]));
  }
}

/* Collects the xs: inputs of the function whose gradients are requested. */
static void collect_xs(struct builder *builder) {
  const struct function *function = builder->function;
  for (int i = 0; i < function->n_taped && builder->request->tape_requested; i++) {
    if (!gradient_is_real(function->types[i])) continue;
    builder->numbers[builder->n_xs] = function->taped[i];
    builder->xs[builder->n_xs++] = function->inputs[i];
  }
  builder->n_pulled = builder->n_xs;
  for (int i = function->n_taped; i < function->n_inputs; i++)
    if (builder->request->requested[i - function->n_taped])
      builder->xs[builder->n_xs++] = function->inputs[i];
}

static situ_status begin(const struct function *function, const struct gradient_request *request,
                         struct builder *builder) {
  const int n_ys = function->n_outputs + function->n_pulled;
  builder->function = function;
  builder->request = request;
  builder->graph = function->graph;
  builder->ys = ARENA_ARRAY(&builder->arena, situ_value, n_ys + 1);
  builder->dys = ARENA_ARRAY(&builder->arena, situ_value, n_ys + 1);
  builder->xs = ARENA_ARRAY(&builder->arena, situ_value, function->n_inputs + 1);
  builder->dxs = ARENA_ARRAY(&builder->arena, situ_value, function->n_inputs + 1);
  builder->numbers = ARENA_ARRAY(&builder->arena, int, function->n_inputs + 1);
  if (builder->arena.failed) return NO_MEMORY();
  builder->first = graph_count(function->graph);
  collect_ys(builder);
  collect_xs(builder);
  return situ_graph_take_error(function->graph);
}

static situ_value zeros_like(situ_graph *graph, situ_value x) {
  const struct node *variable = variable_of(graph, (struct edge){x.node, x.output});
  if (variable) x = variable_read(graph, x, variable_type(variable), "gradients/read");
  return function_tape_zeros(graph, x);
}

/* Computes the gradients. Inputs from a tape are leaves: they stop the backward pass. */
static situ_status differentiate(struct builder *builder, const situ_gradient_options *options) {
  const situ_gradient_options inside = {.stop = builder->xs,
                                        .n_stop = builder->n_pulled,
                                        .overrides = options->overrides,
                                        .n_overrides = options->n_overrides};
  TRY(situ_gradients(builder->graph, builder->ys, builder->n_ys, builder->xs, builder->n_xs,
                     builder->dys, &inside, builder->dxs));
  for (int i = builder->n_pulled; i < builder->n_xs; i++)
    if (builder->dxs[i].node < 0) builder->dxs[i] = zeros_like(builder->graph, builder->xs[i]);
  return situ_graph_take_error(builder->graph);
}

/* Adds taped values whose gradients are computed to of->pulled. */
static situ_status add_pulled(situ_graph *owner, struct function *of, const int64_t *numbers,
                              int count) {
  GRAPH_GUARD(owner);
  int *pulled = ARENA_ARRAY(&owner->arena, int, of->n_pulled + count + 1);
  if (!pulled) return NO_MEMORY();
  int n = of->n_pulled;
  if (n) memcpy(pulled, of->pulled, sizeof *pulled * (size_t)n);
  for (int i = 0; i < count; i++) {
    int at = 0;
    while (at < n && pulled[at] != (int)numbers[i]) at++;
    if (at == n) pulled[n++] = (int)numbers[i];
  }
  of->pulled = pulled;
  of->n_pulled = n;
  return NULL;
}

/* Packs the gradients of inputs from a tape into a list, which is the first output. */
static situ_status pack_pulled(situ_graph *owner, struct function *of, struct builder *builder) {
  if (!builder->request->tape_requested) return NULL;
  int64_t *numbers = ARENA_ARRAY(&builder->arena, int64_t, builder->n_pulled + 1);
  int64_t *types = ARENA_ARRAY(&builder->arena, int64_t, builder->n_pulled + 1);
  situ_value *values = ARENA_ARRAY(&builder->arena, situ_value, builder->n_xs + 2);
  int n = 0;
  if (builder->arena.failed || !of)
    return of ? NO_MEMORY() : INTERNAL("The function of the tape does not exist.");
  for (int i = 0; i < builder->n_pulled; i++) {
    if (builder->dxs[i].node < 0) continue;
    numbers[n] = builder->numbers[i];
    types[n] = situ_value_type(builder->dxs[i]);
    values[n++] = builder->dxs[i];
  }
  const situ_value list = function_tape_pack(builder->graph, values, types, numbers, n);
  TRY(situ_graph_take_error(builder->graph));
  TRY(add_pulled(owner, of, numbers, n));
  values[0] = list;
  for (int i = builder->n_pulled; i < builder->n_xs; i++)
    values[1 + i - builder->n_pulled] = builder->dxs[i];
  builder->dxs = values;
  builder->n_xs += 1 - builder->n_pulled;
  return NULL;
}

/* Marks the nodes that depend on constants only: the gradient recomputes those. */
static void mark_constants(const struct builder *builder, const struct situ_graph *graph,
                           char *constant) {
  for (int32_t i = 0; i < builder->first; i++) {
    const struct node *node = graph->nodes[i];
    const struct op_def *op = node->schema->op;
    constant[i] = op->flags & OP_CONSTANT || (node->n_inputs && !op->compute);
    if (op->flags & (OP_STATEFUL | OP_FED | OP_VARIABLE)) constant[i] = 0;
    for (int32_t k = 0; k < node->n_inputs && constant[i]; k++)
      constant[i] = constant[node->inputs[k].node];
  }
}

/* Adds a forward value to builder->read, unless it is constant or already there. */
static situ_status add_read(struct builder *builder, const char *constant, struct edge edge) {
  if (constant[edge.node]) return NULL;
  for (int i = 0; i < builder->n_read; i++)
    if (builder->read[i].node == edge.node && builder->read[i].output == edge.output) return NULL;
  if (!(builder->n_read & (builder->n_read + 1))) { /* full: 0, 1, 3, 7, ... */
    situ_value *more = ARENA_ARRAY(&builder->arena, situ_value, 2 * builder->n_read + 1);
    if (!more) return NO_MEMORY();
    if (builder->n_read) memcpy(more, builder->read, sizeof *more * (size_t)builder->n_read);
    builder->read = more;
  }
  builder->read[builder->n_read++] = (situ_value){builder->graph, edge.node, edge.output};
  return NULL;
}

/* Collects the forward values that the live nodes of the gradient read. */
static situ_status find_read(struct builder *builder) {
  const struct situ_graph *graph = NULL;
  TRY(graph_snapshot(builder->graph, &graph));
  char *constant = arena_zero(&builder->arena, (size_t)graph->n_nodes + 1);
  char *live = arena_zero(&builder->arena, (size_t)graph->n_nodes + 1);
  if (builder->arena.failed) return NO_MEMORY();
  mark_constants(builder, graph, constant);
  for (int i = 0; i < builder->n_xs; i++) {
    const struct edge edge = {builder->dxs[i].node, builder->dxs[i].output};
    live[edge.node] = 1;
    if (edge.node < builder->first) TRY(add_read(builder, constant, edge));
  }
  for (int32_t i = graph->n_nodes - 1; i >= builder->first; i--) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; live[i] && k < node->n_inputs; k++) {
      live[node->inputs[k].node] = 1;
      if (node->inputs[k].node < builder->first) TRY(add_read(builder, constant, node->inputs[k]));
    }
  }
  return NULL;
}

/* Adds the values that the gradient reads to the function's tape. */
static situ_status extend_tape(situ_graph *owner, struct function *function,
                               struct builder *builder) {
  GRAPH_GUARD(owner);
  const struct function_saved *old = function->saved;
  const int n_old = old ? old->count : 0;
  struct arena *arena = &owner->arena;
  struct function_saved *saved = ARENA_ARRAY(arena, struct function_saved, 1);
  situ_value *values = ARENA_ARRAY(arena, situ_value, n_old + builder->n_read + 1);
  builder->taped = ARENA_ARRAY(arena, int, builder->n_read + 1);
  if (arena->failed) return NO_MEMORY();
  *saved = (struct function_saved){n_old, values};
  if (n_old) memcpy(values, old->values, sizeof *values * (size_t)n_old);
  for (int i = 0; i < builder->n_read; i++) {
    const situ_value value = builder->read[i];
    int at = 0;
    while (at < saved->count &&
           (values[at].node != value.node || values[at].output != value.output))
      at++;
    if (at == saved->count) values[saved->count++] = value;
    builder->taped[i] = at;
  }
  function->saved = saved;
  return NULL;
}

/* Adds the gradient to the owner as a function. */
static situ_status add_function(situ_graph *owner, const struct function *function,
                                struct builder *builder, const struct function **out) {
  char name[512];
  const struct gradient_request *request = builder->request;
  situ_value *inputs =
      ARENA_ARRAY(&builder->arena, situ_value, builder->n_read + builder->n_ys + 2);
  if (!inputs) return NO_MEMORY();
  int n = builder->n_read;
  if (n) memcpy(inputs, builder->read, sizeof *inputs * (size_t)n);
  if (request->tape_has_dy) inputs[n++] = builder->list;
  for (int i = 0, y = 0; i < function->n_outputs; i++)
    if (request->has_dy[i]) inputs[n++] = builder->dys[y++];
  GRAPH_GUARD(owner); /* so that the last function is the one added here */
  snprintf(name, sizeof name, "%.400s_grad_%d", function->name, (int)owner->n_functions);
  situ_function_add(owner, name, builder->graph, inputs, n, builder->dxs, builder->n_xs);
  TRY(situ_graph_take_error(owner));
  struct function *gradient = owner->functions[owner->n_functions - 1];
  gradient->of = function;
  gradient->taped = builder->taped;
  gradient->n_taped = builder->n_read;
  *out = gradient;
  return NULL;
}

/* The writable struct of a function of the owner; NULL: not found. */
static struct function *writable(const situ_graph *owner, const struct function *function) {
  GRAPH_GUARD(owner);
  for (int32_t i = 0; i < owner->n_functions; i++)
    if (owner->functions[i] == function) return owner->functions[i];
  return NULL;
}

situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const struct gradient_request *request,
                                   const situ_gradient_options *options,
                                   const struct function **out) {
  struct builder builder = {0};
  struct function *self = writable(owner, function);
  if (!self) return INTERNAL("Function '%s' belongs to another graph.", function->name);
  situ_status status = begin(function, request, &builder);
  if (!status) status = differentiate(&builder, options);
  if (!status) status = pack_pulled(owner, writable(owner, function->of), &builder);
  if (!status) status = find_read(&builder);
  if (!status) status = extend_tape(owner, self, &builder);
  if (!status) status = add_function(owner, function, &builder, out);
  arena_free(&builder.arena);
  return status;
}
