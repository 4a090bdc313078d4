/* SPDX-License-Identifier: Apache-2.0
 * test_tensor.c: creating, wrapping, counting and reading tensors, and invalid arguments. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/tensor.h"

static void expect(situ_status status, situ_code code, const char *part) {
  assert_int_equal(situ_status_code(status), code);
  if (!strstr(situ_status_message(status), part))
    fail_msg("'%s' does not say '%s'", situ_status_message(status), part);
  situ_status_release(status);
}

static void copies_data(void **state) {
  (void)state;
  float data[] = {1, 2, 3, 4, 5, 6};
  situ_tensor *t = NULL;
  assert_null(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(2, 3), data, &t));
  data[0] = 9;
  const float *held = situ_tensor_data(t);
  assert_true(held[0] == 1 && held[5] == 6);
  assert_int_equal((uintptr_t)held % 64, 0);
  assert_int_equal(situ_tensor_type(t), SITU_FLOAT);
  assert_int_equal(situ_tensor_shape(t).rank, 2);
  assert_int_equal(situ_tensor_bytes(t), 24);
  assert_string_equal(situ_tensor_device(t), "/job:localhost/replica:0/task:0/device:CPU:0");
  float read[6] = {0};
  assert_null(situ_tensor_read(t, read, sizeof read));
  assert_memory_equal(read, held, sizeof read);
  situ_tensor_release(t);
}

static void zeros_without_data(void **state) {
  (void)state;
  situ_tensor *t = NULL;
  assert_null(situ_tensor_create(SITU_INT64, SITU_SHAPE(100), NULL, &t));
  for (int i = 0; i < 100; i++) assert_int_equal(((const int64_t *)situ_tensor_data(t))[i], 0);
  situ_tensor_release(t);
  assert_null(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(3, 0), NULL, &t));
  assert_int_equal(situ_tensor_bytes(t), 0);
  assert_null(situ_tensor_read(t, NULL, 0));
  situ_tensor_release(t);
}

static void owns_its_strings(void **state) {
  (void)state;
  char first[] = "first";
  const char *texts[] = {first, "", NULL, "last"};
  situ_tensor *t = NULL;
  assert_null(situ_tensor_create(SITU_STRING, SITU_SHAPE(2, 2), texts, &t));
  memset(first, 'x', 5);
  const char *const *held = situ_tensor_data(t);
  assert_string_equal(held[0], "first");
  assert_string_equal(held[1], "");
  assert_string_equal(held[2], "");
  assert_string_equal(held[3], "last");
  assert_int_equal(situ_tensor_bytes(t), 4 * sizeof(char *));
  situ_tensor_release(t);
  assert_null(situ_tensor_create(SITU_STRING, SITU_SHAPE(3), NULL, &t));
  assert_string_equal(((const char *const *)situ_tensor_data(t))[2], "");
  situ_tensor_release(t);
}

static void count_release(void *context) { ++*(int *)context; }

static void wraps_without_a_copy(void **state) {
  (void)state;
  int released = 0;
  const int32_t data[] = {1, 2};
  situ_tensor *t = NULL;
  assert_null(situ_tensor_wrap(SITU_INT32, SITU_SHAPE(2), data, count_release, &released, &t));
  assert_ptr_equal(situ_tensor_data(t), data);
  assert_ptr_equal(situ_tensor_retain(t), t);
  situ_tensor_release(t);
  assert_int_equal(released, 0);
  situ_tensor *shaped = NULL;
  assert_null(tensor_reshape(t, SITU_SHAPE(1, 2), &shaped));
  situ_tensor_release(t);
  assert_int_equal(released, 0);
  assert_ptr_equal(situ_tensor_data(shaped), data);
  situ_tensor_release(shaped);
  assert_int_equal(released, 1);
  assert_null(situ_tensor_wrap(SITU_INT32, SITU_SHAPE(2), data, NULL, NULL, &t));
  situ_tensor_release(t);
}

static void failed_wraps_leave_the_memory(void **state) {
  (void)state;
  int released = 0;
  situ_tensor *t = NULL;
  expect(situ_tensor_wrap(SITU_INT32, SITU_SHAPE(-2), &released, count_release, &released, &t),
         SITU_INVALID_ARGUMENT, "[-2]");
  expect(situ_tensor_wrap(SITU_INT32, SITU_SHAPE(2), NULL, count_release, &released, &t),
         SITU_INVALID_ARGUMENT, "data is NULL");
  assert_null(t);
  assert_int_equal(released, 0);
}

static void refuses_bad_shapes_and_types(void **state) {
  (void)state;
  situ_tensor *t = (situ_tensor *)state;
  const int64_t big = INT64_C(1) << 62;
  expect(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(2, -3), NULL, &t), SITU_INVALID_ARGUMENT,
         "[2,-3]");
  assert_null(t);
  expect(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(SITU_ANY), NULL, &t), SITU_INVALID_ARGUMENT,
         "[?]");
  expect(situ_tensor_create(SITU_FLOAT, SITU_ANY_SHAPE, NULL, &t), SITU_INVALID_ARGUMENT,
         "<unknown>");
  expect(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(big, 4), NULL, &t), SITU_INVALID_ARGUMENT,
         "[4611686018427387904,4]");
  expect(situ_tensor_create(SITU_DOUBLE, SITU_SHAPE(big), NULL, &t), SITU_INVALID_ARGUMENT,
         "[4611686018427387904]");
  expect(situ_tensor_create(SITU_FLOAT, (situ_shape){.rank = 9}, NULL, &t), SITU_INVALID_ARGUMENT,
         "rank 9");
  expect(situ_tensor_create((situ_type)11, SITU_SCALAR, NULL, &t), SITU_INVALID_ARGUMENT,
         "qint8 is not supported");
  expect(situ_tensor_create(SITU_FLOAT, SITU_SCALAR, NULL, NULL), SITU_INVALID_ARGUMENT, "out");
  assert_null(t);
}

static void huge_ones_are_no_crash(void **state) {
  (void)state;
  situ_tensor *t = NULL;
  expect(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(INT64_C(1) << 45), NULL, &t),
         SITU_RESOURCE_EXHAUSTED, "[35184372088832]");
  expect(situ_tensor_create(SITU_STRING, SITU_SHAPE(INT64_C(1) << 58), NULL, &t),
         SITU_RESOURCE_EXHAUSTED, "string");
  assert_null(t);
}

static void copes_with_null(void **state) {
  (void)state;
  char byte = 0;
  assert_int_equal(situ_tensor_type(NULL), SITU_NO_TYPE);
  assert_int_equal(situ_tensor_shape(NULL).rank, SITU_ANY);
  assert_int_equal(situ_tensor_bytes(NULL), 0);
  assert_null(situ_tensor_data(NULL));
  assert_string_equal(situ_tensor_device(NULL), "");
  assert_null(situ_tensor_retain(NULL));
  situ_tensor_release(NULL);
  expect(situ_tensor_read(NULL, &byte, 1), SITU_INVALID_ARGUMENT, "NULL");
}

static void reads_only_all(void **state) {
  (void)state;
  situ_tensor *t = NULL;
  char bytes[8];
  assert_null(situ_tensor_create(SITU_UINT8, SITU_SHAPE(8), "abcdefgh", &t));
  expect(situ_tensor_read(t, bytes, 7), SITU_INVALID_ARGUMENT, "7 bytes");
  expect(situ_tensor_read(t, NULL, 8), SITU_INVALID_ARGUMENT, "to is NULL");
  situ_tensor *other = NULL;
  expect(tensor_reshape(t, SITU_SHAPE(7), &other), SITU_INVALID_ARGUMENT, "[7]");
  expect(tensor_from_buffer(SITU_DOUBLE, SITU_SHAPE(2), buffer_retain(t->buffer), &other),
         SITU_INTERNAL, "16 bytes");
  situ_tensor_release(t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(copies_data),
      cmocka_unit_test(zeros_without_data),
      cmocka_unit_test(owns_its_strings),
      cmocka_unit_test(wraps_without_a_copy),
      cmocka_unit_test(failed_wraps_leave_the_memory),
      cmocka_unit_test(refuses_bad_shapes_and_types),
      cmocka_unit_test(huge_ones_are_no_crash),
      cmocka_unit_test(copes_with_null),
      cmocka_unit_test(reads_only_all),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
