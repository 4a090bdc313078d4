/* SPDX-License-Identifier: Apache-2.0
 * test_dl.c: libraries at run time. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include "base/dl.h"

#include <cmocka.h>

#define SYMBOLS(X) X(double, cos, (double)) X(double, hypot, (double, double))
#define MISSING(X) X(void, situ_no_such_symbol, (void))

struct table {
  SYMBOLS(DL_FIELD)
  MISSING(DL_FIELD)
};

#define NEED(result, name, args) DL_SYMBOL(struct table, name)
#define WISH(result, name, args) DL_OPTIONAL(struct table, name)

static void first_library_that_loads_wins(void **state) {
  (void)state;
  static const char *const names[] = {"libsitu_no_such.so.9", "libm.so.6", NULL};
  static const struct dl_symbol symbols[] = {SYMBOLS(NEED) MISSING(WISH)};
  struct table t;
  char why[DL_REASON_SIZE];
  assert_true(dl_load(names, symbols, (int)COUNT_OF(symbols), &t, why));
  assert_true(t.cos(0) == 1);
  assert_true(t.hypot(3, 4) == 5);
  assert_null(t.situ_no_such_symbol);
}

static double twice(double x) { return 2 * x; }

static void bundled_functions_need_no_library(void **state) {
  (void)state;
  static const char *const names[] = {"libsitu_no_such.so.9", NULL};
  struct dl_symbol symbols[] = {{"cos", offsetof(struct table, cos), false, (void (*)(void))twice},
                                {"hypot", offsetof(struct table, hypot), false, NULL}};
  struct table t;
  char why[DL_REASON_SIZE];
  assert_true(dl_load(names, symbols, 1, &t, why));
  assert_true(t.cos(4) == 8);
  assert_false(dl_load(names, symbols, 2, &t, why)); /* not all of them are bundled */
  assert_null(t.cos);
}

static void reports_reason_per_library(void **state) {
  (void)state;
  static const char *const names[] = {"libsitu_no_such.so.9", "libm.so.6", NULL};
  static const struct dl_symbol symbols[] = {SYMBOLS(NEED) MISSING(NEED)};
  struct table t;
  char why[DL_REASON_SIZE];
  assert_false(dl_load(names, symbols, (int)COUNT_OF(symbols), &t, why));
  assert_non_null(strstr(why, "libsitu_no_such.so.9"));
  assert_non_null(strstr(why, "libm.so.6: no symbol situ_no_such_symbol"));
  assert_null(t.cos);
}

static void reports_package_to_install(void **state) {
  (void)state;
  const situ_status status = dl_missing("PNG", "libpng16.so.16", "libpng16-16", "not found");
  assert_int_equal(situ_status_code(status), SITU_UNIMPLEMENTED);
  assert_string_equal(situ_status_message(status),
                      "PNG needs libpng16.so.16, which could not be loaded (not found). Install it "
                      "(Debian: apt install libpng16-16) and run the program again.");
  situ_status_release(status);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_library_that_loads_wins),
      cmocka_unit_test(bundled_functions_need_no_library),
      cmocka_unit_test(reports_reason_per_library),
      cmocka_unit_test(reports_package_to_install),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
