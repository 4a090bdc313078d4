/* SPDX-License-Identifier: Apache-2.0
 * builder.h: helpers of the graph tests. */
#ifndef SITU_TESTS_GRAPH_BUILDER_H
#define SITU_TESTS_GRAPH_BUILDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "graph/graph.h"

/* A graph for each test, in *state. */
static inline int make_graph(void **state) {
  *state = situ_graph_create();
  return *state ? 0 : -1;
}

static inline int drop_graph(void **state) {
  situ_graph_release(*state);
  return 0;
}

#define GRAPH_TEST(function) cmocka_unit_test_setup_teardown(function, make_graph, drop_graph)

/* Asserts the code and the parts of the message of a status, and releases it. */
static inline void expect_status(situ_status status, situ_code code, const char *part) {
  if (situ_status_code(status) != code || !strstr(situ_status_message(status), part))
    fail_msg("%s '%s' is not %s '%s'", situ_code_name(situ_status_code(status)),
             situ_status_message(status), situ_code_name(code), part);
  situ_status_release(status);
}

static inline void expect_error(const situ_graph *graph, situ_code code, const char *part) {
  expect_status(situ_graph_status(graph), code, part);
}

static inline void expect_no_error(const situ_graph *graph) {
  const situ_status status = situ_graph_status(graph);
  if (status) fail_msg("%s", situ_status_message(status));
}

/* A constant of zeros. */
static inline situ_value zeros(situ_graph *graph, const char *name, situ_shape shape) {
  return situ_constant(graph, name, SITU_FLOAT, shape, NULL);
}

static inline situ_value scalar(situ_graph *graph, const char *name) {
  return zeros(graph, name, SITU_SCALAR);
}

static inline situ_value unary(situ_graph *graph, const char *op, const char *name, situ_value x) {
  return situ_emit(graph, op, name, &x, 1, NULL, 0);
}

static inline situ_value binary(situ_graph *graph, const char *op, const char *name, situ_value x,
                                situ_value y) {
  const situ_value inputs[] = {x, y};
  return situ_emit(graph, op, name, inputs, 2, NULL, 0);
}

static inline situ_value no_op(situ_graph *graph, const char *name) {
  return situ_emit(graph, "NoOp", name, NULL, 0, NULL, 0);
}

static inline const struct node *node_of(situ_value value) {
  return value.graph->nodes[value.node];
}

#endif
