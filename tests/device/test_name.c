/* SPDX-License-Identifier: Apache-2.0
 * test_name.c: reading, printing, comparing and merging device names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "device/name.h"

typedef situ_status reader(const char *text, struct device_name *out);

static struct device_name read_by(reader *read, const char *text) {
  struct device_name name;
  situ_status s = read(text, &name);
  if (s) fail_msg("'%s': %s", text, situ_status_message(s));
  return name;
}

static struct device_name full(const char *text) { return read_by(name_parse, text); }

static situ_status reference(const char *text, struct device_name *out) {
  return name_parse_flags(text, NAME_REFERENCE, out);
}

static situ_status literal(const char *text, struct device_name *out) {
  return name_parse_flags(text, NAME_LENIENT | NAME_LITERAL, out);
}

static void assert_parses(reader *read, const char *text, const char *printed) {
  char out[NAME_SIZE];
  const struct device_name name = read_by(read, text);
  assert_string_equal(name_print(&name, out, sizeof out), printed);
}

static void assert_rejects(reader *read, const char *text, const char *message) {
  struct device_name name, before;
  memset(&name, 7, sizeof name);
  before = name;
  situ_status s = read(text, &name);
  if (!s) fail_msg("'%s' was read", text);
  assert_int_equal(situ_status_code(s), SITU_INVALID_ARGUMENT);
  if (!strstr(situ_status_message(s), message))
    fail_msg("'%s' lacks '%s'", situ_status_message(s), message);
  assert_memory_equal(&name, &before, sizeof name);
  situ_status_release(s);
}

static void every_form_is_parsed(void **state) {
  (void)state;
  assert_parses(name_parse, "", "");
  assert_parses(name_parse, "/", "");
  assert_parses(name_parse, "/job:worker/replica:0/task:3/device:GPU:0",
                "/job:worker/replica:0/task:3/device:GPU:0");
  assert_parses(name_parse, "/device:GPU:007/task:1/job:a_1", "/job:a_1/task:1/device:GPU:7");
  assert_parses(name_parse, "/gpu:2", "/device:GPU:2");
  assert_parses(name_parse, "/CPU:*", "/device:CPU:*");
  assert_parses(name_parse, "/device:GPU", "/device:GPU:*");
  assert_parses(name_parse, "/device:gpu:1", "/device:gpu:1");
  assert_parses(name_parse, "/job:*/replica:*/task:*/device:*:*", "");
  assert_parses(name_parse, "/job:a/job:b", "/job:b");
  assert_parses(name_parse, "/gpu:2147483647", "/device:GPU:2147483647");
  assert_parses(name_parse_local, "TPU:12", "/device:TPU:12");
}

static void errors_report_the_position(void **state) {
  (void)state;
  assert_rejects(name_parse, "/gpu:x",
                 "Malformed device specification '/gpu:x': expected a number at character 5");
  assert_rejects(name_parse, "gpu:3", "expected '/' at character 0");
  assert_rejects(name_parse, "/cpu", "expected ':' at character 4");
  assert_rejects(name_parse, "/Cpu:0", "unknown part 'Cpu' at character 1");
  assert_rejects(name_parse, "//cpu:0", "expected a part at character 1");
  assert_rejects(name_parse, "/cpu:0/", "expected a part at character 7");
  assert_rejects(name_parse, "/job:", "expected a job at character 5");
  assert_rejects(name_parse, "/job:1", "expected a job at character 5");
  assert_rejects(name_parse, "/job:a-b", "expected '/' at character 6");
  assert_rejects(name_parse, "/task:-1", "expected a number at character 6");
  assert_rejects(name_parse, "/task:1 ", "expected '/' at character 7");
  assert_rejects(name_parse, "/device::0", "expected a device type at character 8");
  assert_rejects(name_parse, "/device:GPU:", "expected a number at character 12");
  assert_rejects(name_parse, "/gpu:2147483648", "a number too large at character 5");
  assert_rejects(name_parse, "/device:*:1", "an index without a device type at character 10");
  assert_rejects(name_parse, "/cpu:0/gpu:1", "a second device part at character 7");
  assert_rejects(name_parse_local, "/gpu:0", "expected a device type at character 0");
  assert_rejects(name_parse_local, "GPU", "expected ':' at character 3");
  assert_rejects(name_parse_local, "GPU:1/", "expected the end at character 5");
  assert_rejects(name_parse, NULL, "Malformed device specification");
}

static void long_names_are_rejected(void **state) {
  (void)state;
  char text[200], fits[100];
  snprintf(fits, sizeof fits, "/job:%063d", 0);
  for (int i = 5; fits[i]; i++) fits[i] = 'j';
  assert_parses(name_parse, fits, fits);
  snprintf(text, sizeof text, "%sj", fits);
  assert_rejects(name_parse, text, "a job of more than 63 characters at character 5");
  assert_rejects(name_parse, "/device:abcdefghijklmnopqrstuvwxyzabcdef:0",
                 "a device type of more than 31 characters at character 8");
}

