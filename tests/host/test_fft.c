/* SPDX-License-Identifier: Apache-2.0
 * test_fft.c: fast Fourier transforms against the direct sum. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/fft.h"

#include <cmocka.h>

static uint64_t seed = 1;

static double random_number(void) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (double)(seed >> 33) / (double)(1u << 30) - 1;
}

static double get(bool is_double, const void *data, int64_t i) {
  return is_double ? ((const double *)data)[i] : ((const float *)data)[i];
}

static void set(bool is_double, void *data, int64_t i, double value) {
  if (is_double)
    ((double *)data)[i] = value;
  else
    ((float *)data)[i] = (float)value;
}

/* Random numbers: `count` parts. */
static void *numbers(bool is_double, int64_t count) {
  void *data = calloc((size_t)count, sizeof(double));
  for (int64_t i = 0; i < count; i++) set(is_double, data, i, random_number());
  return data;
}

/* Frequency k of n numbers, by the definition; the angles are reduced with integers. */
static void direct(const double *re, const double *im, int64_t n, int64_t k, int sign,
                   double out[2]) {
  static long double c[4096], s[4096];
  static int64_t length;
  for (int64_t i = 0; i < n && length != n; i++) {
    const long double angle =
        2 * 3.14159265358979323846264338327950288L * (long double)i / (long double)n;
    c[i] = cosl(angle), s[i] = sinl(angle);
  }
  length = n;
  long double a = 0, b = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t at = i * k % n;
    a += re[i] * c[at] - sign * im[i] * s[at];
    b += sign * re[i] * s[at] + im[i] * c[at];
  }
  out[0] = (double)a, out[1] = (double)b;
}

/* Lines of n elements, one after the other or (`across`) as columns. */
static struct fft_lines make_lines(int64_t count, int64_t x_length, int64_t y_length, bool across) {
  struct fft_lines lines = {.scale = 1, .count = {1, count}};
  lines.x_stride = lines.y_stride = across ? count : 1;
  lines.x_at[2] = across ? 1 : x_length;
  lines.y_at[2] = across ? 1 : y_length;
  return lines;
}

static void run(struct fft_lines *lines, int64_t n, bool is_double, int64_t count) {
  struct fft_plan *plan;
  assert_null(fft_plan_acquire(n, is_double, lines->kind != FFT_COMPLEX, &plan));
  lines->plan = plan;
  assert_null(fft_run(lines, 0, count));
  fft_plan_release(plan);
}

/* Reads line l of complex numbers. */
static void read_line(bool is_double, const void *data, const int64_t at[3], int64_t stride,
                      int64_t l, int64_t n, double *re, double *im) {
  for (int64_t i = 0; i < n; i++) {
    re[i] = get(is_double, data, 2 * (l * at[2] + i * stride));
    im[i] = get(is_double, data, 2 * (l * at[2] + i * stride) + 1);
  }
}

static void check_complex(int64_t n, int64_t count, bool is_double, bool across, bool inverse) {
  struct fft_lines lines = make_lines(count, n, n, across);
  void *x = numbers(is_double, 2 * n * count), *y = numbers(is_double, 2 * n * count);
  double *part = calloc((size_t)(4 * n), sizeof *part);
  const double eps = (is_double ? 1e-15 : 6e-7) * sqrt((double)n) * (1 + log2((double)n));
  lines.kind = FFT_COMPLEX;
  lines.inverse = inverse;
  lines.x = x, lines.y = y;
  run(&lines, n, is_double, count);
  for (int64_t l = 0; l < count; l++) {
    read_line(is_double, x, lines.x_at, lines.x_stride, l, n, part, part + n);
    read_line(is_double, y, lines.y_at, lines.y_stride, l, n, part + 2 * n, part + 3 * n);
    for (int64_t k = 0; k < n; k += 1 + n / 50) {
      double want[2];
      direct(part, part + n, n, k, inverse ? 1 : -1, want);
      assert_true(fabs(want[0] - part[2 * n + k]) <= eps);
      assert_true(fabs(want[1] - part[3 * n + k]) <= eps);
    }
  }
  free(x);
  free(y);
  free(part);
}

