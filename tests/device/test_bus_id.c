/* SPDX-License-Identifier: Apache-2.0
 * test_bus_id.c: the ways to write a place on the PCI bus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "device/bus_id.h"

static void assert_id(const char *text, const char *printed) {
  uint64_t id;
  char out[BUS_ID_SIZE];
  const bool is_read = bus_id_parse(text, strlen(text), &id);
  assert_string_equal(is_read ? bus_id_print(id, out) : "no", printed);
}

static void every_width_is_parsed(void **state) {
  (void)state;
  assert_id("0000:05:00.0", "0000:05:00.0");
  assert_id("05:00.0", "0000:05:00.0");
  assert_id("5:0.0", "0000:05:00.0");
  assert_id("00000000:AF:1f.7", "0000:af:1f.7");
  assert_id("ffffffff:ff:1f.7", "ffffffff:ff:1f.7");
}

static void malformed_ids_are_rejected(void **state) {
  (void)state;
  static const char *const wrong[] = {"",          "5",          "05:00",     "05:00.",
                                      ":05:00.0",  "05:00.8",    "05:20.0",   "100:00.0",
                                      "0:0:0:0.0", "05:00.0 ",   "g5:00.0",   "000000000:05:00.0",
                                      "05.00.0",   "05:00:0.0.", "0000:05:00"};
  for (size_t i = 0; i < COUNT_OF(wrong); i++) assert_id(wrong[i], "no");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_width_is_parsed),
      cmocka_unit_test(malformed_ids_are_rejected),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
