/* SPDX-License-Identifier: Apache-2.0
 * static_values.c: partial evaluation of small integer and bool tensors by probing.
 *
 * The op runs on the host several times, with different probe values in place of unknown elements.
 * Output elements that are the same in all rounds are known. The first probes are 0 and 1, which
 * exposes minima and maxima; later ones differ per element, so that differences and quotients of
 * two unknowns change. */
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

static bool is_small_tensor(const struct operand *operand) {
  const int64_t count = situ_shape_count(operand->shape);
  const situ_type type = operand->type;
  return (type == SITU_INT32 || type == SITU_INT64 || type == SITU_BOOL) && count >= 0 &&
         count <= SITU_MAX_RANK;
}

static void store(situ_type type, void *data, int64_t at, int64_t value) {
  if (type == SITU_BOOL)
    ((bool *)data)[at] = value & 1;
  else if (type == SITU_INT32)
    ((int32_t *)data)[at] = (int32_t)value;
  else
    ((int64_t *)data)[at] = value;
}

/* Whether the op is pure, has kernels and outputs only small tensors. */
static bool is_candidate(const struct call *call) {
  const struct op_def *op = call->schema->op;
  if (op->flags &
      (OP_STATEFUL | OP_CONSTANT | OP_FED | OP_OPTIONAL | OP_VARIABLE | OP_UPDATES | OP_SETS))
    return false;
  if (op->compute || (!op->record && !(op->flags & OP_ALIAS)) || !call->n_in) return false;
  for (int i = 0; i < call->n_out; i++)
    if (!is_small_tensor(&call->out[i])) return false;
  return call->n_out > 0;
}

/* Whether an output is a truth value, such as that of a comparison. */
static bool is_condition(const struct call *call) {
  for (int i = 0; i < call->n_out; i++)
    if (call->out[i].type == SITU_BOOL) return true;
  return false;
}

/* Whether some input is at least partially known and the others can be probed. Sets *unknown if
 * anything is unknown. */
static bool can_probe(const struct call *call, bool *unknown) {
  const bool shapes = call->schema->op->flags & OP_SHAPE_ONLY;
  bool any = false;
  for (int i = 0; i < call->n_in; i++) {
    const struct operand *in = &call->in[i];
    const bool is_known = shapes ? in->shape.rank != SITU_ANY : in->value || in->known;
    if (!is_known && (shapes || !is_small_tensor(in))) return false;
    *unknown |= shapes ? !shape_is_known(&in->shape) : !in->value;
    any |= is_known;
  }
  return any;
}

/* Sets the unknown elements or dimensions of an input to the probes of a round. */
static situ_status fill_input(struct operand *in, bool shapes, int round, int64_t base) {
  if (shapes) {
    for (int d = 0; d < in->shape.rank; d++)
      if (in->shape.dim[d] == SITU_ANY) in->shape.dim[d] = probe(round, base + d);
    return NULL;
  }
  if (in->value) return NULL;
  int64_t elements[SITU_MAX_RANK];
  const size_t bytes = situ_type_size(in->type) * (size_t)situ_shape_count(in->shape);
  if (in->known) memcpy(elements, situ_tensor_data(in->known->tensor), bytes);
  for (int64_t k = 0; k < situ_shape_count(in->shape); k++)
    if (!in->known || in->known->unknown >> k & 1)
      store(in->type, elements, k, probe(round, base + k));
  situ_tensor *tensor = NULL;
  TRY(situ_tensor_create(in->type, in->shape, elements, &tensor));
  in->value = tensor;
  return NULL;
}

/* Evaluates the op with the probes of a round. `operands` has n_in + n_out elements. */
static situ_status run_round(const struct call *call, int round, struct operand *operands,
                             situ_tensor **results) {
  const bool shapes = call->schema->op->flags & OP_SHAPE_ONLY;
  struct call probed = *call;
  probed.in = operands;
  probed.out = operands + call->n_in;
  probed.building = false;
  memcpy(probed.in, call->in, sizeof *probed.in * (size_t)call->n_in);
  memcpy(probed.out, call->out, sizeof *probed.out * (size_t)call->n_out);
  situ_status status = NULL;
  for (int i = 0; !status && i < call->n_in; i++)
    status = fill_input(&probed.in[i], shapes, round, (int64_t)i * SITU_MAX_RANK);
  if (!status) status = eval_call(&probed, results);
  for (int i = 0; i < call->n_in; i++)
    if (probed.in[i].value != call->in[i].value)
      situ_tensor_release((situ_tensor *)probed.in[i].value);
  return status;
}

/* Marks the elements that differ from the first round as unknown. */
static void compare(const struct call *call, situ_tensor *const *first, situ_tensor *const *other,
                    unsigned *unknown) {
  for (int i = 0; i < call->n_out; i++) {
    const size_t bytes = situ_type_size(call->out[i].type);
    const char *a = situ_tensor_data(first[i]), *b = situ_tensor_data(other[i]);
    for (int64_t k = 0; k < situ_shape_count(call->out[i].shape); k++)
      if (memcmp(a + (size_t)k * bytes, b + (size_t)k * bytes, bytes) != 0) unknown[i] |= 1u << k;
  }
}

static void release(situ_tensor **tensors, int count) {
  for (int i = 0; i < count; i++) situ_tensor_release(tensors[i]);
}

/* Stores the static value of an output in the graph, unless no element is known. */
static situ_status set_known(struct situ_graph *graph, struct operand *out, situ_tensor *tensor,
                             unsigned unknown) {
  const int64_t count = situ_shape_count(out->shape);
  if (count && unknown == (1u << count) - 1) return NULL;
  struct known *known = arena_alloc(&graph->arena, sizeof *known);
  if (!known || !graph_retain_tensor(graph, tensor)) return NO_MEMORY();
  *known = (struct known){tensor, unknown};
  out->known = known;
  return NULL;
}

/* Runs all rounds; false if the op fails for some probe: then nothing is known. */
static bool run_rounds(const struct call *call, int rounds, struct operand *operands,
                       situ_tensor **results, unsigned *unknown) {
  situ_tensor **other = results + call->n_out;
  for (int round = 0; round < rounds; round++) {
    const situ_status status = run_round(call, round, operands, round ? other : results);
    situ_status_release(status);
    if (status) return false;
    if (round) compare(call, results, other, unknown);
    if (round) release(other, call->n_out);
  }
  return true;
}

situ_status static_values_find(struct situ_graph *graph, struct call *call) {
  bool has_unknown = false;
  if (!is_candidate(call) || !can_probe(call, &has_unknown)) return NULL;
  if (has_unknown && is_condition(call)) return NULL; /* no probe need be equal to the other side */
  const size_t n_out = (size_t)call->n_out;
  struct operand *operands = calloc((size_t)call->n_in + n_out, sizeof *operands);
  situ_tensor **results = calloc(2 * n_out, sizeof(situ_tensor *));
  unsigned *unknown = calloc(n_out, sizeof *unknown);
  situ_status status = operands && results && unknown ? NULL : NO_MEMORY();
  if (!status && run_rounds(call, has_unknown ? ROUNDS : 1, operands, results, unknown))
    for (int i = 0; !status && i < call->n_out; i++)
      status = set_known(graph, &call->out[i], results[i], unknown[i]);
  if (results) release(results, call->n_out);
  free(unknown);
  free(results);
  free(operands);
  return status;
}
