/* SPDX-License-Identifier: Apache-2.0
 * test_scope.c: device, name, control and colocation scopes. */
#include <pthread.h>

#include "graph/builder.h"

static const char *device_now(situ_graph *graph) { return situ_value_device(scalar(graph, NULL)); }

static const char *written_now(situ_graph *graph) {
  const situ_value value = scalar(graph, NULL);
  return graph->specs[node_of(value)->spec].written;
}

static void device_scopes_merge(void **state) {
  situ_graph *graph = *state;
  assert_string_equal(device_now(graph), "");
  situ_device_push(graph, "/job:worker/task:3");
  situ_device_push(graph, "/gpu:1");
  assert_string_equal(device_now(graph), "/job:worker/task:3/device:GPU:1");
  situ_device_push(graph, "");
  assert_string_equal(device_now(graph), "/job:worker/task:3/device:GPU:1");
  situ_device_push(graph, NULL);
  assert_string_equal(device_now(graph), "");
  situ_device_push(graph, "/cpu:0");
  assert_string_equal(device_now(graph), "/device:CPU:0");
  situ_device_pop(graph);
  situ_device_pop(graph);
  situ_device_pop(graph);
  situ_device_push(graph, "/cpu");
  assert_string_equal(device_now(graph), "/job:worker/task:3/device:CPU:*");
  situ_device_pop(graph);
  situ_device_pop(graph);
  assert_string_equal(device_now(graph), "/job:worker/task:3");
  situ_device_pop(graph);
  assert_string_equal(device_now(graph), "");
  expect_no_error(graph);
}

static void errors_can_quote_one_scope(void **state) {
  situ_graph *graph = *state;
  assert_string_equal(written_now(graph), "");
  situ_device_push(graph, "/gpu:2");
  assert_string_equal(written_now(graph), "/gpu:2");
  situ_device_push(graph, "/gpu:3");
  assert_string_equal(written_now(graph), "/gpu:3");
  situ_device_push(graph, "/job:a");
  assert_string_equal(written_now(graph), "/job:a/device:GPU:3");
  situ_device_push(graph, "");
  assert_string_equal(written_now(graph), "/job:a/device:GPU:3");
  for (int i = 0; i < 4; i++) situ_device_pop(graph);
  situ_device_push(graph, "gpu:2");
  assert_string_equal(written_now(graph), "gpu:2");
  assert_string_equal(device_now(graph), "/device:GPU:2");
  situ_device_pop(graph);
}

static void equal_requests_share_a_number(void **state) {
  situ_graph *graph = *state;
  for (int i = 0; i < 10; i++) {
    situ_device_push(graph, i % 2 ? "/gpu:0" : "/cpu:0");
    scalar(graph, NULL);
    situ_device_pop(graph);
  }
  assert_int_equal(graph->n_specs, 3);
  assert_int_equal(graph->nodes[0]->spec, graph->nodes[8]->spec);
}

static void bad_devices(void **state) {
  (void)state;
  const char *texts[] = {"/gpu:x", "/foo:bar", "/cpu:0/gpu:0", "/job:", "//", " /cpu:0"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    situ_graph *graph = situ_graph_create();
    situ_device_push(graph, texts[i]);
    const situ_value value = scalar(graph, "a");
    situ_device_pop(graph);
    if (strcmp(texts[i], "//")) {
      assert_false(situ_value_valid(value));
      expect_error(graph, SITU_INVALID_ARGUMENT, texts[i]);
    }
    situ_graph_release(graph);
  }
}

static void name_scopes(void **state) {
  situ_graph *graph = *state;
  situ_name_push(graph, "a");
  assert_string_equal(situ_value_name(scalar(graph, "x")), "a/x");
  situ_name_push(graph, "b");
  assert_string_equal(situ_value_name(scalar(graph, "x")), "a/b/x");
  situ_name_push(graph, NULL);
  assert_string_equal(situ_value_name(scalar(graph, "x")), "x");
  situ_name_pop(graph);
  situ_name_pop(graph);
  situ_name_push(graph, "b");
  assert_string_equal(situ_value_name(scalar(graph, "x")), "a/b_1/x");
  assert_string_equal(situ_value_name(scalar(graph, "_y")), "a/b_1/_y");
  situ_name_pop(graph);
  situ_name_pop(graph);
  situ_name_push(graph, "a");
  assert_string_equal(situ_value_name(scalar(graph, "x")), "a_1/x");
  assert_string_equal(situ_value_name(scalar(graph, "b/x/")), "b/x");
  situ_name_pop(graph);
  assert_string_equal(situ_value_name(scalar(graph, "a")), "a_2");
  expect_no_error(graph);
}

