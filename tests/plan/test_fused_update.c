/* SPDX-License-Identifier: Apache-2.0
 * test_fused_update.c: sums over devices, optimizer steps and copies are fused to one call on
 * simulated GPUs, with bit-identical results. */
#include <math.h>

#include "api/helpers.h"

enum { MOST = 6, LARGE = 70001 };

static const char *const gpus[] = {"/gpu:0", "/gpu:1", "/gpu:2"};

/* Feeds, each recomputed on its device, so that nothing is constant. */
struct trial {
  situ_graph *graph;
  situ_session *session;
  int n, count;
  situ_feed feeds[MOST];
  float *data[MOST];
  situ_value terms[MOST];
};

static situ_value on(struct trial *t, int gpu, const char *op, const situ_value *in, int n) {
  situ_device_push(t->graph, gpus[gpu]);
  const situ_value made = situ_emit(t->graph, op, NULL, in, n, NULL, 0);
  situ_device_pop(t->graph);
  return made;
}

static void begin(struct trial *t, int n, int count, int devices) {
  fleet("3");
  *t = (struct trial){.graph = situ_graph_create(), .n = n, .count = count};
  for (int i = 0; i < n; i++) {
    t->data[i] = calloc((size_t)count, sizeof(float));
    for (int k = 0; k < count; k++) t->data[i][k] = 1.0f / (float)(3 * k + 7 * i + 1);
    const situ_value x = situ_placeholder(t->graph, NULL, SITU_FLOAT, SITU_SHAPE(count));
    t->feeds[i] = (situ_feed){x, floats(SITU_SHAPE(count), t->data[i])};
    t->terms[i] = on(t, i % devices, "Neg", &x, 1);
  }
}

static void end(struct trial *t) {
  for (int i = 0; i < t->n; i++) {
    situ_tensor_release(t->feeds[i].tensor);
    free(t->data[i]);
  }
  situ_session_release(t->session);
  situ_graph_release(t->graph);
}

/* Runs twice and returns the results of the second run. */
static void run(struct trial *t, const situ_value *fetches, int n, situ_tensor **results) {
  if (!t->session) OK(situ_session_create(t->graph, NULL, &t->session));
  for (int time = 0; time < 2; time++) {
    for (int i = 0; i < n && time; i++) situ_tensor_release(results[i]);
    OK(situ_session_run(t->session, t->feeds, t->n, fetches, n, results));
  }
}

/* How many copies there are from one GPU to another. */
static int peer_copies(struct trial *t, const situ_value *fetches, int n) {
  situ_plan *plan = NULL;
  int count = 0, found = 0;
  if (!t->session) OK(situ_session_create(t->graph, NULL, &t->session));
  OK(situ_plan_create(t->session, t->feeds, t->n, fetches, n, &plan));
  const situ_copy *copies = situ_plan_copies(plan, &count);
  for (int i = 0; i < count; i++)
    found += strstr(copies[i].from, "GPU") && strstr(copies[i].to, "GPU");
  situ_plan_release(plan);
  return found;
}

static float sum_of(const struct trial *t, int n_terms, int k) {
  float sum = -t->data[0][k];
  for (int i = 1; i < n_terms; i++) sum += -t->data[i][k];
  return sum;
}

static void expect(const struct trial *t, situ_tensor *result, const float *want) {
  assert_memory_equal(situ_tensor_data(result), want, sizeof(float) * (size_t)t->count);
  situ_tensor_release(result);
}

