/* SPDX-License-Identifier: Apache-2.0
 * test_buffer_donation.c: results reuse the buffers of donated feeds where that is safe. */
#include "api/helpers.h"

enum { COUNT = 40000 };

/* A variable's old value is fed, and the new one fetched, on a device. */
struct trial {
  situ_graph *graph;
  situ_session *session;
  situ_value old, grad, next, sum, spread;
  situ_tensor *value, *ones;
};

static situ_value on(struct trial *t, const char *device, const char *op, const situ_value *in,
                     int n) {
  situ_device_push(t->graph, device);
  const situ_value made = situ_emit(t->graph, op, NULL, in, n, NULL, 0);
  situ_device_pop(t->graph);
  return made;
}

/* The value 3, on the device. */
static situ_tensor *make_value(const char *device, const float *data) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SHAPE(COUNT), data), *result = NULL;
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(COUNT));
  struct trial t = {.graph = graph};
  const situ_value y = on(&t, device, "Abs", &x, 1);
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_run_on_device(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
  return result;
}

static void begin(struct trial *t, const char *device, const char *other) {
  static float data[COUNT];
  fleet("2");
  *t = (struct trial){.graph = situ_graph_create()};
  const situ_value rate = scalar(t->graph, 2);
  const int32_t axis = 0;
  const situ_value axes = situ_constant(t->graph, NULL, SITU_INT32, SITU_SHAPE(1), &axis);
  t->old = situ_placeholder(t->graph, "old", SITU_FLOAT, SITU_SHAPE(COUNT));
  t->grad = situ_placeholder(t->graph, "grad", SITU_FLOAT, SITU_SHAPE(COUNT));
  const situ_value root = on(t, other, "Square", &t->old, 1); /* reads it elsewhere */
  t->sum = on(t, other, "Sum", (situ_value[]){root, axes}, 2);
  const situ_value there = on(t, other, "Neg", &t->grad, 1);
  const situ_value all = on(t, device, "AddN", (situ_value[]){there, t->grad, t->grad}, 3);
  t->next = on(t, device, "StepGradientDescent", (situ_value[]){t->old, rate, all}, 3);
  t->spread = on(t, other, "Identity", &t->next, 1);
  OK(situ_session_create(t->graph, NULL, &t->session));
  for (int i = 0; i < COUNT; i++) data[i] = 1;
  t->ones = floats(SITU_SHAPE(COUNT), data);
  for (int i = 0; i < COUNT; i++) data[i] = 3;
  t->value = make_value(device, data);
}

static void end(struct trial *t) {
  situ_tensor_release(t->value);
  situ_tensor_release(t->ones);
  situ_session_release(t->session);
  situ_graph_release(t->graph);
}

static void expect_all(const situ_tensor *tensor, float want) {
  static float data[COUNT];
  OK(situ_tensor_read(tensor, data, sizeof data));
  for (int i = 0; i < COUNT; i++) assert_float_equal(data[i], want, 0);
}

/* Runs a step; the new value is `now`. */
static void step(struct trial *t, const situ_value *fetches, int n, situ_tensor **results) {
  const int donate[2] = {1, 0};
  const situ_run_options options = {.keep_on_device = true, .donate = donate};
  const situ_feed feeds[2] = {{t->old, t->value}, {t->grad, t->ones}};
  OK(situ_session_run_with(t->session, &options, feeds, 2, fetches, n, results));
}

static void go_on(struct trial *t, situ_tensor **results, float now) {
  expect_all(results[0], now);
  expect_all(results[2], now);
  float sum = 0;
  OK(situ_tensor_read(results[1], &sum, sizeof sum));
  assert_float_equal(sum, (now + 2) * (now + 2) * COUNT, 1);
  situ_tensor_release(t->value);
  t->value = results[0];
  situ_tensor_release(results[1]);
  situ_tensor_release(results[2]);
}

/* Steps reuse one buffer, unless the tensor has another reference. */
static void try_steps(const char *device, const char *other) {
  struct trial t;
  situ_tensor *results[3] = {NULL};
  begin(&t, device, other);
  const situ_value fetches[] = {t.next, t.sum, t.spread};
  for (int i = 0; i < 3; i++) {
    step(&t, fetches, 3, results);
    assert_ptr_equal(results[0], t.value);
    go_on(&t, results, 3 - 2 * (float)(i + 1));
  }
  situ_tensor *held = situ_tensor_retain(t.value);
  step(&t, fetches, 3, results);
  assert_ptr_not_equal(results[0], held);
  go_on(&t, results, -5);
  expect_all(held, -3);
  situ_tensor_release(held);
  end(&t);
}

static void new_values_reuse_donated_buffers(void **state) {
  (void)state;
  try_steps("/cpu:0", "/cpu:0");
  try_steps("/gpu:0", "/gpu:0");
  try_steps("/gpu:0", "/gpu:1");
  try_steps("/gpu:0", "/cpu:0");
}

/* The old value is fetched as well: its buffer is not reused. */
static void fetched_feeds_are_not_donated(void **state) {
  (void)state;
  struct trial t;
  begin(&t, "/gpu:0", "/gpu:1");
  situ_tensor *results[2] = {NULL};
  const situ_value fetches[] = {t.next, t.old};
  step(&t, fetches, 2, results);
  assert_ptr_not_equal(results[0], t.value);
  expect_all(results[0], 1);
  expect_all(results[1], 3);
  situ_tensor_release(results[0]);
  situ_tensor_release(results[1]);
  end(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(new_values_reuse_donated_buffers),
                                     cmocka_unit_test(fetched_feeds_are_not_donated)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
