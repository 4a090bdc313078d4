/* SPDX-License-Identifier: Apache-2.0
 * test_gemm.c: GEMM against three plain loops. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/gemm_kernels.h"
#include "host/half.h"
#include "host/thread_pool.h"

#include <cmocka.h>

static uint64_t seed = 1;

static int random_below(int n) {
  seed = seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((seed >> 33) % (uint64_t)n);
}

static double get(situ_type type, const void *data, int64_t i) {
  float wide;
  if (type == SITU_FLOAT) return ((const float *)data)[i];
  if (type == SITU_DOUBLE) return ((const double *)data)[i];
  if (type == SITU_INT32) return ((const int32_t *)data)[i];
  if (type == SITU_INT64) return (double)((const int64_t *)data)[i];
  half_to_float((const uint16_t *)data + i, &wide, 1);
  return wide;
}

static void set(situ_type type, void *data, int64_t i, double value) {
  const float narrow = (float)value;
  if (type == SITU_FLOAT) ((float *)data)[i] = narrow;
  if (type == SITU_DOUBLE) ((double *)data)[i] = value;
  if (type == SITU_INT32) ((int32_t *)data)[i] = (int32_t)value;
  if (type == SITU_INT64) ((int64_t *)data)[i] = (int64_t)value;
  if (type == SITU_HALF) half_from_float(&narrow, (uint16_t *)data + i, 1);
}

static void *matrix(situ_type type, int64_t rows, int64_t cols) {
  void *data = aligned_alloc(64, round_up((size_t)(rows * cols) * situ_type_size(type) + 1, 64));
  /* Small integers: exact in any order of summation. */
  for (int64_t i = 0; i < rows * cols; i++) set(type, data, i, random_below(7) - 3);
  return data;
}

static struct gemm make(situ_type type, int64_t m, int64_t n, int64_t k, bool transpose_a,
                        bool transpose_b) {
  struct gemm g = {.type = type, .m = m, .n = n, .k = k, .c_row = n, .c_col = 1};
  g.a = matrix(type, m, k);
  g.b = matrix(type, k, n);
  g.c = matrix(type, m, n);
  g.a_row = transpose_a ? 1 : k, g.a_col = transpose_a ? m : 1;
  g.b_row = transpose_b ? 1 : n, g.b_col = transpose_b ? k : 1;
  const size_t space = round_up(gemm_workspace_size(type, m, n, k), 64);
  g.workspace = space ? aligned_alloc(64, space) : NULL;
  return g;
}

static void free_gemm(struct gemm *g) {
  free((void *)(uintptr_t)g->a);
  free((void *)(uintptr_t)g->b);
  free(g->c);
  free(g->workspace);
}

static void check(const struct gemm *g) {
  for (int64_t i = 0; i < g->m; i++) {
    for (int64_t j = 0; j < g->n; j++) {
      double sum = 0;
      for (int64_t p = 0; p < g->k; p++)
        sum += get(g->type, g->a, i * g->a_row + p * g->a_col) *
               get(g->type, g->b, p * g->b_row + j * g->b_col);
      const double got = get(g->type, g->c, i * g->c_row + j);
      if (got != sum)
        fail_msg("type %d, %d x %d x %d, strides %d %d: [%d, %d] is %g, not %g", g->type, (int)g->m,
                 (int)g->n, (int)g->k, (int)g->a_row, (int)g->b_row, (int)i, (int)j, got, sum);
    }
  }
}

static const int64_t sizes[][3] = {
    {1, 1, 1},      {2, 2, 2},     {3, 2, 4},     {4, 4, 4},      {5, 7, 9},     {6, 16, 8},
    {8, 8, 8},      {13, 17, 300}, {16, 16, 16},  {31, 33, 29},   {48, 32, 64},  {64, 10, 64},
    {1, 600, 40},   {600, 1, 40},  {2, 130, 70},  {130, 3, 70},   {4, 1030, 33}, {97, 101, 103},
    {130, 70, 600}, {7, 300, 700}, {300, 7, 700}, {200, 200, 40}, {96, 96, 97},  {5, 2000, 100},
};
static const situ_type types[] = {SITU_FLOAT, SITU_DOUBLE, SITU_INT32, SITU_INT64, SITU_HALF};

