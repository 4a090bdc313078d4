/* SPDX-License-Identifier: Apache-2.0
 * test_sim_spec.c: the text that asks for simulated GPUs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "backend/sim/spec.h"

static struct sim_spec specs[SIM_MAX];

static int read_text(const char *text) {
  int count = -1;
  situ_status s = sim_spec_parse(text, specs, &count);
  if (s) fail_msg("'%s': %s", text, situ_status_message(s));
  return count;
}

/* Checks that the first line of the message ends in `what`, and the caret is under column `column`.
 */
static void assert_refuses(const char *text, const char *what, int column) {
  int count = -1;
  char mark[200];
  situ_status s = sim_spec_parse(text, specs, &count);
  if (!s) fail_msg("'%s' was read", text);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  snprintf(mark, sizeof mark, "%s\n  %s\n  %*s^", what, text, column, "");
  const char *message = situ_status_message(s);
  if (!strstr(message, mark)) fail_msg("%s\nlacks\n%s", message, mark);
  situ_status_release(s);
}

static void count_of_gpus(void **state) {
  (void)state;
  assert_int_equal(read_text(NULL), 0);
  assert_int_equal(read_text(""), 0);
  assert_int_equal(read_text(" 0 "), 0);
  assert_int_equal(read_text("4"), 4);
  for (int i = 0; i < 4; i++) {
    char bus_id[32];
    snprintf(bus_id, sizeof bus_id, "0000:%02x:00.0", (unsigned)i + 1);
    assert_string_equal(specs[i].model, "Simulated GPU");
    assert_string_equal(specs[i].bus_id, bus_id);
    assert_int_equal(specs[i].memory, UINT64_C(8) << 30);
    assert_int_equal(specs[i].fail_alloc, 0);
  }
  assert_int_equal(read_text("64"), 64);
  assert_string_equal(specs[63].bus_id, "0000:40:00.0");
}

static void entry_with_all_options(void **state) {
  (void)state;
  assert_int_equal(read_text("Tesla K40c@05:00.0=1.5GiB;flops=4.3T;bandwidth=288G;link=12e9;"
                             "fail_alloc=3;lost_after=700"),
                   1);
  assert_string_equal(specs[0].model, "Tesla K40c");
  assert_string_equal(specs[0].bus_id, "0000:05:00.0");
  assert_int_equal(specs[0].memory, UINT64_C(3) << 29);
  assert_true(specs[0].flops == 4.3e12);
  assert_true(specs[0].bandwidth == 288e9);
  assert_true(specs[0].link == 12e9);
  assert_int_equal(specs[0].fail_alloc, 3);
  assert_int_equal(specs[0].lost_after, 700);
}

static void list_of_gpus(void **state) {
  (void)state;
  assert_int_equal(read_text(" A , B@0000:03:00.0 = 2GB , Tesla K20m (rev 2) ; link = 8G "), 3);
  assert_string_equal(specs[0].model, "A");
  assert_string_equal(specs[0].bus_id, "0000:01:00.0");
  assert_true(specs[0].link == 0);
  assert_string_equal(specs[1].bus_id, "0000:03:00.0");
  assert_int_equal(specs[1].memory, 2000000000);
  assert_string_equal(specs[2].model, "Tesla K20m (rev 2)");
  assert_string_equal(specs[2].bus_id, "0000:04:00.0");
  assert_true(specs[2].link == 8e9);
}

static void default_bus_ids_avoid_explicit_ones(void **state) {
  (void)state;
  assert_int_equal(read_text("A,B@0000:01:00.0"), 2);
  assert_string_equal(specs[0].bus_id, "0000:02:00.0");
}

static void errors_show_the_position(void **state) {
  (void)state;
  assert_refuses("65", "at most 64 GPUs can be simulated", 0);
  assert_refuses("99999999999999999999", "too large a number", 0);
  assert_refuses("A@x", "expected a PCI bus id such as 0000:05:00.0", 2);
  static const char *const no_names[] = {"-1", "+2", "1.5", "1e9", "-1=2GiB", "4GiB", ".", "-"};
  for (size_t i = 0; i < sizeof no_names / sizeof *no_names; i++)
    assert_refuses(no_names[i],
                   "expected a count from 0 to 64, or a name that begins with a letter", 0);
  assert_refuses("A,", "expected a name", 2);
  assert_refuses("A,4", "a name of digits only (a count must be the whole specification)", 2);
  assert_refuses("A@05:00.0,B@0000:05:00.0", "the PCI bus id of another GPU", 12);
  assert_refuses("A=12Gi", "expected a size such as 12GiB or 500MB", 4);
  assert_refuses("A=", "expected a size such as 12GiB or 500MB", 2);
  assert_refuses("A=0MiB", "the memory must be above 0", 2);
  assert_refuses("A=99999999999TiB", "expected a size such as 12GiB or 500MB", 2);
  assert_refuses("A=1GiB@01:00.0", "expected ',' or ';'", 6);
  assert_refuses("A;speed=1", "expected flops, bandwidth, link, fail_alloc or lost_after", 2);
  assert_refuses("A;flops", "expected '='", 7);
  assert_refuses("A;flops=fast", "expected a number above 0 such as 4.3T", 8);
  assert_refuses("A;fail_alloc=0", "expected a number above 0", 13);
  assert_refuses("A;lost_after=2x", "expected an integer", 14);
  assert_refuses("A;lost_after=99999999999999999999", "too large a number", 13);
}

static void caret_counts_characters(void **state) {
  (void)state;
  assert_refuses("\xC3\xA9\xC3\xA9@x", "expected a PCI bus id such as 0000:05:00.0", 3);
}

static void long_specs_are_truncated(void **state) {
  (void)state;
  char text[1000];
  memset(text, 'x', sizeof text);
  text[500] = ';';
  text[999] = 0;
  text[40] = ',';
  int count;
  situ_status s = sim_spec_parse(text, specs, &count);
  assert_non_null(strstr(situ_status_message(s), "a name of more than 63 characters\n  xxx"));
  assert_non_null(strstr(situ_status_message(s), "x...\n"));
  situ_status_release(s);
  memset(text, 0x86, sizeof text - 1); /* bytes that begin no character of UTF-8 */
  s = sim_spec_parse(text, specs, &count);
  assert_non_null(strstr(situ_status_message(s), "a name of more than 63 characters"));
  situ_status_release(s);
}

static void name_length_is_limited(void **state) {
  (void)state;
  char text[65];
  memset(text, 'x', 64);
  text[64] = 0;
  assert_refuses(text, "a name of more than 63 characters", 0);
  text[63] = 0;
  assert_int_equal(read_text(text), 1);
  assert_string_equal(specs[0].model, text);
}

static void at_most_64(void **state) {
  (void)state;
  char text[200] = "A";
  for (int i = 1; i < SIM_MAX; i++) strcat(text, ",A");
  assert_int_equal(read_text(text), SIM_MAX);
  strcat(text, ",A");
  int count;
  situ_status s = sim_spec_parse(text, specs, &count);
  assert_non_null(strstr(situ_status_message(s), "at most 64 GPUs can be simulated\n  ...A,A"));
  situ_status_release(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(count_of_gpus),
      cmocka_unit_test(entry_with_all_options),
      cmocka_unit_test(list_of_gpus),
      cmocka_unit_test(default_bus_ids_avoid_explicit_ones),
      cmocka_unit_test(errors_show_the_position),
      cmocka_unit_test(caret_counts_characters),
      cmocka_unit_test(long_specs_are_truncated),
      cmocka_unit_test(name_length_is_limited),
      cmocka_unit_test(at_most_64),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
