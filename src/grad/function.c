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
#include "ops/gradient.h"

/* Which outputs depend on which inputs */

static bool is_read(const struct situ_graph *graph, const char *reached, struct edge edge) {
  return reached[edge.node] && gradient_is_real(graph->nodes[edge.node]->outputs[edge.output].type);
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
  const struct situ_graph *graph = function->graph;
  struct arena arena = {0};
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
  int32_t first; /* node of the gradient */
  int n_ys, n_xs, n_read;
  situ_value *ys, *dys, *xs, *dxs;
  situ_value *read; /* values of the function that the gradient reads */
  int *taped;       /* their numbers on the tape */
};

static bool begin(const struct function *function, const bool *arrives, const bool *wanted,
                  struct making *making) {
  making->graph = function->graph;
  making->ys = ARENA_ARRAY(&making->arena, situ_value, function->n_outputs + 1);
  making->xs = ARENA_ARRAY(&making->arena, situ_value, function->n_inputs + 1);
  making->dxs = ARENA_ARRAY(&making->arena, situ_value, function->n_inputs + 1);
  making->dys = ARENA_ARRAY(&making->arena, situ_value, function->n_outputs + 1);
  if (making->arena.failed) return false;
  making->first = function->graph->n_nodes;
  for (int i = 0; i < function->n_outputs; i++)
    if (arrives[i]) {
      const situ_value y = function->outputs[i];
      making->dys[making->n_ys] = situ_placeholder(function->graph, "gradients/dy",
                                                   situ_value_type(y), situ_value_shape(y));
      making->ys[making->n_ys++] = y;
    }
  for (int i = 0; i < function->n_inputs; i++)
    if (wanted[i]) making->xs[making->n_xs++] = function->inputs[i];
  return true;
}

/* Which nodes of the function depend on constants alone: a run of the gradient computes them, too.
 */
static void mark_constants(const struct making *making, char *constant) {
  for (int32_t i = 0; i < making->first; i++) {
    const struct node *node = making->graph->nodes[i];
    const struct op *op = node->schema->op;
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
  const situ_graph *graph = making->graph;
  char *constant = arena_zero(&making->arena, (size_t)graph->n_nodes + 1);
  char *live = arena_zero(&making->arena, (size_t)graph->n_nodes + 1);
  if (making->arena.failed) return NO_MEMORY();
  mark_constants(making, constant);
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
  const int n = making->n_read + making->n_ys;
  situ_value *inputs = ARENA_ARRAY(&making->arena, situ_value, n + 1);
  if (!inputs) return NO_MEMORY();
  if (making->n_read) memcpy(inputs, making->read, sizeof *inputs * (size_t)making->n_read);
  memcpy(inputs + making->n_read, making->dys, sizeof *inputs * (size_t)making->n_ys);
  snprintf(name, sizeof name, "%.400s_grad_%d", function->name, (int)owner->n_functions);
  situ_function_add(owner, name, making->graph, inputs, n, making->dxs, making->n_xs);
  TRY(situ_graph_take_error(owner));
  struct function *made = owner->functions[owner->n_functions - 1];
  made->taped = making->taped;
  made->n_taped = making->n_read;
  *out = made;
  return NULL;
}

/* The struct of a function that the graph hands out for reading. */
static struct function *writable(const situ_graph *owner, const struct function *function) {
  for (int32_t i = 0; i < owner->n_functions; i++)
    if (owner->functions[i] == function) return owner->functions[i];
  return NULL;
}

situ_status function_differentiate(situ_graph *owner, const struct function *function,
                                   const bool *arrives, const bool *wanted,
                                   const situ_gradient_options *options,
                                   const struct function **out) {
  struct making making = {0};
  struct function *of = writable(owner, function);
  if (!of) return INTERNAL("Function '%s' belongs to another graph.", function->name);
  const situ_gradient_options inside = {.zero_unconnected = true,
                                        .overrides = options->overrides,
                                        .n_overrides = options->n_overrides};
  situ_status status = begin(function, arrives, wanted, &making) ? NULL : NO_MEMORY();
  if (!status) status = situ_graph_take_error(function->graph);
  if (!status)
    status = situ_gradients(function->graph, making.ys, making.n_ys, making.xs, making.n_xs,
                            making.dys, &inside, making.dxs);
  if (!status) status = find_read(&making);
  if (!status) status = save(owner, of, &making);
  if (!status) status = add(owner, function, &making, out);
  arena_free(&making.arena);
  return status;
}
