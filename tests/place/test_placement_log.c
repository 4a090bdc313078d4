/* SPDX-License-Identifier: Apache-2.0
 * test_placement_log.c: the lines of the placement log, with full and legacy device names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "place/placement_log.h"
#include "support/expect.h"
#include "support/fleet.h"

/* What was printed on standard output since begin_capture. */
struct capture {
  FILE *file;
  int saved;
  char text[2048];
};

static void begin_capture(struct capture *capture) {
  fflush(stdout);
  capture->file = tmpfile();
  assert_non_null(capture->file);
  capture->saved = dup(STDOUT_FILENO);
  dup2(fileno(capture->file), STDOUT_FILENO);
}

/* Without a flush: the log must have done that. */
static const char *end_capture(struct capture *capture) {
  dup2(capture->saved, STDOUT_FILENO);
  close(capture->saved);
  rewind(capture->file);
  capture->text[fread(capture->text, 1, sizeof capture->text - 1, capture->file)] = 0;
  fclose(capture->file);
  return capture->text;
}

static void mapping(void **state) {
  (void)state;
  struct fleet fleet;
  struct capture capture;
  fleet_create(&fleet, 2);
  begin_capture(&capture);
  OK(placement_log_mapping(&fleet.list));
  assert_string_equal(end_capture(&capture),
                      "Device mapping:\n"
                      "/job:localhost/replica:0/task:0/device:GPU:0 -> device: 0, name: Tesla "
                      "K20m, pci bus id: 0000:01:00.0\n"
                      "/job:localhost/replica:0/task:0/device:GPU:1 -> device: 1, name: Tesla "
                      "K20m, pci bus id: 0000:02:00.0\n");
}

static void mapping_without_gpus(void **state) {
  (void)state;
  struct fleet fleet;
  struct capture capture;
  fleet_create(&fleet, 0);
  begin_capture(&capture);
  OK(placement_log_mapping(&fleet.list));
  assert_string_equal(end_capture(&capture), "Device mapping: no known devices.\n");
}

/* Logs a graph of a sum; with `how`, as a function. */
static const char *log_sum_as(struct capture *capture, const struct placement_log_node *how) {
  struct fleet fleet;
  struct arena arena = {0};
  struct placement placement;
  const float values[2] = {1, 2};
  fleet_create(&fleet, 1);
  situ_graph *graph = situ_graph_create();
  situ_device_push(graph, "/cpu:0");
  const situ_value inputs[] = {situ_constant(graph, "a", SITU_FLOAT, SITU_SHAPE(2), values),
                               situ_constant(graph, "b", SITU_FLOAT, SITU_SHAPE(2), values)};
  situ_device_pop(graph);
  situ_emit(graph, "Add", NULL, inputs, 2, NULL, 0);
  const struct place_options options = {0};
  assert_null(situ_graph_status(graph));
  assert_null(place_graph(graph, &fleet.list, &options, &arena, &placement));
  begin_capture(capture);
  const situ_status s =
      how ? placement_log_function(&placement, how) : placement_log_nodes(&placement);
  const char *text = end_capture(capture);
  assert_null(s);
  arena_free(&arena);
  situ_graph_release(graph);
  return text;
}

static const char *log_sum(struct capture *capture) { return log_sum_as(capture, NULL); }

static void function(void **state) {
  (void)state;
  struct capture capture;
  const struct placement_log_node all[] = {
      {.runs = true}, {.is_argument = true}, {.runs = true, .device = 1}};
  assert_string_equal(log_sum_as(&capture, all),
                      "b: (_Arg): /job:localhost/replica:0/task:0/device:CPU:0\n"
                      "Add: (Add): /job:localhost/replica:0/task:0/device:GPU:0\n"
                      "a: (Const): /job:localhost/replica:0/task:0/device:CPU:0\n");
  const struct placement_log_node none[3] = {{0}};
  assert_string_equal(log_sum_as(&capture, none), "");
}

static void nodes(void **state) {
  (void)state;
  struct capture capture;
  assert_string_equal(log_sum(&capture),
                      "b: /job:localhost/replica:0/task:0/device:CPU:0\n"
                      "a: /job:localhost/replica:0/task:0/device:CPU:0\n"
                      "Add: /job:localhost/replica:0/task:0/device:GPU:0\n");
}

static void nodes_with_legacy_names(void **state) {
  (void)state;
  struct capture capture;
  setenv("SITU_DEVICE_NAMES", "legacy", 1);
  const char *text = log_sum(&capture);
  unsetenv("SITU_DEVICE_NAMES");
  assert_string_equal(text,
                      "b: /job:localhost/replica:0/task:0/cpu:0\n"
                      "a: /job:localhost/replica:0/task:0/cpu:0\n"
                      "Add: /job:localhost/replica:0/task:0/gpu:0\n");
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(mapping),
      cmocka_unit_test(mapping_without_gpus),
      cmocka_unit_test(nodes),
      cmocka_unit_test(function),
      cmocka_unit_test(nodes_with_legacy_names),
  };
  unsetenv("SITU_DEVICE_NAMES");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
