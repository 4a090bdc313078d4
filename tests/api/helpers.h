/* SPDX-License-Identifier: Apache-2.0
 * helpers.h: helpers to build and run graphs in tests of the public API. */
#ifndef SITU_TESTS_API_HELPERS_H
#define SITU_TESTS_API_HELPERS_H

#include "situ/graph.h"
#include "situ/session.h"
#include "support/expect.h"

static inline situ_value emit1(situ_graph *graph, const char *op, situ_value a) {
  return situ_emit(graph, op, NULL, &a, 1, NULL, 0);
}

static inline situ_value emit2(situ_graph *graph, const char *op, situ_value a, situ_value b) {
  return situ_emit(graph, op, NULL, (situ_value[]){a, b}, 2, NULL, 0);
}

static inline situ_value scalar(situ_graph *graph, float value) {
  return situ_constant(graph, NULL, SITU_FLOAT, SITU_SCALAR, &value);
}

static inline situ_tensor *floats(situ_shape shape, const float *data) {
  situ_tensor *tensor = NULL;
  OK(situ_tensor_create(SITU_FLOAT, shape, data, &tensor));
  return tensor;
}

/* Asserts the elements of a host tensor. */
static inline void expect_floats(const situ_tensor *tensor, const float *want, int n) {
  assert_non_null(tensor);
  assert_int_equal(situ_tensor_type(tensor), SITU_FLOAT);
  assert_int_equal(situ_shape_count(situ_tensor_shape(tensor)), n);
  const float *have = situ_tensor_data(tensor);
  assert_non_null(have);
  for (int i = 0; i < n; i++) assert_float_equal(have[i], want[i], 1e-5);
}

/* Resets the devices and configures simulated GPUs. */
static inline void fleet(const char *gpus) {
  setenv("SITU_SIM_GPUS", gpus, 1);
  OK(situ_devices_reset());
}

#endif
