/* SPDX-License-Identifier: Apache-2.0
 * test_session.c: runs graphs: feeds, fetches, devices, copies, constant folding, threads, and
 * errors. */
#include <pthread.h>

#include "api/helpers.h"

static const float six[] = {1, 2, 3, 4, 5, 6};
static const float product[] = {22, 28, 49, 64};

/* The guide's first program: a, b, MatMul. */
static situ_value first_program(situ_graph *graph) {
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), six);
  const situ_value b = situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(3, 2), six);
  return emit2(graph, "MatMul", a, b);
}

static situ_session *session_of(situ_graph *graph) {
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  return session;
}

static void runs_the_first_program_everywhere(void **state) {
  (void)state;
  const char *fleets[] = {"", "1", "4"};
  for (size_t i = 0; i < 3; i++) {
    fleet(fleets[i]);
    situ_graph *graph = situ_graph_create();
    const situ_value c = first_program(graph);
    situ_session *session = session_of(graph);
    for (int run = 0; run < 3; run++) {
      situ_tensor *result = NULL;
      OK(situ_session_eval(session, c, &result));
      expect_floats(result, product, 4);
      situ_tensor_release(result);
    }
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void feeds_change_from_run_to_run(void **state) {
  (void)state;
  const char *fleets[] = {"", "2"};
  for (size_t i = 0; i < 2; i++) {
    fleet(fleets[i]);
    situ_graph *graph = situ_graph_create();
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2));
    const situ_value y = emit2(graph, "Add", emit2(graph, "Mul", x, x), scalar(graph, 1));
    situ_session *session = session_of(graph);
    for (int rows = 1; rows < 4; rows++) {
      const float in[6] = {1, 2, 3, 4, 5, (float)rows};
      float want[6];
      for (int k = 0; k < 6; k++) want[k] = in[k] * in[k] + 1;
      situ_tensor *fed = floats(SITU_SHAPE(rows, 2), in), *result = NULL;
      OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
      expect_floats(result, want, rows * 2);
      situ_tensor_release(result);
      situ_tensor_release(fed);
    }
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void several_fetches_may_share(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(2));
  const situ_value y = emit1(graph, "Neg", x), same = emit1(graph, "Identity", y);
  const situ_value constant = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), six);
  const situ_value nothing = situ_emit(graph, "NoOp", NULL, NULL, 0, NULL, 0);
  situ_session *session = session_of(graph);
  const situ_value fetches[] = {y, same, x, constant, nothing, y};
  situ_tensor *fed = floats(SITU_SHAPE(2), six), *results[6];
  for (int run = 0; run < 2; run++) {
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, fetches, 6, results));
    expect_floats(results[0], (float[]){-1, -2}, 2);
    expect_floats(results[1], (float[]){-1, -2}, 2);
    expect_floats(results[2], six, 2);
    expect_floats(results[3], six, 2);
    assert_null(results[4]);
    expect_floats(results[5], (float[]){-1, -2}, 2);
    for (int i = 0; i < 6; i++) situ_tensor_release(results[i]);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* A retained result must not change in the next run. */
