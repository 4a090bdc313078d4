/* SPDX-License-Identifier: Apache-2.0
 * selftest.c: `situ selftest`: tests a device and measures its speed. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "command.h"
#include "json.h"
#include "speed.h"
#include "table.h"

enum { MOST_PROBLEMS = 20 };

/* The progress so far. */
struct report {
  bool json;
  bool shows_progress; /* print a progress line to the terminal */
  double start;
  char part[32]; /* the current part; counts below are for this part */
  int passed, checks;
  int problems;
};

/* The progress line is erased before anything else is printed. */
static void show_progress(const struct report *report, const char *name) {
  if (report->shows_progress)
    fprintf(stderr, "\r  %s: %d, %s, %.0f s\033[K", report->part, report->checks, name,
            speed_now() - report->start);
}

static void wipe_progress(const struct report *report) {
  if (report->shows_progress) fprintf(stderr, "\r\033[K");
}

static void end_part(struct report *report) {
  if (report->json || !report->checks || !strcmp(report->part, "speed")) return;
  wipe_progress(report);
  printf("  %-8s %d of %d passed\n", report->part, report->passed, report->checks);
  fflush(stdout);
}

static void show_json(const situ_selftest_check *check) {
  json_open(NULL, '{');
  json_string("part", check->part);
  json_string("name", check->name);
  json_bool("passed", !check->problem);
  if (check->problem) json_string("problem", check->problem);
  if (check->figure) json_string("figure", check->figure);
  json_close();
}

/* Prints a failure or a measurement. */
static void show(struct report *report, const situ_selftest_check *check) {
  if (!check->problem && !check->figure) return;
  wipe_progress(report);
  if (!check->problem)
    printf("  %-8s %s: %s\n", check->part, check->name, check->figure);
  else if (report->problems++ < MOST_PROBLEMS)
    printf("  FAILED   %s: %s: %s\n", check->part, check->name, check->problem);
  fflush(stdout);
}

static void on_check(void *context, const situ_selftest_check *check) {
  struct report *report = context;
  if (strcmp(report->part, check->part)) {
    end_part(report);
    snprintf(report->part, sizeof report->part, "%s", check->part);
    report->passed = report->checks = 0;
  }
  report->checks++;
  report->passed += !check->problem;
  if (report->json)
    show_json(check);
  else
    show(report, check);
  show_progress(report, check->name);
}

static void print_head(const situ_device *device, bool json) {
  char bytes[32];
  if (json) {
    json_open(NULL, '{');
    json_string("version", situ_version());
    json_string("device", device->name);
    json_string("model", device->model);
    json_string("bus_id", device->bus_id);
    json_string("backend", device->backend);
    json_size("memory", device->memory);
    json_bool("half", device->has_half);
    json_bool("double", device->has_double);
    json_open("checks", '[');
    return;
  }
  printf("situ %s selftest of %s\n", situ_version(), table_device(device->name));
  printf("  %s, %s%s%s; half: %s, double: %s; back end %s\n", device->model,
         table_size(device->memory, bytes), *device->bus_id ? ", at " : "", device->bus_id,
         device->has_half ? "yes" : "no", device->has_double ? "yes" : "no", device->backend);
}

/* Estimates the seconds that all ops need. */
static double estimate_seconds(const situ_selftest_result *result) {
  const int all = result->ops + result->halves, tried = result->ops_run + result->halves_run;
  return 10 * ceil(result->seconds * 1.5 * all / (tried ? tried : 1) / 10);
}

static void print_verdict(const situ_selftest_result *result, bool json) {
  const bool all = result->ops_run == result->ops && result->halves_run == result->halves;
  const char *verdict = result->failed    ? "FAILED"
                        : !result->checks ? "NO CHECKS"
                        : all             ? "PASSED"
                                          : "PASSED (time limit reached)";
  if (json) {
    json_close();
    json_number("passed", result->checks - result->failed);
    json_number("failed", result->failed);
    json_number("ops", result->ops);
    json_number("ops_run", result->ops_run);
    json_number("halves", result->halves);
    json_number("halves_run", result->halves_run);
    json_number("milliseconds", (int64_t)(result->seconds * 1e3));
    json_string("verdict", verdict);
    json_close();
    return;
  }
  if (!all) printf("  --seconds %.0f should suffice for all ops\n", estimate_seconds(result));
  printf("%s: %d of %d checks, %d of %d ops, %.0f s\n", verdict, result->checks - result->failed,
         result->checks, result->ops_run, result->ops, result->seconds);
}

/* Finds the device by name; by default the first GPU, else the CPU. */
static situ_status find_device(const char *name, situ_device *out) {
  int number = 0;
  situ_status s = situ_devices_find(name ? name : "/gpu:0", &number);
  if (s && !name) {
    situ_status_release(s);
    s = situ_devices_find("/cpu:0", &number);
  }
  return s ? s : situ_devices_get(number, out);
}

static int run(const struct args *args) {
  situ_device device = {0};
  situ_selftest_result result = {0};
  struct report report = {.json = args_has(args, "json"), .start = speed_now()};
  report.shows_progress = isatty(STDERR_FILENO) && !(report.json && isatty(STDOUT_FILENO));
  const char *seconds = args_value(args, "seconds");
  char *end = NULL;
  situ_selftest_options options = {
      .op = args_value(args, "op"), .on_check = on_check, .context = &report};
  if (seconds) options.seconds = strtod(seconds, &end);
  if (seconds && (end == seconds || *end || options.seconds <= 0))
    return command_misuse(args, "Option --seconds must be a number above 0, not '%s'.", seconds);
  situ_status s = find_device(args_value(args, "device"), &device);
  if (s) return command_fail(args, s);
  options.device = device.name;
  print_head(&device, report.json);
  fflush(stdout);
  s = situ_selftest(&options, &result);
  if (!s && !options.op && !result.failed) s = speed_measure(device.name, on_check, &report);
  wipe_progress(&report);
  if (s) return command_fail(args, s);
  end_part(&report);
  result.seconds = speed_now() - report.start;
  print_verdict(&result, report.json);
  return result.failed || !result.checks ? FAILED : SUCCESS;
}

static const struct option options[] = {
    {"device", "NAME", "the device: /gpu:1. Default: the first GPU"},
    {"op", "NAME", "test only ops that match: MatMul, 'Conv*'"},
    {"seconds", "N", "start no further op after this time. Default: 60"},
    {"json", NULL, "print JSON"},
    {0}};

const struct command selftest_command = {
    .name = "selftest",
    .positional = "",
    .help = "test a device and measure its speed",
    .details =
        "Tests queues, memory and copies, compares every op with the CPU, and measures speed.\n"
        "The last line is the verdict; the exit code is 1 if a check failed or nothing was\n"
        "checked. Reports of untested GPUs are welcome: send the whole output.\n\n"
        "  situ selftest\n"
        "  situ selftest --device /gpu:1 --op MatMul\n",
    .options = options,
    .run = run};
