/* SPDX-License-Identifier: Apache-2.0
 * selftest_ops.c: compares the samples of every op on a device with the CPU. Ops are visited in a
 * strided order, so that an incomplete test covers all families. */
#include <fnmatch.h>
#include <math.h>
#include <string.h>

#include "api/selftest.h"
#include "schema/sample.h"
#include "situ/graph.h"
#include "situ/session.h"
#include "tensor/shape.h"
#include "tensor/type.h"

enum { OUTPUTS = 16, STRIDE = 53 }; /* STRIDE is a prime */

/* Returns the tolerance for values of about 1. */
static double tolerance(situ_type type) {
  switch (type) {
    case SITU_COMPLEX64: /* errors of a part are relative to the number */
      return 2e-5;
    case SITU_COMPLEX128:
      return 1e-11;
    case SITU_FLOAT:
      return 4e-6;
    case SITU_DOUBLE:
      return 1e-12;
    case SITU_HALF:
      return 2e-3;
    case SITU_BFLOAT16:
      return 2e-2;
    case SITU_FLOAT8_E4M3FN:
    case SITU_FLOAT8_E5M2:
      return 0.13;
    default:
      return 0;
  }
}

bool selftest_agree(situ_type type, double actual, double expected) {
  if (actual == expected || (isnan(actual) && isnan(expected))) return true;
  return fabs(actual - expected) <= tolerance(type) * fmax(1, fabs(expected));
}

/* Reports the first difference of two results. */
static situ_status compare(int output, const situ_tensor *actual, const situ_tensor *expected) {
  const situ_shape a = situ_tensor_shape(actual), b = situ_tensor_shape(expected);
  char text[SHAPE_STRING_SIZE], other[SHAPE_STRING_SIZE];
  if (!shape_equal(&a, &b))
    return INTERNAL("output %d has shape %s, on the CPU %s", output, shape_print(&a, text),
                    shape_print(&b, other));
  const situ_type type = situ_tensor_type(expected);
  for (int64_t i = 0; i < situ_shape_count(b); i++) {
    const double got = sample_number(actual, i), right = sample_number(expected, i);
    if (!selftest_agree(type, got, right))
      return INTERNAL("element %lld of output %d is %.9g, on the CPU %.9g", (long long)i, output,
                      got, right);
  }
  return NULL;
}

/* A sample with one element type. */
struct trial {
  situ_graph *graph;
  situ_session *session;
  const struct sample *sample;
  situ_value inputs[SAMPLE_MOST];
  situ_feed feeds[SAMPLE_MOST];
  int n_feeds;
};

static void add_inputs(struct trial *trial) {
  const struct sample *sample = trial->sample;
  for (int i = 0; i < sample->n_inputs; i++) {
    situ_tensor *tensor = sample->inputs[i];
    if (sample->is_host[i]) {
      trial->inputs[i] = situ_constant_tensor(trial->graph, NULL, tensor);
      continue;
    }
    trial->inputs[i] =
        situ_placeholder(trial->graph, NULL, situ_tensor_type(tensor), situ_tensor_shape(tensor));
    trial->feeds[trial->n_feeds++] = (situ_feed){trial->inputs[i], tensor};
  }
}

static situ_status run_on(struct trial *trial, const char *device, situ_tensor **results,
                          int *count) {
  const struct sample *sample = trial->sample;
  situ_value outputs[OUTPUTS];
  situ_device_push(trial->graph, device);
  const situ_value first = situ_emit(trial->graph, sample->schema->op->name, NULL, trial->inputs,
                                     sample->n_inputs, sample->attrs, sample->n_attrs);
  situ_device_pop(trial->graph);
  TRY(situ_graph_status(trial->graph));
  *count = 0;
  while (*count < OUTPUTS && situ_value_valid(situ_value_output(first, *count))) {
    outputs[*count] = situ_value_output(first, *count);
    ++*count;
  }
  const situ_status status =
      situ_session_run(trial->session, trial->feeds, trial->n_feeds, outputs, *count, results);
  if (status) *count = 0;
  return status;
}

static void release(situ_tensor **tensors, int count) {
  for (int i = 0; i < count; i++) situ_tensor_release(tensors[i]);
}

static situ_status try_sample(struct trial *trial, const struct device *device) {
  situ_tensor *expected[OUTPUTS], *actual[OUTPUTS];
  int n_want = 0, n_have = 0;
  add_inputs(trial);
  situ_status status = run_on(trial, "/cpu:0", expected, &n_want);
  if (!status) status = run_on(trial, device->full, actual, &n_have);
  for (int i = 0; !status && i < n_have; i++) status = compare(i, actual[i], expected[i]);
  release(expected, n_want);
  release(actual, n_have);
  return status;
}

