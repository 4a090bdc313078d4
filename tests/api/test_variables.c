/* SPDX-License-Identifier: Apache-2.0
 * test_variables.c: variables on every kind of device. */
#include "api/helpers.h"

/* A variable of two floats. */
static situ_value variable(situ_graph *graph, const char *name) {
  const situ_attr attrs[] = {situ_attr_shape("shape", SITU_SHAPE(2)),
                             situ_attr_type("dtype", SITU_FLOAT)};
  return situ_emit(graph, "VariableV2", name, NULL, 0, attrs, 2);
}

static void expect(situ_session *session, situ_value value, float a, float b) {
  situ_tensor *result = NULL;
  OK(situ_session_eval(session, value, &result));
  expect_floats(result, (float[]){a, b}, 2);
  situ_tensor_release(result);
}

static const char *const fleets[] = {"", "2"};

static void keeps_what_it_is_assigned(void **state) {
  (void)state;
  for (int f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    situ_device_push(graph, f ? "/gpu:1" : "");
    const situ_value w = variable(graph, "w");
    situ_device_pop(graph);
    const situ_value one = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (float[]){1, 2});
    const situ_value begin = emit2(graph, "Assign", w, one),
                     more = emit2(graph, "AssignAdd", w, one);
    const situ_value less = emit2(graph, "AssignSub", w, one);
    const situ_value read = emit1(graph, "Identity", w), twice = emit2(graph, "Add", read, read);
    situ_session *session = NULL;
    OK(situ_session_create(graph, NULL, &session));
    situ_tensor *result = NULL;
    FAILS(situ_session_eval(session, twice, &result), SITU_FAILED_PRECONDITION,
          "Attempting to use uninitialized value w");
    FAILS(situ_session_eval(session, more, &result), SITU_FAILED_PRECONDITION, "uninitialized");
    expect(session, begin, 1, 2);
    expect(session, w, 1, 2);
    expect(session, more, 2, 4);
    expect(session, more, 3, 6);
    expect(session, twice, 6, 12);
    expect(session, less, 2, 4);
    expect(session, begin, 1, 2);
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

/* Each session has its own state. */
static void sessions_do_not_share(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value w = variable(graph, "w");
  const situ_value one = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (float[]){1, 2});
  const situ_value begin = emit2(graph, "Assign", w, one);
  situ_session *a = NULL, *b = NULL;
  OK(situ_session_create(graph, NULL, &a));
  OK(situ_session_create(graph, NULL, &b));
  expect(a, begin, 1, 2);
  expect(a, w, 1, 2);
  situ_tensor *result = NULL;
  FAILS(situ_session_eval(b, w, &result), SITU_FAILED_PRECONDITION, "uninitialized");
  situ_session_release(a);
  situ_session_release(b);
  situ_graph_release(graph);
}

/* Control inputs determine the order of updates. */
static void control_inputs_order_updates(void **state) {
  (void)state;
  for (int f = 0; f < 2; f++) {
    fleet(fleets[f]);
    situ_graph *graph = situ_graph_create();
    const situ_value w = variable(graph, "w");
    const situ_value one = situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(2), (float[]){1, 2});
    const situ_value begin = emit2(graph, "Assign", w, one);
    situ_control_push(graph, &begin, 1);
    const situ_value more = emit2(graph, "AssignAdd", w, one);
    situ_control_pop(graph);
    situ_control_push(graph, &more, 1);
    const situ_value last = emit1(graph, "Neg", w);
    situ_control_pop(graph);
    situ_session *session = NULL;
    OK(situ_session_create(graph, NULL, &session));
    for (int run = 0; run < 20; run++) expect(session, last, -2, -4);
    situ_session_release(session);
    situ_graph_release(graph);
  }
}

static void a_wrong_shape_is_named(void **state) {
  (void)state;
  fleet("");
  situ_graph *graph = situ_graph_create();
  const situ_value w = variable(graph, "w");
  emit2(graph, "Assign", w, situ_constant(graph, NULL, SITU_FLOAT, SITU_SHAPE(3), NULL));
  FAILS(situ_graph_status(graph), SITU_INVALID_ARGUMENT, "lhs shape= [2] rhs shape= [3]");
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(keeps_what_it_is_assigned),
      cmocka_unit_test(sessions_do_not_share),
      cmocka_unit_test(control_inputs_order_updates),
      cmocka_unit_test(a_wrong_shape_is_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