static void bad_names(void **state) {
  (void)state;
  const char *texts[] = {"a b", "_a", "a:0", "\xe9"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    situ_graph *graph = situ_graph_create();
    situ_name_push(graph, texts[i]);
    expect_error(graph, SITU_INVALID_ARGUMENT, texts[i]);
    situ_name_pop(graph);
    situ_graph_release(graph);
    graph = situ_graph_create();
    assert_false(situ_value_valid(scalar(graph, texts[i])));
    expect_error(graph, SITU_INVALID_ARGUMENT, texts[i]);
    situ_graph_release(graph);
  }
}

static void final_names_must_be_new(void **state) {
  situ_graph *graph = *state;
  scalar(graph, "a/");
  scalar(graph, "a/");
  expect_error(graph, SITU_INVALID_ARGUMENT, "Duplicate node name in graph: 'a'");
}

static void controls(void **state) {
  situ_graph *graph = *state;
  const situ_value a = no_op(graph, "a"), b = scalar(graph, "b"), c = scalar(graph, "c");
  const situ_value outer[] = {a, b, b};
  situ_control_push(graph, outer, 3);
  const situ_value d = scalar(graph, "d");
  assert_int_equal(node_of(d)->n_controls, 2);
  assert_int_equal(node_of(d)->controls[0], a.node);
  assert_int_equal(node_of(d)->controls[1], b.node);
  assert_int_equal(node_of(unary(graph, "Identity", NULL, b))->n_controls, 1);
  /* Its input runs after a and b already. */
  assert_int_equal(node_of(unary(graph, "Identity", NULL, d))->n_controls, 0);
  situ_control_push(graph, &c, 1);
  assert_int_equal(node_of(scalar(graph, "e"))->n_controls, 3);
  const struct node *f = node_of(unary(graph, "Identity", "f", d));
  assert_int_equal(f->n_controls, 1);
  assert_int_equal(f->controls[0], c.node);
  situ_control_push(graph, NULL, 0);
  assert_int_equal(node_of(scalar(graph, "g"))->n_controls, 3);
  situ_control_pop(graph);
  situ_control_pop(graph);
  situ_control_pop(graph);
  assert_int_equal(node_of(scalar(graph, "h"))->n_controls, 0);
  expect_no_error(graph);
}

static void many_controls_stay_cheap(void **state) {
  situ_graph *graph = *state;
  enum { N = 50000 };
  situ_value *values = malloc(sizeof *values * N);
  for (int i = 0; i < N; i++) values[i] = no_op(graph, NULL);
  situ_control_push(graph, values, N);
  assert_int_equal(node_of(no_op(graph, "all"))->n_controls, N);
  situ_control_pop(graph);
  free(values);
}

static void colocation(void **state) {
  situ_graph *graph = *state;
  situ_device_push(graph, "/gpu:1");
  const situ_value a = scalar(graph, "a");
  situ_device_pop(graph);
  const situ_value z = scalar(graph, "z");
  situ_device_push(graph, "/cpu:0");
  situ_colocate_push(graph, a);
  const situ_value b = scalar(graph, "b");
  assert_string_equal(situ_value_device(b), "/device:GPU:1");
  assert_int_equal(node_of(b)->n_groups, 1);
  assert_string_equal(node_of(b)->groups[0], "a");
  situ_colocate_pop(graph);
  situ_colocate_push(graph, z);
  assert_string_equal(device_now(graph), ""); /* the device outside is hidden */
  situ_device_push(graph, "/gpu:3");
  assert_string_equal(device_now(graph), "/device:GPU:3");
  situ_device_pop(graph);
  situ_colocate_push(graph, b); /* b's group is a */
  const struct node *both = node_of(scalar(graph, "both"));
  assert_int_equal(both->n_groups, 2);
  assert_string_equal(both->groups[0], "a");
  assert_string_equal(both->groups[1], "z");
  situ_colocate_pop(graph);
  situ_colocate_pop(graph);
  assert_string_equal(device_now(graph), "/device:CPU:0");
  situ_device_pop(graph);
  expect_no_error(graph);
}

