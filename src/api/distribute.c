/* SPDX-License-Identifier: Apache-2.0
 * distribute.c: all-reduce over devices, in graphs and eagerly. */
#include "situ/distribute.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "device/backend.h"
#include "ops/collective/collective_ops.h"
#include "situ/catalog.h"

/* Below SMALL elements one device adds everything: copying slices would cost more. */
enum { SMALL = 1 << 14, MAX_DEVICES = 1024 };

struct reduction {
  situ_graph *graph;
  const situ_value *values;
  int n_values;
  const char *const *devices;
  int n_devices;
};

static situ_value add_on(const struct reduction *r, const situ_value *values, int n, int device) {
  situ_device_push(r->graph, r->devices[device]);
  const situ_value sum = n > 1
                             ? situ_emit(r->graph, COLLECTIVE_ADD, "all_reduce", values, n, NULL, 0)
                             : situ_emit(r->graph, "Identity", "all_reduce", values, 1, NULL, 0);
  situ_device_pop(r->graph);
  return sum;
}

static void to_one(const struct reduction *r, situ_value *sums) {
  sums[0] = add_on(r, r->values, r->n_values, 0);
  for (int i = 1; i < r->n_devices; i++) sums[i] = add_on(r, &sums[0], 1, i);
}

bool situ_all_reduce_has_library(void) {
  for (int i = 0; backends[i]; i++) {
    const struct comm *comm = backends[i]->comm;
    if (comm && comm->supports(SITU_FLOAT)) return true;
  }
  return false;
}

/* Emits one node per device with the same inputs, which the planner turns into one collective. */
static void emit_library_sum(const struct reduction *r, situ_value *sums) {
  for (int i = 0; i < r->n_devices; i++) {
    situ_device_push(r->graph, r->devices[i]);
    sums[i] = situ_emit(r->graph, COLLECTIVE_SUM, "all_reduce", r->values, r->n_values, NULL, 0);
    situ_device_pop(r->graph);
  }
}

static void everywhere(const struct reduction *r, situ_value *sums) {
  for (int i = 0; i < r->n_devices; i++) sums[i] = add_on(r, r->values, r->n_values, i);
}

static situ_value integers(situ_graph *graph, const int32_t *numbers, int n, int rank) {
  return situ_constant(graph, "sizes", SITU_INT32, rank ? SITU_SHAPE(n) : SITU_SCALAR, numbers);
}

/* Splits value i on device i into one slice per device: parts[i * n_devices ...]. */
static void split(const struct reduction *r, int32_t count, situ_value *parts) {
  const int n = r->n_devices;
  const int32_t zero = 0;
  int32_t sizes[MAX_DEVICES];
  for (int i = 0; i < n; i++) sizes[i] = count / n + (i < count % n);
  for (int v = 0; v < r->n_values; v++) {
    situ_device_push(r->graph, r->devices[v % n]);
    const situ_value flat[2] = {r->values[v], integers(r->graph, &count, 1, 1)};
    const situ_value split[3] = {situ_emit(r->graph, COLLECTIVE_SHAPE, NULL, flat, 2, NULL, 0),
                                 integers(r->graph, sizes, n, 1), integers(r->graph, &zero, 1, 0)};
    const situ_attr number = situ_attr_int("num_split", n);
    const situ_value first = situ_emit(r->graph, COLLECTIVE_CUT, NULL, split, 3, &number, 1);
    for (int i = 0; i < n; i++) parts[v * n + i] = situ_value_output(first, i);
    situ_device_pop(r->graph);
  }
}

/* Concatenates all slices on a device and restores the shape. */
static situ_value concatenate(const struct reduction *r, const situ_value *parts, int device) {
  const situ_shape shape = situ_value_shape(r->values[0]);
  int32_t sizes[SITU_MAX_RANK];
  const int32_t zero = 0;
  for (int i = 0; i < shape.rank; i++) sizes[i] = (int32_t)shape.dim[i];
  situ_device_push(r->graph, r->devices[device]);
  const situ_value axis = integers(r->graph, &zero, 1, 0);
  const situ_values inputs[2] = {{parts, r->n_devices}, {&axis, 1}};
  const situ_value whole[2] = {situ_emit_lists(r->graph, COLLECTIVE_JOIN, NULL, inputs, 2, NULL, 0),
                               integers(r->graph, sizes, shape.rank, 1)};
  const situ_value sum = situ_emit(r->graph, COLLECTIVE_SHAPE, "all_reduce", whole, 2, NULL, 0);
  situ_device_pop(r->graph);
  return sum;
}

static situ_status in_parts(const struct reduction *r, int64_t count, situ_value *sums) {
  const int n = r->n_devices;
  situ_value *parts = calloc((size_t)r->n_values * (size_t)n, sizeof *parts);
  situ_value *terms = calloc((size_t)r->n_values + (size_t)n, sizeof *terms);
  if (!parts || !terms) {
    free(parts);
    free(terms);
    return NO_MEMORY();
  }
  situ_value *added = terms + r->n_values;
  split(r, (int32_t)count, parts);
  for (int i = 0; i < n; i++) {
    for (int v = 0; v < r->n_values; v++) terms[v] = parts[v * n + i];
    added[i] = add_on(r, terms, r->n_values, i);
  }
  for (int i = 0; i < n; i++) sums[i] = concatenate(r, added, i);
  free(parts);
  free(terms);
  return NULL;
}

