/* SPDX-License-Identifier: Apache-2.0
 * test_map.c: inserting, replacing and finding, also many keys and keys with equal prefixes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "base/map.h"

static int32_t get(const struct map *map, const char *key) {
  return map_get(map, key, strlen(key));
}

static void an_empty_map_has_nothing(void **state) {
  (void)state;
  struct map map = {0};
  assert_int_equal(get(&map, "a"), -1);
  assert_int_equal(get(&map, ""), -1);
  map_free(&map);
}

static void puts_and_replaces(void **state) {
  (void)state;
  struct map map = {0};
  assert_true(map_put(&map, "a", 1));
  assert_true(map_put(&map, "b", 2));
  assert_true(map_put(&map, "a", 3));
  assert_int_equal(map.count, 2);
  assert_int_equal(get(&map, "a"), 3);
  assert_int_equal(get(&map, "b"), 2);
  map_free(&map);
  assert_int_equal(get(&map, "a"), -1);
}

static void finds_or_puts(void **state) {
  (void)state;
  struct map map = {0};
  int32_t found = 7;
  assert_true(map_find_or_put(&map, "Const", 5, &found));
  assert_int_equal(found, -1);
  assert_true(map_find_or_put(&map, "Const", 6, &found));
  assert_int_equal(found, 5);
  assert_int_equal(get(&map, "Const"), 5);
  assert_int_equal(map.count, 1);
  map_free(&map);
}

/* A key is looked up by length, so that a part of a longer text can be asked for. */
static void a_key_may_be_part_of_a_text(void **state) {
  (void)state;
  struct map map = {0};
  assert_true(map_put(&map, "MatMul", 1));
  assert_true(map_put(&map, "MatMul_1", 2));
  assert_true(map_put(&map, "", 3));
  assert_int_equal(map_get(&map, "MatMul_1:0", 8), 2);
  assert_int_equal(map_get(&map, "MatMul_1:0", 6), 1);
  assert_int_equal(map_get(&map, "MatMul_1:0", 7), -1);
  assert_int_equal(map_get(&map, "MatMul_1:0", 0), 3);
  map_free(&map);
}

static void holds_many(void **state) {
  (void)state;
  enum { N = 20000 };
  static char keys[N][16];
  struct map map = {0};
  for (int i = 0; i < N; i++) {
    snprintf(keys[i], sizeof keys[i], "Const_%d", i);
    assert_true(map_put(&map, keys[i], i));
  }
  assert_int_equal(map.count, N);
  assert_true(map.capacity >= 2 * N);
  for (int i = 0; i < N; i++) assert_int_equal(get(&map, keys[i]), i);
  assert_int_equal(get(&map, "Const_20000"), -1);
  map_free(&map);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(an_empty_map_has_nothing),
      cmocka_unit_test(puts_and_replaces),
      cmocka_unit_test(finds_or_puts),
      cmocka_unit_test(a_key_may_be_part_of_a_text),
      cmocka_unit_test(holds_many),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
