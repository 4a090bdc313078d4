/* SPDX-License-Identifier: Apache-2.0
 * test_arena.c: alignment, growth, clearing and the failure flag of arenas. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/arena.h"

static void allocations_are_aligned_and_disjoint(void **state) {
  (void)state;
  struct arena arena = {0};
  unsigned char *pieces[1000];
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    pieces[i] = arena_alloc(&arena, i + 1);
    assert_non_null(pieces[i]);
    assert_int_equal((uintptr_t)pieces[i] % 16, 0);
    memset(pieces[i], (int)(i & 255), i + 1);
  }
  for (size_t i = 0; i < COUNT_OF(pieces); i++) {
    assert_int_equal(pieces[i][0], i & 255);
    assert_int_equal(pieces[i][i], i & 255);
  }
  assert_false(arena.failed);
  arena_free(&arena);
}

static void allocation_larger_than_a_block(void **state) {
  (void)state;
  struct arena arena = {0};
  const size_t bytes = (size_t)5 << 20;
  char *large = arena_alloc(&arena, bytes);
  assert_non_null(large);
  large[0] = large[bytes - 1] = 1;
  assert_true(arena.total >= bytes);
  assert_non_null(arena_alloc(&arena, 8));
  arena_free(&arena);
}

/* Blocks double, so that many small allocations need few calls of malloc. */
static void blocks_grow(void **state) {
  (void)state;
  struct arena arena = {0};
  for (int i = 0; i < 100000; i++) assert_non_null(arena_alloc(&arena, 64));
  assert_true(arena.total >= 6400000);
  assert_true(arena.total < 6400000 + (3u << 20));
  arena_free(&arena);
}

static void zero_is_cleared(void **state) {
  (void)state;
  struct arena arena = {0};
  memset(arena_alloc(&arena, 4000), 255, 4000);
  const char *bytes = arena_zero(&arena, 8000);
  for (int i = 0; i < 8000; i++) assert_int_equal(bytes[i], 0);
  const int64_t *array = ARENA_ARRAY(&arena, int64_t, 5);
  for (int i = 0; i < 5; i++) assert_int_equal(array[i], 0);
  arena_free(&arena);
}

static void strings_are_copied(void **state) {
  (void)state;
  struct arena arena = {0};
  char source[] = "MatMul:0";
  char *copy = arena_strndup(&arena, source, 6);
  source[0] = 'x';
  assert_string_equal(copy, "MatMul");
  assert_string_equal(arena_strndup(&arena, "", 0), "");
  assert_string_equal(arena_format(&arena, "%s_%d", "Const", 12), "Const_12");
  arena_free(&arena);
}

static void impossible_sizes_set_failed(void **state) {
  (void)state;
  struct arena arena = {0};
  assert_null(arena_alloc(&arena, SIZE_MAX));
  assert_true(arena.failed);
  assert_null(arena_alloc(&arena, SIZE_MAX - 31));
  assert_non_null(arena_alloc(&arena, 16));
  assert_true(arena.failed);
  arena_free(&arena);
  assert_false(arena.failed);
}

static void an_empty_arena_may_be_freed_and_used_again(void **state) {
  (void)state;
  struct arena arena = {0};
  arena_free(&arena);
  assert_non_null(arena_alloc(&arena, 0));
  arena_free(&arena);
  assert_null(arena.blocks);
  assert_int_equal(arena.total, 0);
  assert_non_null(arena_alloc(&arena, 100));
  arena_free(&arena);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(allocations_are_aligned_and_disjoint),
      cmocka_unit_test(allocation_larger_than_a_block),
      cmocka_unit_test(blocks_grow),
      cmocka_unit_test(zero_is_cleared),
      cmocka_unit_test(strings_are_copied),
      cmocka_unit_test(impossible_sizes_set_failed),
      cmocka_unit_test(an_empty_arena_may_be_freed_and_used_again),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
