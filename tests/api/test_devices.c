/* SPDX-License-Identifier: Apache-2.0
 * test_devices.c: evacuating and resetting devices, so that others can be discovered in the same
 * process. */
#include <math.h>

#include "api/helpers.h"
#include "situ/catalog.h"
#include "situ/eager.h"
#include "support/clean.h"

static situ_eager *eager_on(const char *gpus) {
  situ_eager *eager = NULL;
  fleet(gpus);
  OK(situ_eager_create(NULL, &eager));
  return eager;
}

static situ_status twice(situ_eager *eager, const char *device, situ_tensor *x, situ_tensor **out) {
  situ_op row;
  int count = 0;
  OK(situ_ops_find("Add", &row));
  const situ_call call = {
      .op = row.number, .device = device, .inputs = (situ_tensor *[]){x, x}, .n_inputs = 2};
  return situ_eager_run(eager, &call, out, 1, &count);
}

static void tensors_move_to_the_host(void **state) {
  (void)state;
  situ_eager *eager = eager_on("2");
  situ_tensor *x = floats(SITU_SHAPE(3), (float[]){1, 2, 3}), *y = NULL, *z = NULL;
  float have[3];
  OK(twice(eager, "/gpu:1", x, &y));
  assert_null(situ_tensor_data(y));
  situ_eager_release(eager);
  FAILS(situ_devices_reset(), SITU_FAILED_PRECONDITION, "1 tensor(s)");
  OK(situ_devices_evacuate());
  OK(situ_devices_evacuate()); /* nothing is left to do */
  OK(situ_devices_reset());
  assert_string_equal(situ_tensor_device(y), "/job:localhost/replica:0/task:0/device:CPU:0");
  assert_float_equal(((const float *)situ_tensor_data(y))[2], 6, 0);

  eager = eager_on("5"); /* and devices found later are merged */
  OK(twice(eager, "/gpu:4", y, &z));
  OK(situ_tensor_read(z, have, sizeof have));
  assert_float_equal(have[0], 4, 0);
  situ_tensor_release(z);
  situ_tensor_release(y);
  situ_tensor_release(x);
  situ_eager_release(eager);
}

static void sessions_are_closed(void **state) {
  (void)state;
  fleet("1");
  situ_graph *graph = situ_graph_create();
  const situ_value x = situ_constant(graph, "x", SITU_FLOAT, SITU_SHAPE(1), (float[]){7});
  situ_session *sessions[3];
  situ_tensor *result = NULL;
  situ_plan *plan = NULL;
  for (int i = 0; i < 3; i++) OK(situ_session_create(graph, NULL, &sessions[i]));
  OK(situ_session_eval(sessions[0], x, &result));
  situ_tensor_release(result);
  situ_session_release(sessions[1]);
  FAILS(situ_devices_reset(), SITU_FAILED_PRECONDITION, "2 session(s)");
  OK(situ_devices_evacuate());
  OK(situ_devices_reset());
  FAILS(situ_session_eval(sessions[0], x, &result), SITU_FAILED_PRECONDITION, "closed");
  FAILS(situ_plan_create(sessions[2], NULL, 0, NULL, 0, &plan), SITU_FAILED_PRECONDITION, "closed");
  OK(situ_session_close(sessions[0])); /* again */
  situ_session_release(sessions[0]);
  situ_session_release(sessions[2]);
  situ_graph_release(graph);
}

static void what_a_lost_gpu_held_is_no_number(void **state) {
  (void)state;
  situ_eager *eager = eager_on("A=1GiB;lost_after=1");
  situ_tensor *x = floats(SITU_SHAPE(2), (float[]){1, 2}), *y = NULL, *z = NULL;
  float have[2];
  OK(twice(eager, "/gpu:0", x, &y));
  situ_status_release(twice(eager, "/gpu:0", y, &z));
  if (z) FAILS(situ_tensor_read(z, have, sizeof have), SITU_UNAVAILABLE, "lost");
  situ_eager_release(eager);
  OK(situ_devices_evacuate());
  OK(situ_devices_reset());
  OK(situ_tensor_read(y, have, sizeof have));
  assert_true(isnan(have[0]) && isnan(have[1]));
  situ_tensor_release(z);
  situ_tensor_release(y);
  situ_tensor_release(x);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(tensors_move_to_the_host, clean_devices),
      cmocka_unit_test_setup(sessions_are_closed, clean_devices),
      cmocka_unit_test_setup(what_a_lost_gpu_held_is_no_number, clean_devices),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
