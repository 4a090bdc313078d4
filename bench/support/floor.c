/* SPDX-License-Identifier: Apache-2.0
 * floor.c: see floor.h. Without memory it crashes: it is a yardstick. */
#include "floor.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 4, N_KINDS = 2, NAME_BLOCK = 1 << 16 };

struct floor_node {
  const char *name;
  int32_t op, device, rank, n_inputs, inputs[2];
  int32_t dim[4];
};

/* Names live in blocks that are chained through their first word. */
struct floor_graph {
  struct floor_node *nodes;
  int32_t n_nodes, node_capacity;
  int32_t width;
  int32_t *table; /* node by hash of its name; -1: free */
  uint32_t table_mask;
  char *block, *name_at;
};

typedef void floor_kernel(const float *a, const float *b, float *out, int64_t n);

struct step {
  floor_kernel *kernel;
  const float *a, *b;
  float *out;
  int64_t n;
  int32_t first_reader, n_readers;
};

struct floor_run {
  struct step *steps;
  int32_t n_steps;
  float *memory;
  int32_t *readers; /* of all steps */
  uint8_t *inputs;  /* per step */
  uint8_t *missing; /* while it runs */
  int32_t *ready;   /* a stack */
};

static void add(const float *a, const float *b, float *out, int64_t n) {
  for (int64_t i = 0; i < n; i++) out[i] = a[i] + b[i];
}

static uint32_t hash(const char *text) {
  uint32_t h = 2166136261u;
  for (; *text; text++) h = (h ^ (uint8_t)*text) * 16777619u;
  return h;
}

static const char *keep_name(struct floor_graph *graph, const char *name, size_t length) {
  if (!graph->block || graph->name_at + length + 1 > graph->block + NAME_BLOCK) {
    char *block = malloc(NAME_BLOCK);
    memcpy(block, &graph->block, sizeof graph->block);
    graph->block = block;
    graph->name_at = block + sizeof block;
  }
  char *kept = memcpy(graph->name_at, name, length + 1);
  graph->name_at += length + 1;
  return kept;
}

/* The place of a name in the table: where it is, or where it may go. */
static int32_t *find(const struct floor_graph *graph, const char *name) {
  uint32_t at = hash(name) & graph->table_mask;
  while (graph->table[at] >= 0 && strcmp(graph->nodes[graph->table[at]].name, name) != 0)
    at = (at + 1) & graph->table_mask;
  return &graph->table[at];
}

static void grow(struct floor_graph *graph) {
  graph->node_capacity = graph->node_capacity ? graph->node_capacity * 2 : 1024;
  graph->nodes = realloc(graph->nodes, sizeof *graph->nodes * (size_t)graph->node_capacity);
  free(graph->table);
  const size_t entries = (size_t)graph->node_capacity * 2;
  graph->table = malloc(sizeof *graph->table * entries);
  memset(graph->table, 0xff, sizeof *graph->table * entries);
  graph->table_mask = (uint32_t)entries - 1;
  for (int32_t i = 0; i < graph->n_nodes; i++) *find(graph, graph->nodes[i].name) = i;
}

static int32_t add_node(struct floor_graph *graph, int32_t op, int32_t a, int32_t b) {
  if (graph->n_nodes == graph->node_capacity) grow(graph);
  char name[32];
  const int length = graph->n_nodes ? snprintf(name, sizeof name, "Add_%d", graph->n_nodes)
                                    : snprintf(name, sizeof name, "Add");
  int32_t *entry = find(graph, name);
  if (*entry >= 0) return -1;
  *entry = graph->n_nodes;
  graph->nodes[graph->n_nodes] = (struct floor_node){.name = keep_name(graph, name, (size_t)length),
                                                     .op = op,
                                                     .device = -1,
                                                     .rank = 2,
                                                     .dim = {2, 2},
                                                     .n_inputs = op ? 2 : 0,
                                                     .inputs = {a, b}};
  return graph->n_nodes++;
}

struct floor_graph *floor_build(int32_t count, int32_t width) {
  struct floor_graph *graph = calloc(1, sizeof *graph);
  graph->width = width;
  const int32_t source = add_node(graph, 0, -1, -1);
  int32_t *chains = calloc((size_t)width, sizeof *chains);
  for (int32_t i = 0; i < count; i++)
    chains[i % width] = add_node(graph, 1, chains[i % width], source);
  free(chains);
  return graph;
}