/* The step that MirroredStrategy makes: the last value is the variable. */
static void step_of(int n_terms, int devices, int count) {
  struct trial t;
  begin(&t, n_terms + 1, count, devices);
  const situ_value sum = on(&t, 0, "AddN", t.terms, n_terms), rate = scalar(t.graph, 0.5f);
  const situ_value var = on(&t, 0, "Neg", &t.feeds[n_terms].value, 1);
  const situ_value next = on(&t, 0, "StepGradientDescent", (situ_value[]){var, rate, sum}, 3);
  situ_value fetches[3] = {next};
  for (int i = 1; i < devices; i++) {
    const situ_value copy = on(&t, i, "Identity", &next, 1);
    fetches[i] = on(&t, i, "Exp", &copy, 1);
  }
  float *want = calloc((size_t)count, sizeof *want);
  for (int k = 0; k < count; k++) want[k] = -t.data[n_terms][k] - sum_of(&t, n_terms, k) * 0.5f;
  assert_int_equal(peer_copies(&t, fetches, devices), 0);
  situ_tensor *results[3] = {NULL};
  run(&t, fetches, devices, results);
  expect(&t, results[0], want);
  for (int i = 1; i < devices; i++) {
    for (int k = 0; k < count; k += 977)
      assert_float_equal(((const float *)situ_tensor_data(results[i]))[k], expf(want[k]), 1e-5);
    situ_tensor_release(results[i]);
  }
  free(want);
  end(&t);
}

static void a_step_is_one_call(void **state) {
  (void)state;
  for (int devices = 2; devices <= 3; devices++) {
    step_of(devices, devices, 5);
    step_of(devices, devices, LARGE);
  }
  step_of(5, 3, LARGE); /* two kernels add */
}

/* Other readers of the sum, or of the copy of an input, read the same values. */
static void others_see_the_same(void **state) {
  (void)state;
  struct trial t;
  begin(&t, 3, LARGE, 2);
  const situ_value sum = on(&t, 0, "AddN", t.terms, 2), rate = scalar(t.graph, 0.5f);
  const situ_value next =
      on(&t, 0, "StepGradientDescent", (situ_value[]){t.terms[2], rate, sum}, 3);
  const situ_value besides = on(&t, 0, "Neg", &t.terms[1], 1);
  const situ_value copy = on(&t, 1, "Identity", &next, 1);
  const situ_value deferred = on(&t, 1, "AddN", (situ_value[]){copy, t.terms[1]}, 2);
  const situ_value fetches[] = {sum, next, besides, deferred};
  float *want = calloc(LARGE, sizeof *want);
  situ_tensor *results[4] = {NULL};
  run(&t, fetches, 4, results);
  for (int k = 0; k < LARGE; k++) want[k] = sum_of(&t, 2, k);
  expect(&t, results[0], want);
  for (int k = 0; k < LARGE; k++) want[k] = -t.data[2][k] - sum_of(&t, 2, k) * 0.5f;
  expect(&t, results[1], want);
  expect(&t, results[2], t.data[1]);
  for (int k = 0; k < LARGE; k++) want[k] += -t.data[1][k];
  expect(&t, results[3], want);
  free(want);
  end(&t);
}

/* All new values of a step with slots, of which each device gets some. */
static void slots_are_written_too(void **state) {
  (void)state;
  struct trial t;
  begin(&t, 4, LARGE, 2);
  const situ_value sum = on(&t, 1, "AddN", t.terms, 2), rate = scalar(t.graph, 0.5f);
  const situ_value keep = scalar(t.graph, 0.25f);
  const situ_value in[] = {t.terms[2], t.terms[3], rate, sum, keep};
  const situ_value next = on(&t, 1, "StepMomentum", in, 5);
  const situ_value accum = situ_value_output(next, 1);
  const situ_value fetches[] = {on(&t, 0, "Identity", &next, 1), accum};
  float *want = calloc(LARGE, sizeof *want);
  situ_tensor *results[2] = {NULL};
  assert_int_equal(peer_copies(&t, fetches, 2), 0);
  run(&t, fetches, 2, results);
  for (int k = 0; k < LARGE; k++) want[k] = -t.data[3][k] * 0.25f + sum_of(&t, 2, k);
  expect(&t, results[1], want);
  for (int k = 0; k < LARGE; k++) want[k] = -t.data[2][k] - want[k] * 0.5f;
  expect(&t, results[0], want);
  free(want);
  end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_is_one_call),
                                     cmocka_unit_test(others_see_the_same),
                                     cmocka_unit_test(slots_are_written_too)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
