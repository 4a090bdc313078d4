/* SPDX-License-Identifier: Apache-2.0
 * speed.c: see speed.h. The cost of one operation is the difference between a long and a short run.
 * Measurements that would take too long, estimated by a smaller run, are skipped. */
#include "speed.h"

#include <stdio.h>
#include <time.h>

enum { REPEATS = 3, SHRINK = 8, MAX_SECONDS = 10 };

double speed_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef situ_value operation(situ_graph *graph, situ_value a, situ_value b);

/* An operation that is applied `times` times to a square matrix. */
struct workload {
  operation *what;
  int32_t side;
  int times;
};

static situ_value shape_constant(situ_graph *graph, int32_t number) {
  const int32_t numbers[] = {number, number};
  return situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), numbers);
}

/* Returns one element of the result, so that copies do not count. */
static situ_value build(situ_graph *graph, const struct workload *load, situ_value *init) {
  const situ_value v = situ_variable_v2(graph, SITU_SHAPE(load->side, load->side), SITU_FLOAT);
  const situ_value side = shape_constant(graph, load->side);
  *init = situ_assign(graph, v, situ_random_uniform(graph, side, SITU_FLOAT));
  situ_value x = v;
  for (int i = 0; i < load->times; i++) x = load->what(graph, x, v);
  return situ_slice(graph, x, shape_constant(graph, 0), shape_constant(graph, 1));
}

static situ_status run(situ_session *session, situ_value fetch, double *seconds) {
  situ_tensor *result = NULL;
  const double start = speed_now();
  const situ_status s = situ_session_run(session, NULL, 0, &fetch, 1, &result);
  *seconds = speed_now() - start;
  situ_tensor_release(result);
  return s;
}

/* Returns the best of several runs, after two warm-up runs. */
static situ_status measure(const char *device, const struct workload *load, double *best) {
  situ_graph *graph = situ_graph_create();
  situ_session *session = NULL;
  situ_value init;
  double seconds;
  situ_device_push(graph, device);
  const situ_value fetch = build(graph, load, &init);
  situ_device_pop(graph);
  situ_status s = situ_graph_status(graph);
  if (!s) s = situ_session_create(graph, NULL, &session);
  if (!s) s = run(session, init, &seconds);
  if (!s) s = run(session, fetch, best);
  *best = 1e30;
  for (int i = 0; !s && i < REPEATS; i++) {
    s = run(session, fetch, &seconds);
    if (seconds < *best) *best = seconds;
  }
  situ_session_release(session);
  situ_graph_release(graph);
  return s;
}

/* A measurement: each additional operation of `long_run` does `work` of `unit`. With the side
 * divided by SHRINK, it does 1 / shrink_factor of the work. */
static const struct figure {
  const char *name, *unit;
  double work, shrink_factor;
  struct workload short_run, long_run;
} figures[] = {
    {"memory bandwidth (add)",
     "GB/s",
     3 * 4e-9 * 1024 * 1024,
     SHRINK *SHRINK,
     {situ_add, 1024, 1},
     {situ_add, 1024, 11}},
    {"matmul 512 x 512",
     "GFLOP/s",
     2e-9 * 512 * 512 * 512,
     SHRINK *SHRINK *SHRINK,
     {situ_matmul, 512, 1},
     {situ_matmul, 512, 3}},
    {"matmul 1024 x 1024",
     "GFLOP/s",
     2e-9 * 1024 * 1024 * 1024,
     SHRINK *SHRINK *SHRINK,
     {situ_matmul, 1024, 1},
     {situ_matmul, 1024, 2}},
};

static void report_figure(speed_callback *report, void *context, const char *name, double value,
                          const char *unit) {
  char text[64];
  snprintf(text, sizeof text, "%.3g %s", value, unit);
  report(context, &(situ_selftest_check){.part = "speed", .name = name, .figure = text});
}

/* Estimates an upper bound of the seconds of a measurement. */
static situ_status estimate_seconds(const char *device, const struct figure *figure,
                                    double *seconds) {
  const struct workload small = {figure->short_run.what, figure->short_run.side / SHRINK, 1};
  const int times = (figure->short_run.times + figure->long_run.times) * (REPEATS + 1);
  const situ_status s = measure(device, &small, seconds);
  *seconds *= figure->shrink_factor * times;
  return s;
}

static situ_status measure_figure(const char *device, const struct figure *figure,
                                  speed_callback *report, void *context) {
  double seconds = 0, short_run = 0, long_run = 0;
  situ_status s = estimate_seconds(device, figure, &seconds);
  if (!s && seconds > MAX_SECONDS) {
    char text[64];
    snprintf(text, sizeof text, "skipped: would take about %.0f s", seconds);
    report(context, &(situ_selftest_check){.part = "speed", .name = figure->name, .figure = text});
    return NULL;
  }
  if (!s) s = measure(device, &figure->short_run, &short_run);
  if (!s) s = measure(device, &figure->long_run, &long_run);
  if (!s && long_run > short_run)
    report_figure(
        report, context, figure->name,
        figure->work * (figure->long_run.times - figure->short_run.times) / (long_run - short_run),
        figure->unit);
  return s;
}

situ_status speed_measure(const char *device, speed_callback *report, void *context) {
  double short_run = 0, long_run = 0;
  situ_status s = measure(device, &(struct workload){situ_add, 4, 1}, &short_run);
  if (!s) s = measure(device, &(struct workload){situ_add, 4, 101}, &long_run);
  if (s) return s;
  report_figure(report, context, "run with one kernel", short_run * 1e6, "us");
  if (long_run > short_run)
    report_figure(report, context, "each additional kernel", (long_run - short_run) * 1e4, "us");
  for (size_t i = 0; !s && i < sizeof figures / sizeof *figures; i++)
    s = measure_figure(device, &figures[i], report, context);
  return s;
}
