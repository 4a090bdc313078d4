/* SPDX-License-Identifier: Apache-2.0
 * test_memory.c: memory limits of sessions, out-of-memory errors, and freeing of memory. */
#include "api/helpers.h"

enum { KIB = 1024, MIB = 1024 * 1024 };
#define GIB (1024.0 * MIB)

static situ_memory_info info_of(const char *name) {
  int number = 0;
  situ_memory_info info;
  OK(situ_devices_find(name, &number));
  OK(situ_device_memory_info(number, &info));
  return info;
}

/* Runs x + 1 on GPU:0 with a config. */
static void run_something(const situ_config *config) {
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value y = emit2(graph, "Add", x, scalar(graph, 1));
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SCALAR, &(float){1}), *result = NULL;
  OK(situ_session_create(graph, config, &session));
  OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
  expect_floats(result, &(float){2}, 1);
  situ_tensor_release(result);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static const char k40[] = "Tesla K40c@0000:05:00.0=12GiB";

static void nearly_all_by_default(void **state) {
  (void)state;
  fleet(k40);
  assert_int_equal(info_of("/gpu:0").reserved, 0);
  run_something(NULL);
  const situ_memory_info info = info_of("/gpu:0");
  assert_int_equal(info.limit, 12240656794); /* 12 GiB less 5 % */
  assert_true((double)info.reserved > 0.999 * (double)info.limit);
}

static void growth_begins_small(void **state) {
  (void)state;
  fleet(k40);
  run_something(&(situ_config){.devices.memory.growth = true});
  const situ_memory_info info = info_of("/gpu:0");
  assert_true(info.reserved > 0 && info.reserved <= 64 * MIB);
  assert_true((double)info.limit > 11 * GIB);
}

static void a_fraction_bounds(void **state) {
  (void)state;
  fleet(k40);
  run_something(&(situ_config){.devices.memory.fraction = 0.4});
  const situ_memory_info info = info_of("/gpu:0");
  assert_true((double)info.limit <= 0.4 * 12 * GIB && (double)info.limit > 0.3999 * 12 * GIB);
  assert_true((double)info.reserved > 0.999 * (double)info.limit);
}

static void bytes_bound_and_bytes_stay_free(void **state) {
  (void)state;
  fleet("A=1GiB,B=1GiB");
  const situ_device_memory each[] = {{"/gpu:0", {.limit_bytes = 100 * MIB}},
                                     {"/gpu:1", {.reserve_bytes = 300 * MIB}}};
  run_something(&(situ_config){.devices = {.device_memory = each, .n_device_memory = 2}});
  assert_int_equal(info_of("/gpu:0").limit, 100 * MIB);
  assert_int_equal(info_of("/gpu:1").limit, (1024 - 300) * MIB);
  assert_int_equal(info_of("/gpu:1").reserved, 0); /* nothing ran there */
}

/* Unused memory stays reserved until situ_device_trim. */
static void trim_gives_memory_back(void **state) {
  (void)state;
  fleet("A=1GiB");
  run_something(NULL);
  assert_true(info_of("/gpu:0").reserved > 0);
  uint64_t bytes = 0;
  int number = 0;
  OK(situ_devices_find("/gpu:0", &number));
  OK(situ_device_trim(number, &bytes));
  assert_true(bytes > 0);
  assert_int_equal(info_of("/gpu:0").reserved, 0);
  run_something(NULL);
}

/* A graph that needs about 2 n x n x 4 bytes. */
static situ_value hungry(situ_graph *graph, situ_value x, int64_t n) {
  const situ_value dims =
      situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), (int32_t[]){(int32_t)n, (int32_t)n});
  const situ_value big = emit2(graph, "Fill", dims, x), square = emit1(graph, "Square", big);
  const situ_value twice =
      situ_emit(graph, "Add", "hungry", (situ_value[]){square, big}, 2, NULL, 0);
  const situ_value axes = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), (int32_t[]){0, 1});
  return emit2(graph, "Sum", twice, axes);
}

