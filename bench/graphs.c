/* SPDX-License-Identifier: Apache-2.0
 * graphs.c: what a run costs besides its kernels: per node, per run, and before the first one.
 *
 * The floor is measured in the same run (support/floor.h). The target per node counts against the
 * dataflow floor, the slower one: it was 6.5 ns when the target was set. The flat one is shown
 * beside it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "support/bench.h"
#include "support/floor.h"

enum { FEW = 1000, MANY = 100000, CHAINS = 10, SMALL = 4 };

/* Everything that a run needs. */
struct program {
  situ_graph *graph;
  situ_session *session;
  situ_feed feed;
  situ_value fetches[CHAINS];
  situ_tensor *results[CHAINS];
  int n_feeds, n_fetches;
};

static const float ones[SMALL] = {1, 1, 1, 1};

static void begin(struct program *p) {
  *p = (struct program){.graph = situ_graph_create()};
  bench_expect(p->graph != NULL, "no memory");
  situ_device_push(p->graph, "/cpu:0");
}

/* A value of 2x2 ones that is given to every run, so that nothing can be computed beforehand. */
static situ_value feed_ones(struct program *p) {
  situ_value value = situ_placeholder(p->graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 2));
  p->feed.value = value;
  p->n_feeds = 1;
  bench_check(situ_tensor_create(SITU_FLOAT, SITU_SHAPE(2, 2), ones, &p->feed.tensor));
  return value;
}

static situ_value add(struct program *p, situ_value a, situ_value b) {
  const situ_value inputs[] = {a, b};
  return situ_emit(p->graph, "Add", NULL, inputs, 2, NULL, 0);
}

static void run(void *context) {
  struct program *p = context;
  bench_check(
      situ_session_run(p->session, &p->feed, p->n_feeds, p->fetches, p->n_fetches, p->results));
  for (int i = 0; i < p->n_fetches; i++) situ_tensor_release(p->results[i]);
}

static float first_result(struct program *p) {
  float element = 0;
  bench_check(
      situ_session_run(p->session, &p->feed, p->n_feeds, p->fetches, p->n_fetches, p->results));
  if (p->results[0]) element = *(const float *)situ_tensor_data(p->results[0]);
  for (int i = 0; i < p->n_fetches; i++) situ_tensor_release(p->results[i]);
  return element;
}

static void ready(struct program *p) {
  bench_check(situ_graph_status(p->graph));
  bench_check(situ_session_create(p->graph, NULL, &p->session));
}

static void end(struct program *p) {
  situ_session_release(p->session);
  situ_graph_release(p->graph);
  situ_tensor_release(p->feed.tensor);
}

/* The kernels that a run calls: what is measured must not have been merged or computed beforehand.
 */
static int count_kernels(struct program *p) {
  situ_plan *plan = NULL;
  bench_check(situ_plan_create(p->session, &p->feed, p->n_feeds, p->fetches, p->n_fetches, &plan));
  int count = 0, kernels = 0;
  const situ_memory_need *needs = situ_plan_memory(plan, &count);
  for (int i = 0; i < count; i++) kernels += needs[i].kernels;
  situ_plan_release(plan);
  return kernels;
}

static void run_flat(void *context) { floor_flat(context); }
static void run_dataflow(void *context) { floor_dataflow(context); }

/* A program beside both floors of the same form. */
static void report_nodes(const char *name, const char *what, struct program *p, int width) {
  ready(p);
  bench_expect(first_result(p) == (width == 1 ? 1 + FEW : 2), name);
  bench_expect(count_kernels(p) >= FEW, name);
  struct floor_graph *graph = floor_build(FEW, width);
  struct floor_run *floor = floor_plan(graph);
  struct bench_side sides[] = {{.run = run, .context = p, .alone = true},
                               {.run = run_dataflow, .context = floor, .alone = true},
                               {.run = run_flat, .context = floor, .alone = true}};
  bench_alternate(sides, 3);
  bench_expect(floor_result(floor) == (width == 1 ? 1 + FEW : 2), "floor");
  char note[128];
  const double ns = 1e9 / FEW;
  snprintf(note, sizeof note, "flat floor %.1f ns: %.2f times", sides[2].best * ns,
           sides[0].best / sides[2].best);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = sides[0].best * ns,
                                   .unit = "ns/node",
                                   .against = "dataflow floor in C",
                                   .yardstick = sides[1].best * ns,
                                   .target = 2.5,
                                   .note = note});
  floor_forget(floor);
  floor_drop(graph);
}

static void measure_chain(void) {
  static const char name[] = "run.chain";
  if (!bench_wants(name)) return;
  struct program p;
  begin(&p);
  const situ_value source = feed_ones(&p);
  situ_value value = source;
  for (int i = 0; i < FEW; i++) value = add(&p, value, source);
  p.fetches[p.n_fetches++] = value;
  report_nodes(name, "chain of 1,000 adds of 2x2 on /cpu:0", &p, 1);
  end(&p);
}

