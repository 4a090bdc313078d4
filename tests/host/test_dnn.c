/* SPDX-License-Identifier: Apache-2.0
 * test_dnn.c: oneDNN against situ's own kernels; skipped if it is not installed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "host/dnn.h"
#include "host/gemm_kernels.h"
#include "host/thread_pool.h"
#include "support/skip.h"
#include "support/threads.h"

#include <cmocka.h>

/* Sanitizers do not support OpenMP. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = 1 };
#else
enum { SANITIZED = 0 };
#endif

enum { M = 203, N = 170, K = 190 };

static void agrees_with_own_kernels(void **state) {
  (void)state;
  if (SANITIZED) SKIP("oneDNN is not loaded under a sanitizer");
  const char *why;
  if (!dnn_available(&why)) SKIP(why);
  float *a = calloc(M * K, sizeof *a), *b = calloc(K * N, sizeof *b);
  float *c = calloc(M * N, sizeof *c), *d = calloc(M * N, sizeof *d);
  void *space = aligned_alloc(64, round_up(gemm_workspace_size(SITU_FLOAT, M, N, K), 64));
  for (int i = 0; i < M * K; i++) a[i] = (float)(i % 7 - 3);
  for (int i = 0; i < K * N; i++) b[i] = (float)(i % 5 - 2);
  thread_pool_set_threads(2);
  for (int turn = 0; turn < 4; turn++) {
    struct gemm g = {.type = SITU_FLOAT, .m = M, .n = N, .k = K, .a = a, .b = b, .c = c};
    g.a_row = turn & 1 ? 1 : K, g.a_col = turn & 1 ? M : 1;
    g.b_row = turn & 2 ? 1 : N, g.b_col = turn & 2 ? K : 1;
    g.c_row = N, g.c_col = 1, g.workspace = space;
    assert_null(dnn_gemm(&g));
    g.c = d;
    assert_null(gemm_run_with(gemm_kernels(SITU_FLOAT), &g));
    assert_memory_equal(c, d, M * N * sizeof *c);
  }
  /* This thread and one of the pool, none of OpenMP. */
  assert_in_range(threads_count(), 1, 2);
  free(space);
  free(a);
  free(b);
  free(c);
  free(d);
}

static void unavailability_has_a_reason(void **state) {
  (void)state;
  if (SANITIZED) setenv("SITU_ONEDNN", "0", 1);
  const char *why = NULL;
  const bool there = dnn_available(&why);
  assert_non_null(why);
  assert_int_equal(there, why[0] == '\0');
  const char *setting = getenv("SITU_ONEDNN");
  if (setting && !strcmp(setting, "0")) assert_string_equal(why, "disabled by SITU_ONEDNN=0");
  assert_false(dnn_use_gemm(8, 1000, 1000));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(agrees_with_own_kernels),
      cmocka_unit_test(unavailability_has_a_reason),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
