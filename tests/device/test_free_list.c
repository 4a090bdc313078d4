/* SPDX-License-Identifier: Apache-2.0
 * test_free_list.c: the order of free chunks, compared with a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "device/free_list.h"

enum { HOLES = 500 };

static uint32_t seed = 1;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

/* Sizes with many duplicates and all magnitudes. */
static uint64_t draw_size(void) {
  const uint64_t units = draw(4) ? 1 + draw(40) : 1ull << draw(54);
  return (units + (draw(2) ? draw(3) : 0)) * 256;
}

static struct free_node *best_of(struct free_node *list, const bool *in, uint64_t size) {
  struct free_node *best = NULL;
  for (int i = 0; i < HOLES; i++) {
    struct free_node *free_node = &list[i];
    if (!in[i] || free_node->size < size) continue;
    if (!best || free_node->size < best->size ||
        (free_node->size == best->size && free_node->address < best->address))
      best = free_node;
  }
  return best;
}

static uint64_t largest_of(const struct free_node *list, const bool *in) {
  uint64_t largest = 0;
  for (int i = 0; i < HOLES; i++)
    if (in[i] && list[i].size > largest) largest = list[i].size;
  return largest;
}

static void empty_list_finds_nothing(void **state) {
  (void)state;
  struct free_list free_list = {0};
  assert_null(free_list_find(&free_list, 256));
  assert_null(free_list_find(&free_list, 1ull << 62));
  assert_null(free_list_largest(&free_list));
}

static void insert_or_remove(struct free_list *free_list, struct free_node *list, bool *in,
                             uint32_t i) {
  if (!in[i]) {
    list[i].size = draw_size();
    list[i].address = (uint64_t)i * 256;
    free_list_insert(free_list, &list[i]);
    in[i] = true;
  } else if (draw(3)) {
    free_list_remove(free_list, &list[i]);
    in[i] = false;
  } else {
    const uint64_t size = draw(2) ? draw_size() : list[i].size + 256;
    free_list_resize(free_list, &list[i], size, list[i].address);
    assert_int_equal(list[i].size, size);
  }
}

static void finds_the_smallest_then_the_lowest(void **state) {
  (void)state;
  struct free_list *free_list = calloc(1, sizeof *free_list);
  static struct free_node list[HOLES];
  static bool in[HOLES];
  assert_non_null(free_list);
  for (int i = 0; i < 20000; i++) {
    insert_or_remove(free_list, list, in, draw(HOLES));
    const uint64_t size = draw_size();
    assert_ptr_equal(free_list_find(free_list, size), best_of(list, in, size));
    const struct free_node *largest = free_list_largest(free_list);
    assert_int_equal(largest ? largest->size : 0, largest_of(list, in));
  }
  free(free_list);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(empty_list_finds_nothing),
      cmocka_unit_test(finds_the_smallest_then_the_lowest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
