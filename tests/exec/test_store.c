/* SPDX-License-Identifier: Apache-2.0
 * test_store.c: sessions of several graphs that share variables, by task and name. */
#include "api/helpers.h"
#include "situ/cluster.h"

/* A graph with a reference variable of n floats on a task, and its updates. */
struct program {
  situ_graph *graph;
  situ_value w, begin, more;
  situ_session *session;
};

static void open_program(struct program *p, situ_store *store, const char *device, int n) {
  const situ_attr attrs[] = {situ_attr_shape("shape", SITU_SHAPE(n)),
                             situ_attr_type("dtype", SITU_FLOAT)};
  const float values[] = {1, 2, 3};
  p->graph = situ_graph_create();
  situ_device_push(p->graph, device);
  p->w = situ_emit(p->graph, "VariableV2", "w", NULL, 0, attrs, 2);
  situ_device_pop(p->graph);
  const situ_value one = situ_constant(p->graph, NULL, SITU_FLOAT, SITU_SHAPE(n), values);
  p->begin = emit2(p->graph, "Assign", p->w, one);
  p->more = emit2(p->graph, "AssignAdd", p->w, one);
  const situ_config config = {.store = store, .task = "/job:worker/task:0"};
  OK(situ_session_create(p->graph, &config, &p->session));
}

static void close_program(struct program *p) {
  situ_session_release(p->session);
  situ_graph_release(p->graph);
}

static void expect(const struct program *p, situ_value value, float a, float b) {
  situ_tensor *result = NULL;
  OK(situ_session_eval(p->session, value, &result));
  expect_floats(result, (float[]){a, b}, 2);
  situ_tensor_release(result);
}

static void expect_nothing(const struct program *p) {
  situ_tensor *result = NULL;
  FAILS(situ_session_eval(p->session, p->w, &result), SITU_FAILED_PRECONDITION, "uninitialized");
}

static void a_variable_belongs_to_a_task(void **state) {
  (void)state;
  fleet("");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  struct program home, named, number, other;
  open_program(&home, store, "", 2);
  open_program(&named, store, "/job:worker/replica:0/task:0/device:CPU:0", 2);
  open_program(&number, store, "/task:0", 2);
  open_program(&other, store, "/job:ps", 2);
  expect(&home, home.begin, 1, 2);
  expect(&named, named.more, 2, 4);
  expect(&number, number.w, 2, 4);
  expect_nothing(&other);
  expect(&other, other.begin, 1, 2);
  close_program(&home); /* the variable lives as long as the store */
  expect(&named, named.more, 3, 6);
  close_program(&named);
  close_program(&number);
  close_program(&other);
  situ_store_release(store);
}

static void a_variable_has_one_shape(void **state) {
  (void)state;
  fleet("");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  struct program two, three;
  open_program(&two, store, "", 2);
  open_program(&three, store, "", 3);
  expect(&two, two.begin, 1, 2);
  situ_tensor *result = NULL;
  FAILS(situ_session_eval(three.session, three.begin, &result), SITU_INVALID_ARGUMENT,
        "another session of its task declared it with type float and shape (2,)");
  expect(&two, two.w, 1, 2);
  close_program(&three);
  close_program(&two);
  situ_store_release(store);
}

/* A graph with a resource variable of n floats and its updates. */
static void open_handle(struct program *p, situ_store *store, int n) {
  const situ_attr attrs[] = {situ_attr_shape("shape", SITU_SHAPE(n)),
                             situ_attr_type("dtype", SITU_FLOAT)};
  const situ_attr type = situ_attr_type("dtype", SITU_FLOAT);
  const float values[] = {1, 2, 3};
  p->graph = situ_graph_create();
  const situ_value handle = situ_emit(p->graph, "VarHandleOp", "w", NULL, 0, attrs, 2);
  const situ_value one = situ_constant(p->graph, NULL, SITU_FLOAT, SITU_SHAPE(n), values);
  p->w = situ_emit(p->graph, "ReadVariableOp", NULL, &handle, 1, &type, 1);
  p->begin = emit2(p->graph, "AssignVariableOp", handle, one);
  p->more = situ_emit(p->graph, "VarIsInitializedOp", NULL, &handle, 1, NULL, 0);
  const situ_config config = {.store = store, .task = "/job:worker/task:0"};
  OK(situ_session_create(p->graph, &config, &p->session));
}

static void assign(const struct program *p) {
  situ_tensor *none = NULL;
  OK(situ_session_run(p->session, NULL, 0, &p->begin, 1, &none));
}

static bool is_initialized(const struct program *p) {
  situ_tensor *result = NULL;
  OK(situ_session_eval(p->session, p->more, &result));
  const bool is = *(const bool *)situ_tensor_data(result);
  situ_tensor_release(result);
  return is;
}

