/* SPDX-License-Identifier: Apache-2.0
 * test_graphdef.c: loads GraphDefs: node order, inputs, devices, groups, and errors. */
#include "graph/files.h"
#include "support/skip.h"

#define NODE(name, op, rest) "node { name: '" name "' op: '" op "' " rest " }\n"
#define SCALAR(name, rest)                                                          \
  NODE(name, "Const",                                                               \
       "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'value' value {" \
       " tensor { dtype: DT_FLOAT float_val: 1 } } } " rest)

static void an_empty_text_is_an_empty_graph(void **state) {
  (void)state;
  const char *texts[] = {"", " \n# nothing\n", "{}", " { \"node\": [] }"};
  for (size_t i = 0; i < COUNT_OF(texts); i++) {
    situ_graph *graph = load_text(texts[i]);
    assert_int_equal(situ_graph_count(graph), 0);
    expect_round_trip(graph);
    situ_graph_release(graph);
  }
}

static void nodes_in_any_order(void **state) {
  (void)state;
  situ_graph *graph = load_text(NODE("sum", "Add", "input: 'b' input: 'a:0' input: '^go'") SCALAR(
      "a", "") SCALAR("b", "") NODE("go", "NoOp", "") SCALAR("c", ""));
  const char *order[] = {"b", "a", "go", "sum", "c"};
  for (int i = 0; i < 5; i++) assert_string_equal(graph->nodes[i]->name, order[i]);
  const struct node *sum = graph->nodes[3];
  assert_int_equal(sum->inputs[0].node, 0);
  assert_int_equal(sum->inputs[1].node, 1);
  assert_int_equal(sum->n_controls, 1);
  assert_int_equal(sum->controls[0], 2);
  assert_int_equal(sum->outputs[0].type, SITU_FLOAT);
  situ_graph_release(graph);
}

static void a_graph_in_order_stays_in_order(void **state) {
  (void)state;
  situ_graph *graph = load_text(NODE("go", "NoOp", "") SCALAR("z", "") SCALAR("y", "") SCALAR(
      "x", "") NODE("i", "Identity", "input: 'x'") NODE("j", "Identity", "input: 'z'"));
  const char *order[] = {"go", "z", "y", "x", "i", "j"};
  for (int i = 0; i < 6; i++) assert_string_equal(graph->nodes[i]->name, order[i]);
  situ_graph_release(graph);
}

static void devices_and_groups(void **state) {
  (void)state;
  situ_graph *graph = load_text(SCALAR("a", "device: '/gpu:2'") SCALAR(
      "b",
      "attr { key: '_class' value { list { s: 'loc:@a' s: 'other' s: 'loc:@x' } } } "
      "attr { key: '_output_shapes' value { list { shape { } } } }"));
  assert_string_equal(situ_value_device(situ_graph_find(graph, "a")), "/device:GPU:2");
  assert_string_equal(graph->specs[graph->nodes[0]->spec].written, "/gpu:2");
  assert_int_equal(graph->nodes[1]->n_groups, 2);
  assert_string_equal(graph->nodes[1]->groups[0], "a");
  assert_string_equal(graph->nodes[1]->groups[1], "x");
  expect_round_trip(graph);
  situ_graph_release(graph);
}

static void what_is_ignored(void **state) {
  (void)state;
  situ_graph *graph = load_text(
      "versions { producer: 27 min_consumer: -1 bad_consumers: [1, 2] } version: 3 library { }\n"
      "node { name: 'a' op: 'NoOp' experimental_debug_info { original_node_names: 'x' 'y' } }");
  assert_int_equal(situ_graph_count(graph), 1);
  situ_graph_release(graph);
}

static void a_loaded_graph_can_grow(void **state) {
  (void)state;
  situ_graph *graph = load_text(SCALAR("a", "") SCALAR("a_1", ""));
  const situ_value a = situ_graph_find(graph, "a");
  assert_string_equal(situ_value_name(binary(graph, "Add", "a", a, a)), "a_2");
  expect_no_error(graph);
  expect_round_trip(graph);
  situ_graph_release(graph);
}

static void built_graphs_survive(void **state) {
  situ_graph *graph = *state;
  const float data[] = {1.5f, -0.0f, 3e-30f, 1e30f};
  situ_device_push(graph, "/job:w/task:1");
  const situ_value a = situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2, 2), data);
  const situ_value p = situ_placeholder(graph, "p", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2));
  const situ_value q = situ_placeholder(graph, "q", SITU_INT32, SITU_ANY_SHAPE);
  situ_device_pop(graph);
  situ_name_push(graph, "s");
  situ_control_push(graph, &q, 1);
  situ_colocate_push(graph, a);
  const situ_attr attr = situ_attr_bool("transpose_b", true);
  const situ_value inputs[] = {p, a};
  situ_emit(graph, "MatMul", NULL, inputs, 2, &attr, 1);
  expect_no_error(graph);
  expect_round_trip(graph);
}

