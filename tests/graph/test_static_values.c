/* SPDX-License-Identifier: Apache-2.0
 * test_static_values.c: partially known sizes at graph construction. */
#include "graph/builder.h"

/* A graph with x of shape [?, 2, 3], and the elements of its shape. */
struct sizes {
  situ_graph *graph;
  situ_value x, shape, size[3];
};

static struct sizes make_sizes(situ_graph *graph) {
  struct sizes s = {.graph = graph};
  s.x = situ_placeholder(graph, "x", SITU_FLOAT, SITU_SHAPE(SITU_ANY, 2, 3));
  s.shape = unary(graph, "Shape", NULL, s.x);
  const situ_attr num = {.name = "num", .kind = SITU_ATTR_INT, .integer = 3};
  const situ_value first = situ_emit(graph, "Unpack", NULL, &s.shape, 1, &num, 1);
  for (int i = 0; i < 3; i++) s.size[i] = situ_value_output(first, i);
  return s;
}

static situ_value number(situ_graph *graph, int32_t value) {
  return situ_constant(graph, NULL, SITU_INT32, SITU_SCALAR, &value);
}

/* The shape of zeros filled to the sizes a and b. */
static situ_shape filled(situ_graph *graph, situ_value a, situ_value b) {
  const situ_values list = {(const situ_value[]){a, b}, 2};
  const situ_value dims = situ_emit_lists(graph, "Pack", NULL, &list, 1, NULL, 0);
  const situ_value made = binary(graph, "Fill", NULL, dims, scalar(graph, NULL));
  expect_no_error(graph);
  return situ_value_shape(made);
}

static void expect_sizes(situ_shape shape, int64_t a, int64_t b) {
  assert_int_equal(shape.rank, 2);
  assert_int_equal(shape.dim[0], a);
  assert_int_equal(shape.dim[1], b);
}

static void known_elements_of_a_shape_stay_known(void **state) {
  const struct sizes s = make_sizes(*state);
  expect_sizes(filled(s.graph, s.size[0], s.size[2]), SITU_ANY, 3);
  expect_sizes(filled(s.graph, s.size[1], number(s.graph, 7)), 2, 7);
  const situ_value reshaped = binary(s.graph, "Reshape", NULL, s.x, s.shape);
  assert_int_equal(situ_value_shape(reshaped).dim[1], 2);
}

static void sizes_are_computed(void **state) {
  const struct sizes s = make_sizes(*state);
  const situ_value product = binary(s.graph, "Mul", NULL, s.size[1], s.size[2]);
  const situ_value open = binary(s.graph, "Mul", NULL, s.size[0], s.size[2]);
  expect_sizes(filled(s.graph, open, product), SITU_ANY, 6);
  const situ_value half = binary(s.graph, "FloorDiv", NULL, product, number(s.graph, 4));
  expect_sizes(filled(s.graph, s.size[0], half), SITU_ANY, 1);
}

/* A value that is equal for some probes only is not known. */
static void unknown_stays_unknown(void **state) {
  const struct sizes s = make_sizes(*state);
  situ_graph *graph = s.graph;
  const struct sizes other = {.x = situ_placeholder(graph, "y", SITU_FLOAT, SITU_SHAPE(SITU_ANY))};
  const situ_value shape = unary(graph, "Shape", NULL, other.x);
  const situ_value one = situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(1), (int32_t[]){0});
  const situ_value total = binary(graph, "Sum", NULL, shape, one);
  const situ_value difference = binary(graph, "Sub", NULL, s.size[0], total);
  const situ_value quotient = binary(graph, "FloorDiv", NULL, s.size[0], number(graph, 100));
  expect_sizes(filled(graph, difference, quotient), SITU_ANY, SITU_ANY);
  const situ_value least = binary(graph, "Minimum", NULL, s.size[0], number(graph, 1));
  const situ_value greatest = binary(graph, "Maximum", NULL, s.size[0], number(graph, 5));
  expect_sizes(filled(graph, least, greatest), SITU_ANY, SITU_ANY);
  const situ_value zero = binary(graph, "Mul", NULL, s.size[0], number(graph, 0));
  expect_sizes(filled(graph, least, zero), SITU_ANY, 0);
}

static void wrong_sizes_are_seen_while_building(void **state) {
  const struct sizes s = make_sizes(*state);
  const situ_value fixed = zeros(s.graph, NULL, SITU_SHAPE(5));
  const situ_values list = {(const situ_value[]){s.size[1], s.size[2]}, 2};
  const situ_value dims = situ_emit_lists(s.graph, "Pack", NULL, &list, 1, NULL, 0);
  binary(s.graph, "Reshape", NULL, fixed, dims);
  expect_error(s.graph, SITU_INVALID_ARGUMENT, "5 elements to shape [2,3] (6 elements)");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      GRAPH_TEST(known_elements_of_a_shape_stay_known),
      GRAPH_TEST(sizes_are_computed),
      GRAPH_TEST(unknown_stays_unknown),
      GRAPH_TEST(wrong_sizes_are_seen_while_building),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