static void kept_results_stay(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value y = emit1(graph, "Square", x);
  situ_session *session = session_of(graph);
  situ_tensor *kept[8];
  for (int i = 0; i < 8; i++) {
    situ_tensor *fed = floats(SITU_SCALAR, &(float){(float)i});
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &kept[i]));
    situ_tensor_release(fed);
  }
  for (int i = 0; i < 8; i++) {
    expect_floats(kept[i], &(float){(float)(i * i)}, 1);
    situ_tensor_release(kept[i]);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Any value can be fed, not only placeholders; its producers do not run. */
static void inner_values_can_be_fed(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value y = emit1(graph, "Square", x), z = emit1(graph, "Neg", y);
  situ_session *session = session_of(graph);
  situ_tensor *fed = floats(SITU_SCALAR, &(float){5}), *result = NULL;
  OK(situ_session_run(session, &(situ_feed){y, fed}, 1, &z, 1, &result));
  expect_floats(result, &(float){-5}, 1);
  situ_tensor_release(result);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Towers on two GPUs, summed on the CPU, and a value that goes from GPU to GPU. */
static void values_move_between_devices(void **state) {
  (void)state;
  fleet("4");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(2, 3));
  situ_value towers[2];
  for (int i = 0; i < 2; i++) {
    situ_device_push(graph, i ? "/gpu:3" : "/gpu:2");
    const situ_value b = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(3, 2), six);
    towers[i] = emit2(graph, "MatMul", x, b);
    situ_device_pop(graph);
  }
  situ_device_push(graph, "/gpu:0");
  const situ_value across = emit2(graph, "Sub", towers[0], towers[1]);
  situ_device_pop(graph);
  situ_device_push(graph, "/cpu:0");
  const situ_value sum = situ_emit(graph, "AddN", NULL, towers, 2, NULL, 0);
  situ_device_pop(graph);
  situ_session *session = session_of(graph);
  situ_tensor *fed = floats(SITU_SHAPE(2, 3), six), *results[2];
  for (int run = 0; run < 50; run++) {
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, (situ_value[]){sum, across}, 2, results));
    expect_floats(results[0], (float[]){44, 56, 98, 128}, 4);
    expect_floats(results[1], (float[]){0, 0, 0, 0}, 4);
    situ_tensor_release(results[0]);
    situ_tensor_release(results[1]);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* A long chain that changes device at every node, with values used again later. */
static void a_chain_across_devices(void **state) {
  (void)state;
  fleet("3");
  const char *devices[] = {"/gpu:0", "/cpu:0", "/gpu:1", "/gpu:2"};
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(100));
  situ_value at[41] = {x};
  for (int i = 1; i <= 40; i++) {
    situ_device_push(graph, devices[i % 4]);
    at[i] = emit2(graph, "Add", at[i - 1], at[i / 2]);
    situ_device_pop(graph);
  }
  float data[100], want[41][100];
  for (int k = 0; k < 100; k++) data[k] = want[0][k] = (float)(k % 7);
  for (int i = 1; i <= 40; i++)
    for (int k = 0; k < 100; k++) want[i][k] = want[i - 1][k] + want[i / 2][k];
  situ_session *session = session_of(graph);
  situ_tensor *fed = floats(SITU_SHAPE(100), data), *result = NULL;
  for (int run = 0; run < 20; run++) {
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &at[25], 1, &result));
    expect_floats(result, want[25], 100);
    situ_tensor_release(result);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void the_graph_may_grow(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  situ_value c = first_program(graph);
  situ_session *session = session_of(graph);
  float want[4];
  memcpy(want, product, sizeof want);
  for (int i = 0; i < 4; i++) {
    situ_tensor *result = NULL;
    OK(situ_session_eval(session, c, &result));
    expect_floats(result, want, 4);
    situ_tensor_release(result);
    c = emit1(graph, "Neg", c);
    for (int k = 0; k < 4; k++) want[k] = -want[k];
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

/* A shape that depends on data: the rest is planned when it is known. */
static void a_shape_may_depend_on_values(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_INT32, SITU_SHAPE(2));
  situ_device_push(graph, "/gpu:0");
  const situ_value dims = emit2(graph, "Add", x, x);
  situ_device_pop(graph);
  const situ_value full = emit2(graph, "Fill", dims, scalar(graph, 7));
  situ_session *session = session_of(graph);
  for (int32_t n = 1; n < 4; n++) {
    situ_tensor *fed = NULL, *result = NULL;
    OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2), (int32_t[]){n, 1}, &fed));
    OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &full, 1, &result));
    const situ_shape shape = situ_tensor_shape(result);
    assert_int_equal(shape.rank, 2);
    assert_int_equal(shape.dim[0], 2 * n);
    assert_int_equal(shape.dim[1], 2);
    assert_float_equal(((const float *)situ_tensor_data(result))[4 * n - 1], 7, 0);
    situ_tensor_release(result);
    situ_tensor_release(fed);
  }
  situ_session_release(session);
  situ_graph_release(graph);
}