static void deep_graphs_need_no_stack(void **state) {
  situ_graph *graph = *state;
  situ_value x = scalar(graph, NULL);
  for (int i = 0; i < 20000; i++) x = unary(graph, "Identity", NULL, x);
  char *text = save_text(graph, false);
  situ_graph *again = load_text(text);
  assert_int_equal(situ_graph_count(again), 20001);
  situ_graph_release(again);
  free(text);
}

static void cycles_are_named(void **state) {
  (void)state;
  expect_wrong(NODE("a", "Identity", "input: 'c'") NODE("b", "Identity", "input: 'a'")
                   NODE("c", "Identity", "input: 'b'"),
               "line 1, column 6: the graph has a cycle: 'a' -> 'b' -> 'c' -> 'a'");
  expect_wrong(NODE("a", "Identity", "input: 'a'"), "a cycle: 'a' -> 'a'");
  expect_wrong(SCALAR("x", "") NODE("a", "NoOp", "input: '^b'") NODE("b", "NoOp", "input: '^a'"),
               "a cycle: 'a' -> 'b' -> 'a'");
}

static void long_cycles_are_cut(void **state) {
  (void)state;
  char text[8192] = "";
  for (int i = 0; i < 60; i++)
    sprintf(text + strlen(text), "node { name: 'n%d' op: 'Identity' input: 'n%d' }\n", i,
            (i + 1) % 60);
  expect_wrong(text, "-> ... (39 more) -> 'n0'");
}

static void wrong_nodes(void **state) {
  (void)state;
  expect_wrong("node { op: 'NoOp' }", "line 1, column 6: a node has no 'name'");
  expect_wrong("node { name: 'a' }", "a node has no 'op'");
  expect_wrong("\n\n  node { name: 'a b' op: 'NoOp' }", "line 3, column 16: 'a b'");
  expect_wrong("node { name: 'a\\000b' op: 'NoOp' }", "zero byte");
  expect_wrong(NODE("a", "NoOp", "") NODE("a", "NoOp", ""),
               "line 2, column 6: Duplicate node name");
  expect_refused(NODE("a", "Nope", ""), SITU_NOT_FOUND, "'Nope'; did you mean 'NoOp'?");
  expect_refused(NODE("a", "Nope", ""), SITU_NOT_FOUND, "at line 1, column 22 of the GraphDef");
}

static void wrong_inputs(void **state) {
  (void)state;
  expect_wrong(NODE("a", "Identity", "input: 'nobody'"), "unknown input 'nobody'");
  expect_wrong(NODE("a", "Identity", "input: ''"), "unknown input ''");
  expect_wrong(NODE("a", "Identity", "input: '^'"), "unknown input '^'");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: 'x:'"), "unknown input 'x:'");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: 'x:-1'"), "unknown input 'x:-1'");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: '^x:0'"), "unknown input '^x:0'");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: 'x\\0001'"), "unknown input 'x'");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: 'x:1'"),
               "'x:1', but that node has 1 outputs");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: '^x' input: 'x'"),
               "after a control input");
  expect_wrong(NODE("go", "NoOp", "") NODE("a", "Identity", "input: 'go'"), "0 outputs");
  expect_wrong(SCALAR("x", "") NODE("a", "Add", "input: 'x'"), "'a' (op: 'Add')");
}

