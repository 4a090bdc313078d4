/* SPDX-License-Identifier: Apache-2.0
 * placer.c: what it costs to place a graph of 100,000 nodes on nine devices. */
#include <stdio.h>

#include "device/registry.h"
#include "place/place.h"
#include "support/bench.h"

enum { NODES = 100000, GPUS = 8, SET = 10 };

/* A graph to place, and the devices to choose from. */
struct problem {
  situ_graph *graph;
  const struct device_list *devices;
  struct arena arena;
  struct placement placement;
};

static situ_value source(situ_graph *graph) {
  return situ_placeholder(graph, NULL, SITU_FLOAT, SITU_SHAPE(2, 2));
}

static situ_value add(situ_graph *graph, situ_value a, situ_value b) {
  const situ_value inputs[] = {a, b};
  return situ_emit(graph, "Add", NULL, inputs, 2, NULL, 0);
}

static void build_chain(situ_graph *graph) {
  const situ_value first = source(graph);
  situ_value value = first;
  for (int i = 1; i < NODES; i++) value = add(graph, value, first);
}

/* Every node asks for one of the nine devices. */
static void build_requests(situ_graph *graph) {
  static const char *const kinds[] = {"/gpu:%d", "/job:localhost/task:0/device:GPU:%d"};
  const situ_value first = source(graph);
  situ_value value = first;
  for (int i = 1; i < NODES; i++) {
    char device[64];
    const int number = i % (GPUS + 1);
    if (number == GPUS)
      snprintf(device, sizeof device, "/cpu:0");
    else if (i & 1)
      snprintf(device, sizeof device, kinds[0], number);
    else
      snprintf(device, sizeof device, kinds[1], number);
    situ_device_push(graph, device);
    value = add(graph, value, first);
    situ_device_pop(graph);
  }
}

/* All nodes in one set, as the assignments of one variable are. */
static void build_one_set(situ_graph *graph) {
  const situ_value first = source(graph);
  situ_colocate_push(graph, first);
  for (int i = 1; i < NODES; i++) add(graph, first, first);
  situ_colocate_pop(graph);
}

/* Many small sets, each with a request. */
static void build_sets(situ_graph *graph) {
  const situ_value first = source(graph);
  for (int i = 1; i < NODES; i += SET) {
    char device[32];
    snprintf(device, sizeof device, "/gpu:%d", i / SET % GPUS);
    situ_device_push(graph, device);
    const situ_value head = add(graph, first, first);
    situ_device_pop(graph);
    situ_colocate_push(graph, head);
    for (int k = 1; k < SET; k++) add(graph, head, first);
    situ_colocate_pop(graph);
  }
}

static void place(void *context) {
  struct problem *p = context;
  const struct place_options options = {0};
  bench_check(place_graph(p->graph, p->devices, &options, &p->arena, &p->placement));
}

static void forget(void *context) {
  struct problem *p = context;
  arena_free(&p->arena);
  p->arena = (struct arena){0};
}

static void measure(const char *name, const char *what, void (*build)(situ_graph *)) {
  if (!bench_wants(name)) return;
  struct problem p = {.graph = situ_graph_create()};
  build(p.graph);
  bench_check(situ_graph_status(p.graph));
  bench_check(registry_acquire(NULL, false, &p.devices));
  bench_expect(p.devices->count == GPUS + 1, "number of devices");
  struct bench_side side = {.run = place, .context = &p, .alone = true, .after = forget};
  bench_alternate(&side, 1);
  bench_report(&(struct bench_row){.name = name,
                                   .what = what,
                                   .value = side.best * 1e9 / situ_graph_count(p.graph),
                                   .unit = "ns/node",
                                   .against = "limit",
                                   .yardstick = 1000,
                                   .target = 1});
  registry_release();
  situ_graph_release(p.graph);
}

int main(int argc, char **argv) {
  bench_start(argc, argv);
  char gpus[16];
  snprintf(gpus, sizeof gpus, "%d", GPUS);
  const situ_device_config config = {.sim_gpus = gpus, .visible_devices = "0,1,2,3,4,5,6,7"};
  bench_check(situ_devices_configure(&config));
  measure("placer.chain", "chain of 100,000 nodes, 9 devices, no requests", build_chain);
  measure("placer.requests", "the same, every node asks for a device", build_requests);
  measure("placer.one_set", "100,000 nodes colocated with one", build_one_set);
  measure("placer.sets", "10,000 sets of 10 colocated nodes, with requests", build_sets);
  return 0;
}
