/* SPDX-License-Identifier: Apache-2.0
 * test_shape.c: counting, comparing, merging, broadcasting and printing shapes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "tensor/shape.h"

static const int64_t big = INT64_C(1) << 62;

static void counts(void **state) {
  (void)state;
  assert_int_equal(situ_shape_count(SITU_SCALAR), 1);
  assert_int_equal(situ_shape_count(SITU_SHAPE(2, 3)), 6);
  assert_int_equal(situ_shape_count(SITU_SHAPE(2, 0, 3)), 0);
  assert_int_equal(situ_shape_count(SITU_SHAPE(INT64_MAX)), INT64_MAX);
  assert_int_equal(situ_shape_count(SITU_SHAPE(2, SITU_ANY)), SITU_ANY);
  assert_int_equal(situ_shape_count(SITU_ANY_SHAPE), SITU_ANY);
  assert_int_equal(situ_shape_count(SITU_SHAPE(big, 2)), SITU_ANY);
  assert_int_equal(situ_shape_count(SITU_SHAPE(big, 2, 0)), SITU_ANY);
  assert_int_equal(situ_shape_count((situ_shape){.rank = 9}), SITU_ANY);
  assert_int_equal(situ_shape_count((situ_shape){.rank = -7}), SITU_ANY);
}

static void counts_bytes(void **state) {
  (void)state;
  size_t bytes = 99;
  assert_true(shape_bytes(SITU_DOUBLE, &SITU_SHAPE(2, 3), &bytes));
  assert_int_equal(bytes, 48);
  assert_true(shape_bytes(SITU_HALF, &SITU_SHAPE(5, 0), &bytes));
  assert_int_equal(bytes, 0);
  assert_false(shape_bytes(SITU_DOUBLE, &SITU_SHAPE(big), &bytes));
  assert_false(shape_bytes(SITU_DOUBLE, &SITU_SHAPE(big, 0), &bytes));
  assert_false(shape_bytes(SITU_FLOAT, &SITU_SHAPE(SITU_ANY), &bytes));
  assert_false(shape_bytes(SITU_NO_TYPE, &SITU_SHAPE(2), &bytes));
}

static void compares(void **state) {
  (void)state;
  const situ_shape a = SITU_SHAPE(2, 3), b = SITU_SHAPE(SITU_ANY, 3), any = SITU_ANY_SHAPE;
  assert_true(shape_is_known(&a));
  assert_true(shape_is_known(&SITU_SCALAR));
  assert_false(shape_is_known(&b));
  assert_false(shape_is_known(&any));
  assert_true(shape_equal(&b, &b));
  assert_true(shape_equal(&any, &any));
  assert_false(shape_equal(&a, &b));
  assert_false(shape_equal(&a, &SITU_SHAPE(2)));
  assert_true(shape_compatible(&a, &b));
  assert_true(shape_compatible(&any, &a));
  assert_false(shape_compatible(&a, &SITU_SHAPE(2, 4)));
  assert_false(shape_compatible(&a, &SITU_SHAPE(2, 3, 1)));
}

static void merges(void **state) {
  (void)state;
  const situ_shape a = SITU_SHAPE(2, SITU_ANY), b = SITU_SHAPE(SITU_ANY, 3), any = SITU_ANY_SHAPE;
  const situ_shape both = shape_merge(&a, &b), right = shape_merge(&any, &a);
  const situ_shape left = shape_merge(&a, &any);
  assert_true(shape_equal(&both, &SITU_SHAPE(2, 3)));
  assert_true(shape_equal(&right, &a));
  assert_true(shape_equal(&left, &a));
}

/* Broadcasts both ways; "" is the text of an impossible one. */
static void expect_broadcast(situ_shape a, situ_shape b, const char *text) {
  char out[SHAPE_STRING_SIZE] = "";
  situ_shape shape = {0};
  if (shape_broadcast(&a, &b, &shape)) shape_print(&shape, out);
  assert_string_equal(out, text);
  out[0] = 0;
  if (shape_broadcast(&b, &a, &shape)) shape_print(&shape, out);
  assert_string_equal(out, text);
}

static void broadcasts(void **state) {
  (void)state;
  expect_broadcast(SITU_SHAPE(2, 3), SITU_SHAPE(3), "[2,3]");
  expect_broadcast(SITU_SHAPE(2, 1), SITU_SHAPE(1, 4), "[2,4]");
  expect_broadcast(SITU_SHAPE(2, 3), SITU_SCALAR, "[2,3]");
  expect_broadcast(SITU_SHAPE(0), SITU_SHAPE(1), "[0]");
  expect_broadcast(SITU_SHAPE(0), SITU_SHAPE(2), "");
  expect_broadcast(SITU_SHAPE(2, 3), SITU_SHAPE(2), "");
  expect_broadcast(SITU_SHAPE(SITU_ANY, 3), SITU_SHAPE(5, 1), "[5,3]");
  expect_broadcast(SITU_SHAPE(SITU_ANY), SITU_SHAPE(1), "[?]");
  expect_broadcast(SITU_SHAPE(SITU_ANY), SITU_SHAPE(0), "[?]");
  expect_broadcast(SITU_SHAPE(SITU_ANY), SITU_SHAPE(SITU_ANY), "[?]");
  expect_broadcast(SITU_ANY_SHAPE, SITU_SHAPE(2), "<unknown>");
}

static void expect_illegal(situ_shape shape, const char *part) {
  const situ_status status = shape_check(&shape);
  assert_int_equal(situ_status_code(status), SITU_INVALID_ARGUMENT);
  assert_non_null(strstr(situ_status_message(status), part));
  situ_status_release(status);
}

static void checks(void **state) {
  (void)state;
  assert_null(shape_check(&SITU_SCALAR));
  assert_null(shape_check(&SITU_ANY_SHAPE));
  assert_null(shape_check(&SITU_SHAPE(SITU_ANY, 0, INT64_MAX)));
  expect_illegal(SITU_SHAPE(2, -2), "[2,-2]");
  expect_illegal(SITU_SHAPE(big, 4), "[4611686018427387904,4]");
  expect_illegal(SITU_SHAPE(big, SITU_ANY, 4), "2^63");
  expect_illegal((situ_shape){.rank = 9}, "rank 9");
  expect_illegal((situ_shape){.rank = -2}, "rank -2");
}

static void prints(void **state) {
  (void)state;
  char out[SHAPE_STRING_SIZE];
  assert_string_equal(shape_print(&SITU_SCALAR, out), "[]");
  assert_string_equal(shape_print(&SITU_SHAPE(SITU_ANY, 3), out), "[?,3]");
  assert_string_equal(shape_print(&(situ_shape){.rank = 77}, out), "<rank 77>");
  assert_string_equal(shape_print_python(&SITU_SCALAR, out), "()");
  assert_string_equal(shape_print_python(&SITU_SHAPE(2), out), "(2,)");
  assert_string_equal(shape_print_python(&SITU_SHAPE(SITU_ANY, 3), out), "(?, 3)");
  assert_string_equal(shape_print_python(&SITU_ANY_SHAPE, out), "<unknown>");
  const int64_t low = INT64_MIN;
  const situ_shape longest = SITU_SHAPE(low, low, low, low, low, low, low, low);
  assert_int_equal(strlen(shape_print_python(&longest, out)), 8 * 20 + 7 * 2 + 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(counts), cmocka_unit_test(counts_bytes), cmocka_unit_test(compares),
      cmocka_unit_test(merges), cmocka_unit_test(broadcasts),   cmocka_unit_test(checks),
      cmocka_unit_test(prints),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