static void wrong_attributes(void **state) {
  (void)state;
  expect_wrong(NODE("a", "NoOp", "attr { key: 'x' value { i: 1 } }"),
               "attr 'x' not in Op 'NoOp', which has: none");
  expect_wrong(NODE("a", "NoOp", "attr { key: 'x' value { i: 1 } }"), "at line 1, column");
  expect_wrong(SCALAR("x", "") NODE("a", "Identity", "input: 'x' attr { key: 'T' value { i: 1 } }"),
               "'T'");
  expect_wrong(SCALAR("x", "attr { key: 'dtype' value { type: DT_FLOAT } }"), "twice");
  expect_wrong(NODE("a", "NoOp", "attr { key: 'x' }"), "must have one value");
  expect_wrong(NODE("a", "NoOp", "attr { value { i: 1 } }"), "a key and a value");
  expect_wrong(NODE("a", "Placeholder", "attr { key: 'dtype' value { } }"), "must have one value");
  expect_wrong(NODE("a", "Placeholder", "attr { key: 'dtype' value { type: DT_FLOAT i: 1 } }"),
               "'i' is set besides 'type'");
  expect_wrong(NODE("a", "Placeholder", "attr { key: 'dtype' value { s: 'DT\\000' } }"),
               "zero byte");
  expect_wrong(NODE("a", "NoOp", "attr { key: 'x' value { list { b: true } } }"), "lists of 'b'");
  expect_wrong(NODE("a", "NoOp", "attr { key: 'x' value { list { f: 1 i: 2 } } }"), "lists of 'f'");
  expect_wrong(NODE("a", "NoOp", "attr { key: '_class' value { i: 1 } }"), "'_class'");
  expect_wrong(NODE("a", "NoOp", "attr { key: 'f' value { func { name: 'g' } } }"),
               "not in Op 'NoOp'");
  expect_wrong(NODE("a", "Placeholder",
                    "attr { key: 'dtype' value { type: DT_FLOAT } } attr { key: 'shape' value {"
                    " shape { dim { size: -2 } } } }"),
               "[-2]");
}

static void wrong_devices(void **state) {
  (void)state;
  expect_wrong(NODE("a", "NoOp", "device: '/gpu:x'"), "/gpu:x");
  expect_wrong(NODE("a", "NoOp", "device: '/gpu:x'"), "at line 1, column 37 of the GraphDef");
  expect_wrong(NODE("a", "NoOp", "device: '/gpu:0\\000'"), "zero byte");
}

static void null_arguments(void **state) {
  situ_graph *graph = *state, *out = NULL;
  expect_status(situ_graph_load(NULL, 1, &out), SITU_INVALID_ARGUMENT, "NULL");
  expect_status(situ_graph_load("", 0, NULL), SITU_INVALID_ARGUMENT, "NULL");
  assert_null(situ_graph_load(NULL, 0, &out));
  situ_graph_release(out);
  expect_status(situ_graph_save(NULL, false, stdout), SITU_INVALID_ARGUMENT, "graph is NULL");
  expect_status(situ_graph_save(graph, false, NULL), SITU_INVALID_ARGUMENT, "stream is NULL");
  scalar(graph, "a b");
  expect_status(situ_graph_save(graph, false, stdout), SITU_INVALID_ARGUMENT, "a b");
}

static void a_full_stream(void **state) {
  situ_graph *graph = *state;
  FILE *full = fopen("/dev/full", "w");
  if (!full) SKIP("no /dev/full");
  setvbuf(full, NULL, _IONBF, 0);
  scalar(graph, "a");
  expect_status(situ_graph_save(graph, false, full), SITU_UNKNOWN, "cannot write");
  fclose(full);
}

/* The number of outputs is an attribute of 64 bits; it is never narrowed. */
static void number_of_outputs_is_bounded(void **state) {
  (void)state;
  static const char *const numbers[] = {"4294967296", "9223372036854775807", "65537", "-1"};
  for (size_t i = 0; i < COUNT_OF(numbers); i++) {
    char text[512];
    snprintf(text, sizeof text,
             "node { name: 'd' op: 'Const' attr { key: 'dtype' value { type: DT_INT32 } }\n"
             "  attr { key: 'value' value { tensor { dtype: DT_INT32 tensor_shape { } int_val: 0 "
             "} } } }\n"
             "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } }\n"
             "node { name: 's' op: 'Split' input: 'd' input: 'x'\n"
             "  attr { key: 'T' value { type: DT_FLOAT } }\n"
             "  attr { key: 'num_split' value { i: %s } } }",
             numbers[i]);
    expect_wrong(text, "attr 'num_split'");
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_text_is_an_empty_graph),
      cmocka_unit_test(nodes_in_any_order),
      cmocka_unit_test(a_graph_in_order_stays_in_order),
      cmocka_unit_test(devices_and_groups),
      cmocka_unit_test(what_is_ignored),
      cmocka_unit_test(a_loaded_graph_can_grow),
      GRAPH_TEST(built_graphs_survive),
      GRAPH_TEST(deep_graphs_need_no_stack),
      cmocka_unit_test(cycles_are_named),
      cmocka_unit_test(long_cycles_are_cut),
      cmocka_unit_test(wrong_nodes),
      cmocka_unit_test(wrong_inputs),
      cmocka_unit_test(wrong_attributes),
      cmocka_unit_test(wrong_devices),
      cmocka_unit_test(number_of_outputs_is_bounded),
      GRAPH_TEST(null_arguments),
      GRAPH_TEST(a_full_stream),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
