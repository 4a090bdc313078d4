/* SPDX-License-Identifier: Apache-2.0
 * graph.h: a graph from the inside: what placer and planner walk.
 *
 * A graph is shared: some threads add nodes while others run it. Builders hold its lock. Placer,
 * planner, executor and writers of GraphDefs read a snapshot (graph_snapshot): another struct
 * situ_graph with the nodes of that moment, which never changes and needs no lock. Making one
 * copies no nodes: arrays that a snapshot refers to stay where they are (snapshot.c). */
#ifndef SITU_GRAPH_GRAPH_H
#define SITU_GRAPH_GRAPH_H

#include <stdatomic.h>

#include "base/arena.h"
#include "base/map.h"
#include "device/name.h"
#include "schema/schema.h"

struct strbuf;

struct edge {
  int32_t node, output;
};

struct output {
  situ_type type;
  situ_shape shape;          /* as far as known while building */
  const struct known *known; /* the elements of few integers, as far as known, else NULL */
};

struct node {
  int32_t id; /* its place in graph->nodes: inputs and controls have smaller ids */
  int32_t n_inputs, n_outputs, n_controls, n_groups;
  int32_t spec; /* number of the requested device in graph->specs; 0: none */
  const struct schema *schema;
  const char *name;
  const char *origin; /* "file.py:12", where the program asked for it; NULL: not known */
  const struct edge *inputs;
  const int32_t *controls;        /* nodes that must run before */
  const struct output *outputs;   /* may be shared with other nodes */
  bool told;                      /* a program told shapes of them, which a run may contradict */
  const struct attr_value *attrs; /* schema->n_attrs, in the order of the signature; shared too */
  const char *const *groups;      /* colocation: names of nodes ("loc:@" removed) */
};

/* A requested device, interned: equal requests share a number. */
struct spec {
  struct device_name name;
  const char *canonical; /* "/device:GPU:2"; "" for number 0; as written by spec_parse_exact */
  const char *written;   /* as the user wrote it when one scope gave it, else canonical */
};

/* The gradient of a variable: one value, or the values and the indices of slices. */
enum { GRADIENT_PARTS = 2 };
struct gradient_note {
  struct gradient_note *next;
  const char *variable;
  struct edge parts[GRADIENT_PARTS];
  int n_parts;
};

struct graph_shared;

struct situ_graph {
  int references;              /* atomic */
  bool is_snapshot;            /* nothing of it changes, and its graph owns it */
  struct graph_shared *shared; /* by a graph and its snapshots: snapshot.c */
  /* One of the nodes that are there now, or NULL; a snapshot's is itself. */
  _Atomic(const struct situ_graph *) snapshot;
  struct arena arena;
  struct node **nodes;
  int32_t n_nodes, node_capacity;
  struct spec *specs;
  int32_t n_specs, spec_capacity;
  struct map spec_numbers;
  struct map variables;  /* by name: the first node of each */
  situ_status error;     /* the first one */
  const char *origin;    /* of the nodes to come */
  struct scopes *scopes; /* private to graph/scope.c */
  bool at_once;          /* it is made to be run at once: errors are those of running */
  situ_tensor **tensors; /* constants, released with the graph */
  int32_t n_tensors, tensor_capacity;
  struct function **functions;
  int32_t n_functions, function_capacity;
  struct gradient_note *gradient_notes;
};

struct function;

/* For graph_snapshot, where something changed since the last one. */
situ_status graph_make_snapshot(const struct situ_graph *graph,
                                const struct situ_graph **out) SITU_MUST_USE;

/* The nodes of this moment, which live as long as the graph; fails where building has failed. Takes
 * no lock where nothing changed since the last snapshot. Of a snapshot: itself. */
static inline situ_status graph_snapshot(const struct situ_graph *graph,
                                         const struct situ_graph **out) {
  *out = atomic_load_explicit(&graph->snapshot, memory_order_acquire);
  return *out ? NULL : graph_make_snapshot(graph, out);
}

/* Locks a graph for its builders; recursive. NULL and snapshots are not locked. */
void graph_lock(const struct situ_graph *graph);
void graph_unlock(const struct situ_graph *graph);

/* For GRAPH_GUARD. */
static inline const struct situ_graph *graph_guard(const struct situ_graph *graph) {
  graph_lock(graph);
  return graph;
}
static inline void graph_unguard(const struct situ_graph *const *graph) { graph_unlock(*graph); }

/* Locks a graph until the end of the block. */
#define GRAPH_GUARD(graph)                                                                       \
  const struct situ_graph *const graph_guarded __attribute__((cleanup(graph_unguard), unused)) = \
      graph_guard(graph)

/* A node of a graph that others may extend; stays valid and as it is. */
const struct node *graph_node(const struct situ_graph *graph, int32_t id);

/* The number of nodes of a graph that others may extend. */
int32_t graph_count(const struct situ_graph *graph);

/* The function of that name, or NULL. */
const struct function *graph_function(const struct situ_graph *graph, const char *name);

/* The node of that name, or -1. */
int32_t graph_find(const struct situ_graph *graph, const char *name, size_t length);

/* Nodes in the order in which TensorFlow until 2018 imported a graph: sources on a stack, last in
 * first out, consumers pushed when complete. The placement log is printed in this order (b, a,
 * MatMul). `order` has n_nodes elements. */
situ_status graph_stack_order(const struct situ_graph *graph, int32_t *order) SITU_MUST_USE;

/* One line that shows a node as in the guides' errors: b = Const[dtype=DT_FLOAT, value=Tensor<type:
 * float shape: [3,2] values: 1 2 3...>, _device="/gpu:2"]() */
void graph_describe(const struct situ_graph *graph, const struct node *node, struct strbuf *out);

#endif
