/* SPDX-License-Identifier: Apache-2.0
 * test_plan.c: a plan says where everything goes, what is copied and what is needed, and runs
 * nothing. */
#include "api/helpers.h"

static const float numbers[] = {1, 2, 3, 4, 5, 6};

/* x (fed) times a constant on each of two GPUs, and their sum on the CPU. */
struct towers {
  situ_graph *graph;
  situ_session *session;
  situ_value x, y[2], sum;
};

static void build(struct towers *towers, const char *gpus) {
  fleet(gpus);
  situ_graph *graph = towers->graph = situ_graph_create();
  towers->x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 3));
  for (int i = 0; i < 2; i++) {
    situ_device_push(graph, i ? "/gpu:1" : "/gpu:0");
    const situ_value w = situ_constant(graph, "w", SITU_FLOAT, SITU_SHAPE(3, 2), numbers);
    towers->y[i] = emit2(graph, "MatMul", towers->x, w);
    situ_device_pop(graph);
  }
  situ_device_push(graph, "/cpu:0");
  towers->sum = emit2(graph, "Add", towers->y[0], towers->y[1]);
  situ_device_pop(graph);
  OK(situ_session_create(graph, NULL, &towers->session));
}

static void destroy(struct towers *towers) {
  situ_session_release(towers->session);
  situ_graph_release(towers->graph);
}

static situ_status plan_with(const struct towers *towers, situ_tensor *tensor, situ_plan **out) {
  const situ_feed feed = {towers->x, tensor};
  return situ_plan_create(towers->session, &feed, 1, &towers->sum, 1, out);
}

static void a_plan_says_where_and_why(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "2");
  situ_tensor *x = floats(SITU_SHAPE(2, 3), numbers);
  situ_plan *plan = NULL;
  OK(plan_with(&towers, x, &plan));
  int count = 0;
  const situ_placed *placed = situ_plan_placed(plan, &count);
  assert_int_equal(count, situ_graph_count(towers.graph));
  for (int i = 0; i < count; i++) {
    assert_true(*placed[i].cause && *placed[i].assigned);
    if (!strcmp(placed[i].node, "MatMul_1")) {
      assert_string_equal(placed[i].op, "MatMul");
      assert_string_equal(placed[i].requested, "/gpu:1");
      assert_string_equal(placed[i].assigned, "/job:localhost/replica:0/task:0/device:GPU:1");
    }
  }
  situ_plan_release(plan);
  situ_tensor_release(x);
  destroy(&towers);
}

static void copies_and_needs_are_known_before_a_run(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "2");
  situ_tensor *x = floats(SITU_SHAPE(2, 3), numbers);
  situ_plan *plan = NULL;
  OK(plan_with(&towers, x, &plan));
  int count = 0;
  uint64_t every = 0, once = 0;
  const situ_copy *copies = situ_plan_copies(plan, &count);
  for (int i = 0; i < count; i++) *(copies[i].once ? &once : &every) += copies[i].bytes;
  assert_int_equal(once, 2 * 24);           /* the weights */
  assert_int_equal(every, 2 * 24 + 2 * 16); /* x to both, both products back */
  const situ_need *needs = situ_plan_needs(plan, &count);
  int gpus = 0;
  for (int i = 0; i < count; i++) {
    if (!strstr(needs[i].device, "GPU")) continue;
    gpus++;
    assert_int_equal(needs[i].kernels, 1);
    assert_true(needs[i].peak_bytes >= 24 + 24 + 16 && needs[i].peak_bytes < 4096);
    assert_true(needs[i].limit_bytes > UINT64_C(7) << 30);
  }
  assert_int_equal(gpus, 2);
  situ_plan_release(plan);
  situ_tensor_release(x);
  for (int i = 0; i < 3; i++) { /* and nothing was taken for it */
    situ_memory_info info;
    OK(situ_device_memory_info(i, &info));
    assert_int_equal(info.reserved, 0);
  }
  destroy(&towers);
}