static void longest_name_is_printed(void **state) {
  (void)state;
  struct device_name name = {.replica = INT32_MIN, .task = INT32_MIN, .index = INT32_MIN};
  memset(name.job, 'j', sizeof name.job - 1);
  memset(name.kind, 'k', sizeof name.kind - 1);
  name.has_job = name.has_replica = name.has_task = name.has_kind = name.has_index = true;
  char out[2 * NAME_SIZE];
  assert_in_range(strlen(name_print(&name, out, sizeof out)), 100, NAME_SIZE - 1);
  assert_string_equal(name_print(&name, out, 4), "/jo");
  assert_string_equal(name_print(&name, out, 1), "");
}

static void reference_quirks_need_a_flag(void **state) {
  (void)state;
  assert_parses(reference, "/cpu:0/gpu:1", "/device:GPU:1");
  assert_parses(reference, "/cpu:99999999999", "/device:CPU:1215752191");
  const struct device_name name = read_by(reference, "/device:*:1");
  assert_true(name.has_index);
  assert_false(name.has_kind);
  assert_rejects(reference, "/cpu:99999999999999999999", "a number too large");
}

static void lenient_parser_accepts_python_forms(void **state) {
  (void)state;
  assert_parses(name_parse_any, "gpu", "/device:GPU:*");
  assert_parses(name_parse_any, "gpu:0", "/device:GPU:0");
  assert_parses(name_parse_any, "/Cpu:3", "/device:CPU:3");
  assert_parses(name_parse_any, "//cpu:0/", "/device:CPU:0");
  assert_parses(name_parse_any, "cpu:0/job:x", "/job:x/device:CPU:0");
  assert_parses(name_parse_any, "/device:gpu:1", "/device:GPU:1");
  assert_parses(name_parse_any, "/device:MyFunnyDevice:2", "/device:MyFunnyDevice:2");
  assert_parses(name_parse_any, "TPU:1", "/device:TPU:1");
  assert_parses(name_parse_any, "/job:a-b/task:1", "/job:a-b/task:1");
  assert_parses(name_parse_any, "/job:*", "");
  assert_rejects(name_parse_any, "/cpu:0/gpu:0",
                 "Multiple device types are not allowed while parsing the device spec: "
                 "/cpu:0/gpu:0.\nThe second one is at character 7.");
  assert_rejects(name_parse_any, "/foo:bar",
                 "Unknown attribute 'foo' is encountered while parsing the device spec: "
                 "'/foo:bar'.\nAt character 1");
  assert_rejects(name_parse_any, "/gpu:-1", "expected a number at character 5");
  assert_rejects(name_parse_any, "foo", "Unknown attribute 'foo'");
}

static void literal_parser_keeps_the_input(void **state) {
  (void)state;
  assert_parses(literal, "/job:*/gpu:-1", "/job:*/device:GPU:-1");
}

static void printed_forms(void **state) {
  (void)state;
  char a[NAME_SIZE], b[NAME_SIZE];
  const struct device_name name = full("/job:foo/replica:1/task:2/device:GPU:3");
  const struct device_name part = full("/job:foo/gpu:*"), none = full("/job:foo");
  assert_string_equal(name_print_legacy(&name, a, sizeof a), "/job:foo/replica:1/task:2/gpu:3");
  assert_string_equal(name_print_legacy(&part, a, sizeof a), "/job:foo/gpu:*");
  assert_string_equal(name_local(&name, a, sizeof a), "/device:GPU:3");
  assert_string_equal(name_local(&none, a, sizeof a), "");
  assert_true(name_split(&name, a, b));
  assert_string_equal(a, "/job:foo/replica:1/task:2");
  assert_string_equal(b, "GPU:3");
  assert_false(name_split(&part, a, b));
  assert_true(name_mapping(&name, a, b));
  assert_string_equal(a, "/job:foo/replica:1/task:2/device:GPU:3");
  assert_string_equal(b, "/job:foo/replica:1/task:2/gpu:3");
  assert_false(name_mapping(&part, a, b));
  const struct device_name host = name_host_cpu(&name);
  assert_string_equal(name_print(&host, a, sizeof a), "/job:foo/replica:1/task:2/device:CPU:0");
}