static void inner_colocation_decides(void **state) {
  situ_graph *graph = *state;
  situ_device_push(graph, "/gpu:1");
  const situ_value a = scalar(graph, "a");
  situ_device_pop(graph);
  situ_device_push(graph, "/cpu:0");
  const situ_value b = scalar(graph, "b");
  situ_colocate_push(graph, a);
  situ_colocate_push(graph, b);
  assert_string_equal(device_now(graph), "/device:CPU:0");
  situ_colocate_pop(graph);
  situ_colocate_push_none(graph);
  assert_string_equal(device_now(graph), "");
  assert_int_equal(node_of(scalar(graph, "free"))->n_groups, 0);
  situ_colocate_push(graph, b);
  const struct node *alone = node_of(scalar(graph, "alone"));
  assert_int_equal(alone->n_groups, 1);
  assert_string_equal(alone->groups[0], "b");
  situ_colocate_pop(graph);
  situ_colocate_pop(graph);
  assert_string_equal(device_now(graph), "/device:GPU:1");
  situ_colocate_pop(graph);
  situ_device_pop(graph);
  expect_no_error(graph);
}

static void colocation_with_a_node_to_come(void **state) {
  situ_graph *graph = *state;
  situ_colocate_name(graph, "v");
  const struct node *first = node_of(scalar(graph, "first"));
  assert_int_equal(first->n_groups, 1);
  assert_string_equal(first->groups[0], "v");
  situ_colocate_push(graph, scalar(graph, "other"));
  assert_string_equal(node_of(scalar(graph, "inside"))->groups[0], "v"); /* the group of other */
  situ_colocate_pop(graph);
  situ_colocate_name(graph, NULL);
  assert_int_equal(node_of(scalar(graph, "last"))->n_groups, 0);
  situ_colocate_name(NULL, "v");
  expect_no_error(graph);
}

/* An op with a reference input is colocated with the variable; one with a handle input uses the
 * device scopes. */
static void ops_on_variables(void **state) {
  situ_graph *graph = *state;
  const situ_attr attrs[] = {situ_attr_type("dtype", SITU_FLOAT),
                             situ_attr_shape("shape", SITU_SCALAR)};
  situ_device_push(graph, "/gpu:1");
  const situ_value v = situ_emit(graph, "VariableV2", "v", NULL, 0, attrs, 2);
  const situ_value h = situ_emit(graph, "VarHandleOp", "h", NULL, 0, attrs, 2);
  situ_device_pop(graph);
  situ_device_push(graph, "/cpu:0");
  const situ_value one = scalar(graph, "one");
  const situ_value set = situ_emit(graph, "Assign", "set", (situ_value[]){v, one}, 2, NULL, 0);
  assert_string_equal(situ_value_device(set), "/device:GPU:1");
  assert_string_equal(node_of(set)->groups[0], "v");
  const situ_value put =
      situ_emit(graph, "AssignVariableOp", "put", (situ_value[]){h, one}, 2, NULL, 0);
  assert_string_equal(situ_value_device(put), "/device:CPU:0");
  assert_int_equal(node_of(put)->n_groups, 0);
  situ_device_pop(graph);
  expect_no_error(graph);
}

static void devices_as_they_are_written(void **state) {
  situ_graph *graph = *state;
  situ_device_push(graph, "/job:a");
  situ_device_push_exact(graph, "/cpu:0");
  const situ_value a = scalar(graph, "a");
  assert_string_equal(situ_value_device(a), "/cpu:0");
  situ_device_push_exact(graph, "");
  assert_string_equal(device_now(graph), "");
  situ_device_pop(graph);
  situ_device_pop(graph);
  assert_string_equal(device_now(graph), "/job:a");
  situ_colocate_push(graph, a);
  assert_string_equal(device_now(graph), "/cpu:0");
  situ_colocate_pop(graph);
  situ_device_pop(graph);
  situ_device_push_exact(NULL, "/cpu:0");
  expect_no_error(graph);
  situ_device_push_exact(graph, "nonsense");
  expect_error(graph, SITU_INVALID_ARGUMENT, "nonsense");
}