static void a_plan_needs_what_the_run_needs(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "2");
  situ_tensor *x = floats(SITU_SHAPE(1000, 3), NULL), *result = NULL;
  situ_plan *plan = NULL;
  OK(plan_with(&towers, x, &plan));
  OK(situ_session_run(towers.session, &(situ_feed){towers.x, x}, 1, &towers.sum, 1, &result));
  int count = 0, gpu = 0;
  const situ_need *needs = situ_plan_needs(plan, &count);
  for (int i = 0; i < count; i++) {
    situ_memory_info info;
    if (!strstr(needs[i].device, "GPU")) continue;
    OK(situ_devices_find(needs[i].device, &gpu));
    OK(situ_device_memory_info(gpu, &info));
    assert_int_equal(info.peak, needs[i].peak_bytes);
  }
  situ_plan_release(plan);
  situ_tensor_release(result);
  situ_tensor_release(x);
  destroy(&towers);
}

static void without_fetches_all_ends_are_planned(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "2");
  situ_tensor *x = floats(SITU_SHAPE(2, 3), numbers);
  const situ_feed feed = {towers.x, x};
  situ_plan *all = NULL, *one = NULL;
  OK(situ_plan_create(towers.session, &feed, 1, NULL, 0, &all));
  OK(situ_plan_create(towers.session, &feed, 1, &towers.y[0], 1, &one));
  int n_all = 0, n_one = 0;
  situ_plan_copies(all, &n_all);
  situ_plan_copies(one, &n_one);
  assert_int_equal(n_all, 6);
  assert_int_equal(n_one, 3);
  situ_plan_release(all);
  situ_plan_release(one);
  situ_tensor_release(x);
  destroy(&towers);
}

static void wrong_feeds_and_fetches_are_named(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "2");
  situ_tensor *wide = floats(SITU_SHAPE(2, 4), NULL), *fits = floats(SITU_SHAPE(2, 3), NULL);
  situ_tensor *whole = NULL;
  OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(2, 3), NULL, &whole));
  situ_plan *plan = NULL;
  FAILS(plan_with(&towers, wide, &plan), SITU_INVALID_ARGUMENT, "(2, 4) for Tensor 'x:0'");
  assert_null(plan);
  FAILS(plan_with(&towers, whole, &plan), SITU_INVALID_ARGUMENT, "'x:0' has type float");
  FAILS(plan_with(&towers, NULL, &plan), SITU_INVALID_ARGUMENT, "'x'");
  const situ_feed twice[] = {{towers.x, fits}, {towers.x, fits}};
  FAILS(situ_plan_create(towers.session, twice, 2, NULL, 0, &plan), SITU_INVALID_ARGUMENT,
        "fed twice");
  FAILS(situ_plan_create(towers.session, NULL, 0, NULL, 0, &plan), SITU_INVALID_ARGUMENT, "'x'");
  situ_graph *other = situ_graph_create();
  const situ_value foreign = scalar(other, 1);
  FAILS(situ_plan_create(towers.session, NULL, 0, &foreign, 1, &plan), SITU_INVALID_ARGUMENT,
        "another graph");
  const situ_value no_output = {towers.graph, towers.sum.node, 3};
  FAILS(situ_plan_create(towers.session, NULL, 0, &no_output, 1, &plan), SITU_INVALID_ARGUMENT,
        "no output 3");
  FAILS(situ_plan_create(NULL, NULL, 0, NULL, 0, &plan), SITU_INVALID_ARGUMENT, "NULL");
  FAILS(situ_plan_create(towers.session, NULL, 1, NULL, 0, &plan), SITU_INVALID_ARGUMENT, "NULL");
  situ_graph_release(other);
  situ_tensor_release(whole);
  situ_tensor_release(wide);
  situ_tensor_release(fits);
  destroy(&towers);
}

static void a_graph_that_cannot_be_placed_has_no_plan(void **state) {
  (void)state;
  struct towers towers;
  build(&towers, "1");
  situ_tensor *x = floats(SITU_SHAPE(2, 3), numbers);
  situ_plan *plan = NULL;
  FAILS(plan_with(&towers, x, &plan), SITU_INVALID_ARGUMENT, "'/gpu:1'");
  int count = 7;
  assert_null(situ_plan_placed(plan, &count));
  assert_int_equal(count, 0);
  situ_plan_release(plan);
  situ_tensor_release(x);
  destroy(&towers);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_says_where_and_why),
      cmocka_unit_test(copies_and_needs_are_known_before_a_run),
      cmocka_unit_test(a_plan_needs_what_the_run_needs),
      cmocka_unit_test(without_fetches_all_ends_are_planned),
      cmocka_unit_test(wrong_feeds_and_fetches_are_named),
      cmocka_unit_test(a_graph_that_cannot_be_placed_has_no_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
