/* SPDX-License-Identifier: Apache-2.0
 * test_half.c: half precision, every number. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "base/base.h"
#include "host/half.h"

#include <cmocka.h>

/* The value of a half by its definition. */
static double value(unsigned h) {
  const double sign = h & 0x8000 ? -1 : 1;
  const int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
  if (exponent == 31) return fraction ? (double)NAN : sign * (double)INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

static void every_half_round_trips(void **state) {
  (void)state;
  for (unsigned first = 0; first < 65536; first += 9) { /* 8 in vectors and 1 scalar */
    uint16_t from[9], back[9];
    float wide[9];
    for (unsigned i = 0; i < 9; i++) from[i] = (uint16_t)(first + i);
    half_to_float(from, wide, 9);
    half_from_float(wide, back, 9);
    for (int i = 0; i < 9; i++) {
      const double want = value(from[i]);
      if (isnan(want)) {
        assert_true(isnan(wide[i]) && isnan(value(back[i])));
      } else {
        assert_true(wide[i] == want && !signbit(wide[i]) == !signbit(want));
        assert_int_equal(back[i], from[i]);
      }
    }
  }
}

static void rounds_to_the_nearest(void **state) {
  (void)state;
  /* Between every two neighbours: a quarter, half and three quarters of the way. */
  for (unsigned h = 0; h < 0x7bff; h++) {
    const double low = value(h), step = value(h + 1) - low;
    for (int quarter = 1; quarter < 4; quarter++) {
      const float x = (float)(low + step * quarter / 4);
      const unsigned want = quarter == 2 ? h + (h & 1) : h + (quarter > 2);
      float many[9];
      uint16_t got[9];
      for (int i = 0; i < 9; i++) many[i] = i & 1 ? -x : x;
      half_from_float(many, got, 9);
      for (int i = 0; i < 9; i++) assert_int_equal(got[i], want | (i & 1 ? 0x8000u : 0));
    }
  }
}

static void large_numbers_overflow_to_infinity(void **state) {
  (void)state;
  const float x[] = {65504, 65519.99f, 65520, 1e30f, -65520, INFINITY, 1e-30f, -1e-30f, 65520};
  const uint16_t want[] = {0x7bff, 0x7bff, 0x7c00, 0x7c00, 0xfc00, 0x7c00, 0, 0x8000, 0x7c00};
  uint16_t got[9];
  half_from_float(x, got, 9);
  for (int i = 0; i < 9; i++) assert_int_equal(got[i], want[i]);
  for (int i = 0; i < 9; i++) {
    half_from_float(x + i, got, 1);
    assert_int_equal(got[0], want[i]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_half_round_trips),
      cmocka_unit_test(rounds_to_the_nearest),
      cmocka_unit_test(large_numbers_overflow_to_infinity),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
