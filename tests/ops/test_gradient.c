/* SPDX-License-Identifier: Apache-2.0
 * test_gradient.c: the gradient of every op and the gradient of the gradient, for every sample in
 * double, on every device, with known and unknown shapes, compared with difference quotients. */
#include "api/helpers.h"

#include <math.h>

#include "ops/gradient.h"
#include "situ/gradient.h"
#include "schema/sample.h"

enum { OUTPUTS = 16, ELEMENTS = 12 };

/* A function of a sample's inputs: the sum of weighted outputs; its gradients. */
struct made {
  situ_graph *graph;
  situ_session *session;
  const struct sample *sample;
  situ_value inputs[SAMPLE_MOST];
  situ_tensor *fed[SAMPLE_MOST]; /* by input; NULL: a constant */
  situ_value outputs[OUTPUTS], weights[OUTPUTS];
  int n_outputs;
  situ_value dx[SAMPLE_MOST]; /* of real inputs; invalid: none */
};

static int failures; /* the test continues, to report all ops that fail */

/* Inputs that are float whatever T is are too coarse for small differences. */
static bool is_real(const struct sample *sample, int i) {
  /* The padding of diagonals has no gradient, as in TensorFlow. */
  const char *port = schema_port(sample->schema, i, sample->n_inputs)->name;
  return situ_tensor_type(sample->inputs[i]) == SITU_DOUBLE && strcmp(port, "padding_value");
}

/* Weights that differ, so that mistakes do not cancel out. */
static situ_value weights_like(situ_graph *graph, const situ_tensor *result) {
  const int64_t n = situ_shape_count(situ_tensor_shape(result));
  double *data = calloc((size_t)n + 1, sizeof *data);
  for (int64_t i = 0; i < n; i++) data[i] = 0.5 + 0.25 * (double)(i * 7 % 5);
  const situ_value value = situ_constant(graph, NULL, SITU_DOUBLE, situ_tensor_shape(result), data);
  free(data);
  return value;
}

static int feeds_of(const struct made *made, situ_feed *feeds) {
  int n = 0;
  for (int i = 0; i < made->sample->n_inputs; i++)
    if (made->fed[i]) feeds[n++] = (situ_feed){made->inputs[i], made->fed[i]};
  return n;
}

static situ_status run(const struct made *made, const situ_value *values, int n,
                       situ_tensor **out) {
  situ_feed feeds[SAMPLE_MOST];
  return situ_session_run(made->session, feeds, feeds_of(made, feeds), values, n, out);
}

/* The sum of weighted values. */
static double weigh(const struct made *made, const situ_value *values, const situ_value *weights,
                    int n) {
  situ_tensor *results[2 * OUTPUTS];
  situ_value all[2 * OUTPUTS] = {{0}};
  double sum = 0;
  for (int i = 0; i < n; i++) all[i] = values[i], all[n + i] = weights[i];
  OK(run(made, all, 2 * n, results));
  for (int i = 0; i < n; i++)
    for (int64_t k = 0; k < situ_shape_count(situ_tensor_shape(results[i])); k++)
      sum += sample_number(results[i], k) * sample_number(results[n + i], k);
  for (int i = 0; i < 2 * n; i++) situ_tensor_release(results[i]);
  return sum;
}

static double *element(const struct made *made, int input, int64_t k) {
  return (double *)(uintptr_t)situ_tensor_data(made->fed[input]) + k;
}

/* The place of an element of a transposed matrix, of rows that read one half of a symmetric input
 * and have a symmetric gradient; else the element's own. */
static int64_t twin(const struct made *made, int input, int64_t k) {
  const situ_shape shape = situ_tensor_shape(made->fed[input]);
  if (strcmp(made->sample->schema->op->name, "Cholesky") != 0 || shape.rank < 2) return k;
  const int64_t n = shape.dim[shape.rank - 1], at = k % (n * n);
  return k - at + at % n * n + at / n;
}

/* Moves an element, and its twin: each by half. */
static void move(const struct made *made, int input, int64_t k, double by) {
  *element(made, input, k) += by / 2;
  *element(made, input, twin(made, input, k)) += by / 2;
}

/* Compares an element of a gradient with the difference quotients on both sides. At a kink they
 * differ, and any value between them is accepted. */
static void check_element(const struct made *made, const situ_value *values,
                          const situ_value *weights, int n, int input, int64_t k, double have) {
  const double old = *element(made, input, k), step = 1e-5 * fmax(1, fabs(old));
  const double here = weigh(made, values, weights, n);
  move(made, input, k, step);
  const double above = (weigh(made, values, weights, n) - here) / step;
  move(made, input, k, -2 * step);
  const double below = (here - weigh(made, values, weights, n)) / step;
  move(made, input, k, step);
  const double want = (above + below) / 2, room = fabs(above - below) / 2 + 1e-6 * fabs(here);
  if (isnan(want) || isinf(want) || room > 1e3) return;
  if (fabs(have - want) <= 1e-4 * fmax(1, fabs(want)) + room) return;
  print_error("%s: the gradient of element %lld of input %d is %g, not %g\n",
              made->sample->schema->op->name, (long long)k, input, have, want);
  failures++;
}