/* A real transform against the direct sum, and back. */
static void check_real(int64_t n, int64_t count, bool is_double, bool across) {
  const int64_t bins = n / 2 + 1;
  struct fft_lines lines = make_lines(count, n, bins, across);
  void *x = numbers(is_double, n * count), *y = numbers(is_double, 2 * bins * count);
  void *z = numbers(is_double, n * count);
  double *part = calloc((size_t)(4 * n + 4), sizeof *part);
  const double eps = (is_double ? 1e-15 : 6e-7) * sqrt((double)n) * (1 + log2((double)n));
  lines.kind = FFT_REAL;
  lines.x = x, lines.y = y;
  run(&lines, n, is_double, count);
  for (int64_t l = 0; l < count; l++) {
    for (int64_t i = 0; i < n; i++) {
      part[i] = get(is_double, x, l * lines.x_at[2] + i * lines.x_stride);
      part[n + i] = 0;
    }
    read_line(is_double, y, lines.y_at, lines.y_stride, l, bins, part + 2 * n, part + 3 * n);
    for (int64_t k = 0; k < bins; k += 1 + n / 50) {
      double want[2];
      direct(part, part + n, n, k, -1, want);
      assert_true(fabs(want[0] - part[2 * n + k]) <= eps);
      assert_true(fabs(want[1] - part[3 * n + k]) <= eps);
    }
  }
  struct fft_lines back = make_lines(count, bins, n, across);
  back.kind = FFT_INVERSE_REAL;
  back.scale = 1 / (double)n;
  back.x = y, back.y = z;
  for (int64_t l = 0; l < count; l++) /* imaginary parts of frequency 0 do not count */
    set(is_double, y, 2 * l * back.x_at[2] + 1, 7);
  run(&back, n, is_double, count);
  for (int64_t i = 0; i < n * count; i++)
    assert_true(fabs(get(is_double, x, i) - get(is_double, z, i)) <= eps);
  free(x);
  free(y);
  free(z);
  free(part);
}

static const int64_t lengths[] = {1,   2,   3,   4,   5,   6,   7,   8,    9,    11,
                                  12,  13,  15,  16,  17,  20,  23,  25,   31,   32,
                                  49,  60,  61,  64,  67,  97,  105, 121,  128,  143,
                                  169, 210, 256, 289, 315, 358, 509, 1001, 1024, 2187};

static void test_complex(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(lengths); i++)
    for (int variant = 0; variant < 8; variant++)
      check_complex(lengths[i], 1 + variant % 3 * 5, variant & 1, variant & 2, variant & 4);
}

static void test_real(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(lengths); i++)
    for (int variant = 0; variant < 4; variant++)
      for (int64_t count = 1; count <= 13; count += 6)
        check_real(lengths[i], count, variant & 1, variant & 2);
}

/* More lengths than the cache keeps; plans in use survive. */
static void test_cache(void **state) {
  (void)state;
  struct fft_plan *first, *again, *other;
  assert_null(fft_plan_acquire(97, true, false, &first));
  for (int64_t n = 1; n <= 40; n++) {
    assert_null(fft_plan_acquire(n, n % 2 == 0, n % 3 == 0, &other));
    fft_plan_release(other);
  }
  assert_null(fft_plan_acquire(97, true, false, &again));
  assert_ptr_not_equal(first, again);
  assert_null(fft_plan_acquire(97, true, false, &other));
  assert_ptr_equal(again, other);
  fft_plan_release(first);
  fft_plan_release(again);
  fft_plan_release(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_complex), cmocka_unit_test(test_real),
                                     cmocka_unit_test(test_cache)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