static situ_status check(const struct reduction *r, situ_all_reduce_algorithm algorithm) {
  if (r->n_values < 1 || r->n_devices < 1 || r->n_devices > MAX_DEVICES)
    return INVALID("situ_all_reduce: %d values and %d devices; at least one of each is needed",
                   r->n_values, r->n_devices);
  TRY(situ_graph_status(r->graph));
  for (int i = 0; i < r->n_values; i++)
    if (!r->values || r->values[i].graph != r->graph || !situ_value_valid(r->values[i]))
      return INVALID("situ_all_reduce: value %d does not belong to the graph", i);
  for (int i = 0; i < r->n_devices; i++)
    if (!r->devices || !r->devices[i]) return INVALID("situ_all_reduce: device %d is NULL", i);
  if (algorithm < SITU_ALL_REDUCE_AUTO || algorithm > SITU_ALL_REDUCE_BY_LIBRARY)
    return INVALID("situ_all_reduce: unknown algorithm %d", (int)algorithm);
  return NULL;
}

situ_status situ_all_reduce(situ_graph *graph, const situ_value *values, int n_values,
                            const char *const *devices, int n_devices,
                            situ_all_reduce_algorithm algorithm, situ_value *sums) {
  const struct reduction r = {graph, values, n_values, devices, n_devices};
  if (!sums) return INVALID("situ_all_reduce: `sums` is NULL.");
  TRY(check(&r, algorithm));
  const int64_t count = situ_shape_count(situ_value_shape(values[0]));
  const bool is_small = count < SMALL || count < n_devices || count > INT32_MAX;
  if (algorithm == SITU_ALL_REDUCE_SCATTER_GATHER && count < 0)
    return INVALID("situ_all_reduce: SCATTER_GATHER needs a fully known shape, unlike that of '%s'",
                   situ_value_name(values[0]));
  if (algorithm == SITU_ALL_REDUCE_BY_LIBRARY && !situ_all_reduce_has_library())
    algorithm = SITU_ALL_REDUCE_AUTO;
  if (algorithm == SITU_ALL_REDUCE_AUTO)
    algorithm = n_devices <= 2 ? SITU_ALL_REDUCE_ON_EACH
                : is_small     ? SITU_ALL_REDUCE_ON_FIRST
                               : SITU_ALL_REDUCE_SCATTER_GATHER;
  if (algorithm == SITU_ALL_REDUCE_BY_LIBRARY)
    emit_library_sum(&r, sums);
  else if (algorithm == SITU_ALL_REDUCE_ON_EACH)
    everywhere(&r, sums);
  else if (algorithm == SITU_ALL_REDUCE_ON_FIRST || n_devices == 1)
    to_one(&r, sums);
  else
    TRY(in_parts(&r, count, sums));
  return situ_graph_status(graph);
}

static situ_status add_at(situ_eager *eager, situ_tensor *const *tensors, int n, int device,
                          situ_tensor **sum) {
  situ_op op;
  int count = 0;
  TRY(situ_ops_find(COLLECTIVE_ADD, &op));
  const situ_attr attrs[2] = {situ_attr_int("N", n),
                              situ_attr_type("T", situ_tensor_type(tensors[0]))};
  const situ_call call = {.op = op.number,
                          .device = situ_tensor_device(tensors[device]),
                          .inputs = tensors,
                          .n_inputs = n,
                          .attrs = attrs,
                          .n_attrs = 2};
  return situ_eager_run(eager, &call, sum, 1, &count);
}

situ_status situ_eager_all_reduce(situ_eager *eager, situ_tensor *const *tensors, int n,
                                  situ_all_reduce_algorithm algorithm, situ_tensor **sums) {
  if (n < 1) return INVALID("situ_eager_all_reduce: %d tensors; at least one is needed", n);
  if (!eager || !tensors || !sums) return INVALID("situ_eager_all_reduce: an argument is NULL.");
  for (int i = 0; i < n; i++)
    if (!tensors[i]) return INVALID("situ_eager_all_reduce: tensor %d is NULL.", i);
  if (algorithm == SITU_ALL_REDUCE_BY_LIBRARY) algorithm = SITU_ALL_REDUCE_AUTO;
  if (algorithm == SITU_ALL_REDUCE_AUTO)
    algorithm = n <= 2 ? SITU_ALL_REDUCE_ON_EACH : SITU_ALL_REDUCE_ON_FIRST;
  if (algorithm == SITU_ALL_REDUCE_SCATTER_GATHER)
    return INVALID("situ_eager_all_reduce: SCATTER_GATHER is not supported; use AUTO");
  situ_status status = NULL;
  memset(sums, 0, sizeof *sums * (size_t)n);
  for (int i = 0; i < n && !status; i++)
    status = algorithm == SITU_ALL_REDUCE_ON_EACH || i == 0
                 ? add_at(eager, tensors, n, i, &sums[i])
                 : situ_eager_copy(eager, sums[0], situ_tensor_device(tensors[i]), &sums[i]);
  for (int i = 0; i < n && status; i++) {
    situ_tensor_release(sums[i]);
    sums[i] = NULL;
  }
  return status;
}