struct runner {
  situ_session *session;
  situ_value x, y;
  int seed;
  int wrong;
};

static void *run_many(void *context) {
  struct runner *runner = context;
  for (int i = 0; i < 200; i++) {
    const float v = (float)(runner->seed + i);
    situ_tensor *fed = NULL, *result = NULL;
    situ_status status = situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &v, &fed);
    if (!status)
      status = situ_session_run(runner->session, &(situ_feed){runner->x, fed}, 1, &runner->y, 1,
                                &result);
    if (status || *(const float *)situ_tensor_data(result) != v * v - v) runner->wrong++;
    situ_status_release(status);
    situ_tensor_release(result);
    situ_tensor_release(fed);
  }
  return NULL;
}

static void threads_may_share_a_session(void **state) {
  (void)state;
  const char *fleets[] = {"", "2"};
  for (size_t f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
    const situ_value y = emit2(graph, "Sub", emit1(graph, "Square", x), x);
    struct runner runners[4];
    pthread_t threads[4];
    situ_session *session = session_of(graph);
    for (int i = 0; i < 4; i++) {
      runners[i] = (struct runner){session, x, y, i * 50, 0};
      assert_int_equal(pthread_create(&threads[i], NULL, run_many, &runners[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
      pthread_join(threads[i], NULL);
      assert_int_equal(runners[i].wrong, 0);
    }
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void invalid_arguments(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create(), *other = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 3));
  const situ_value y = emit1(graph, "Neg", x), foreign = scalar(other, 1);
  situ_session *session = session_of(graph);
  situ_tensor *good = floats(SITU_SHAPE(2, 3), six), *bad = floats(SITU_SHAPE(3, 2), six);
  situ_tensor *ints = NULL, *result = NULL;
  OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2, 3), NULL, &ints));
  FAILS(situ_session_eval(session, y, &result), SITU_INVALID_ARGUMENT,
        "You must feed a value for placeholder tensor 'x' with dtype float and shape [?,3]");
  FAILS(situ_session_run(session, &(situ_feed){x, bad}, 1, &y, 1, &result), SITU_INVALID_ARGUMENT,
        "Cannot feed value of shape (3, 2) for Tensor 'x:0', which has shape '(?, 3)'");
  FAILS(situ_session_run(session, &(situ_feed){x, ints}, 1, &y, 1, &result), SITU_INVALID_ARGUMENT,
        "has type float and cannot be fed a tensor of type int32");
  FAILS(situ_session_run(session, &(situ_feed){x, NULL}, 1, &y, 1, &result), SITU_INVALID_ARGUMENT,
        "the tensor for 'x' is NULL");
  FAILS(situ_session_run(session, (situ_feed[]){{x, good}, {x, good}}, 2, &y, 1, &result),
        SITU_INVALID_ARGUMENT, "'x:0' is fed twice");
  FAILS(situ_session_run(session, &(situ_feed){x, good}, 1, &foreign, 1, &result),
        SITU_INVALID_ARGUMENT, "another graph");
  FAILS(situ_session_run(session, &(situ_feed){x, good}, 1, &(situ_value){graph, 0, 3}, 1, &result),
        SITU_INVALID_ARGUMENT, "has no output 3");
  FAILS(situ_session_eval(session, (situ_value){graph, 99, 0}, &result), SITU_INVALID_ARGUMENT,
        "node 99 does not exist");
  FAILS(situ_session_eval(NULL, y, &result), SITU_INVALID_ARGUMENT, "session is NULL");
  FAILS(situ_session_run(session, NULL, 0, &y, 1, NULL), SITU_INVALID_ARGUMENT, "NULL");
  situ_session *none = NULL;
  FAILS(situ_session_create(NULL, NULL, &none), SITU_INVALID_ARGUMENT, "graph is NULL");
  FAILS(situ_session_create(graph, NULL, NULL), SITU_INVALID_ARGUMENT, "`out` is NULL");
  assert_null(result);
  situ_session_release(session);
  situ_tensor_release(good);
  situ_tensor_release(bad);
  situ_tensor_release(ints);
  situ_graph_release(graph);
  situ_graph_release(other);
}