/* Returns whether the device has a kernel for the sample. */
static bool is_supported(const struct sample *sample, const struct device *device) {
  struct attr_value values[SAMPLE_MOST] = {0};
  for (int i = 0; i < sample->n_attrs; i++) {
    if (sample->attrs[i].kind != SITU_ATTR_TYPE) continue;
    const situ_type type = (situ_type)sample->attrs[i].integer;
    if (type == SITU_HALF && !device->info.has_half) return false;
    if (type_real(type) == SITU_DOUBLE && !device->info.has_double) return false;
    values[schema_attr(sample->schema, sample->attrs[i].name)].type = type;
  }
  return schema_supports(sample->schema, values, device->backend->kind);
}

/* Returns the type to test: one suffices, since kernels of all types share their source and
 * compiling takes long. */
static situ_type type_for(const struct schema *schema, int number, bool half) {
  const uint32_t types = sample_types(schema, number);
  if (half) return types >> SITU_HALF & 1 ? SITU_HALF : SITU_NO_TYPE;
  if (types >> SITU_FLOAT & 1) return SITU_FLOAT;
  int type = 0;
  while (type < MAX_TYPES && !(types >> type & 1)) type++;
  return type == MAX_TYPES ? SITU_NO_TYPE : (situ_type)type;
}

static situ_status run_sample(const struct selftest *test, situ_graph *graph, situ_session *session,
                              const struct schema *schema, int number, situ_type type,
                              bool *was_run) {
  struct arena arena = {0};
  struct sample sample;
  struct trial trial = {.graph = graph, .session = session, .sample = &sample};
  situ_status status = sample_make(schema, number, type, &arena, &sample);
  if (!status && is_supported(&sample, test->device)) {
    status = try_sample(&trial, test->device);
    *was_run = true;
  }
  if (status) {
    const situ_status error = status;
    status = situ_status_create(situ_status_code(error), "sample %d: %s", number,
                                situ_status_message(error));
    situ_status_release(error);
  }
  sample_free(&sample);
  arena_free(&arena);
  return status;
}

/* Runs all samples of an op until one fails. *was_run: the device has kernels for some of them. */
static situ_status run_op(const struct selftest *test, const struct schema *schema, bool half,
                          bool *was_run) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_status status = graph ? situ_session_create(graph, NULL, &session) : NO_MEMORY();
  for (int i = 0; !status && i < sample_count(schema); i++) {
    const situ_type type = type_for(schema, i, half);
    if (half && type != SITU_HALF) continue;
    status = run_sample(test, graph, session, schema, i, type, was_run);
  }
  situ_session_release(session);
  situ_graph_release(graph);
  return status;
}

static bool is_wanted(const struct selftest *test, const struct schema *schema) {
  const char *op = test->options->op;
  const unsigned special = OP_CONSTANT | OP_FED | OP_VARIABLE;
  if (op && fnmatch(op, schema->op->name, 0)) return false;
  return sample_count(schema) && !schema->op->compute && !(schema->op->flags & special);
}

/* Returns whether an op has float16 samples. */
static bool has_half_samples(const struct schema *schema) {
  int i = 0;
  while (i < sample_count(schema) && type_for(schema, i, true) != SITU_HALF) i++;
  return i < sample_count(schema);
}

/* Tests all ops in their first type, or in float16; counts ops with kernels and ops tested. */
static void run_ops(struct selftest *test, bool half, int *ops, int *ops_run) {
  const int count = schema_count(), step = count % STRIDE ? STRIDE : 1;
  for (int i = 0; i < count; i++) {
    const struct schema *schema = schema_get((int)((int64_t)i * step % count));
    if (!is_wanted(test, schema) || (half && !has_half_samples(schema))) continue;
    bool was_run = false;
    ++*ops;
    if (selftest_now() - test->start > test->options->seconds) continue;
    const situ_status status = run_op(test, schema, half, &was_run);
    if (!was_run && !status) {
      --*ops; /* no kernels on this device */
      continue;
    }
    ++*ops_run;
    selftest_report(test, half ? "half" : "ops", schema->op->name, status, NULL);
  }
}

void selftest_ops(struct selftest *test) {
  situ_selftest_result *result = test->result;
  run_ops(test, false, &result->ops, &result->ops_run);
  if (test->device->info.has_half) run_ops(test, true, &result->halves, &result->halves_run);
}
