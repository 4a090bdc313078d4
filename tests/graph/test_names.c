/* SPDX-License-Identifier: Apache-2.0
 * test_names.c: valid names, unique names as in TensorFlow, and lookup. */
#include "graph/builder.h"
#include "graph/names.h"

static void legal_names(void **state) {
  (void)state;
  const char *good[] = {"a", "A9", "0", ".x", "a/b", "a_b-c.d", "9_"};
  const char *bad[] = {"", "_a", "-a", "/a", "a b", "a:0", "^a", "a\n", "\xc3\xa4", "a\\b"};
  for (size_t i = 0; i < COUNT_OF(good); i++) assert_true(names_legal(good[i]));
  for (size_t i = 0; i < COUNT_OF(bad); i++) assert_false(names_legal(bad[i]));
  assert_true(names_legal_inside("_a"));
  assert_true(names_legal_inside("/a"));
  assert_false(names_legal_inside(""));
  assert_false(names_legal_inside("a b"));
}

/* The names that a sequence of requests gets. */
static void expect_names(const char *const *requests, const char *const *names, int count) {
  situ_graph *graph = situ_graph_create();
  for (int i = 0; i < count; i++) {
    const situ_value value = scalar(graph, requests[i]);
    assert_string_equal(situ_value_name(value), names[i]);
  }
  expect_no_error(graph);
  for (int i = 0; i < count; i++) {
    const situ_value found = situ_graph_find(graph, names[i]);
    assert_int_equal(found.node, i);
  }
  situ_graph_release(graph);
}

#define EXPECT_NAMES(requests, names) expect_names(requests, names, (int)COUNT_OF(requests))

static void numbers_make_names_unique(void **state) {
  (void)state;
  const char *requests[] = {NULL, NULL, "", "a", "a", "a", "Const"};
  const char *names[] = {"Const", "Const_1", "Const_2", "a", "a_1", "a_2", "Const_3"};
  EXPECT_NAMES(requests, names);
}

static void taken_numbers_are_skipped(void **state) {
  (void)state;
  const char *requests[] = {"a_1", "a", "a", "a", "a_2", "a_2", "a_1", "a"};
  const char *names[] = {"a_1", "a", "a_2", "a_3", "a_2_1", "a_2_2", "a_1_1", "a_4"};
  EXPECT_NAMES(requests, names);
}

static void numbers_with_zeros_are_names_of_their_own(void **state) {
  (void)state;
  const char *requests[] = {"a", "a", "a_01", "a_0", "a_", "a", "a_1000000000", "a_99999999999"};
  const char *names[] = {"a", "a_1", "a_01", "a_0", "a_", "a_2", "a_1000000000", "a_99999999999"};
  EXPECT_NAMES(requests, names);
}

static void case_does_not_count(void **state) {
  (void)state;
  const char *requests[] = {"foo", "Foo", "FOO", "foo", "Foo_1", "bar_1", "BAR", "BAR"};
  const char *names[] = {"foo", "Foo_1", "FOO_2", "foo_3", "Foo_1_1", "bar_1", "BAR", "BAR_2"};
  EXPECT_NAMES(requests, names);
  situ_graph *graph = situ_graph_create();
  scalar(graph, "foo");
  assert_false(situ_value_valid(situ_graph_find(graph, "Foo")));
  situ_graph_release(graph);
}

static void many_names(void **state) {
  situ_graph *graph = *state;
  const situ_value first = scalar(graph, NULL);
  char name[32];
  for (int i = 1; i < 20000; i++) unary(graph, "Identity", NULL, first);
  for (int i = 1; i < 20000; i += 77) {
    snprintf(name, sizeof name, i > 1 ? "Identity_%d" : "Identity", i - 1);
    assert_int_equal(situ_graph_find(graph, name).node, i);
    assert_string_equal(graph->nodes[i]->name, name);
  }
  assert_int_equal(situ_graph_find(graph, "Identity_19999").node, -1);
  assert_int_equal(situ_graph_find(graph, "identity_7").node, -1);
}

static void long_names(void **state) {
  situ_graph *graph = *state;
  char name[1000];
  memset(name, 'n', sizeof name - 1);
  name[sizeof name - 1] = 0;
  const situ_value a = scalar(graph, name), b = scalar(graph, name);
  assert_string_equal(situ_value_name(a), name);
  assert_int_equal(strlen(situ_value_name(b)), sizeof name - 1 + 2);
  assert_int_equal(situ_graph_find(graph, situ_value_name(b)).node, b.node);
}

static void default_names_follow_scopes(void **state) {
  situ_graph *graph = *state;
  scalar(graph, NULL);
  situ_name_push(graph, "s");
  assert_string_equal(situ_value_name(scalar(graph, NULL)), "s/Const");
  assert_string_equal(situ_value_name(scalar(graph, NULL)), "s/Const_1");
  situ_name_pop(graph);
  assert_string_equal(situ_value_name(scalar(graph, NULL)), "Const_1");
  situ_name_push(graph, "s/");
  assert_string_equal(situ_value_name(scalar(graph, NULL)), "s/Const_2");
  situ_name_pop(graph);
}

/* Names of a file are kept as they are, also those that differ in case only. */
static void entered_names_are_kept(void **state) {
  (void)state;
  situ_graph *graph = NULL;
  const char text[] =
      "node { name: 'a' op: 'NoOp' } node { name: 'A' op: 'NoOp' } node { name: 'a_1' op: 'NoOp' }"
      "node { name: 'A_1' op: 'NoOp' }";
  assert_null(situ_graph_load(text, sizeof text - 1, &graph));
  assert_int_equal(situ_graph_find(graph, "a").node, 0);
  assert_int_equal(situ_graph_find(graph, "A").node, 1);
  assert_int_equal(situ_graph_find(graph, "a_1").node, 2);
  assert_int_equal(situ_graph_find(graph, "A_1").node, 3);
  assert_string_equal(situ_value_name(no_op(graph, "a")), "a_2");
  assert_string_equal(situ_value_name(no_op(graph, "A_1")), "A_1_1");
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(legal_names),
      cmocka_unit_test(numbers_make_names_unique),
      cmocka_unit_test(taken_numbers_are_skipped),
      cmocka_unit_test(numbers_with_zeros_are_names_of_their_own),
      cmocka_unit_test(case_does_not_count),
      GRAPH_TEST(many_names),
      GRAPH_TEST(long_names),
      GRAPH_TEST(default_names_follow_scopes),
      cmocka_unit_test(entered_names_are_kept),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
