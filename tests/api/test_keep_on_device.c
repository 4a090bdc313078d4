/* SPDX-License-Identifier: Apache-2.0
 * test_keep_on_device.c: runs whose results stay on their devices and are fed from there. */
#include "api/helpers.h"
#include "situ/eager.h"

static const char gpu[] = "/job:localhost/replica:0/task:0/device:GPU:0";

static situ_session *session_of(situ_graph *graph) {
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  return session;
}

static void expect_scalar(const situ_tensor *tensor, float want) {
  float have = 0;
  OK(situ_tensor_read(tensor, &have, sizeof have));
  assert_float_equal(have, want, 1e-5);
}

/* What a run leaves on the GPU is the next one's feed; the same fetch brought home is another run.
 */
static void results_stay_and_are_fed(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value two = emit2(graph, "Add", scalar(graph, 1), scalar(graph, 1));
  const situ_value y = emit2(graph, "Mul", x, two);
  situ_session *session = session_of(graph);
  situ_tensor *at = floats(SITU_SCALAR, &(float){1}), *home = NULL;
  for (int run = 1; run <= 5; run++) {
    situ_tensor *next = NULL;
    OK(situ_session_run_on_device(session, &(situ_feed){x, at}, 1, &y, 1, &next));
    assert_string_equal(situ_tensor_device(next), gpu);
    expect_scalar(next, (float)(1 << run));
    situ_tensor_release(at);
    at = next;
  }
  OK(situ_session_run(session, &(situ_feed){x, at}, 1, &y, 1, &home));
  expect_floats(home, (float[]){64}, 1);
  situ_tensor_release(home);
  situ_tensor_release(at);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Constants are computed once, but one that is fetched stays on its device as others do. */
static void constants_stay_too(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value sum = emit2(graph, "Add", scalar(graph, 3), scalar(graph, 4));
  const situ_value both[] = {sum, emit2(graph, "Mul", sum, sum)};
  situ_session *session = session_of(graph);
  for (int run = 0; run < 3; run++) {
    situ_tensor *out[2];
    OK(situ_session_run_on_device(session, NULL, 0, both, 2, out));
    expect_scalar(out[0], 7);
    expect_scalar(out[1], 49);
    assert_string_equal(situ_tensor_device(out[0]), gpu);
    assert_string_equal(situ_tensor_device(out[1]), gpu);
    situ_tensor_release(out[0]);
    situ_tensor_release(out[1]);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

/* A shape that was computed on the GPU is looked at in the host. */
static void a_fed_shape_may_be_on_a_device(void **state) {
  (void)state;
  fleet("1");
  situ_eager *eager = NULL;
  OK(situ_eager_create(NULL, &eager));
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_ANY_SHAPE);
  const situ_value shape = situ_placeholder(graph, "shape", SITU_INT32, SITU_SHAPE(2));
  const situ_value y = emit2(graph, "Reshape", x, shape);
  situ_session *session = session_of(graph);
  situ_tensor *six = floats(SITU_SHAPE(6), (float[]){1, 2, 3, 4, 5, 6}), *sizes = NULL;
  for (int run = 0; run < 4; run++) {
    const int32_t want[] = {run % 2 ? 2 : 3, run % 2 ? 3 : 2};
    situ_tensor *there = NULL, *out = NULL;
    OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2), want, &sizes));
    OK(situ_eager_copy(eager, sizes, "/gpu:0", &there));
    assert_null(situ_tensor_data(there));
    OK(situ_session_run_on_device(session, (situ_feed[]){{x, six}, {shape, there}}, 2, &y, 1,
                                  &out));
    assert_int_equal(situ_tensor_shape(out).dim[0], want[0]);
    assert_int_equal(situ_tensor_shape(out).dim[1], want[1]);
    situ_tensor_release(out);
    situ_tensor_release(there);
    situ_tensor_release(sizes);
  }
  situ_tensor_release(six);
  situ_session_release(session);
  situ_graph_release(graph);
  situ_eager_release(eager);
}

static void a_value_fed_twice_is_named(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  situ_session *session = session_of(graph);
  situ_tensor *one = floats(SITU_SCALAR, &(float){1}), *out = NULL;
  const situ_feed feeds[] = {{x, one}, {x, one}};
  OK(situ_session_run_on_device(session, feeds, 1, &x, 1, &out));
  situ_tensor_release(out);
  FAILS(situ_session_run_on_device(session, feeds, 2, &x, 1, &out), SITU_INVALID_ARGUMENT,
        "'x:0' is fed twice.");
  assert_null(out);
  situ_tensor_release(one);
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_stay_and_are_fed),
      cmocka_unit_test(constants_stay_too),
      cmocka_unit_test(a_fed_shape_may_be_on_a_device),
      cmocka_unit_test(a_value_fed_twice_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
