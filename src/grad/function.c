/* SPDX-License-Identifier: Apache-2.0
 * function.c: gradients of functions of a graph.
 *
 * The nodes of a gradient go into the function's own graph. What they read of the function itself
 * is not computed again: a run of the function keeps it on a tape, and a run of the gradient is fed
 * with it. */
#include "grad/function.h"

#include <stdio.h>
#include <string.h>

#include "graph/build.h"
#include "graph/variable.h"
#include "ops/gradient.h"
#include "ops/state/variable_ops.h"
#include "ops/control/function_tape.h"

/* Which outputs depend on which inputs */

static bool is_read(const struct situ_graph *graph, const char *reached, struct edge edge) {
  return reached[edge.node] && gradient_is_real(variable_value(graph, edge).type);
}

static void spread(const struct situ_graph *graph, char *reached) {
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct node *node = graph->nodes[i];
    if (reached[i] || node->schema->op->flags & OP_NO_GRADIENT) continue;
    for (int32_t k = 0; k < node->n_inputs && !reached[i]; k++)
      reached[i] = is_read(graph, reached, node->inputs[k]);
  }
}

situ_status function_reaches(const struct function *function, const bool *in, bool *out) {
  const struct situ_graph *graph = NULL;
  struct arena arena = {0};
  TRY(graph_snapshot(function->graph, &graph));
  char *reached = arena_zero(&arena, (size_t)graph->n_nodes + 1);
  if (!reached) return NO_MEMORY();
  for (int i = 0; i < function->n_inputs; i++)
    if (in[i]) reached[function->inputs[i].node] = 1;
  spread(graph, reached);
  for (int i = 0; i < function->n_outputs; i++)
    out[i] = is_read(graph, reached,
                     (struct edge){function->outputs[i].node, function->outputs[i].output});
  arena_free(&arena);
  return NULL;
}

/* A gradient in the making */

struct making {
  struct arena arena;
  situ_graph *graph;
  const struct function *function;
  const struct function_wish *wish;
  int32_t first; /* node of the gradient */
  int n_ys, n_xs, n_read;
  int n_pulled;    /* of xs: what the function took of a tape; they come first */
  situ_value list; /* the input with gradients of what is on the tape */
  situ_value *ys, *dys, *xs, *dxs;
  int *numbers;     /* of what is pulled, on the tape that it comes from */
  situ_value *read; /* values of the function that the gradient reads */
  int *taped;       /* their numbers on the tape */
};

static void add_y(struct making *making, situ_value y, situ_value dy) {
  making->ys[making->n_ys] = y;
  making->dys[making->n_ys++] = dy;
}

/* What arrives at outputs, and at what is on the tape. */
static void begin_ys(struct making *making) {
  const struct function *function = making->function;
  for (int i = 0; i < function->n_outputs; i++) {
    const situ_value y = function->outputs[i];
    const struct output of = variable_value(making->graph, (struct edge){y.node, y.output});
    if (making->wish->arrives[i])
      add_y(making, y, situ_placeholder(making->graph, "gradients/dy", of.type, of.shape));
  }
  if (!making->wish->tape_arrives) return;
  making->list = situ_placeholder(making->graph, "gradients/dtape", SITU_VARIANT, SITU_SCALAR);
  for (int i = 0; i < function->n_pulled; i++) {
    const struct function_saved *saved = function->saved;
    const situ_value y = saved->values[function->pulled[i]];
    add_y(making, y, function_tape_item(making->graph, making->list, y, function->pulled[i]));
  }
}

/* What gradients are wanted of. */
static void begin_xs(struct making *making) {
  const struct function *function = making->function;
  for (int i = 0; i < function->n_taped && making->wish->tape_wanted; i++) {
    if (!gradient_is_real(function->types[i])) continue;
    making->numbers[making->n_xs] = function->taped[i];
    making->xs[making->n_xs++] = function->inputs[i];
  }
  making->n_pulled = making->n_xs;
  for (int i = function->n_taped; i < function->n_inputs; i++)
    if (making->wish->wanted[i - function->n_taped])
      making->xs[making->n_xs++] = function->inputs[i];
}