/* Checks all gradients `dx` of the weighted sum of values. */
static void check_gradients(const struct made *made, const situ_value *values,
                            const situ_value *weights, int n, const situ_value *dx) {
  for (int i = 0; i < made->sample->n_inputs; i++) {
    if (!is_real(made->sample, i)) continue;
    const int64_t count = situ_shape_count(situ_tensor_shape(made->sample->inputs[i]));
    situ_tensor *result = NULL;
    situ_status s = situ_value_valid(dx[i]) ? run(made, &dx[i], 1, &result) : NULL;
    if (s) {
      print_error("%s: %s\n", made->sample->schema->op->name, situ_status_message(s));
      situ_status_release(s);
      failures++;
      continue;
    }
    if (result) assert_int_equal(situ_shape_count(situ_tensor_shape(result)), count);
    const int64_t step = max_i64(1, count / ELEMENTS);
    for (int64_t k = 0; k < count; k += step)
      check_element(made, values, weights, n, i, k, result ? sample_number(result, k) : 0);
    situ_tensor_release(result);
  }
}

/* Building */

static void copy_inputs(struct made *made, bool known) {
  const struct sample *sample = made->sample;
  for (int i = 0; i < sample->n_inputs; i++) {
    situ_tensor *tensor = sample->inputs[i];
    const situ_shape shape = situ_tensor_shape(tensor);
    if (sample->is_host[i] && known && !is_real(sample, i)) {
      made->inputs[i] = situ_constant_tensor(made->graph, NULL, tensor);
      continue;
    }
    OK(situ_tensor_create(situ_tensor_type(tensor), shape, situ_tensor_data(tensor),
                          &made->fed[i]));
    made->inputs[i] = situ_placeholder(made->graph, NULL, situ_tensor_type(tensor),
                                       known ? shape : SITU_ANY_SHAPE);
  }
}

static void make(const struct sample *sample, const char *device, bool known, struct made *made) {
  situ_tensor *results[OUTPUTS];
  *made = (struct made){.graph = situ_graph_create(), .sample = sample};
  OK(situ_session_create(made->graph, NULL, &made->session));
  copy_inputs(made, known);
  situ_device_push(made->graph, device);
  const situ_value first = situ_emit(made->graph, sample->schema->op->name, NULL, made->inputs,
                                     sample->n_inputs, sample->attrs, sample->n_attrs);
  situ_device_pop(made->graph);
  OK(situ_graph_status(made->graph));
  for (int i = 0; i < OUTPUTS; i++) {
    const situ_value output = situ_value_output(first, i);
    if (situ_value_valid(output) && situ_value_type(output) == SITU_DOUBLE)
      made->outputs[made->n_outputs++] = output;
  }
  OK(run(made, made->outputs, made->n_outputs, results));
  for (int i = 0; i < made->n_outputs; i++) {
    made->weights[i] = weights_like(made->graph, results[i]);
    situ_tensor_release(results[i]);
  }
}

static void release(struct made *made) {
  for (int i = 0; i < made->sample->n_inputs; i++) situ_tensor_release(made->fed[i]);
  situ_session_release(made->session);
  situ_graph_release(made->graph);
}

/* The gradients of weighted values; false where an op on the way has none. */
static bool differentiate(const struct made *made, const situ_value *values,
                          const situ_value *weights, int n, situ_value *dx) {
  situ_value xs[SAMPLE_MOST] = {{0}}, out[SAMPLE_MOST];
  int at[SAMPLE_MOST], n_xs = 0;
  for (int i = 0; i < made->sample->n_inputs; i++) {
    dx[i] = (situ_value){made->graph, -1, -1};
    if (is_real(made->sample, i)) at[n_xs] = i, xs[n_xs++] = made->inputs[i];
  }
  situ_status s = situ_gradients(made->graph, values, n, xs, n_xs, weights, NULL, out);
  if (s) {
    const bool allowed = situ_status_code(s) == SITU_UNIMPLEMENTED;
    if (!allowed) print_error("%s: %s\n", made->sample->schema->op->name, situ_status_message(s));
    failures += !allowed;
    situ_status_release(s);
    return false;
  }
  for (int i = 0; i < n_xs; i++) dx[at[i]] = out[i];
  return true;
}

