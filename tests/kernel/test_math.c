/* SPDX-License-Identifier: Apache-2.0
 * test_math.c: the float functions of math.h against libm in double, over the whole range. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "kernel/math.h"

/* libm's, before the words of math.h. */
#undef exp
#undef expm1
#undef log
#undef log1p
#undef tanh
#undef fabs

/* The distance of `have` from `want` in units in the last place. */
static double distance(float have, double want) {
  const float rounded = (float)want;
  if (isnan(want)) return isnan(have) ? 0 : INFINITY;
  if (isinf(rounded) || isinf(have)) return rounded == have ? 0 : INFINITY;
  const float unit = nextafterf(fabsf(rounded), INFINITY) - fabsf(rounded);
  return fabs((double)have - want) / (double)unit;
}

/* The greatest distance over every 4099th float, of both signs. */
#define WORST(function, worst)                                          \
  for (uint64_t bits = 0; bits < (uint64_t)1 << 32; bits += 4099) {     \
    const float x = math_float((uint32_t)bits);                         \
    const double d = distance(math_##function(x), function((double)x)); \
    if (d > worst) worst = d;                                           \
  }

static void exponentials_are_near(void **state) {
  (void)state;
  double exponential = 0, less_one = 0;
  WORST(exp, exponential)
  WORST(expm1, less_one)
  print_message("exp %.2f expm1 %.2f\n", exponential, less_one);
  assert_true(exponential < 1.5 && less_one < 2);
}

static void logarithms_are_near(void **state) {
  (void)state;
  double logarithm = 0, of_one_more = 0;
  WORST(log, logarithm)
  WORST(log1p, of_one_more)
  print_message("log %.2f log1p %.2f\n", logarithm, of_one_more);
  assert_true(logarithm < 1.5 && of_one_more < 2);
}

static void tanh_is_near(void **state) {
  (void)state;
  double worst = 0;
  WORST(tanh, worst)
  print_message("tanh %.2f\n", worst);
  assert_true(worst < 2);
}

static void borders_are_exact(void **state) {
  (void)state;
  assert_true(math_exp(0) == 1 && math_exp(-INFINITY) == 0 && math_exp(INFINITY) == INFINITY);
  assert_true(math_exp(88.8f) == INFINITY && math_exp(-104.5f) == 0 && isnan(math_exp(NAN)));
  assert_true(math_expm1(-INFINITY) == -1 && math_expm1(INFINITY) == INFINITY);
  assert_true(math_expm1(-0.0f) == 0 && signbit(math_expm1(-0.0f)));
  assert_true(math_log(1) == 0 && math_log(0) == -INFINITY && math_log(INFINITY) == INFINITY);
  assert_true(isnan(math_log(-1)) && isnan(math_log(NAN)));
  assert_true(math_log1p(-1) == -INFINITY && isnan(math_log1p(-2)) && math_log1p(0) == 0);
  assert_true(math_log1p(INFINITY) == INFINITY);
  assert_true(math_tanh(INFINITY) == 1 && math_tanh(-INFINITY) == -1 && isnan(math_tanh(NAN)));
  assert_true(math_tanh(0) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(exponentials_are_near),
      cmocka_unit_test(logarithms_are_near),
      cmocka_unit_test(tanh_is_near),
      cmocka_unit_test(borders_are_exact),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