static situ_status begin(const struct function *function, const struct function_wish *wish,
                         struct making *making) {
  const int n_ys = function->n_outputs + function->n_pulled;
  making->function = function;
  making->wish = wish;
  making->graph = function->graph;
  making->ys = ARENA_ARRAY(&making->arena, situ_value, n_ys + 1);
  making->dys = ARENA_ARRAY(&making->arena, situ_value, n_ys + 1);
  making->xs = ARENA_ARRAY(&making->arena, situ_value, function->n_inputs + 1);
  making->dxs = ARENA_ARRAY(&making->arena, situ_value, function->n_inputs + 1);
  making->numbers = ARENA_ARRAY(&making->arena, int, function->n_inputs + 1);
  if (making->arena.failed) return NO_MEMORY();
  making->first = graph_count(function->graph);
  begin_ys(making);
  begin_xs(making);
  return situ_graph_take_error(function->graph);
}

static situ_value zeros_like(situ_graph *graph, situ_value x) {
  const struct node *variable = variable_of(graph, (struct edge){x.node, x.output});
  if (variable) x = variable_read(graph, x, variable_type(variable), "gradients/read");
  return function_tape_zeros(graph, x);
}

/* The gradients, each of its own part of what the function does: what it took of a tape counts as
 * constant beyond. */
static situ_status differentiate(struct making *making, const situ_gradient_options *options) {
  const situ_gradient_options inside = {.stop = making->xs,
                                        .n_stop = making->n_pulled,
                                        .overrides = options->overrides,
                                        .n_overrides = options->n_overrides};
  TRY(situ_gradients(making->graph, making->ys, making->n_ys, making->xs, making->n_xs, making->dys,
                     &inside, making->dxs));
  for (int i = making->n_pulled; i < making->n_xs; i++)
    if (making->dxs[i].node < 0) making->dxs[i] = zeros_like(making->graph, making->xs[i]);
  return situ_graph_take_error(making->graph);
}