/* The gradient of the gradient, by the same way. */
static void check_second(struct made *made) {
  situ_value values[SAMPLE_MOST], weights[SAMPLE_MOST], dx[SAMPLE_MOST];
  situ_tensor *result = NULL;
  int n = 0;
  for (int i = 0; i < made->sample->n_inputs && n < OUTPUTS; i++) {
    if (!situ_value_valid(made->dx[i])) continue;
    OK(run(made, &made->dx[i], 1, &result));
    values[n] = made->dx[i];
    weights[n++] = weights_like(made->graph, result);
    situ_tensor_release(result);
  }
  if (n && differentiate(made, values, weights, n, dx))
    check_gradients(made, values, weights, n, dx);
}

/* Cases */

static bool is_plain(const struct schema *schema) {
  /* Of updates of one place the last one counts, but each gets the gradient, as in TensorFlow. */
  if (!strcmp(schema->op->name, "TensorScatterUpdate")) return false;
  /* The gradient is the image under the inverse transform, as in TensorFlow. */
  if (!strncmp(schema->op->name, "ImageProjectiveTransform", 24)) return false;
  /* Parameters have no gradient, as in TensorFlow: tests/python/test_special_functions.py. */
  if (!strcmp(schema->op->name, "Betainc") || !strcmp(schema->op->name, "Zeta")) return false;
  /* The padding value has no gradient, as in TensorFlow. */
  if (!strncmp(schema->op->name, "MatrixDiagV", 11)) return false;
  if (!strncmp(schema->op->name, "MatrixDiagPartV", 15)) return false;
  const unsigned special = OP_CONSTANT | OP_FED | OP_VARIABLE | OP_NO_GRADIENT | OP_STATEFUL;
  return schema->op->grad && !schema->inputs[0].is_ref && !(schema->op->flags & special);
}

static void check_case(const struct sample *sample, const char *device, bool known, bool second) {
  struct made made;
  make(sample, device, known, &made);
  if (made.n_outputs && differentiate(&made, made.outputs, made.weights, made.n_outputs, made.dx)) {
    check_gradients(&made, made.outputs, made.weights, made.n_outputs, made.dx);
    if (second) check_second(&made);
  }
  release(&made);
}

static bool has_real(const struct sample *sample) {
  for (int i = 0; i < sample->n_inputs; i++)
    if (situ_tensor_type(sample->inputs[i]) == SITU_DOUBLE) return true;
  return false;
}

static int visit_op(const struct schema *schema, const char *device, bool known, bool second) {
  int cases = 0;
  for (int number = 0; number < sample_count(schema); number++) {
    const uint32_t types = sample_types(schema, number);
    if (!(types >> SITU_DOUBLE & 1)) continue;
    struct arena arena = {0};
    struct sample sample;
    OK(sample_make(schema, number, SITU_DOUBLE, &arena, &sample));
    if (has_real(&sample)) {
      check_case(&sample, device, known, second);
      cases++;
    }
    sample_free(&sample);
    arena_free(&arena);
  }
  return cases;
}

static void visit_all(const char *device, bool known, bool second) {
  const char *only = getenv("SITU_TEST_OP");
  int cases = 0;
  failures = 0;
  fleet("A=256MiB");
  for (int i = 0; i < schema_count(); i++) {
    const struct schema *schema = schema_get(i);
    if (!is_plain(schema) || (only && strcmp(only, schema->op->name))) continue;
    cases += visit_op(schema, device, known, second);
  }
  print_message("%d cases\n", cases);
  assert_int_equal(failures, 0);
  assert_true(only || cases > 100);
}

static void gradients_are_quotients_of_differences(void **state) {
  (void)state;
  visit_all("/cpu:0", true, false);
}

static void the_same_on_a_gpu_with_unknown_shapes(void **state) {
  (void)state;
  visit_all("/gpu:0", false, false);
}

static void gradients_have_gradients(void **state) {
  (void)state;
  visit_all("/cpu:0", true, true);
}

/* Nobody forgets */

static bool may_be_real(const struct schema *schema) {
  const uint32_t real = 1u << SITU_FLOAT | 1u << SITU_DOUBLE | 1u << SITU_HALF;
  for (int i = 0; i < schema->n_outputs; i++) {
    const situ_op_port *port = &schema->outputs[i];
    if (port->is_ref) return false;
    if (port->type_attr < 0 ? gradient_is_real(port->type)
                            : (schema->attrs[port->type_attr].types & real) != 0)
      return schema->n_inputs > 0;
  }
  return false;
}

static void every_op_defines_its_gradient(void **state) {
  (void)state;
  int missing = 0;
  for (int i = 0; i < schema_count(); i++) {
    const struct op_def *op = schema_get(i)->op;
    if (!may_be_real(schema_get(i)) || op->grad || op->flags & OP_NO_GRADIENT) continue;
    print_error("%s has neither .grad nor OP_NO_GRADIENT\n", op->name);
    missing++;
  }
  assert_int_equal(missing, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_op_defines_its_gradient),
      cmocka_unit_test(gradients_are_quotients_of_differences),
      cmocka_unit_test(the_same_on_a_gpu_with_unknown_shapes),
      cmocka_unit_test(gradients_have_gradients),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