static void closed_session_fails(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value c = first_program(graph);
  situ_session *session = session_of(graph);
  situ_tensor *result = NULL;
  OK(situ_session_eval(session, c, &result));
  situ_tensor_release(result);
  OK(situ_session_close(session));
  FAILS(situ_session_eval(session, c, &result), SITU_FAILED_PRECONDITION, "closed");
  OK(situ_session_close(session));
  situ_session_release(session);
  situ_graph_release(graph);
}

static void the_first_error_of_a_graph_is_reported(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 3), six);
  const situ_value wrong = emit2(graph, "MatMul", a, a), more = emit1(graph, "Neg", wrong);
  situ_session *session = session_of(graph);
  situ_tensor *result = NULL;
  FAILS(situ_session_eval(session, more, &result), SITU_INVALID_ARGUMENT, "MatMul");
  situ_session_release(session);
  situ_graph_release(graph);
}

/* A lost device stops the step, and the error names it; steps without it still run. */
static void a_lost_device_leaves_the_session_usable(void **state) {
  (void)state;
  fleet("Good,Bad;lost_after=2");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  situ_device_push(graph, "/gpu:1");
  situ_value bad = x;
  for (int i = 0; i < 5; i++) bad = emit1(graph, "Neg", bad);
  situ_device_pop(graph);
  const situ_value good = emit1(graph, "Square", x);
  situ_session *session = session_of(graph);
  situ_tensor *fed = floats(SITU_SCALAR, &(float){3}), *result = NULL;
  const situ_feed feed = {x, fed};
  for (int run = 0; run < 2; run++)
    FAILS(situ_session_run(session, &feed, 1, &bad, 1, &result), SITU_UNAVAILABLE, "lost");
  OK(situ_session_run(session, &feed, 1, &good, 1, &result));
  expect_floats(result, &(float){9}, 1);
  situ_tensor_release(result);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void a_failing_kernel_names_its_node(void **state) {
  (void)state;
  const char *fleets[] = {"", "1"};
  for (size_t f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    const situ_value x = situ_placeholder(graph, "x", SITU_INT32, SITU_SHAPE(2));
    const situ_value y = situ_emit(graph, "FloorDiv", "ratio", (situ_value[]){x, x}, 2, NULL, 0);
    situ_session *session = session_of(graph);
    situ_tensor *zero = NULL, *one = NULL, *result = NULL;
    OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2), (int32_t[]){1, 0}, &zero));
    OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2), (int32_t[]){1, 5}, &one));
    FAILS(situ_session_run(session, &(situ_feed){x, zero}, 1, &y, 1, &result),
          SITU_INVALID_ARGUMENT, "ratio");
    OK(situ_session_run(session, &(situ_feed){x, one}, 1, &y, 1, &result));
    assert_int_equal(((const int32_t *)situ_tensor_data(result))[1], 1);
    situ_tensor_release(result);
    situ_tensor_release(zero);
    situ_tensor_release(one);
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(runs_the_first_program_everywhere),
      cmocka_unit_test(feeds_change_from_run_to_run),
      cmocka_unit_test(several_fetches_may_share),
      cmocka_unit_test(kept_results_stay),
      cmocka_unit_test(inner_values_can_be_fed),
      cmocka_unit_test(values_move_between_devices),
      cmocka_unit_test(a_chain_across_devices),
      cmocka_unit_test(the_graph_may_grow),
      cmocka_unit_test(a_shape_may_depend_on_values),
      cmocka_unit_test(threads_may_share_a_session),
      cmocka_unit_test(invalid_arguments),
      cmocka_unit_test(closed_session_fails),
      cmocka_unit_test(the_first_error_of_a_graph_is_reported),
      cmocka_unit_test(a_lost_device_leaves_the_session_usable),
      cmocka_unit_test(a_failing_kernel_names_its_node),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
