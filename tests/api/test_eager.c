/* SPDX-License-Identifier: Apache-2.0
 * test_eager.c: eager ops on requested and default devices. */
#include "api/helpers.h"
#include "situ/catalog.h"
#include "situ/eager.h"

static int number_of(const char *op) {
  situ_op row;
  OK(situ_ops_find(op, &row));
  return row.number;
}

static situ_eager *begin(const char *gpus, const situ_config *config) {
  fleet(gpus);
  situ_eager *eager = NULL;
  OK(situ_eager_create(config, &eager));
  return eager;
}

static situ_tensor *run2(situ_eager *eager, const char *op, const char *device, situ_tensor *a,
                         situ_tensor *b) {
  situ_tensor *out = NULL;
  int count = 0;
  const situ_call call = {.op = number_of(op),
                          .device = device,
                          .inputs = (situ_tensor *[]){a, b},
                          .n_inputs = b ? 2 : 1};
  OK(situ_eager_run(eager, &call, &out, 1, &count));
  assert_int_equal(count, 1);
  return out;
}

static void expect_read(const situ_tensor *tensor, const float *want, int n) {
  float have[16];
  OK(situ_tensor_read(tensor, have, sizeof(float) * (size_t)n));
  for (int i = 0; i < n; i++) assert_float_equal(have[i], want[i], 1e-5);
}

static void results_stay_where_they_are(void **state) {
  (void)state;
  situ_eager *eager = begin("2", NULL);
  situ_tensor *a = floats(SITU_SHAPE(2, 2), (float[]){1, 2, 3, 4});
  for (int run = 0; run < 3; run++) {
    situ_tensor *b = run2(eager, "Add", NULL, a, a);
    assert_string_equal(situ_tensor_device(b), "/job:localhost/replica:0/task:0/device:GPU:0");
    assert_null(situ_tensor_data(b));
    situ_tensor *c = run2(eager, "Mul", "/gpu:1", b, a);
    assert_string_equal(situ_tensor_device(c), "/job:localhost/replica:0/task:0/device:GPU:1");
    situ_tensor *d = run2(eager, "MatMul", "/cpu:0", c, b);
    assert_string_equal(situ_tensor_device(d), "/job:localhost/replica:0/task:0/device:CPU:0");
    expect_read(b, (float[]){2, 4, 6, 8}, 4);
    expect_read(c, (float[]){2, 8, 18, 32}, 4);
    expect_read(d, (float[]){52, 72, 228, 328}, 4);
    situ_tensor_release(b);
    situ_tensor_release(c);
    situ_tensor_release(d);
  }
  situ_tensor_release(a);
  situ_eager_release(eager);
}

/* A retained result must not change in the next equal call. */
static void kept_results_stay(void **state) {
  (void)state;
  const char *fleets[] = {"", "1"};
  for (int f = 0; f < 2; f++) {
    situ_eager *eager = begin(fleets[f], NULL);
    situ_tensor *at[20] = {floats(SITU_SCALAR, &(float){1})};
    for (int i = 1; i < 20; i++) at[i] = run2(eager, "Add", NULL, at[i - 1], at[0]);
    for (int i = 0; i < 20; i++) {
      expect_read(at[i], &(float){(float)(i + 1)}, 1);
      situ_tensor_release(at[i]);
    }
    situ_eager_release(eager);
  }
}

/* Values that determine shapes are part of the cache key. */
static void values_of_shapes_count(void **state) {
  (void)state;
  situ_eager *eager = begin("", NULL);
  situ_tensor *one = floats(SITU_SCALAR, &(float){7});
  for (int32_t n = 1; n < 4; n++) {
    situ_tensor *dims = NULL;
    OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(1), &n, &dims));
    situ_tensor *full = run2(eager, "Fill", NULL, dims, one);
    assert_int_equal(situ_tensor_shape(full).dim[0], n);
    expect_read(full, (float[]){7, 7, 7}, n);
    situ_tensor_release(full);
    situ_tensor_release(dims);
  }
  situ_tensor_release(one);
  situ_eager_release(eager);
}

