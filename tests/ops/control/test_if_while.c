/* SPDX-License-Identifier: Apache-2.0
 * test_if_while.c: functions of a graph: If runs one of two, While one repeatedly. */
#include <string.h>

#include "api/helpers.h"

/* A function x -> x op y. */
static void add_function(situ_graph *graph, const char *name, const char *op, float y) {
  situ_graph *body = situ_graph_create();
  const situ_value x = situ_placeholder(body, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_value result = emit2(body, op, x, scalar(body, y));
  situ_function_add(graph, name, body, &x, 1, &result, 1);
  situ_graph_release(body);
}

static float value_of(situ_session *session, situ_value fed, float number, situ_value fetch) {
  situ_tensor *in = floats(SITU_SCALAR, &number), *out = NULL;
  OK(situ_session_run(session, &(situ_feed){fed, in}, 1, &fetch, 1, &out));
  const float result = *(const float *)situ_tensor_data(out);
  situ_tensor_release(in);
  situ_tensor_release(out);
  return result;
}

static const int64_t one_float[] = {SITU_FLOAT};

static situ_value emit_if(situ_graph *graph, situ_value truth, situ_value x) {
  const situ_attr attrs[] = {
      situ_attr_types("Tin", one_float, 1), situ_attr_types("Tout", one_float, 1),
      situ_attr_function("then_branch", "more"), situ_attr_function("else_branch", "less")};
  return situ_emit_lists(graph, "If", NULL, (situ_values[]){{&truth, 1}, {&x, 1}}, 2, attrs, 4);
}

static void if_runs_one_branch(void **state) {
  (void)state;
  const char *fleets[] = {"", "1"};
  for (int f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    add_function(graph, "more", "Add", 10);
    add_function(graph, "less", "Sub", 10);
    const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
    const situ_value y = emit2(graph, "Mul", x, scalar(graph, 2));
    const situ_value chosen = emit_if(graph, emit2(graph, "Greater", x, scalar(graph, 0)), y);
    const situ_value after = emit2(graph, "Add", chosen, scalar(graph, 0.5f));
    OK(situ_graph_status(graph));
    situ_session *session = NULL;
    OK(situ_session_create(graph, NULL, &session));
    for (int i = 0; i < 3; i++) {
      assert_float_equal(value_of(session, x, 1, after), 12.5, 1e-6);
      assert_float_equal(value_of(session, x, -1, after), -11.5, 1e-6);
    }
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void while_goes_round(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  add_function(graph, "double", "Mul", 2);
  situ_graph *test = situ_graph_create();
  const situ_value t = situ_placeholder(test, "t", SITU_FLOAT, SITU_SCALAR);
  const situ_value truth = emit2(test, "Less", t, scalar(test, 100));
  situ_function_add(graph, "small", test, &t, 1, &truth, 1);
  situ_graph_release(test);
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  const situ_attr attrs[] = {situ_attr_types("T", one_float, 1),
                             situ_attr_function("cond", "small"),
                             situ_attr_function("body", "double")};
  const situ_value end =
      situ_emit_lists(graph, "While", NULL, (situ_values[]){{&x, 1}}, 1, attrs, 3);
  OK(situ_graph_status(graph));
  situ_session *session = NULL;
  OK(situ_session_create(graph, NULL, &session));
  assert_float_equal(value_of(session, x, 3, end), 192, 1e-6);
  assert_float_equal(value_of(session, x, 200, end), 200, 1e-6);
  OK(situ_session_close(session));
  situ_session_release(session);
  situ_graph_release(graph);
}

static void wrong_functions_are_refused(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  add_function(graph, "more", "Add", 10);
  const situ_value x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SCALAR);
  emit_if(graph, x, x);
  situ_status status = situ_graph_status(graph);
  assert_int_equal(situ_status_code(status), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(status), "no function 'less'"));
  situ_status_release(status);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(if_runs_one_branch),
                                     cmocka_unit_test(while_goes_round),
                                     cmocka_unit_test(wrong_functions_are_refused)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
