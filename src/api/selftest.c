/* SPDX-License-Identifier: Apache-2.0
 * selftest.c: implements situ/selftest.h: runs the parts and reports their checks. */
#include "api/selftest.h"

#include <string.h>
#include <time.h>

enum { DEFAULT_SECONDS = 60 };

double selftest_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void selftest_report(const struct selftest *test, const char *part, const char *name,
                     situ_status status, const char *figure) {
  const situ_selftest_check check = {.part = part,
                                     .name = name,
                                     .problem = status ? situ_status_message(status) : NULL,
                                     .figure = figure};
  test->result->checks++;
  test->result->failed += status != NULL;
  if (test->options->on_check) test->options->on_check(test->options->context, &check);
  situ_status_release(status);
}

/* Finds the device, and another one of the same back end. */
static situ_status find_devices(struct selftest *test) {
  int number = 0;
  TRY(situ_devices_find(test->options->device, &number));
  test->device = test->list->devices[number];
  for (int i = 0; i < test->list->count && !test->other; i++)
    if (i != number && test->list->devices[i]->backend == test->device->backend)
      test->other = test->list->devices[i];
  TRY(device_open(test->device));
  return test->other ? device_open(test->other) : NULL;
}

static void run(struct selftest *test) {
  const bool is_host = test->device->backend->is_host;
  if (!test->options->op && !is_host) {
    selftest_queues(test);
    selftest_memory(test);
    selftest_copies(test);
  }
  selftest_ops(test);
  if (!test->options->op && !is_host) selftest_speed(test);
}

situ_status situ_selftest(const situ_selftest_options *options, situ_selftest_result *out) {
  if (!options || !options->device || !out)
    return INVALID("situ_selftest: options, their device, or `out` is NULL.");
  situ_selftest_options defaults = *options;
  if (defaults.seconds <= 0) defaults.seconds = DEFAULT_SECONDS;
  *out = (situ_selftest_result){0};
  struct selftest test = {.options = &defaults, .result = out, .start = selftest_now()};
  TRY(registry_acquire(NULL, false, &test.list));
  const situ_status status = find_devices(&test);
  if (!status) run(&test);
  registry_release();
  out->seconds = selftest_now() - test.start;
  return status;
}
