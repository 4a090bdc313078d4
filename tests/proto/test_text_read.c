/* SPDX-License-Identifier: Apache-2.0
 * test_text_read.c: protobuf's text format: syntax variants and errors. */
#include "graph/files.h"

static void expect_one_node(const char *text) {
  situ_graph *graph = load_text(text);
  assert_int_equal(situ_graph_count(graph), 1);
  assert_string_equal(graph->nodes[0]->name, "a");
  situ_graph_release(graph);
}

static void forms_of_a_message(void **state) {
  (void)state;
  expect_one_node("node{name:'a'op:'NoOp'}");
  expect_one_node("node: { name: \"a\", op: \"NoOp\"; },");
  expect_one_node("node < name: 'a' op: 'NoOp' > ;");
  expect_one_node("node: [ { name: 'a' op: 'NoOp' } ]");
  expect_one_node("node: []\nnode { name: # here\n 'a' op: 'No' \"Op\" input: [] }\t\r\n");
  expect_one_node("node { op: '\\116o\\x4fp' name: '\\141' }");
}

static void strings_have_escapes(void **state) {
  (void)state;
  expect_wrong("node { name: '\\a\\b\\f\\n\\r\\t\\v\\\\\\'\\\"\\?' op: 'NoOp' }",
               "'\a\b\f\n\r\t\v\\'\"?' is not a valid node name");
  expect_wrong("node { name: '\\q' }", "line 1, column 15: an unknown escape");
  expect_wrong("node { name: '\\x' }", "an unknown escape");
  expect_wrong("node { name: 'abc", "column 14: a string is not terminated on its line");
  expect_wrong("node { name: 'abc\n' }", "a string is not terminated on its line");
  expect_wrong("node { name: 'abc\\", "a");
}

static void wrong_syntax(void **state) {
  (void)state;
  expect_wrong("node {\n  name: 'a'\n  colour: 'red'\n}",
               "GraphDef, line 3, column 3: NodeDef has no field 'colour'");
  expect_wrong("nodes { }", "line 1, column 1: GraphDef has no field 'nodes'");
  expect_wrong("node { name 'a' }", "column 13: expected ':', found '''");
  expect_wrong("node { name: a }", "expected a string, found 'a'");
  expect_wrong("node { name: 'a' name: 'b' }", "'name' is set twice");
  expect_wrong("node { name: 'a'", "before the end");
  expect_wrong("node { name: 'a' >", "expected the name of a field, found '>'");
  expect_wrong("node 5", "expected '{', found '5'");
  expect_wrong("node [ { name: 'a' op: 'NoOp' } { } ]", "expected ',' or ']'");
  expect_wrong("}", "expected the name of a field, found '}'");
  expect_wrong("\x01", "found byte 0x01");
  expect_wrong("versions", "expected '{' before the end");
  expect_wrong("versions { a { b: 1 }", "VersionDef has no field 'a'");
  expect_wrong("versions }", "expected '{', found '}'");
  expect_wrong("node { input: ['a' 'b', }", "expected a string");
}

#define ATTR(value) "node { name: 'a' op: 'NoOp' attr { key: 'x' value { " value " } } }"

static void wrong_scalars(void **state) {
  (void)state;
  expect_wrong(ATTR("i: x"), "expected an integer, found 'x'");
  expect_wrong(ATTR("i: 1x"), "1x is not an integer");
  expect_wrong(ATTR("i: 9223372036854775808"), "too large");
  expect_wrong(ATTR("i: --1"), "expected an integer");
  expect_wrong(ATTR("f: 1.2.3"), "1.2.3 is not a number");
  expect_wrong(ATTR("f: 1e"), "1e is not a number");
  expect_wrong(ATTR("f: ."), ". is not a number");
  expect_wrong(ATTR("f: }"), "expected a number, found '}'");
  expect_wrong(ATTR("b: maybe"), "expected true or false");
  expect_wrong(ATTR("type: DT_QUUX"), "has no value named DT_QUUX");
  expect_wrong(ATTR("type: 77"), "unknown element type 77");
  expect_wrong(ATTR("type: DT_QINT8"), "qint8 is not supported by situ yet");
  expect_wrong(ATTR("type: 12"), "quint8 is not supported by situ yet");
  expect_wrong(ATTR("type: "), "expected a name or a number");
}

/* The C library's decimal point depends on the locale, the text's does not. */
static void numbers(void **state) {
  (void)state;
  static const struct {
    const char *text;
    double value;
  } cases[] = {{"1.5", 1.5},          {"-2", -2},        {".25", 0.25},          {"3.", 3},
               {"1e3", 1000},         {"1.5E-2", 0.015}, {"25e-1f", 2.5},        {"- 4", -4},
               {"1e+400", 1.0 / 0.0}, {"1e-400", 0},     {"infinity", 1.0 / 0.0}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    char text[256];
    snprintf(text, sizeof text,
             "node { name: 'a' op: 'Const' attr { key: 'dtype' value { type: DT_DOUBLE } } attr {"
             " key: 'value' value { tensor { dtype: DT_DOUBLE double_val: %s } } } }",
             cases[i].text);
    situ_graph *graph = load_text(text);
    const struct node *node = graph->nodes[0];
    const situ_tensor *tensor = node->attrs[schema_attr(node->schema, "value")].tensor;
    assert_true(*(const double *)situ_tensor_data(tensor) == cases[i].value);
    situ_graph_release(graph);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(forms_of_a_message),
      cmocka_unit_test(strings_have_escapes),
      cmocka_unit_test(wrong_syntax),
      cmocka_unit_test(wrong_scalars),
      cmocka_unit_test(numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
