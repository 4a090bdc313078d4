/* SPDX-License-Identifier: Apache-2.0
 * static_values.c: see static_values.h.
 *
 * The op itself is asked: it runs on the host with numbers in place of what is not known, several
 * times with others each time. What comes out the same whatever the numbers are is known. They
 * begin with 0 and 1, which tells least and greatest values from what they were compared with, and
 * differ from element to element, so that differences and quotients of two unknowns change. */
#include "graph/static_values.h"

#include <stdlib.h>
#include <string.h>

#include "graph/build.h"
#include "graph/eval.h"
#include "tensor/shape.h"

enum { ROUNDS = 4 };

static int64_t probe(int round, int64_t at) {
  return (const int64_t[ROUNDS]){0, 1, 7 + 3 * at, 1000003 + 1009 * at}[round];
}

static bool few_integers(const struct operand *operand) {
  const int64_t count = situ_shape_count(operand->shape);
  return (operand->type == SITU_INT32 || operand->type == SITU_INT64) && count >= 0 &&
         count <= SITU_MAX_RANK;
}

static void store(situ_type type, void *data, int64_t at, int64_t value) {
  if (type == SITU_INT32)
    ((int32_t *)data)[at] = (int32_t)value;
  else
    ((int64_t *)data)[at] = value;
}

/* Whether it is worth asking: a pure op of kernels, whose outputs are few integers. */
static bool worthwhile(const struct call *call) {
  const struct op_def *op = call->schema->op;
  if (op->flags &
      (OP_STATEFUL | OP_CONSTANT | OP_FED | OP_OPTIONAL | OP_VARIABLE | OP_UPDATES | OP_SETS))
    return false;
  if (op->compute || (!op->record && !(op->flags & OP_ALIAS)) || !call->n_in) return false;
  for (int i = 0; i < call->n_out; i++)
    if (!few_integers(&call->out[i])) return false;
  return call->n_out > 0;
}

/* Whether any input is known at least in part, and numbers can stand for the others; *open: whether
 * anything is not known. */
static bool askable(const struct call *call, bool *open) {
  const bool shapes = call->schema->op->flags & OP_SHAPE_ONLY;
  bool any = false;
  for (int i = 0; i < call->n_in; i++) {
    const struct operand *in = &call->in[i];
    const bool given = shapes ? in->shape.rank != SITU_ANY : in->value || in->known;
    if (!given && (shapes || !few_integers(in))) return false;
    *open |= shapes ? !shape_is_known(&in->shape) : !in->value;
    any |= given;
  }
  return any;
}

/* The input of a round: what is known, and numbers for the rest. */
static situ_status fill(struct operand *in, bool shapes, int round, int64_t base) {
  if (shapes) {
    for (int d = 0; d < in->shape.rank; d++)
      if (in->shape.dim[d] == SITU_ANY) in->shape.dim[d] = probe(round, base + d);
    return NULL;
  }
  if (in->value) return NULL;
  int64_t room[SITU_MAX_RANK];
  const size_t bytes = situ_type_size(in->type) * (size_t)situ_shape_count(in->shape);
  if (in->known) memcpy(room, situ_tensor_data(in->known->tensor), bytes);
  for (int64_t k = 0; k < situ_shape_count(in->shape); k++)
    if (!in->known || in->known->open >> k & 1) store(in->type, room, k, probe(round, base + k));
  situ_tensor *tensor = NULL;
  TRY(situ_tensor_create(in->type, in->shape, room, &tensor));
  in->value = tensor;
  return NULL;
}

/* Runs the op with the numbers of a round. `operands` is room for its inputs and outputs. */
static situ_status ask(const struct call *call, int round, struct operand *operands,
                       situ_tensor **results) {
  const bool shapes = call->schema->op->flags & OP_SHAPE_ONLY;
  struct call asked = *call;
  asked.in = operands;
  asked.out = operands + call->n_in;
  asked.building = false;
  memcpy(asked.in, call->in, sizeof *asked.in * (size_t)call->n_in);
  memcpy(asked.out, call->out, sizeof *asked.out * (size_t)call->n_out);
  situ_status status = NULL;
  for (int i = 0; !status && i < call->n_in; i++)
    status = fill(&asked.in[i], shapes, round, (int64_t)i * SITU_MAX_RANK);
  if (!status) status = eval_call(&asked, results);
  for (int i = 0; i < call->n_in; i++)
    if (asked.in[i].value != call->in[i].value)
      situ_tensor_release((situ_tensor *)asked.in[i].value);
  return status;
}

/* Marks the elements that came out otherwise than in the first round. */
static void compare(const struct call *call, situ_tensor *const *first, situ_tensor *const *other,
                    unsigned *open) {
  for (int i = 0; i < call->n_out; i++) {
    const size_t bytes = situ_type_size(call->out[i].type);
    const char *a = situ_tensor_data(first[i]), *b = situ_tensor_data(other[i]);
    for (int64_t k = 0; k < situ_shape_count(call->out[i].shape); k++)
      if (memcmp(a + (size_t)k * bytes, b + (size_t)k * bytes, bytes) != 0) open[i] |= 1u << k;
  }
}

static void release(situ_tensor **tensors, int count) {
  for (int i = 0; i < count; i++) situ_tensor_release(tensors[i]);
}

/* Keeps with the graph what is known of output i, unless that is nothing. */
static situ_status keep(struct situ_graph *graph, struct operand *out, situ_tensor *tensor,
                        unsigned open) {
  const int64_t count = situ_shape_count(out->shape);
  if (count && open == (1u << count) - 1) return NULL;
  struct known *known = arena_alloc(&graph->arena, sizeof *known);
  if (!known || !graph_hold(graph, tensor)) return NO_MEMORY();
  *known = (struct known){tensor, open};
  out->known = known;
  return NULL;
}

/* All rounds; false where the op refuses a number, and so nothing is known. */
static bool ask_all(const struct call *call, int rounds, struct operand *operands,
                    situ_tensor **results, unsigned *open) {
  situ_tensor **other = results + call->n_out;
  for (int round = 0; round < rounds; round++) {
    const situ_status status = ask(call, round, operands, round ? other : results);
    situ_status_release(status);
    if (status) return false;
    if (round) compare(call, results, other, open);
    if (round) release(other, call->n_out);
  }
  return true;
}

situ_status static_values_find(struct situ_graph *graph, struct call *call) {
  bool some_open = false;
  if (!worthwhile(call) || !askable(call, &some_open)) return NULL;
  const size_t n_out = (size_t)call->n_out;
  struct operand *operands = calloc((size_t)call->n_in + n_out, sizeof *operands);
  situ_tensor **results = calloc(2 * n_out, sizeof(situ_tensor *));
  unsigned *open = calloc(n_out, sizeof *open);
  situ_status status = operands && results && open ? NULL : NO_MEMORY();
  if (!status && ask_all(call, some_open ? ROUNDS : 1, operands, results, open))
    for (int i = 0; !status && i < call->n_out; i++)
      status = keep(graph, &call->out[i], results[i], open[i]);
  if (results) release(results, call->n_out);
  free(open);
  free(results);
  free(operands);
  return status;
}