/* The function whose tape it is must know that gradients of these arrive there. */
static situ_status note_pulled(situ_graph *owner, struct function *of, const int64_t *numbers,
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

/* Puts gradients of what came from a tape into a list: the first output. */
static situ_status pack(situ_graph *owner, struct function *of, struct making *making) {
  if (!making->wish->tape_wanted) return NULL;
  int64_t *numbers = ARENA_ARRAY(&making->arena, int64_t, making->n_pulled + 1);
  int64_t *types = ARENA_ARRAY(&making->arena, int64_t, making->n_pulled + 1);
  situ_value *values = ARENA_ARRAY(&making->arena, situ_value, making->n_xs + 2);
  int n = 0;
  if (making->arena.failed || !of) return of ? NO_MEMORY() : INTERNAL("The tape is nobody's.");
  for (int i = 0; i < making->n_pulled; i++) {
    if (making->dxs[i].node < 0) continue;
    numbers[n] = making->numbers[i];
    types[n] = situ_value_type(making->dxs[i]);
    values[n++] = making->dxs[i];
  }
  const situ_value list = function_tape_pack(making->graph, values, types, numbers, n);
  TRY(situ_graph_take_error(making->graph));
  TRY(note_pulled(owner, of, numbers, n));
  values[0] = list;
  for (int i = making->n_pulled; i < making->n_xs; i++)
    values[1 + i - making->n_pulled] = making->dxs[i];
  making->dxs = values;
  making->n_xs += 1 - making->n_pulled;
  return NULL;
}

/* Which nodes of the function depend on constants alone: a run of the gradient computes them, too.
 */
static void mark_constants(const struct making *making, const struct situ_graph *graph,
                           char *constant) {
  for (int32_t i = 0; i < making->first; i++) {
    const struct node *node = graph->nodes[i];
    const struct op_def *op = node->schema->op;
    constant[i] = op->flags & OP_CONSTANT || (node->n_inputs && !op->compute);
    if (op->flags & (OP_STATEFUL | OP_FED | OP_VARIABLE)) constant[i] = 0;
    for (int32_t k = 0; k < node->n_inputs && constant[i]; k++)
      constant[i] = constant[node->inputs[k].node];
  }
}

static situ_status read_value(struct making *making, const char *constant, struct edge edge) {
  if (constant[edge.node]) return NULL;
  for (int i = 0; i < making->n_read; i++)
    if (making->read[i].node == edge.node && making->read[i].output == edge.output) return NULL;
  if (!(making->n_read & (making->n_read + 1))) { /* full: 0, 1, 3, 7, ... */
    situ_value *more = ARENA_ARRAY(&making->arena, situ_value, 2 * making->n_read + 1);
    if (!more) return NO_MEMORY();
    if (making->n_read) memcpy(more, making->read, sizeof *more * (size_t)making->n_read);
    making->read = more;
  }
  making->read[making->n_read++] = (situ_value){making->graph, edge.node, edge.output};
  return NULL;
}

/* Collects what the gradient reads of the function: the walk goes from the last node back. */
static situ_status find_read(struct making *making) {
  const struct situ_graph *graph = NULL;
  TRY(graph_snapshot(making->graph, &graph));
  char *constant = arena_zero(&making->arena, (size_t)graph->n_nodes + 1);
  char *live = arena_zero(&making->arena, (size_t)graph->n_nodes + 1);
  if (making->arena.failed) return NO_MEMORY();
  mark_constants(making, graph, constant);
  for (int i = 0; i < making->n_xs; i++) {
    const struct edge edge = {making->dxs[i].node, making->dxs[i].output};
    live[edge.node] = 1;
    if (edge.node < making->first) TRY(read_value(making, constant, edge));
  }
  for (int32_t i = graph->n_nodes - 1; i >= making->first; i--) {
    const struct node *node = graph->nodes[i];
    for (int32_t k = 0; live[i] && k < node->n_inputs; k++) {
      live[node->inputs[k].node] = 1;
      if (node->inputs[k].node < making->first) TRY(read_value(making, constant, node->inputs[k]));
    }
  }
  return NULL;
}

/* Has the function keep what the gradient reads: those values get a number on its tape. */
static situ_status save(situ_graph *owner, struct function *function, struct making *making) {
  GRAPH_GUARD(owner);
  const struct function_saved *old = function->saved;
  const int n_old = old ? old->count : 0;
  struct arena *arena = &owner->arena;
  struct function_saved *saved = ARENA_ARRAY(arena, struct function_saved, 1);
  situ_value *values = ARENA_ARRAY(arena, situ_value, n_old + making->n_read + 1);
  making->taped = ARENA_ARRAY(arena, int, making->n_read + 1);
  if (arena->failed) return NO_MEMORY();
  *saved = (struct function_saved){n_old, values};
  if (n_old) memcpy(values, old->values, sizeof *values * (size_t)n_old);
  for (int i = 0; i < making->n_read; i++) {
    const situ_value value = making->read[i];
    int at = 0;
    while (at < saved->count &&
           (values[at].node != value.node || values[at].output != value.output))
      at++;
    if (at == saved->count) values[saved->count++] = value;
    making->taped[i] = at;
  }
  function->saved = saved;
  return NULL;
}

/* Gives the gradient to the owner as a function of its own. */
static situ_status add(situ_graph *owner, const struct function *function, struct making *making,
                       const struct function **out) {
  char name[512];
  const struct function_wish *wish = making->wish;
  situ_value *inputs = ARENA_ARRAY(&making->arena, situ_value, making->n_read + making->n_ys + 2);
  if (!inputs) return NO_MEMORY();
  int n = making->n_read;
  if (n) memcpy(inputs, making->read, sizeof *inputs * (size_t)n);
  if (wish->tape_arrives) inputs[n++] = making->list;
  for (int i = 0, y = 0; i < function->n_outputs; i++)
    if (wish->arrives[i]) inputs[n++] = making->dys[y++];
  GRAPH_GUARD(owner); /* the last function is the one that is added here */
  snprintf(name, sizeof name, "%.400s_grad_%d", function->name, (int)owner->n_functions);
  situ_function_add(owner, name, making->graph, inputs, n, making->dxs, making->n_xs);
  TRY(situ_graph_take_error(owner));
  struct function *made = owner->functions[owner->n_functions - 1];
  made->of = function;
  made->taped = making->taped;
  made->n_taped = making->n_read;
  *out = made;
  return NULL;
}

/* The struct of a function that the graph hands out for reading. */
static struct function *writable(const situ_graph *owner, const struct function *function) {
  GRAPH_GUARD(owner);
  for (int32_t i = 0; i < owner->n_functions; i++)
    if (owner->functions[i] == function) return owner->functions[i];
  return NULL;
}

situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const struct function_wish *wish,
                                   const situ_gradient_options *options,
                                   const struct function **out) {
  struct making making = {0};
  struct function *self = writable(owner, function);
  if (!self) return INTERNAL("Function '%s' belongs to another graph.", function->name);
  situ_status status = begin(function, wish, &making);
  if (!status) status = differentiate(&making, options);
  if (!status) status = pack(owner, writable(owner, function->of), &making);
  if (!status) status = find_read(&making);
  if (!status) status = save(owner, self, &making);
  if (!status) status = add(owner, function, &making, out);
  arena_free(&making.arena);
  return status;
}