static void out_of_memory_is_one_screen_and_harmless(void **state) {
  (void)state;
  fleet("Small=64MiB");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value large = hungry(graph, x, 4096), little = hungry(graph, x, 8);
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SCALAR, &(float){1}), *result = NULL;
  const situ_feed feed = {x, fed};
  OK(situ_session_create(graph, &(situ_config){.devices.memory.fraction = 1}, &session));
  for (int run = 0; run < 2; run++) {
    const situ_status status = situ_session_run(session, &feed, 1, &large, 1, &result);
    assert_int_equal(situ_status_code(status), SITU_RESOURCE_EXHAUSTED);
    const char *text = situ_status_message(status);
    assert_non_null(
        strstr(text, "OOM when allocating tensor with shape[4096,4096] and type float"));
    assert_non_null(strstr(text, "/job:localhost/replica:0/task:0/device:GPU:0"));
    assert_non_null(strstr(text, "64.00MiB"));
    int lines = 1;
    for (const char *c = text; *c; c++) lines += *c == '\n';
    assert_in_range(lines, 4, 24);
    situ_status_release(status);
    OK(situ_session_run(session, &feed, 1, &little, 1, &result));
    expect_floats(result, &(float){128}, 1);
    situ_tensor_release(result);
  }
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

/* Two programs that fit only one at a time: the idle one frees its memory for the other. */
static void idle_programs_give_way(void **state) {
  (void)state;
  fleet("Small=4MiB");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value a = hungry(graph, x, 512), b = hungry(graph, x, 500);
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SCALAR, &(float){1}), *result = NULL;
  const situ_feed feed = {x, fed};
  OK(situ_session_create(graph, &(situ_config){.devices.memory.fraction = 1}, &session));
  for (int run = 0; run < 3; run++) {
    OK(situ_session_run(session, &feed, 1, &a, 1, &result));
    situ_tensor_release(result);
    OK(situ_session_run(session, &feed, 1, &b, 1, &result));
    situ_tensor_release(result);
  }
  assert_int_equal(info_of("/gpu:0").current, 0); /* nothing runs, and no tensor lives there */
  assert_true(info_of("/gpu:0").peak >= 2 * MIB);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void an_injected_failure_is_reported(void **state) {
  (void)state;
  fleet("Flaky=1GiB;fail_alloc=1");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value y = emit1(graph, "Neg", x);
  situ_session *session = NULL;
  situ_tensor *fed = floats(SITU_SCALAR, &(float){1}), *result = NULL;
  OK(situ_session_create(graph, &(situ_config){.devices.memory.growth = true}, &session));
  FAILS(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result), SITU_RESOURCE_EXHAUSTED,
        "fail_alloc=1 was injected");
  OK(situ_session_run(session, &(situ_feed){x, fed}, 1, &y, 1, &result));
  expect_floats(result, &(float){-1}, 1);
  situ_tensor_release(result);
  situ_tensor_release(fed);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void a_second_session_with_other_options(void **state) {
  (void)state;
  fleet("A=1GiB");
  run_something(&(situ_config){.devices.memory.fraction = 0.5});
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  const situ_config other = {.strict = true, .devices.memory.fraction = 0.25};
  FAILS(situ_session_create(graph, &other, &session), SITU_FAILED_PRECONDITION, "fraction=0.5");
  assert_null(session);
  const situ_config same = {.strict = true, .devices.memory.fraction = 0.5};
  OK(situ_session_create(graph, &same, &session));
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nearly_all_by_default),
      cmocka_unit_test(growth_begins_small),
      cmocka_unit_test(a_fraction_bounds),
      cmocka_unit_test(bytes_bound_and_bytes_stay_free),
      cmocka_unit_test(trim_gives_memory_back),
      cmocka_unit_test(out_of_memory_is_one_screen_and_harmless),
      cmocka_unit_test(idle_programs_give_way),
      cmocka_unit_test(an_injected_failure_is_reported),
      cmocka_unit_test(a_second_session_with_other_options),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
