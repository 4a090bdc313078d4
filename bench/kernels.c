/* SPDX-License-Identifier: Apache-2.0
 * kernels.c: large ops through a session, against plain C loops with the same traffic on as many
 * threads, and matmul against oneDNN alone. Inputs are fed without a copy; a result's memory comes
 * back before the next run.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"
#include "support/onednn.h"
#include "support/loops.h"
#include "support/team.h"

enum { SIDE = 4096, MAX_MATMUL = 2048 };

static const int64_t elements = (int64_t)SIDE * SIDE; /* 64 MB */

/* Arrays that both sides read. */
static struct loops arrays;

/* One op that is fed and fetched. */
struct program {
  situ_graph *graph;
  situ_session *session;
  situ_feed feeds[2];
  int n_feeds;
  situ_value fetch;
  situ_tensor *result;
};

static float *make_array(int64_t n) {
  float *array = aligned_alloc(4096, (size_t)n * sizeof *array);
  bench_expect(array != NULL, "no memory");
  for (int64_t i = 0; i < n; i++) array[i] = (float)(i % 13 - 3) * 0.01f;
  return array;
}

static void open_arrays(void) {
  if (arrays.out) return;
  arrays = (struct loops){.a = make_array(elements),
                          .b = make_array(elements),
                          .out = make_array(elements),
                          .n = elements};
}

static situ_value feed(struct program *p, const float *data, int64_t side) {
  const situ_shape shape = SITU_SHAPE(side, side);
  situ_feed *to = &p->feeds[p->n_feeds++];
  to->value = situ_placeholder(p->graph, NULL, SITU_FLOAT, shape);
  bench_check(situ_tensor_wrap(SITU_FLOAT, shape, data, NULL, NULL, &to->tensor));
  return to->value;
}

static void begin(struct program *p) {
  *p = (struct program){.graph = situ_graph_create()};
  bench_expect(p->graph != NULL, "no memory");
  situ_device_push(p->graph, "/cpu:0");
}

static void run(void *context) {
  struct program *p = context;
  situ_tensor_release(p->result);
  bench_check(situ_session_run(p->session, p->feeds, p->n_feeds, &p->fetch, 1, &p->result));
}

static void ready(struct program *p) {
  bench_check(situ_graph_status(p->graph));
  bench_check(situ_session_create(p->graph, NULL, &p->session));
  run(p);
}

static void end(struct program *p) {
  situ_tensor_release(p->result);
  for (int i = 0; i < p->n_feeds; i++) situ_tensor_release(p->feeds[i].tensor);
  situ_session_release(p->session);
  situ_graph_release(p->graph);
}

static float result_at(const struct program *p, int64_t index) {
  return ((const float *)situ_tensor_data(p->result))[index];
}

/* What element 0 of a result must be. */
static float expect_add(void) { return arrays.a[0] + arrays.b[0]; }
static float expect_relu(void) { return fmaxf(arrays.a[0], 0); }
static float expect_same(void) { return arrays.a[0]; }

static float expect_sum(int64_t count, int64_t step) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)arrays.a[i * step];
  return (float)sum;
}
static float expect_sum_all(void) { return expect_sum(elements, 1); }
static float expect_column(void) { return expect_sum(SIDE, SIDE); }
static float expect_row(void) { return expect_sum(SIDE, 1); }

static float expect_softmax(void) {
  double sum = 0;
  for (int64_t i = 0; i < SIDE; i++) sum += exp((double)(arrays.a[i] - arrays.a[0]));
  return (float)(1 / sum);
}

/* An op whose cost is memory traffic: `arrays` inputs, then `n_axes` axes if there are any. */
struct streaming {
  const char *name, *what, *op;
  int arrays, n_axes;
  int32_t axes[2];
  double traffic; /* arrays that are read and written, by the op and by the loop */
  float (*expected)(void);
  const char *against;
  void (*loop)(void *context);
  double target;
};

static const char summing[] = "C loop that sums all", copying[] = "C loop that copies";

static const struct streaming streams[] = {
    {"kernels.add", "add of 64 MB", "Add", 2, 0, {0}, 3, expect_add, "C loop", loops_add, 0.9},
    {"kernels.relu", "relu of 64 MB", "Relu", 1, 0, {0}, 2, expect_relu, "C loop", loops_relu, 0.9},
    {"kernels.sum",
     "sum of all of 64 MB",
     "Sum",
     1,
     2,
     {0, 1},
     1,
     expect_sum_all,
     summing,
     loops_sum,
     0.9},
    {"kernels.sum_axis_0",
     "sum over axis 0 of 4096x4096",
     "Sum",
     1,
     1,
     {0},
     1,
     expect_column,
     summing,
     loops_sum,
     0.9},
    {"kernels.sum_axis_1",
     "sum over axis 1 of 4096x4096",
     "Sum",
     1,
     1,
     {1},
     1,
     expect_row,
     summing,
     loops_sum,
     0.9},
    {"kernels.softmax",
     "softmax of 4096x4096",
     "Softmax",
     1,
     0,
     {0},
     2,
     expect_softmax,
     copying,
     loops_copy,
     0.6},
    {"kernels.transpose",
     "transpose of 4096x4096",
     "Transpose",
     1,
     2,
     {1, 0},
     2,
     expect_same,
     copying,
     loops_copy,
     0.5},
};

