/* SPDX-License-Identifier: Apache-2.0
 * test_refused_calls.c: calls for which random graphs found a crash or an internal error, and
 * similar ones: each is an InvalidArgument, or succeeds. */
#include <math.h>

#include "api/helpers.h"

#include "base/base.h"

/* Runs a value of a graph; returns the error of building or running it. */
static situ_status run(situ_graph *graph, situ_value value) {
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  situ_status status = situ_graph_status(graph);
  if (!status) status = situ_session_create(graph, NULL, &session);
  if (!status) status = situ_session_run(session, NULL, 0, &value, 1, &result);
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
  return status;
}

static situ_value zeros_of(situ_graph *graph, situ_shape shape) {
  static const float zeros[64];
  return situ_constant(graph, NULL, SITU_FLOAT, shape, zeros);
}

static situ_value list_of(situ_graph *graph) {
  const int32_t two = 2;
  const situ_value in[] = {zeros_of(graph, SITU_SHAPE(2, 2)),
                           situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(1), &two)};
  return situ_emit(graph, "TensorListFromTensor", NULL, in, 2, NULL, 0);
}

/* An If whose then_branch returns float and whose else_branch returns its shape, int32. */
static void branches_return_the_types_of_the_node(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const int64_t type = SITU_FLOAT;
  for (int i = 0; i < 2; i++) {
    situ_graph *body = situ_graph_create();
    const situ_value x = situ_placeholder(body, NULL, SITU_FLOAT, SITU_ANY_SHAPE);
    const situ_value y = situ_emit(body, i ? "Shape" : "Identity", NULL, &x, 1, NULL, 0);
    situ_function_add(graph, i ? "shape" : "identity", body, &x, 1, &y, 1);
    situ_graph_release(body);
  }
  const situ_value in[] = {zeros_of(graph, SITU_SCALAR), zeros_of(graph, SITU_SHAPE(2))};
  const situ_attr attrs[] = {situ_attr_types("Tin", &type, 1), situ_attr_types("Tout", &type, 1),
                             situ_attr_function("then_branch", "identity"),
                             situ_attr_function("else_branch", "shape")};
  const situ_value value = situ_emit(graph, "If", NULL, in, 2, attrs, COUNT_OF(attrs));
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT,
        "Output 0 of function 'shape' is of type int32, not float");
}

static void tapes_have_values_of_their_type(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const int64_t zero = 0;
  const situ_value in[] = {list_of(graph),
                           situ_constant(graph, NULL, SITU_INT64, SITU_SCALAR, &zero)};
  const situ_attr number = situ_attr_int("number", 0);
  const situ_value value = situ_emit(graph, "TapeItem", NULL, in, 2, &number, 1);
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT, "is of type float, not int64");
}

/* Elements of variants are references, which must not be copied as bytes. */
static void variants_are_not_unbatched(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const int64_t index[] = {0, 0, 1}, id = 0;
  const situ_value in[] = {list_of(graph),
                           situ_constant(graph, NULL, SITU_INT64, SITU_SHAPE(1, 3), index),
                           situ_constant(graph, NULL, SITU_INT64, SITU_SCALAR, &id)};
  const situ_attr timeout = situ_attr_int("timeout_micros", INT64_MAX);
  const situ_value value = situ_emit(graph, "Unbatch", NULL, in, 3, &timeout, 1);
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT, "");
}

static void datasets_are_resources(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const float number = 1;
  situ_tensor *tensor = NULL;
  OK(situ_tensor_create(SITU_FLOAT, SITU_SCALAR, &number, &tensor));
  const situ_attr attr = situ_attr_tensor("value", tensor);
  const situ_value value = situ_emit(graph, "DatasetConstant", NULL, NULL, 0, &attr, 1);
  situ_tensor_release(tensor);
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT, "must be a resource, not float");
}

static void anonymous_iterators_have_no_string_handle(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const int64_t type = SITU_FLOAT;
  const situ_attr types = situ_attr_types("output_types", &type, 1);
  const situ_value iterator = situ_emit(graph, "AnonymousIterator", NULL, NULL, 0, &types, 1);
  const situ_value value = situ_emit(graph, "IteratorToStringHandle", NULL, &iterator, 1, NULL, 0);
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT, "has no string handle");
}

/* A scalar without elements: reading element 0 would be out of bounds. */
static void scalars_have_an_element(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const situ_string name = {"a", 1};
  situ_tensor *tensor = NULL;
  OK(situ_tensor_create_strings(SITU_SCALAR, &name, &tensor));
  const int32_t none = 0;
  const situ_value in[] = {situ_constant_tensor(graph, NULL, tensor),
                           situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(0), &none),
                           situ_constant(graph, NULL, SITU_INT32, SITU_SCALAR, &none)};
  situ_tensor_release(tensor);
  const situ_value value = situ_emit(graph, "ShardedFilename", NULL, in, 3, NULL, 0);
  FAILS(run(graph, value), SITU_INVALID_ARGUMENT, "Shape must be rank 0 but is rank 1");
}

static void casts_of_what_does_not_fit_are_defined(void **state) {
  (void)state;
  situ_graph *graph = situ_graph_create();
  const double numbers[] = {NAN, 1e300, -1e300, INFINITY, 2147483648.0, -2147483648.0, 7.9, -7.9};
  static const int32_t want[] = {INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN,
                                 INT32_MIN, INT32_MIN, 7,         -7};
  const situ_value x = situ_constant(graph, NULL, SITU_DOUBLE, SITU_SHAPE(8), numbers);
  const situ_attr type = situ_attr_type("DstT", SITU_INT32);
  const situ_value y = situ_emit(graph, "Cast", NULL, &x, 1, &type, 1);
  situ_session *session = NULL;
  situ_tensor *result = NULL;
  OK(situ_graph_status(graph));
  OK(situ_session_create(graph, NULL, &session));
  OK(situ_session_eval(session, y, &result));
  assert_memory_equal(situ_tensor_data(result), want, sizeof want);
  situ_tensor_release(result);
  situ_session_release(session);
  situ_graph_release(graph);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(branches_return_the_types_of_the_node),
      cmocka_unit_test(tapes_have_values_of_their_type),
      cmocka_unit_test(variants_are_not_unbatched),
      cmocka_unit_test(datasets_are_resources),
      cmocka_unit_test(anonymous_iterators_have_no_string_handle),
      cmocka_unit_test(scalars_have_an_element),
      cmocka_unit_test(casts_of_what_does_not_fit_are_defined),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