void floor_drop(struct floor_graph *graph) {
  for (char *block = graph->block, *next; block; block = next) {
    memcpy(&next, block, sizeof next);
    free(block);
  }
  free(graph->nodes);
  free(graph->table);
  free(graph);
}

/* Both kinds of device, the preferred one first: has it a kernel for the op? */
static const bool has_kernel[2][N_KINDS] = {{true, true}, {true, true}};

static void prune_and_place(struct floor_graph *graph, uint8_t *live) {
  for (int32_t i = graph->n_nodes - 1; i >= 0; i--) {
    struct floor_node *node = &graph->nodes[i];
    if (i >= graph->n_nodes - graph->width) live[i] = 1;
    if (!live[i]) continue;
    for (int32_t k = 0; k < node->n_inputs; k++) live[node->inputs[k]] = 1;
    int32_t kind = 0;
    while (kind < N_KINDS && !has_kernel[node->op][kind]) kind++;
    node->device = kind;
  }
}

static void plan_steps(const struct floor_graph *graph, const uint8_t *live,
                       struct floor_run *run) {
  for (int32_t i = 0; i < graph->n_nodes; i++) {
    const struct floor_node *node = &graph->nodes[i];
    struct step *step = &run->steps[i];
    *step = (struct step){.out = run->memory + (size_t)i * ELEMENTS, .n = ELEMENTS};
    run->inputs[i] = (uint8_t)node->n_inputs;
    if (!node->n_inputs || !live[i]) continue;
    step->kernel = add;
    step->a = run->memory + (size_t)node->inputs[0] * ELEMENTS;
    step->b = run->memory + (size_t)node->inputs[1] * ELEMENTS;
    run->steps[node->inputs[0]].n_readers++;
    run->steps[node->inputs[1]].n_readers++;
  }
}

static void plan_readers(const struct floor_graph *graph, struct floor_run *run) {
  int32_t next = 0;
  for (int32_t i = 0; i < run->n_steps; i++) {
    run->steps[i].first_reader = next;
    next += run->steps[i].n_readers;
    run->steps[i].n_readers = 0;
  }
  run->readers = malloc(sizeof *run->readers * (size_t)(next + 1));
  for (int32_t i = 0; i < run->n_steps; i++)
    for (int32_t k = 0; run->steps[i].kernel && k < graph->nodes[i].n_inputs; k++) {
      struct step *from = &run->steps[graph->nodes[i].inputs[k]];
      run->readers[from->first_reader + from->n_readers++] = i;
    }
}

struct floor_run *floor_plan(struct floor_graph *graph) {
  const size_t n = (size_t)graph->n_nodes;
  struct floor_run *run = calloc(1, sizeof *run);
  run->n_steps = graph->n_nodes;
  run->steps = malloc(n * sizeof *run->steps);
  run->memory = malloc(n * ELEMENTS * sizeof *run->memory);
  run->inputs = malloc(n);
  run->missing = malloc(n);
  run->ready = malloc(n * sizeof *run->ready);
  uint8_t *live = calloc(n, 1);
  prune_and_place(graph, live);
  plan_steps(graph, live, run);
  plan_readers(graph, run);
  free(live);
  for (int i = 0; i < ELEMENTS; i++) run->memory[i] = 1;
  return run;
}

void floor_forget(struct floor_run *run) {
  free(run->steps);
  free(run->memory);
  free(run->readers);
  free(run->inputs);
  free(run->missing);
  free(run->ready);
  free(run);
}

void floor_flat(struct floor_run *run) {
  const struct step *steps = run->steps;
  for (int32_t i = 1; i < run->n_steps; i++)
    steps[i].kernel(steps[i].a, steps[i].b, steps[i].out, steps[i].n);
}

void floor_dataflow(struct floor_run *run) {
  const struct step *steps = run->steps;
  uint8_t *missing = memcpy(run->missing, run->inputs, (size_t)run->n_steps);
  int32_t count = 0;
  run->ready[count++] = 0;
  while (count) {
    const struct step *step = &steps[run->ready[--count]];
    if (step->kernel) step->kernel(step->a, step->b, step->out, step->n);
    const int32_t *readers = &run->readers[step->first_reader];
    for (int32_t k = 0; k < step->n_readers; k++)
      if (--missing[readers[k]] == 0) run->ready[count++] = readers[k];
  }
}

float floor_result(const struct floor_run *run) { return run->steps[run->n_steps - 1].out[0]; }