static void measure_stream(const struct streaming *s) {
  if (!bench_wants(s->name)) return;
  open_arrays();
  struct program p;
  begin(&p);
  situ_value inputs[3];
  int count = 0;
  inputs[count++] = feed(&p, arrays.a, SIDE);
  if (s->arrays == 2) inputs[count++] = feed(&p, arrays.b, SIDE);
  if (s->n_axes)
    inputs[count++] = situ_constant(p.graph, NULL, SITU_INT32, SITU_SHAPE(s->n_axes), s->axes);
  p.fetch = situ_emit(p.graph, s->op, NULL, inputs, count, NULL, 0);
  ready(&p);
  const float wanted = s->expected(), got = result_at(&p, 0);
  bench_expect(fabsf(got - wanted) <= 1e-3f * fabsf(wanted) + 1e-3f, s->name);
  struct bench_side sides[] = {{.run = run, .context = &p, .alone = team_size() == 1},
                               {.run = s->loop, .context = &arrays, .alone = team_size() == 1}};
  const bool quiet = bench_alternate(sides, 2);
  const double gigabytes = (double)elements * sizeof(float) / 1e9;
  bench_report(&(struct bench_row){.name = s->name,
                                   .what = s->what,
                                   .value = s->traffic * gigabytes / sides[0].best,
                                   .unit = "GB/s",
                                   .against = s->against,
                                   .yardstick = s->traffic * gigabytes / sides[1].best,
                                   .target = s->target,
                                   .at_least = true,
                                   .busy = !quiet});
  end(&p);
}

static void check_product(const struct program *p, const float *a, const float *b, int64_t n) {
  double wanted = 0;
  for (int64_t k = 0; k < n; k++) wanted += (double)(a[k] * b[k * n]);
  bench_expect(fabs((double)result_at(p, 0) - wanted) < 1e-3 * fabs(wanted) + 1e-4, "matmul");
}

/* A matmul, the peak of the machine and oneDNN in turns. */
static void report_matmul(const char *name, const char *what, struct program *p, double operations,
                          struct onednn_matmul *peer) {
  struct loops_peak peak = {0};
  const bool alone = team_size() == 1;
  struct bench_side sides[] = {{.run = run, .context = p, .alone = alone},
                               {.run = loops_peak, .context = &peak, .alone = alone},
                               {.run = onednn_run, .context = peer, .alone = alone}};
  const bool quiet = bench_alternate(sides, peer ? 3 : 2);
  const double most = loops_peak_operations(&peak) / sides[1].best;
  char note[64];
  snprintf(note, sizeof note, "%.2f of the FMA peak of %.0f", operations / sides[0].best / most,
           most / 1e9);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = operations / sides[0].best / 1e9,
                                   .unit = "GFLOP/s",
                                   .against = peer ? "oneDNN alone" : NULL,
                                   .yardstick = peer ? operations / sides[2].best / 1e9 : 0,
                                   .target = 0.95,
                                   .at_least = true,
                                   .busy = !quiet,
                                   .note = note});
  if (!peer) bench_skip(name, "oneDNN alone", "libdnnl-dev is not installed");
}

static void measure_matmul(int64_t n) {
  char name[64], what[64];
  snprintf(name, sizeof name, "kernels.matmul_%d", (int)n);
  snprintf(what, sizeof what, "matmul of %dx%d", (int)n, (int)n);
  if (!bench_wants(name)) return;
  open_arrays();
  struct program p;
  begin(&p);
  const situ_value inputs[] = {feed(&p, arrays.a, n), feed(&p, arrays.b, n)};
  p.fetch = situ_emit(p.graph, "MatMul", NULL, inputs, 2, NULL, 0);
  ready(&p);
  check_product(&p, arrays.a, arrays.b, n);
  struct onednn_matmul *peer = onednn_open(n, arrays.a, arrays.b, arrays.out);
  report_matmul(name, what, &p, 2 * (double)(n * n * n), peer);
  onednn_close(peer);
  end(&p);
}

int main(int argc, char **argv) {
  bench_start(argc, argv);
  for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) measure_stream(&streams[i]);
  for (int64_t n = 256; n <= MAX_MATMUL; n *= 2) measure_matmul(n);
  return 0;
}
