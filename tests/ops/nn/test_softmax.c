/* SPDX-License-Identifier: Apache-2.0
 * test_softmax.c: softmax and its logarithm against their definitions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "host/thread_pool.h"
#include "support/apply.h"

static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_HALF};
static const double tolerance[] = {2e-6, 1e-14, 2e-3};

static void check(situ_shape shape, int t) {
  situ_tensor *in = apply_numbers(types[t], shape, 9);
  situ_tensor *share = apply1("Softmax", NULL, in), *log_share = apply1("LogSoftmax", NULL, in);
  const int64_t width = shape.dim[shape.rank - 1], n = situ_shape_count(shape);
  for (int64_t i = 0; i < n; i += width) {
    double sum = 0;
    for (int64_t k = 0; k < width; k++) sum += exp(apply_get(in, i + k));
    for (int64_t k = 0; k < width; k++) {
      const double x = apply_get(in, i + k), want = exp(x) / sum, want_log = x - log(sum);
      assert_true(fabs(apply_get(share, i + k) - want) <= tolerance[t] * (want + 1e-4));
      assert_true(fabs(apply_get(log_share, i + k) - want_log) <=
                  tolerance[t] * (fabs(want_log) + 1));
    }
  }
  situ_tensor_release(in);
  situ_tensor_release(share);
  situ_tensor_release(log_share);
}

static void rows_of_every_length(void **state) {
  (void)state;
  thread_pool_set_threads(2);
  for (int t = 0; t < 3; t++) {
    for (int64_t width = 1; width < 140; width++) check(SITU_SHAPE(3, width), t);
    check(SITU_SHAPE(10), t);
    check(SITU_SHAPE(2, 3, 4, 5), t);
    check(SITU_SHAPE(200, 1000), t);
    check(SITU_SHAPE(0, 7), t);
  }
}

static void large_logits_do_not_overflow(void **state) {
  (void)state;
  const float data[] = {1000, 1001, -1000, 1000};
  situ_tensor *in;
  assert_null(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(1, 4), data, &in));
  situ_tensor *out = apply1("Softmax", NULL, in), *logs = apply1("LogSoftmax", NULL, in);
  assert_true(fabs(apply_get(out, 1) - 0.57611688) < 1e-6);
  assert_true(apply_get(out, 2) == 0);
  assert_true(fabs(apply_get(logs, 2) + 2001.5514) < 1e-3);
  situ_tensor_release(in);
  situ_tensor_release(out);
  situ_tensor_release(logs);
}

static void not_a_number_spoils_its_row_only(void **state) {
  (void)state;
  situ_tensor *in = apply_numbers(SITU_FLOAT, SITU_SHAPE(3, 50), 5);
  apply_set(in, 70, NAN);
  situ_tensor *out = apply1("Softmax", NULL, in);
  for (int i = 0; i < 150; i++) assert_int_equal(isnan(apply_get(out, i)) != 0, i / 50 == 1);
  situ_tensor_release(in);
  situ_tensor_release(out);
}

static void a_scalar_has_no_rows(void **state) {
  (void)state;
  situ_tensor *in = apply_numbers(SITU_FLOAT, SITU_SCALAR, 5), *out[4];
  situ_status s = apply_op("Softmax", NULL, &in, 1, out);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  situ_status_release(s);
  situ_tensor_release(in);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(rows_of_every_length),
      cmocka_unit_test(large_logits_do_not_overflow),
      cmocka_unit_test(not_a_number_spoils_its_row_only),
      cmocka_unit_test(a_scalar_has_no_rows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