static void all_kernels_agree_with_plain_loops(void **state) {
  (void)state;
  thread_pool_set_threads(2);
  for (size_t t = 0; t < COUNT_OF(types); t++) {
    const struct gemm_kernels *kernels[4];
    const int count = gemm_all_kernels(types[t], kernels, 4);
    assert_int_equal(count == 0, types[t] == SITU_HALF);
    for (size_t s = 0; s < COUNT_OF(sizes) * 4; s++) {
      const int64_t *size = sizes[s / 4];
      struct gemm g = make(types[t], size[0], size[1], size[2], s & 1, s & 2);
      assert_null(gemm_run(&g));
      check(&g);
      for (int i = 0; i + 1 < count; i++) {
        memset(g.c, 0, (size_t)(g.m * g.n) * situ_type_size(g.type));
        assert_null(gemm_run_with(kernels[i], &g));
        check(&g);
      }
      free_gemm(&g);
    }
  }
}

static void bits_do_not_depend_on_threads(void **state) {
  (void)state;
  struct gemm g = make(SITU_FLOAT, 150, 260, 610, false, true);
  for (int64_t i = 0; i < g.m * g.k; i++) ((float *)(uintptr_t)g.a)[i] = sinf((float)i);
  for (int64_t i = 0; i < g.k * g.n; i++) ((float *)(uintptr_t)g.b)[i] = cosf((float)i);
  const size_t bytes = (size_t)(g.m * g.n) * sizeof(float);
  float *first = malloc(bytes);
  thread_pool_set_threads(1);
  assert_null(gemm_run(&g));
  memcpy(first, g.c, bytes);
  for (int threads = 2; threads < 6; threads++) {
    thread_pool_set_threads(threads);
    memset(g.c, 0, bytes);
    assert_null(gemm_run(&g));
    assert_memory_equal(first, g.c, bytes);
  }
  free(first);
  free_gemm(&g);
}

static void empty_sums_are_zero(void **state) {
  (void)state;
  float c[6] = {1, 2, 3, 4, 5, 6}, none = 0;
  struct gemm g = {.type = SITU_FLOAT, .m = 2, .n = 3, .a = &none, .b = &none, .c = c};
  g.a_col = g.b_col = g.c_col = 1;
  g.b_row = g.c_row = 3;
  assert_null(gemm_run(&g));
  for (int i = 0; i < 6; i++) assert_true(c[i] == 0);
  g.m = 0;
  g.k = 5;
  assert_null(gemm_run(&g));
}

static void integers_wrap(void **state) {
  (void)state;
  int32_t a[4] = {1 << 30, 1 << 30, -1, 5}, b[4] = {2, 4, 2, 4}, c[4];
  struct gemm g = {SITU_INT32, 2, 2, 2, a, b, c, 2, 1, 2, 1, 2, 1, NULL};
  assert_null(gemm_run(&g));
  assert_int_equal(c[0], 0);
  assert_int_equal(c[1], 0);
  assert_int_equal(c[2], 8);
  assert_int_equal(c[3], 16);
}

static void infinities_do_not_spread(void **state) {
  (void)state;
  struct gemm g = make(SITU_FLOAT, 20, 21, 22, false, false);
  ((float *)(uintptr_t)g.a)[3 * 22 + 4] = INFINITY;
  assert_null(gemm_run(&g));
  for (int i = 0; i < 20; i++)
    for (int j = 0; j < 21; j++) assert_int_equal(!isfinite(((float *)g.c)[i * 21 + j]), i == 3);
  free_gemm(&g);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(all_kernels_agree_with_plain_loops),
      cmocka_unit_test(bits_do_not_depend_on_threads),
      cmocka_unit_test(empty_sums_are_zero),
      cmocka_unit_test(integers_wrap),
      cmocka_unit_test(infinities_do_not_spread),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