static void *open_in_thread(void *context) {
  situ_graph *graph = context;
  scalar(graph, "x");
  situ_name_push(graph, "b");
  situ_device_push(graph, "/gpu:1");
  scalar(graph, "x");
  return NULL; /* both stay open: they end with the thread */
}

static void threads_have_scopes(void **state) {
  situ_graph *graph = *state;
  pthread_t thread;
  situ_name_push(graph, "a");
  situ_device_push(graph, "/gpu:0");
  situ_graph_use_thread_scopes(graph);
  assert_int_equal(pthread_create(&thread, NULL, open_in_thread, graph), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  expect_no_error(graph);
  assert_string_equal(graph->nodes[0]->name, "x");
  assert_string_equal(graph->nodes[1]->name, "b/x");
  assert_string_equal(situ_value_device((situ_value){graph, 0, 0}), "/device:GPU:0");
  assert_string_equal(situ_value_device((situ_value){graph, 1, 0}), "/device:GPU:1");
  assert_string_equal(situ_name_scope(graph), "a/");
  const situ_value after = scalar(graph, "y");
  assert_string_equal(situ_value_name(after), "a/y");
  assert_string_equal(situ_value_device(after), "/device:GPU:0");
  situ_device_pop(graph);
  situ_name_pop(graph);
  assert_string_equal(situ_value_device(scalar(graph, "z")), "");
  expect_no_error(graph);
}

/* Without situ_graph_use_thread_scopes only name scopes belong to a thread. */
static void *push_in_thread(void *context) {
  situ_name_push(context, "b");
  situ_device_push(context, "/gpu:1");
  return NULL;
}

static void threads_share_devices(void **state) {
  situ_graph *graph = *state;
  pthread_t thread;
  situ_name_push(graph, "a");
  assert_int_equal(pthread_create(&thread, NULL, push_in_thread, graph), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
  const situ_value value = scalar(graph, "x");
  assert_string_equal(situ_value_name(value), "a/x");
  assert_string_equal(situ_value_device(value), "/device:GPU:1");
  situ_device_pop(graph);
  situ_name_pop(graph);
  expect_no_error(graph);
}

static void pops_without_push(void **state) {
  (void)state;
  void (*const pops[])(situ_graph *) = {situ_device_pop, situ_name_pop, situ_control_pop,
                                        situ_colocate_pop};
  const char *words[] = {"situ_device_pop", "situ_name_pop", "situ_control_pop",
                         "situ_colocate_pop"};
  for (size_t i = 0; i < COUNT_OF(pops); i++) {
    situ_graph *graph = situ_graph_create();
    pops[i](graph);
    expect_error(graph, SITU_INVALID_ARGUMENT, words[i]);
    pops[i](NULL);
    situ_graph_release(graph);
  }
}

static void crossed_scopes(void **state) {
  situ_graph *graph = *state;
  const situ_value a = scalar(graph, "a");
  situ_colocate_push(graph, a);
  situ_device_push(graph, "/cpu:0");
  situ_colocate_pop(graph);
  expect_error(graph, SITU_INVALID_ARGUMENT, "situ_colocate_pop was called before situ_device_pop");
}

static void a_device_outside_cannot_be_popped(void **state) {
  situ_graph *graph = *state;
  situ_device_push(graph, "/cpu:0");
  situ_colocate_push(graph, scalar(graph, "a"));
  situ_device_pop(graph);
  expect_error(graph, SITU_INVALID_ARGUMENT, "situ_device_pop");
}

static void scopes_refuse_bad_values(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create(), *other = situ_graph_create();
  const situ_value foreign = scalar(other, "a");
  situ_colocate_push(graph, foreign);
  expect_error(graph, SITU_INVALID_ARGUMENT, "another graph");
  situ_colocate_pop(graph);
  situ_graph_release(graph);
  graph = situ_graph_create();
  situ_control_push(graph, &foreign, 1);
  expect_error(graph, SITU_INVALID_ARGUMENT, "another graph");
  situ_control_pop(graph);
  situ_graph_release(graph);
  graph = situ_graph_create();
  situ_control_push(graph, NULL, 2);
  expect_error(graph, SITU_INVALID_ARGUMENT, "NULL");
  situ_graph_release(graph);
  situ_graph_release(other);
}

/* A reserved name is used by the node that is created with "name/". */
static void names_can_be_reserved(void **state) {
  situ_graph *graph = *state;
  assert_string_equal(situ_name_reserve(graph, "", "a"), "a");
  assert_string_equal(situ_name_reserve(graph, "", "A"), "A_1");
  assert_string_equal(situ_name_reserve(graph, "s/", "a"), "s/a");
  assert_string_equal(situ_value_name(scalar(graph, "a")), "a_2");
  assert_string_equal(situ_value_name(scalar(graph, "a/")), "a");
  assert_null(situ_name_reserve(graph, "", "_a"));
  assert_string_equal(situ_name_reserve(graph, "s/", "_a"), "s/_a");
  assert_null(situ_name_reserve(graph, "", "a b"));
  assert_null(situ_name_reserve(NULL, "", "a"));
  assert_null(situ_name_reserve(graph, NULL, "a"));
  assert_null(situ_name_reserve(graph, "", NULL));
  expect_no_error(graph);
}

static void edges_can_be_followed(void **state) {
  situ_graph *graph = *state;
  const situ_value a = scalar(graph, "a"), b = scalar(graph, "b");
  situ_control_push(graph, &a, 1);
  const situ_value sum = situ_emit(graph, "Add", NULL, (situ_value[]){b, a}, 2, NULL, 0);
  situ_control_pop(graph);
  assert_int_equal(situ_value_input(sum, 0).node, b.node);
  assert_int_equal(situ_value_input(sum, 1).node, a.node);
  assert_int_equal(situ_value_input(sum, 1).output, 0);
  assert_false(situ_value_valid(situ_value_input(sum, 2)));
  assert_false(situ_value_valid(situ_value_input(sum, -1)));
  assert_false(situ_value_valid(situ_value_input(a, 0)));
  assert_false(situ_value_valid(situ_value_control(a, 0)));
  const situ_value none = {NULL, -1, -1};
  assert_false(situ_value_valid(situ_value_input(none, 0)));
  assert_false(situ_value_valid(situ_value_control(none, 0)));
  situ_control_push(graph, &b, 1);
  const situ_value last = situ_emit(graph, "Neg", NULL, &a, 1, NULL, 0);
  situ_control_pop(graph);
  assert_int_equal(situ_value_control(last, 0).node, b.node);
  assert_false(situ_value_valid(situ_value_control(last, 1)));
  expect_no_error(graph);
}

static void pushes_cope_with_null(void **state) {
  (void)state;
  situ_device_push(NULL, "/cpu:0");
  situ_name_push(NULL, "a");
  situ_control_push(NULL, NULL, 0);
  situ_colocate_push(NULL, (situ_value){NULL, -1, -1});
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GRAPH_TEST(device_scopes_merge),
      GRAPH_TEST(errors_can_quote_one_scope),
      GRAPH_TEST(equal_requests_share_a_number),
      cmocka_unit_test(bad_devices),
      GRAPH_TEST(name_scopes),
      GRAPH_TEST(threads_have_scopes),
      GRAPH_TEST(threads_share_devices),
      cmocka_unit_test(bad_names),
      GRAPH_TEST(final_names_must_be_new),
      GRAPH_TEST(controls),
      GRAPH_TEST(many_controls_stay_cheap),
      GRAPH_TEST(colocation),
      GRAPH_TEST(inner_colocation_decides),
      GRAPH_TEST(colocation_with_a_node_to_come),
      GRAPH_TEST(ops_on_variables),
      GRAPH_TEST(devices_as_they_are_written),
      cmocka_unit_test(pops_without_push),
      GRAPH_TEST(crossed_scopes),
      GRAPH_TEST(a_device_outside_cannot_be_popped),
      cmocka_unit_test(scopes_refuse_bad_values),
      GRAPH_TEST(names_can_be_reserved),
      GRAPH_TEST(edges_can_be_followed),
      cmocka_unit_test(pushes_cope_with_null),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
