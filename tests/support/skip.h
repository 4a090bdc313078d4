/* SPDX-License-Identifier: Apache-2.0
 * skip.h: SKIP(reason) ends a cmocka test as skipped; tools/test.py lists the reasons. */
#ifndef SITU_TESTS_SUPPORT_SKIP_H
#define SITU_TESTS_SUPPORT_SKIP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define SKIP(reason)                        \
  do {                                      \
    print_message("skipped: %s\n", reason); \
    skip();                                 \
  } while (0)

#endif
