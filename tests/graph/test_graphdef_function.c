/* SPDX-License-Identifier: Apache-2.0
 * test_graphdef_function.c: GraphDefs with a library of functions. */
#include "graph/files.h"
#include "schema/function.h"

#define TYPE(key) "attr { key: '" key "' value { type: DT_FLOAT } } "
#define FUNC(key, name) "attr { key: '" key "' value { func { name: '" name "' } } } "
#define TYPES(key) "attr { key: '" key "' value { list { type: DT_FLOAT } } } "

/* y = x < 0 ? then(x) : other(x) */
#define IF(field, c, x, then, other)                                                \
  field " { name: 'y' op: 'StatelessIf' input: '" c "' input: '" x                  \
        "' "                                                                        \
        "attr { key: 'Tcond' value { type: DT_BOOL } } " TYPES("Tin") TYPES("Tout") \
            FUNC("then_branch", then) FUNC("else_branch", other) "}\n"
#define X                                                                              \
  "node { name: 'x' op: 'Placeholder' attr { key: 'dtype' value { type: DT_FLOAT } } " \
  "attr { key: 'shape' value { shape { dim { size: 2 } } } } }\n"
#define C                                                                             \
  "node { name: 'c' op: 'Placeholder' attr { key: 'dtype' value { type: DT_BOOL } } " \
  "attr { key: 'shape' value { shape { } } } }\n"
#define SIGNATURE(name)                                          \
  "signature { name: '" name                                     \
  "' input_arg { name: 'a' type: DT_FLOAT } output_arg { name: " \
  "'r' type: DT_FLOAT } } "
#define SHAPE2                                                                                 \
  "arg_attr { key: 0 value { attr { key: '_output_shapes' value { list { shape { dim { size: " \
  "2 } } } } } } } "
#define UNARY(name, op, rest)                                                         \
  "function { " SIGNATURE(name) "node_def { name: 'n' op: '" op "' input: 'a' " TYPE( \
      "T") "} ret { key: 'r' value: 'n:y:0' } " rest "}\n"
#define GRAPH X C IF("node", "c", "x", "f", "g")

static void bodies_are_read(void **state) {
  (void)state;
  situ_graph *graph =
      load_text(GRAPH "library { " UNARY("f", "Neg", SHAPE2) UNARY("g", "Exp", SHAPE2) "}");
  const struct function *f = graph_function(graph, "f");
  assert_non_null(f);
  assert_int_equal(f->n_inputs, 1);
  assert_int_equal(f->types[0], SITU_FLOAT);
  assert_string_equal(situ_value_op(f->outputs[0]), "Neg");
  assert_int_equal(situ_value_shape(f->outputs[0]).dim[0], 2);
  assert_string_equal(situ_value_op(graph_function(graph, "g")->outputs[0]), "Exp");
  assert_int_equal(situ_value_shape(situ_graph_find(graph, "y")).dim[0], 2);
  situ_graph_release(graph);
}

#define TRUE                                                                               \
  "node_def { name: 't' op: 'Const' attr { key: 'dtype' value { type: DT_BOOL } } attr { " \
  "key: 'value' value { tensor { dtype: DT_BOOL tensor_shape { } bool_val: true } } } } "
#define CALLER(name, inner)                                                   \
  "function { " SIGNATURE(name) TRUE IF("node_def", "t:output:0", "a", inner, \
                                        inner) "ret { key: 'r' value: 'y:output:0' } }\n"

static void functions_call_functions(void **state) {
  (void)state;
  situ_graph *graph = load_text(GRAPH "library { " CALLER("f", "g") UNARY("g", "Exp", "") "}");
  const struct function *f = graph_function(graph, "f");
  assert_non_null(graph_function(f->graph, "g"));
  assert_string_equal(situ_value_op(f->outputs[0]), "StatelessIf");
  situ_graph_release(graph);
}

static void wrong_functions(void **state) {
  (void)state;
  expect_wrong(GRAPH, "the library has no function 'f'");
  expect_wrong(GRAPH "library { " UNARY("f", "Neg", "") "}", "the library has no function 'g'");
  expect_wrong(GRAPH "library { " CALLER("f", "f") "}", "a function calls itself");
  expect_wrong(GRAPH "library { " CALLER("f", "g") CALLER("g", "f") "}", "a function calls itself");
  expect_wrong(GRAPH "library { function { " SIGNATURE("f") "} }", "'r' is not returned");
  expect_wrong(GRAPH "library { function { " SIGNATURE("f") "ret { key: 'r' value: 'b:y:0' } } }",
               "unknown input 'b:y:0'");
  expect_wrong(GRAPH "library { function { " SIGNATURE("f") "ret { key: 'r' value: 'a:y' } } }",
               "unknown input 'a:y'");
  expect_wrong(GRAPH "library { function { " SIGNATURE("f") "ret { key: 'r' value: 'a:z:0' } } }",
               "unknown output 'a:z:0'");
  expect_wrong("library { gradient { } }", "'gradient' of FunctionDefLibrary is not supported");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(bodies_are_read),
      cmocka_unit_test(functions_call_functions),
      cmocka_unit_test(wrong_functions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
