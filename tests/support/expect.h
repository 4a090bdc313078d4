/* SPDX-License-Identifier: Apache-2.0
 * expect.h: cmocka, and assertions about statuses. */
#ifndef SITU_TESTS_EXPECT_H
#define SITU_TESTS_EXPECT_H

#include <setjmp.h>
#include <stdbool.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "situ/status.h"

/* The call must succeed. */
#define OK(call) expect_ok((call), __FILE__, __LINE__)

/* The call must fail with this code and a text that holds this part. */
#define FAILS(call, code, part) expect_failure((call), (code), (part), __FILE__, __LINE__)

static inline void expect_ok(situ_status status, const char *file, int line) {
  if (!status) return;
  print_error("%s:%d: %s\n", file, line, situ_status_message(status));
  situ_status_release(status);
  _fail(file, line);
}

static inline void expect_failure(situ_status status, situ_code code, const char *part,
                                  const char *file, int line) {
  const bool is_good =
      situ_status_code(status) == code && strstr(situ_status_message(status), part);
  if (!is_good)
    print_error("%s:%d: expected %s with '%s', not %s: %s\n", file, line, situ_code_name(code),
                part, situ_code_name(situ_status_code(status)), situ_status_message(status));
  situ_status_release(status);
  if (!is_good) _fail(file, line);
}

#endif