/* Such a value may be on a device. */
static void values_of_shapes_may_live_anywhere(void **state) {
  (void)state;
  situ_eager *eager = begin("1", NULL);
  situ_tensor *one = floats(SITU_SCALAR, &(float){7}), *dims = NULL, *there = NULL;
  OK(situ_tensor_create(SITU_INT32, SITU_SHAPE(1), &(int32_t){3}, &dims));
  OK(situ_eager_copy(eager, dims, "/gpu:0", &there));
  situ_tensor *full = run2(eager, "Fill", "/gpu:0", there, one);
  expect_read(full, (float[]){7, 7, 7}, 3);
  situ_tensor_release(full);
  situ_tensor_release(there);
  situ_tensor_release(dims);
  situ_tensor_release(one);
  situ_eager_release(eager);
}

static void missing_devices_and_soft_placement(void **state) {
  (void)state;
  situ_eager *eager = begin("1", NULL);
  situ_tensor *a = floats(SITU_SCALAR, &(float){2}), *out = NULL;
  int count = 0;
  const situ_call call = {.op = number_of("Neg"), .device = "/gpu:2", .inputs = &a, .n_inputs = 1};
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT, "/gpu:2");
  situ_eager_set_soft_placement(eager, true);
  OK(situ_eager_run(eager, &call, &out, 1, &count));
  assert_string_equal(situ_tensor_device(out), "/job:localhost/replica:0/task:0/device:GPU:0");
  situ_tensor_release(out);
  situ_eager_set_soft_placement(eager, false);
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT, "/gpu:2");
  situ_tensor_release(a);
  situ_eager_release(eager);
}

static void tensors_can_be_moved(void **state) {
  (void)state;
  situ_eager *eager = begin("2", NULL);
  situ_tensor *a = floats(SITU_SHAPE(3), (float[]){1, 2, 3}), *b = NULL, *c = NULL, *d = NULL;
  OK(situ_eager_copy(eager, a, "/gpu:0", &b));
  OK(situ_eager_copy(eager, b, "/gpu:1", &c));
  OK(situ_eager_copy(eager, c, "/cpu:0", &d));
  expect_floats(d, (float[]){1, 2, 3}, 3);
  situ_tensor *same = NULL;
  OK(situ_eager_copy(eager, b, "/gpu:0", &same));
  assert_ptr_equal(same, b);
  FAILS(situ_eager_copy(eager, a, "/gpu:7", &d), SITU_NOT_FOUND, "/gpu:7");
  situ_tensor_release(same);
  situ_tensor_release(a);
  situ_tensor_release(b);
  situ_tensor_release(c);
  situ_tensor_release(d);
  situ_eager_release(eager);
}

/* Memory of large results is returned to the device with the tensor. */
static void large_results_are_not_kept(void **state) {
  (void)state;
  situ_eager *eager = begin("Small=64MiB", NULL);
  situ_tensor *a = floats(SITU_SHAPE(1024, 1024), NULL);
  for (int run = 0; run < 30; run++) situ_tensor_release(run2(eager, "Exp", NULL, a, NULL));
  int number = 0;
  situ_memory_info info;
  OK(situ_devices_find("/gpu:0", &number));
  OK(situ_device_memory_info(number, &info));
  assert_int_equal(info.current, 0);
  situ_tensor_release(a);
  situ_eager_release(eager);
}

static void wrong_calls_are_named(void **state) {
  (void)state;
  situ_eager *eager = begin("", NULL);
  situ_tensor *a = floats(SITU_SHAPE(2, 3), NULL), *out = NULL;
  int count = 0;
  situ_call call = {.op = number_of("MatMul"), .inputs = (situ_tensor *[]){a, a}, .n_inputs = 2};
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT,
        "Matrix size-incompatible");
  call.op = 100000;
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT, "does not exist");
  call.inputs = (situ_tensor *[]){a, NULL};
  call.op = number_of("Add");
  FAILS(situ_eager_run(eager, &call, &out, 1, &count), SITU_INVALID_ARGUMENT, "NULL");
  situ_tensor_release(a);
  situ_eager_release(eager);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(results_stay_where_they_are),
      cmocka_unit_test(kept_results_stay),
      cmocka_unit_test(values_of_shapes_count),
      cmocka_unit_test(values_of_shapes_may_live_anywhere),
      cmocka_unit_test(missing_devices_and_soft_placement),
      cmocka_unit_test(tensors_can_be_moved),
      cmocka_unit_test(large_results_are_not_kept),
      cmocka_unit_test(wrong_calls_are_named),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
