/* SPDX-License-Identifier: Apache-2.0
 * test_huge_pages.c: large pieces of memory, and which of them are kept. */
#include "base/huge_pages.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "support/expect.h"
#include "support/skip.h"

static const size_t mib = 1 << 20;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { KEEPS = 0 };
#else
enum { KEEPS = 1 };
#endif

static void memory_is_aligned(void **state) {
  (void)state;
  const size_t sizes[] = {0, 1, 100, 4096, mib, 2 * mib, 3 * mib + 5};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char *memory = huge_pages_alloc(sizes[i], 256);
    assert_non_null(memory);
    assert_int_equal((uintptr_t)memory % 256, 0);
    memset(memory, 1, sizes[i]);
    free(memory);
  }
  assert_null(huge_pages_alloc(SIZE_MAX, 64));
  assert_null(huge_pages_alloc(SIZE_MAX / 2 + 2, 64));
}

static void freed_blocks_are_reused(void **state) {
  (void)state;
  if (!KEEPS) SKIP("the sanitizer replaces the allocator");
  huge_pages_trim();
  char *a = huge_pages_alloc(5 * mib, 64), *b = huge_pages_alloc(5 * mib, 64),
       *c = huge_pages_alloc(9 * mib, 64);
  memset(a, 7, 5 * mib);
  huge_pages_free(a, 5 * mib);
  huge_pages_free(c, 9 * mib);
  huge_pages_free(b, 5 * mib);
  assert_ptr_equal(huge_pages_alloc(5 * mib, 64), b); /* the most recently freed of that size */
  assert_ptr_equal(huge_pages_alloc(5 * mib - 3, 64), a);
  assert_int_equal(a[4 * mib], 7);
  huge_pages_free(b, 5 * mib);
  huge_pages_trim();
  char *d = huge_pages_alloc(9 * mib, 64);
  memset(d, 1, 9 * mib); /* trimmed memory is not reused */
  free(d);
  free(a);
}

/* Many or large blocks evict the oldest: the cache is bounded. */
static void oldest_block_is_evicted(void **state) {
  (void)state;
  if (!KEEPS) SKIP("the sanitizer replaces the allocator");
  enum { COUNT = 17 };
  huge_pages_trim();
  char *all[COUNT];
  for (int i = 0; i < COUNT; i++) all[i] = huge_pages_alloc((size_t)(2 * i + 2) * mib / 2, 64);
  for (int i = 1; i < COUNT; i++) assert_non_null(all[i]);
  for (int i = 0; i < COUNT; i++) huge_pages_free(all[i], (size_t)(2 * i + 2) * mib / 2);
  assert_ptr_equal(huge_pages_alloc(COUNT * mib, 64), all[COUNT - 1]);
  free(all[COUNT - 1]);
  huge_pages_free(NULL, 0);
  huge_pages_trim();
}

/* More than the available memory is refused before it is touched: the system might overcommit. */
static void more_than_available_is_refused(void **state) {
  (void)state;
  const size_t total = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE);
  assert_true(huge_pages_available(0));
  assert_true(huge_pages_available(mib));
  assert_false(huge_pages_available(total + 1));
  assert_false(huge_pages_available(SIZE_MAX));
  assert_null(huge_pages_alloc(total + 1, 64));
}

static void large_allocations_need_available_memory(void **state) {
  (void)state;
  const uint64_t gib = UINT64_C(1) << 30, total = 32 * gib;
  assert_true(huge_pages_fit(gib, total, 1)); /* a small fraction always fits */
  assert_true(huge_pages_fit(16 * gib, total, 16 * gib));
  assert_false(huge_pages_fit(16 * gib, total, 16 * gib - 1));
  assert_true(huge_pages_fit(total, total, 0)); /* unknown */
  assert_false(huge_pages_fit(total + 1, total, 0));
  assert_false(huge_pages_fit(UINT64_MAX, total, UINT64_MAX));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(memory_is_aligned), cmocka_unit_test(freed_blocks_are_reused),
      cmocka_unit_test(oldest_block_is_evicted), cmocka_unit_test(more_than_available_is_refused),
      cmocka_unit_test(large_allocations_need_available_memory)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