static void comparisons(void **state) {
  (void)state;
  const struct device_name any = full(""), gpu = full("/gpu:*"), gpu1 = full("/gpu:1");
  const struct device_name gpu2 = full("/device:GPU:2"), task = full("/task:1");
  const struct device_name whole = full("/job:a/replica:0/task:1/gpu:1");
  const struct device_name other = full("/job:a/replica:0/task:2/gpu:1");
  assert_true(name_equal(&gpu1, &gpu1));
  assert_false(name_equal(&gpu1, &gpu));
  assert_false(name_equal(&gpu1, &gpu2));
  assert_true(name_is_complete(&whole));
  assert_false(name_is_complete(&gpu1));
  assert_true(name_is_spec(&any, &gpu));
  assert_true(name_is_spec(&gpu, &gpu1));
  assert_false(name_is_spec(&gpu1, &gpu));
  assert_true(name_matches(&gpu1, &whole));
  assert_false(name_matches(&gpu2, &whole));
  assert_false(name_matches(&gpu, &gpu1));
  assert_true(name_compatible(&gpu1, &task));
  assert_false(name_compatible(&gpu1, &gpu2));
  assert_true(name_same_address_space(&whole, &whole));
  assert_false(name_same_address_space(&whole, &other));
  assert_false(name_same_address_space(&whole, &task));
  assert_true(name_different_address_space(&whole, &other));
  assert_false(name_different_address_space(&whole, &task));
}

static void assert_merges(const char *target, const char *other, enum name_merge how,
                          const char *result) {
  char out[NAME_SIZE];
  struct device_name a = full(target);
  const struct device_name b = full(other);
  situ_status s = name_merge(&a, &b, how);
  assert_string_equal(s ? situ_status_message(s) : name_print(&a, out, sizeof out), result);
  situ_status_release(s);
}

static void merging(void **state) {
  (void)state;
  assert_merges("/job:a", "/gpu:1", MERGE_HARD, "/job:a/device:GPU:1");
  assert_merges("/replica:1", "/job:a/replica:2", MERGE_HARD,
                "Cannot merge devices with incompatible replicas: '/job:a/replica:1' and "
                "'/job:a/replica:2'");
  assert_merges("/gpu:1", "/gpu:2", MERGE_HARD,
                "Cannot merge devices with incompatible ids: '/device:GPU:1' and '/device:GPU:2'");
  assert_merges("/gpu:1", "/task:1/cpu:2", MERGE_SOFT, "/task:1");
  assert_merges("/gpu:1", "/gpu:2", MERGE_SOFT, "/device:GPU:*");
  assert_merges("/gpu:1", "/cpu:2", MERGE_OVERRIDE, "/device:CPU:2");
  assert_merges("/task:1", "/task:2", MERGE_OVERRIDE,
                "Cannot merge devices with incompatible tasks: '/task:1' and '/task:2'");
}

static void assert_nests(const char *outer, const char *inner, const char *result) {
  char out[NAME_SIZE];
  const struct device_name a = full(outer);
  struct device_name b = read_by(name_parse_any, inner);
  name_nest(&a, &b, &b);
  assert_string_equal(name_print(&b, out, sizeof out), result);
}

static void nested_scopes_merge(void **state) {
  (void)state;
  assert_nests("/gpu:1", "/cpu", "/device:CPU:*");
  assert_nests("/gpu:1", "/cpu:0", "/device:CPU:0");
  assert_nests("/gpu:1", "", "/device:GPU:1");
  assert_nests("/job:ps/gpu:1", "/job:worker/task:1", "/job:worker/task:1/device:GPU:1");
  struct device_name name = full("/job:a/gpu:1");
  const struct device_name cpu = full("/cpu:*");
  name_ensure(&name, &cpu);
  char out[NAME_SIZE];
  assert_string_equal(name_print(&name, out, sizeof out), "/job:a/device:CPU:1");
}

static void assert_canonical(const char *name, const char *base, const char *result) {
  char out[NAME_SIZE];
  struct device_name full_name;
  situ_status s = name_canonicalize(name, base, &full_name);
  const char *got = s ? situ_status_message(s) : name_print(&full_name, out, sizeof out);
  assert_memory_equal(got, result, strlen(result));
  situ_status_release(s);
}

static void canonicalization(void **state) {
  (void)state;
  const char *base = "/job:foo/replica:10/task:0/device:CPU:0";
  assert_canonical("GPU:1", base, "/job:foo/replica:10/task:0/device:GPU:1");
  assert_canonical("/task:2/gpu:*", base, "/job:foo/replica:10/task:2/device:GPU:0");
  assert_canonical("", base, base);
  assert_canonical("foo", base,
                   "Could not parse foo into a device specification.\nMalformed device "
                   "specification 'foo': expected '/' at character 0");
  assert_canonical("/cpu:0", "/cpu", "Could not parse basename: /cpu into a device specification.");
  assert_canonical("/cpu:0", "/cpu:0", "Basename: /cpu:0 should be fully specified.");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_form_is_parsed),
      cmocka_unit_test(errors_report_the_position),
      cmocka_unit_test(long_names_are_rejected),
      cmocka_unit_test(longest_name_is_printed),
      cmocka_unit_test(reference_quirks_need_a_flag),
      cmocka_unit_test(lenient_parser_accepts_python_forms),
      cmocka_unit_test(literal_parser_keeps_the_input),
      cmocka_unit_test(printed_forms),
      cmocka_unit_test(comparisons),
      cmocka_unit_test(merging),
      cmocka_unit_test(nested_scopes_merge),
      cmocka_unit_test(canonicalization),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
