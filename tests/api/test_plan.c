/* SPDX-License-Identifier: Apache-2.0
 * test_plan.c: plans report placement, copies and memory without running anything. */
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
  const situ_placement *placed = situ_plan_placements(plan, &count);
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
  const situ_memory_need *needs = situ_plan_memory(plan, &count);
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
  const situ_memory_need *needs = situ_plan_memory(plan, &count);
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
  assert_null(situ_plan_placements(plan, &count));
  assert_int_equal(count, 0);
  situ_plan_release(plan);
  situ_tensor_release(x);
  destroy(&towers);
}

/* v (initialized with ones) on the GPU, and a step that reads it. */
static situ_value build_variable(situ_graph *graph, situ_shape shape) {
  const situ_attr dtype = situ_attr_type("dtype", SITU_FLOAT);
  const situ_attr attrs[] = {dtype, situ_attr_shape("shape", shape)};
  const situ_value v = situ_emit(graph, "VariableV2", "v", NULL, 0, attrs, 2);
  const int32_t dims[] = {(int32_t)shape.dim[0], (int32_t)shape.dim[1]};
  const situ_value size = situ_constant(graph, "size", SITU_INT32, SITU_SHAPE(2), dims);
  emit2(graph, "Assign", v, emit2(graph, "Fill", size, scalar(graph, 1)));
  return emit2(graph, "MatMul", v, v);
}

static void variables_and_their_initializers_count(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_plan *plan = NULL;
  const situ_value product = build_variable(graph, SITU_SHAPE(128, 128));
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_plan_create(session, NULL, 0, &product, 1, &plan));
  int count = 0;
  const situ_memory_need *needs = situ_plan_memory(plan, &count);
  const situ_memory_need *gpu = &needs[count - 1];
  const uint64_t bytes = UINT64_C(4) * 128 * 128;
  assert_int_equal(gpu->variable_bytes, bytes);
  assert_true(gpu->step_bytes >= bytes && gpu->initializer_bytes >= bytes);
  const uint64_t most =
      gpu->step_bytes > gpu->initializer_bytes ? gpu->step_bytes : gpu->initializer_bytes;
  assert_int_equal(gpu->peak_bytes, bytes + most);
  assert_null(situ_plan_uncounted(plan));
  situ_plan_release(plan);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void functions_are_not_counted(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create(), *body = situ_graph_create();
  const situ_value x = situ_placeholder(body, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value square = emit2(body, "Mul", x, x);
  situ_function_add(graph, "square", body, &x, 1, &square, 1);
  const int64_t one_float[] = {SITU_FLOAT};
  const situ_attr attrs[] = {
      situ_attr_types("Tin", one_float, 1), situ_attr_types("Tout", one_float, 1),
      situ_attr_function("then_branch", "square"), situ_attr_function("else_branch", "square")};
  const bool yes = true;
  const situ_value truth = situ_constant(graph, "truth", SITU_BOOL, SITU_SCALAR, &yes);
  const situ_value two = scalar(graph, 2);
  const situ_value chosen =
      situ_emit_lists(graph, "If", "choice", (situ_values[]){{&truth, 1}, {&two, 1}}, 2, attrs, 4);
  situ_session *session = NULL;
  situ_plan *plan = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_plan_create(session, NULL, 0, &chosen, 1, &plan));
  assert_non_null(situ_plan_uncounted(plan));
  assert_non_null(strstr(situ_plan_uncounted(plan), "'choice' (If)"));
  situ_plan_release(plan);
  situ_session_release(session);
  situ_graph_release(body);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_plan_says_where_and_why),
      cmocka_unit_test(copies_and_needs_are_known_before_a_run),
      cmocka_unit_test(a_plan_needs_what_the_run_needs),
      cmocka_unit_test(without_fetches_all_ends_are_planned),
      cmocka_unit_test(wrong_feeds_and_fetches_are_named),
      cmocka_unit_test(variables_and_their_initializers_count),
      cmocka_unit_test(functions_are_not_counted),
      cmocka_unit_test(a_graph_that_cannot_be_placed_has_no_plan),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