/* The adds are independent, and all of them are needed by one node. */
static void measure_wide(void) {
  static const char name[] = "run.wide";
  if (!bench_wants(name)) return;
  struct program p;
  begin(&p);
  const situ_value source = feed_ones(&p);
  situ_value *values = calloc(FEW, sizeof *values);
  for (int i = 0; i < FEW; i++) values[i] = add(&p, source, source);
  situ_control_push(p.graph, values, FEW);
  const situ_value all = situ_emit(p.graph, "NoOp", NULL, NULL, 0, NULL, 0);
  situ_control_pop(p.graph);
  p.fetches[p.n_fetches++] = values[FEW - 1];
  p.fetches[p.n_fetches++] = all;
  free(values);
  report_nodes(name, "1,000 independent adds of 2x2 on /cpu:0", &p, FEW);
  end(&p);
}

static void report_run(const char *name, const char *what, struct program *p) {
  ready(p);
  struct bench_side side = {.run = run, .context = p, .alone = true};
  bench_alternate(&side, 1);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = side.best * 1e6,
                                   .unit = "us",
                                   .against = "limit",
                                   .yardstick = 0.5,
                                   .target = 1});
  end(p);
}

static void measure_runs(void) {
  struct program p;
  if (bench_wants("run.no_op")) {
    begin(&p);
    p.fetches[p.n_fetches++] = situ_emit(p.graph, "NoOp", NULL, NULL, 0, NULL, 0);
    report_run("run.no_op", "situ_session_run of one no-op", &p);
  }
  if (bench_wants("run.constant")) {
    begin(&p);
    p.fetches[p.n_fetches++] = situ_constant(p.graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 2), ones);
    report_run("run.constant", "situ_session_run of one constant, fetched", &p);
  }
  if (bench_wants("run.add")) {
    begin(&p);
    const situ_value source = feed_ones(&p);
    p.fetches[p.n_fetches++] = add(&p, source, source);
    report_run("run.add", "situ_session_run of one add, fed and fetched", &p);
  }
}

static void build(void *context) {
  struct program *p = context;
  begin(p);
  const situ_value source = feed_ones(p);
  for (int i = 0; i < CHAINS; i++) p->fetches[i] = source;
  for (int i = 0; i < MANY; i++) p->fetches[i % CHAINS] = add(p, p->fetches[i % CHAINS], source);
  p->n_fetches = CHAINS;
}

static void end_build(void *context) {
  struct program *p = context;
  bench_check(situ_graph_status(p->graph));
  end(p);
}

static void build_floor(void *graph) { *(struct floor_graph **)graph = floor_build(MANY, CHAINS); }
static void drop_floor(void *graph) { floor_drop(*(struct floor_graph **)graph); }

static void measure_build(void) {
  static const char name[] = "first.build";
  if (!bench_wants(name)) return;
  struct program p;
  struct floor_graph *floor;
  struct bench_side sides[] = {
      {.run = build, .context = &p, .alone = true, .after = end_build},
      {.run = build_floor, .context = &floor, .alone = true, .after = drop_floor}};
  bench_alternate(sides, 2);
  bench_report(&(struct bench_row){.name = name,
                                   .what = "build of 100,000 nodes in C",
                                   .value = sides[0].best * 1e3,
                                   .unit = "ms",
                                   .against = "floor in C",
                                   .yardstick = sides[1].best * 1e3,
                                   .target = 3});
}

/* A first run of the floor: plan, then run. */
struct floor_first {
  struct floor_graph *graph;
  struct floor_run *run;
};

static void first_floor(void *context) {
  struct floor_first *first = context;
  first->run = floor_plan(first->graph);
  floor_dataflow(first->run);
}

static void forget_floor(void *context) { floor_forget(((struct floor_first *)context)->run); }

static void open_session(void *context) { ready(context); }

static void close_session(void *context) {
  struct program *p = context;
  situ_session_release(p->session);
  p->session = NULL;
}

static void measure_first(void) {
  static const char name[] = "first.run";
  if (!bench_wants(name)) return;
  struct program p;
  build(&p);
  ready(&p);
  bench_expect(first_result(&p) == 1 + MANY / CHAINS, name);
  close_session(&p);
  struct floor_first floor = {.graph = floor_build(MANY, CHAINS)};
  struct bench_side sides[] = {
      {.run = run, .context = &p, .alone = true, .before = open_session, .after = close_session},
      {.run = first_floor, .context = &floor, .alone = true, .after = forget_floor}};
  bench_alternate(sides, 2);
  char note[128];
  snprintf(note, sizeof note, "floor in C %.2f ms: %.1f times", sides[1].best * 1e3,
           sides[0].best / sides[1].best);
  bench_report(&(struct bench_row){.name = name,
                                   .what = "first run of 100,000 nodes: place, prune, plan, run",
                                   .value = sides[0].best * 1e3,
                                   .unit = "ms",
                                   .against = "limit",
                                   .yardstick = 30,
                                   .target = 1,
                                   .note = note});
  floor_drop(floor.graph);
  end(&p);
}

int main(int argc, char **argv) {
  bench_start(argc, argv);
  measure_chain();
  measure_wide();
  measure_runs();
  measure_build();
  measure_first();
  return 0;
}