static void a_handle_takes_the_shape_that_is_assigned(void **state) {
  (void)state;
  fleet("");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  struct program two, three;
  situ_tensor *result = NULL;
  open_handle(&two, store, 2);
  open_handle(&three, store, 3);
  assert_false(is_initialized(&three));
  assign(&two);
  assert_true(is_initialized(&three));
  FAILS(situ_session_eval(three.session, three.w, &result), SITU_INVALID_ARGUMENT, "shape (3,)");
  assign(&three);
  OK(situ_session_eval(three.session, three.w, &result));
  expect_floats(result, (float[]){1, 2, 3}, 3);
  situ_tensor_release(result);
  assert_true(is_initialized(&two));
  FAILS(situ_session_eval(two.session, two.w, &result), SITU_INVALID_ARGUMENT, "shape (2,)");
  assign(&two);
  expect(&two, two.w, 1, 2);
  situ_store_reset(store, NULL);
  assert_false(is_initialized(&two));
  assert_false(is_initialized(&three));
  close_program(&two);
  close_program(&three);
  situ_store_release(store);
}

static void a_reset_frees_the_shape(void **state) {
  (void)state;
  fleet("");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  struct program two, three, again;
  situ_tensor *result = NULL;
  open_program(&two, store, "", 2);
  open_program(&three, store, "", 3);
  expect(&two, two.begin, 1, 2);
  situ_store_reset(store, NULL);
  OK(situ_session_eval(three.session, three.begin, &result));
  expect_floats(result, (float[]){1, 2, 3}, 3);
  situ_tensor_release(result);
  open_program(&again, store, "", 2);
  FAILS(situ_session_eval(again.session, again.begin, &result), SITU_INVALID_ARGUMENT,
        "another session of its task declared it with type float and shape (3,)");
  close_program(&again);
  close_program(&three);
  close_program(&two);
  situ_store_release(store);
}

static void a_reset_forgets_values(void **state) {
  (void)state;
  fleet("1");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  struct program p;
  open_program(&p, store, "/job:ps/task:1/device:GPU:0", 2);
  situ_store_release(situ_store_retain(store));
  expect(&p, p.begin, 1, 2);
  situ_store_reset(store, "another");
  expect(&p, p.w, 1, 2);
  situ_store_reset(store, NULL);
  expect_nothing(&p);
  expect(&p, p.begin, 1, 2);
  close_program(&p);
  situ_store_release(store);
}

/* The next number of a random op in a new session. */
static float draw(situ_graph *graph, situ_value random, situ_store *store, const char *scope) {
  const situ_config config = {.store = store, .task = "/job:worker/task:0", .scope = scope};
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(graph, &config, &session));
  OK(situ_session_eval(session, random, &result));
  const float drawn = *(const float *)situ_tensor_data(result);
  situ_tensor_release(result);
  situ_session_release(session);
  return drawn;
}

static void sessions_of_a_scope_go_on_drawing(void **state) {
  (void)state;
  fleet("");
  situ_store *store = NULL;
  OK(situ_store_create(&store));
  situ_graph *graph = situ_graph_create();
  const situ_value shape = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(1), (int[]){1});
  const situ_attr attrs[] = {situ_attr_int("seed", 7), situ_attr_int("seed2", 8),
                             situ_attr_type("dtype", SITU_FLOAT)};
  const situ_value random = situ_emit(graph, "RandomUniform", NULL, &shape, 1, attrs, 3);
  const float first = draw(graph, random, store, "a");
  assert_true(draw(graph, random, store, "a") != first);
  assert_true(draw(graph, random, store, "b") == first);
  assert_true(draw(graph, random, store, NULL) == first);
  situ_graph_release(graph);
  situ_store_release(store);
}

static void a_copy_of_a_node_has_other_inputs(void **state) {
  (void)state;
  fleet("");
  situ_graph *whole = situ_graph_create(), *part = situ_graph_create();
  const situ_value a = scalar(whole, 2), b = scalar(whole, 3);
  const situ_value sum = situ_emit(whole, "Add", "sum", (situ_value[]){a, b}, 2, NULL, 0);
  const situ_value five = scalar(part, 5);
  const situ_value copy = situ_emit_copy(part, sum, (situ_value[]){five, five}, 2);
  assert_string_equal(situ_value_name(copy), "sum");
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_session_create(part, NULL, &session));
  OK(situ_session_eval(session, copy, &result));
  expect_floats(result, (float[]){10}, 1);
  situ_tensor_release(result);
  situ_session_release(session);
  assert_false(situ_value_valid(situ_emit_copy(part, sum, (situ_value[]){five}, 1)));
  FAILS(situ_graph_take_error(part), SITU_INVALID_ARGUMENT, "inputs was expected");
  assert_false(situ_value_valid(situ_emit_copy(part, sum, (situ_value[]){five, five}, 2)));
  FAILS(situ_graph_take_error(part), SITU_INVALID_ARGUMENT, "Duplicate node name");
  situ_graph_release(part);
  situ_graph_release(whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_variable_belongs_to_a_task),
      cmocka_unit_test(a_variable_has_one_shape),
      cmocka_unit_test(a_handle_takes_the_shape_that_is_assigned),
      cmocka_unit_test(a_reset_frees_the_shape),
      cmocka_unit_test(a_reset_forgets_values),
      cmocka_unit_test(sessions_of_a_scope_go_on_drawing),
      cmocka_unit_test(a_copy_of_a_node_has_other_inputs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
