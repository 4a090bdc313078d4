/* SPDX-License-Identifier: Apache-2.0
 * test_interrupt.c: when a computation is interrupted, and for how long. */
#include "base/interrupt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <time.h>

#include "situ/session.h"

static int n_asked;

static bool yes_once(void) { return n_asked++ == 0; }
static bool no(void) { return n_asked++ < 0; }

static void wait_ms(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL); }

static void outside_of_a_scope(void **state) {
  (void)state;
  n_asked = 0;
  situ_interrupt_set(yes_once);
  assert_false(interrupt_pending());
  wait_ms(50);
  assert_null(interrupt_check());
  assert_int_equal(n_asked, 0);
}

/* The hook says so once; the scope remembers it, the next one does not. */
static void until_the_scope_ends(void **state) {
  (void)state;
  struct interrupt_scope outer, inner;
  n_asked = 0;
  situ_interrupt_set(yes_once);
  assert_ptr_equal(interrupt_enter(&outer, NULL), &outer);
  assert_false(interrupt_pending()); /* not before 20 ms */
  wait_ms(50);
  assert_ptr_equal(interrupt_enter(&inner, NULL), &outer);
  assert_true(interrupt_pending());
  interrupt_leave(&inner);
  const situ_status status = interrupt_check();
  assert_int_equal(situ_status_code(status), SITU_CANCELLED);
  situ_status_release(status);
  interrupt_leave(&outer);
  interrupt_enter(&outer, NULL);
  assert_false(interrupt_pending());
  interrupt_leave(&outer);
  assert_int_equal(n_asked, 1);
}

static void asks_seldom(void **state) {
  (void)state;
  struct interrupt_scope scope;
  n_asked = 0;
  situ_interrupt_set(no);
  interrupt_enter(&scope, NULL);
  for (int i = 0; i < 5; i++) {
    for (int k = 0; k < 1000; k++) assert_false(interrupt_pending());
    wait_ms(30);
  }
  interrupt_leave(&scope);
  assert_in_range(n_asked, 1, 20);
}

/* A scope with a failure asks nobody: a cancellation ends it, another error does not. */
static void by_a_failure(void **state) {
  (void)state;
  struct interrupt_scope outer, scope;
  _Atomic(situ_status) failure = NULL;
  n_asked = 0;
  situ_interrupt_set(yes_once);
  interrupt_enter(&outer, NULL);
  assert_ptr_equal(interrupt_enter(&scope, &failure), &scope);
  wait_ms(50);
  assert_false(interrupt_pending());
  const situ_status other = situ_status_create(SITU_INVALID_ARGUMENT, "other");
  atomic_store(&failure, other);
  assert_false(interrupt_pending());
  const situ_status cancelled = situ_status_create(SITU_CANCELLED, "cancelled");
  atomic_store(&failure, cancelled);
  assert_true(interrupt_pending());
  interrupt_leave(&scope);
  interrupt_leave(&outer);
  situ_status_release(other);
  situ_status_release(cancelled);
  assert_int_equal(n_asked, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(outside_of_a_scope),
                                     cmocka_unit_test(until_the_scope_ends),
                                     cmocka_unit_test(asks_seldom), cmocka_unit_test(by_a_failure)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
