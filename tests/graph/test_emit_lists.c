/* SPDX-License-Identifier: Apache-2.0
 * test_emit_lists.c: nodes whose inputs are lists. */
#include "api/helpers.h"

static void lists_become_inputs_in_order(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const float numbers[] = {1, 2, 3};
  const situ_value parts[] = {situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(1), numbers),
                              situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), numbers + 1)};
  const situ_value axis = situ_constant(graph, NULL, SITU_INT32, SITU_SCALAR, (int32_t[]){0});
  const situ_values inputs[] = {{parts, 2}, {&axis, 1}};
  const situ_value y = situ_emit_lists(graph, "ConcatV2", "all", inputs, 2, NULL, 0);
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, y, &result));
  expect_floats(result, numbers, 3);
  assert_string_equal(situ_value_name(y), "all");
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

static void wrong_lists_are_refused(void **state) {
  (void)state;
  const situ_values bad[] = {{NULL, 2}}, negative[] = {{NULL, -1}};
  situ_graph *graph = situ_graph_create();
  assert_false(situ_value_valid(situ_emit_lists(graph, "AddN", NULL, bad, 1, NULL, 0)));
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT, "situ_emit_lists of 'AddN'");
  situ_graph_release(graph);
  graph = situ_graph_create();
  assert_false(situ_value_valid(situ_emit_lists(graph, NULL, NULL, negative, 1, NULL, 0)));
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT, "situ_emit_lists of 'NULL'");
  situ_graph_release(graph);
  assert_false(situ_value_valid(situ_emit_lists(NULL, "AddN", NULL, bad, 1, NULL, 0)));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(lists_become_inputs_in_order),
      cmocka_unit_test(wrong_lists_are_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
