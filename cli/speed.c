/* SPDX-License-Identifier: Apache-2.0
 * speed.c: see speed.h. What one of something costs is the difference between many and few. What
 * would take too long on a device is left out: a small one tells beforehand. */
#include "speed.h"

#include <stdio.h>
#include <time.h>

enum { TRIES = 3, SMALLER = 8, MOST_SECONDS = 10 };

double speed_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

typedef situ_value operation(situ_graph *graph, situ_value a, situ_value b);

/* What is done `times` times with a square matrix. */
struct workload {
  operation *what;
  int32_t side;
  int times;
};

static situ_value pair(situ_graph *graph, int32_t number) {
  const int32_t numbers[] = {number, number};
  return situ_constant(graph, NULL, SITU_INT32, SITU_SHAPE(2), numbers);
}

/* Of the result one element comes back. */
static situ_value build(situ_graph *graph, const struct workload *load, situ_value *init) {
  const situ_value v = situ_variable_v2(graph, SITU_SHAPE(load->side, load->side), SITU_FLOAT);
  const situ_value side = pair(graph, load->side);
  *init = situ_assign(graph, v, situ_random_uniform(graph, side, SITU_FLOAT));
  situ_value x = v;
  for (int i = 0; i < load->times; i++) x = load->what(graph, x, v);
  return situ_slice(graph, x, pair(graph, 0), pair(graph, 1));
}

static situ_status run(situ_session *session, situ_value fetch, double *seconds) {
  situ_tensor *result = NULL;
  const double start = speed_now();
  const situ_status s = situ_session_run(session, NULL, 0, &fetch, 1, &result);
  *seconds = speed_now() - start;
  situ_tensor_release(result);
  return s;
}

/* The best of a few runs, after two that are not counted. */
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
  for (int i = 0; !s && i < TRIES; i++) {
    s = run(session, fetch, &seconds);
    if (seconds < *best) *best = seconds;
  }
  situ_session_release(session);
  situ_graph_release(graph);
  return s;
}

/* What is measured: `work` of `unit` in each of the times that `many` does more than `few`; a
 * matrix of an eighth of the side is `part` times less work. */
static const struct figure {
  const char *name, *unit;
  double work, part;
  struct workload few, many;
} figures[] = {
    {"memory, by adding",
     "GB/s",
     3 * 4e-9 * 1024 * 1024,
     SMALLER *SMALLER,
     {situ_add, 1024, 1},
     {situ_add, 1024, 11}},
    {"products of matrices of 512 x 512",
     "GFLOP/s",
     2e-9 * 512 * 512 * 512,
     SMALLER *SMALLER *SMALLER,
     {situ_matmul, 512, 1},
     {situ_matmul, 512, 3}},
    {"products of matrices of 1024 x 1024",
     "GFLOP/s",
     2e-9 * 1024 * 1024 * 1024,
     SMALLER *SMALLER *SMALLER,
     {situ_matmul, 1024, 1},
     {situ_matmul, 1024, 2}},
};

static void tell(speed_seen *seen, void *context, const char *name, double value,
                 const char *unit) {
  char text[64];
  snprintf(text, sizeof text, "%.3g %s", value, unit);
  seen(context, &(situ_selftest_check){.part = "speed", .name = name, .figure = text});
}

/* About how long it would take to measure a figure, at most. */
static situ_status foresee(const char *device, const struct figure *figure, double *seconds) {
  const struct workload small = {figure->few.what, figure->few.side / SMALLER, 1};
  const int times = (figure->few.times + figure->many.times) * (TRIES + 1);
  const situ_status s = measure(device, &small, seconds);
  *seconds *= figure->part * times;
  return s;
}

static situ_status measure_figure(const char *device, const struct figure *figure, speed_seen *seen,
                                  void *context) {
  double seconds = 0, few = 0, many = 0;
  situ_status s = foresee(device, figure, &seconds);
  if (!s && seconds > MOST_SECONDS) {
    char text[64];
    snprintf(text, sizeof text, "left out, it would take about %.0f s", seconds);
    seen(context, &(situ_selftest_check){.part = "speed", .name = figure->name, .figure = text});
    return NULL;
  }
  if (!s) s = measure(device, &figure->few, &few);
  if (!s) s = measure(device, &figure->many, &many);
  if (!s && many > few)
    tell(seen, context, figure->name,
         figure->work * (figure->many.times - figure->few.times) / (many - few), figure->unit);
  return s;
}

situ_status speed_measure(const char *device, speed_seen *seen, void *context) {
  double few = 0, many = 0;
  situ_status s = measure(device, &(struct workload){situ_add, 4, 1}, &few);
  if (!s) s = measure(device, &(struct workload){situ_add, 4, 101}, &many);
  if (s) return s;
  tell(seen, context, "a run of one kernel", few * 1e6, "us");
  if (many > few) tell(seen, context, "one kernel more", (many - few) * 1e4, "us");
  for (size_t i = 0; !s && i < sizeof figures / sizeof *figures; i++)
    s = measure_figure(device, &figures[i], seen, context);
  return s;
}
