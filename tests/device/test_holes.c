/* SPDX-License-Identifier: Apache-2.0
 * test_holes.c: the order of holes against a plain list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "device/holes.h"

enum { HOLES = 500 };

static uint32_t seed = 1;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

/* Many equal sizes, all magnitudes. */
static uint64_t draw_size(void) {
  const uint64_t units = draw(4) ? 1 + draw(40) : 1ull << draw(54);
  return (units + (draw(2) ? draw(3) : 0)) * 256;
}

static struct hole *best_of(struct hole *list, const bool *in, uint64_t size) {
  struct hole *best = NULL;
  for (int i = 0; i < HOLES; i++) {
    struct hole *hole = &list[i];
    if (!in[i] || hole->size < size) continue;
    if (!best || hole->size < best->size ||
        (hole->size == best->size && hole->address < best->address))
      best = hole;
  }
  return best;
}

static uint64_t largest_of(const struct hole *list, const bool *in) {
  uint64_t largest = 0;
  for (int i = 0; i < HOLES; i++)
    if (in[i] && list[i].size > largest) largest = list[i].size;
  return largest;
}

static void nothing_is_found_in_nothing(void **state) {
  (void)state;
  struct holes holes = {0};
  assert_null(holes_find(&holes, 256));
  assert_null(holes_find(&holes, 1ull << 62));
  assert_null(holes_largest(&holes));
}

static void change(struct holes *holes, struct hole *list, bool *in, uint32_t i) {
  if (!in[i]) {
    list[i].size = draw_size();
    list[i].address = (uint64_t)i * 256;
    holes_insert(holes, &list[i]);
    in[i] = true;
  } else if (draw(3)) {
    holes_remove(holes, &list[i]);
    in[i] = false;
  } else {
    const uint64_t size = draw(2) ? draw_size() : list[i].size + 256;
    holes_resize(holes, &list[i], size, list[i].address);
    assert_int_equal(list[i].size, size);
  }
}

static void finds_the_smallest_then_the_lowest(void **state) {
  (void)state;
  struct holes *holes = calloc(1, sizeof *holes);
  static struct hole list[HOLES];
  static bool in[HOLES];
  assert_non_null(holes);
  for (int i = 0; i < 20000; i++) {
    change(holes, list, in, draw(HOLES));
    const uint64_t size = draw_size();
    assert_ptr_equal(holes_find(holes, size), best_of(list, in, size));
    const struct hole *largest = holes_largest(holes);
    assert_int_equal(largest ? largest->size : 0, largest_of(list, in));
  }
  free(holes);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(nothing_is_found_in_nothing),
      cmocka_unit_test(finds_the_smallest_then_the_lowest),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
