/* SPDX-License-Identifier: Apache-2.0
 * test_heap_trim.c: when the heap is trimmed. */
#include "base/heap_trim.h"

#include "support/expect.h"

static void trims_after_some_megabytes(void **state) {
  (void)state;
  const uint64_t before = heap_trim_runs();
  for (int i = 0; i < 7; i++) heap_trim_count(1 << 20);
  assert_int_equal(heap_trim_runs(), before);
  heap_trim_count(1 << 20);
  assert_int_equal(heap_trim_runs(), before + 1);
  for (int i = 0; i < 7; i++) heap_trim_count(1 << 20);
  assert_int_equal(heap_trim_runs(), before + 1);
}

static void large_allocations_do_not_count(void **state) {
  (void)state;
  const uint64_t before = heap_trim_runs();
  for (int i = 0; i < 100; i++) heap_trim_count(64 << 20);
  assert_int_equal(heap_trim_runs(), before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(trims_after_some_megabytes),
      cmocka_unit_test(large_allocations_do_not_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
