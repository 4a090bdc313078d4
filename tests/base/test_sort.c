/* SPDX-License-Identifier: Apache-2.0
 * test_sort.c: arrays of many lengths, equal items in their order, an interrupt. */
#include "base/sort.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/interrupt.h"
#include "situ/session.h"

struct item {
  int key, position;
};

static int compare(const void *a, const void *b, void *context) {
  const struct item *x = a, *y = b;
  ++*(int *)context;
  return (x->key > y->key) - (x->key < y->key);
}

static void check_length(size_t n) {
  struct item *items = calloc(n + 1, sizeof *items);
  int calls = 0;
  for (size_t i = 0; i < n; i++) items[i] = (struct item){(int)(i * 7919 % 101), (int)i};
  assert_null(sort_array(items, n, sizeof *items, compare, &calls));
  for (size_t i = 1; i < n; i++) {
    assert_true(items[i - 1].key <= items[i].key);
    if (items[i - 1].key == items[i].key) assert_true(items[i - 1].position < items[i].position);
  }
  free(items);
}

static void lengths(void **state) {
  (void)state;
  for (size_t n = 0; n < 70; n++) check_length(n);
  check_length(1000);
  check_length(100003);
}

static bool is_interrupted(void) { return true; }

static void an_interrupt_ends_it(void **state) {
  (void)state;
  enum { N = 1 << 20 };
  struct item *items = calloc(N, sizeof *items);
  int calls = 0, rounds = 0;
  situ_status status = NULL;
  struct interrupt_scope scope;
  situ_interrupt_set(is_interrupted);
  interrupt_enter(&scope, NULL);
  for (int i = 0; i < N; i++) items[i].key = rand();
  /* The hook is asked after 20 ms of computing. */
  for (; !status && rounds < 1000; rounds++)
    status = sort_array(items, N, sizeof *items, compare, &calls);
  assert_int_equal(situ_status_code(status), SITU_CANCELLED);
  situ_status_release(status);
  interrupt_leave(&scope);
  situ_interrupt_set(NULL);
  free(items);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(lengths),
                                     cmocka_unit_test(an_interrupt_ends_it)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
