/* SPDX-License-Identifier: Apache-2.0
 * graph.h: the internal representation of a graph: nodes in topological order.
 *
 * Threads may add nodes to a graph while others run it. Code that adds nodes holds the graph's
 * lock. Placer, planner, executor and GraphDef writers read a snapshot (graph_snapshot): an
 * immutable struct situ_graph with the nodes of that moment, which needs no lock. Taking a snapshot
 * copies no nodes: the arrays it refers to are never moved or modified (snapshot.c). */
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
  situ_shape shape;          /* static shape; may be partially known */
  const struct known *known; /* static value of a small integer tensor, or NULL */
};

struct node {
  int32_t id; /* index in graph->nodes: inputs and controls have smaller ids */
  int32_t n_inputs, n_outputs, n_controls, n_groups;
  int32_t spec; /* requested device: index in graph->specs; 0: none */
  const struct schema *schema;
  const char *name;
  const char *origin; /* "file.py:12", where the program created it; NULL: unknown */
  const struct edge *inputs;
  const int32_t *controls;        /* nodes that must run before */
  const struct output *outputs;   /* may be shared with other nodes */
  bool has_set_shape;             /* situ_value_set_shape was called: a run may contradict it */
  const struct attr_value *attrs; /* schema->n_attrs, in signature order; may be shared */
  const char *const *groups;      /* colocation groups: node names without "loc:@" */
};

/* Whether a function is among the attributes of a node. */
static inline bool node_calls_function(const struct node *node) {
  for (int i = 0; i < node->schema->n_attrs; i++)
    if (node->attrs[i].kind == SITU_ATTR_FUNCTION) return true;
  return false;
}

/* An interned requested device. */
struct spec {
  struct device_name name;
  const char *canonical; /* "/device:GPU:2"; "" for spec 0; unchanged from spec_parse_exact */
  const char *written;   /* as the user wrote it if it comes from one scope, else canonical */
};

/* The gradient of a variable: a dense value, or the values and indices of IndexedSlices. */
enum { GRADIENT_PARTS = 2 };
struct registered_gradient {
  struct registered_gradient *next;
  const char *variable;
  struct edge parts[GRADIENT_PARTS];
  int n_parts;
};

struct graph_shared;

struct situ_graph {
  int references;              /* atomic */
  bool is_snapshot;            /* immutable, and owned by its graph */
  struct graph_shared *shared; /* by a graph and its snapshots: snapshot.c */
  /* The current snapshot, or NULL after a change; of a snapshot: itself. */
  _Atomic(const struct situ_graph *) snapshot;
  struct arena arena;
  struct node **nodes;
  int32_t n_nodes, node_capacity;
  struct spec *specs;
  int32_t n_specs, spec_capacity;
  struct map spec_numbers;
  struct map variables;  /* from name to the first node of the variable */
  situ_status error;     /* the first error */
  const char *origin;    /* of the next nodes */
  struct scopes *scopes; /* private to graph/scope.c */
  bool is_eager;         /* a single eager call: use TensorFlow's run-time errors */
  situ_tensor **tensors; /* constants, released with the graph */
  int32_t n_tensors, tensor_capacity;
  struct function **functions;
  int32_t n_functions, function_capacity;
  struct registered_gradient *registered_gradients;
};

struct function;

/* The slow path of graph_snapshot, after a change. */
situ_status graph_make_snapshot(const struct situ_graph *graph,
                                const struct situ_graph **out) SITU_MUST_USE;

/* Returns a snapshot, which lives as long as the graph; fails if the graph has an error. Takes no
 * lock unless the graph changed since the last snapshot. Returns a snapshot unchanged. */
static inline situ_status graph_snapshot(const struct situ_graph *graph,
                                         const struct situ_graph **out) {
  *out = atomic_load_explicit(&graph->snapshot, memory_order_acquire);
  return *out ? NULL : graph_make_snapshot(graph, out);
}

/* Locks a graph for modification; recursive. Ignores NULL and snapshots. */
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

/* Returns a node; takes the lock. The node stays valid and unchanged. */
const struct node *graph_node(const struct situ_graph *graph, int32_t id);

/* The number of nodes; takes the lock. */
int32_t graph_count(const struct situ_graph *graph);

/* The function of that name, or NULL. */
const struct function *graph_function(const struct situ_graph *graph, const char *name);

/* The node of that name, or -1. */
int32_t graph_find(const struct situ_graph *graph, const char *name, size_t length);

/* The order in which TensorFlow until 2018 imported a graph: a topological order by depth-first
 * search with a stack of ready nodes. The placement log is printed in this order (b, a, MatMul).
 * `order` has n_nodes elements. */
situ_status graph_import_order(const struct situ_graph *graph, int32_t *order) SITU_MUST_USE;

/* Appends a node on one line, as TensorFlow's errors show it: b = Const[dtype=DT_FLOAT,
 * value=Tensor<type: float shape: [3,2] values: 1 2 3...>, _device="/gpu:2"]() */
void graph_describe(const struct situ_graph *graph, const struct node *node, struct strbuf *out);

#endif
