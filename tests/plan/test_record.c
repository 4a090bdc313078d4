/* SPDX-License-Identifier: Apache-2.0
 * test_record.c: recordings are reused for equal nodes only. */
#include "api/helpers.h"

enum { MOST = 8 };

/* Runs fetches with x = {1, 2} and y = {10, 20} fed. */
struct trial {
  situ_graph *graph;
  situ_value x, y;
  situ_tensor *results[MOST];
};

static void begin(struct trial *b, const char *gpus) {
  fleet(gpus);
  b->graph = situ_graph_create();
  b->x = situ_placeholder(b->graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY));
  b->y = situ_placeholder(b->graph, "y", SITU_FLOAT, SITU_SHAPE(SITU_ANY));
}

static void run(struct trial *b, const situ_value *fetches, int n) {
  situ_session *session = NULL;
  OK(situ_session_create(b->graph, NULL, &session));
  const situ_feed feeds[] = {{b->x, floats(SITU_SHAPE(2), (float[]){1, 2})},
                             {b->y, floats(SITU_SHAPE(2), (float[]){10, 20})}};
  OK(situ_session_run(session, feeds, 2, fetches, n, b->results));
  situ_session_release(session);
  situ_tensor_release(feeds[0].tensor);
  situ_tensor_release(feeds[1].tensor);
}

static void end(struct trial *b) {
  for (int i = 0; i < MOST; i++) situ_tensor_release(b->results[i]);
  situ_graph_release(b->graph);
}

/* The first node reads one value twice, the next ones two, in both orders. */
static void reused_recordings_keep_operands(void **state) {
  (void)state;
  const char *const fleets[] = {"", "2"};
  for (size_t i = 0; i < 2; i++) {
    struct trial b = {0};
    begin(&b, fleets[i]);
    const situ_value fetches[] = {emit2(b.graph, "Sub", b.x, b.x), emit2(b.graph, "Sub", b.x, b.y),
                                  emit2(b.graph, "Sub", b.y, b.x), emit2(b.graph, "Sub", b.y, b.y)};
    run(&b, fetches, 4);
    expect_floats(b.results[0], (float[]){0, 0}, 2);
    expect_floats(b.results[1], (float[]){-9, -18}, 2);
    expect_floats(b.results[2], (float[]){9, 18}, 2);
    expect_floats(b.results[3], (float[]){0, 0}, 2);
    end(&b);
  }
}

/* Nodes of one op that differ in shape, in type, in an attribute, or in the device. */
static void different_nodes_are_recorded_again(void **state) {
  (void)state;
  struct trial b = {0};
  begin(&b, "2");
  const situ_value one = scalar(b.graph, 1);
  const int32_t axis = 0;
  const situ_value axes = situ_constant(b.graph, NULL, SITU_INT32, SITU_SHAPE(1), &axis);
  const situ_value sum = situ_emit(b.graph, "Sum", NULL, (situ_value[]){b.y, axes}, 2, NULL, 0);
  const situ_attr keep = situ_attr_bool("keep_dims", true);
  const situ_value kept = situ_emit(b.graph, "Sum", NULL, (situ_value[]){b.y, axes}, 2, &keep, 1);
  situ_device_push(b.graph, "/cpu:0");
  const situ_value here = emit2(b.graph, "Add", b.x, b.y);
  situ_device_pop(b.graph);
  situ_device_push(b.graph, "/gpu:1");
  const situ_value there = emit2(b.graph, "Add", b.x, b.y);
  situ_device_pop(b.graph);
  const situ_value fetches[] = {emit2(b.graph, "Sub", b.x, b.y),
                                emit2(b.graph, "Sub", b.x, one),
                                emit2(b.graph, "Sub", one, b.x),
                                sum,
                                kept,
                                here,
                                there};
  run(&b, fetches, 7);
  expect_floats(b.results[0], (float[]){-9, -18}, 2);
  expect_floats(b.results[1], (float[]){0, 1}, 2);
  expect_floats(b.results[2], (float[]){0, -1}, 2);
  expect_floats(b.results[3], (float[]){30}, 1);
  expect_floats(b.results[4], (float[]){30}, 1);
  assert_int_equal(situ_tensor_shape(b.results[3]).rank, 0);
  assert_int_equal(situ_tensor_shape(b.results[4]).rank, 1);
  expect_floats(b.results[5], (float[]){11, 22}, 2);
  expect_floats(b.results[6], (float[]){11, 22}, 2);
  end(&b);
}

/* Two generators without a seed draw different numbers. */
static void state_is_never_shared(void **state) {
  (void)state;
  struct trial b = {0};
  begin(&b, "");
  const int32_t count = 4;
  const situ_value shape = situ_constant(b.graph, NULL, SITU_INT32, SITU_SHAPE(1), &count);
  const situ_attr type = situ_attr_type("dtype", SITU_FLOAT);
  const situ_value fetches[] = {situ_emit(b.graph, "RandomUniform", NULL, &shape, 1, &type, 1),
                                situ_emit(b.graph, "RandomUniform", NULL, &shape, 1, &type, 1)};
  run(&b, fetches, 2);
  assert_memory_not_equal(situ_tensor_data(b.results[0]), situ_tensor_data(b.results[1]),
                          count * sizeof(float));
  end(&b);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(reused_recordings_keep_operands),
                                     cmocka_unit_test(different_nodes_are_recorded_again),
                                     cmocka_unit_test(state_is_never_shared)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
