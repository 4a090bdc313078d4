/* SPDX-License-Identifier: Apache-2.0
 * test_import_order.c: the node order of the placement log. */
#include "graph/builder.h"

/* The names in import order, separated by spaces. */
static void expect_order(const situ_graph *graph, const char *expected) {
  expect_no_error(graph);
  int32_t order[32];
  char names[512] = "";
  assert_null(graph_import_order(graph, order));
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    if (i) strcat(names, " ");
    strcat(names, graph->nodes[order[i]]->name);
  }
  assert_string_equal(names, expected);
}

static void an_empty_graph(void **state) { expect_order(*state, ""); }

static void the_first_program(void **state) {
  situ_graph *graph = *state;
  const situ_value a = zeros(graph, "a", SITU_SHAPE(2, 3)), b = zeros(graph, "b", SITU_SHAPE(3, 2));
  binary(graph, "MatMul", NULL, a, b);
  expect_order(graph, "b a MatMul");
}

static void the_towers(void **state) {
  situ_graph *graph = *state;
  situ_value sums[2];
  for (int i = 0; i < 2; i++) {
    const situ_value a = zeros(graph, NULL, SITU_SHAPE(2, 3));
    const situ_value b = zeros(graph, NULL, SITU_SHAPE(3, 2));
    sums[i] = binary(graph, "MatMul", NULL, a, b);
  }
  situ_emit(graph, "AddN", NULL, sums, 2, NULL, 0);
  expect_order(graph, "Const_3 Const_2 MatMul_1 Const_1 Const MatMul AddN");
}

static void controls_count(void **state) {
  situ_graph *graph = *state;
  const situ_value a = scalar(graph, "a");
  situ_control_push(graph, &a, 1);
  no_op(graph, "after");
  situ_control_pop(graph);
  no_op(graph, "free");
  expect_order(graph, "free a after");
}

static void inputs_may_repeat(void **state) {
  situ_graph *graph = *state;
  const situ_value a = scalar(graph, "a");
  binary(graph, "Add", "twice", a, a);
  unary(graph, "Identity", "once", a);
  expect_order(graph, "a once twice");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GRAPH_TEST(an_empty_graph), GRAPH_TEST(the_first_program), GRAPH_TEST(the_towers),
      GRAPH_TEST(controls_count), GRAPH_TEST(inputs_may_repeat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
