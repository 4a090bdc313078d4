/* SPDX-License-Identifier: Apache-2.0
 * build.h: what the builders of a graph (emit, scopes, readers) share. */
#ifndef SITU_GRAPH_BUILD_H
#define SITU_GRAPH_BUILD_H

#include "graph/graph.h"

/* Keeps the first failure; takes it over. NULL changes nothing. */
void graph_fail(struct situ_graph *graph, situ_status status);

/* Whether a value belongs to the graph; `needs_output`: and is an output. The failure names `where`
 * and the number of the argument. */
situ_status graph_check_value(const struct situ_graph *graph, situ_value value, bool needs_output,
                              const char *where, int index) SITU_MUST_USE;

/* The part of a graph that it shares with its snapshots; false without memory. */
bool graph_share(struct situ_graph *graph);
void graph_unshare(struct situ_graph *graph);

/* Called by whoever changes a graph, with the lock: the next snapshot is another. */
void graph_changed(struct situ_graph *graph);

/* Makes room for one more node, device or function; arrays that a snapshot refers to stay. False
 * without memory. With the lock. */
bool graph_grow_nodes(struct situ_graph *graph);
bool graph_grow_specs(struct situ_graph *graph);
bool graph_grow_functions(struct situ_graph *graph);

/* A node to be changed: a copy in its place where a snapshot has it. NULL without memory. With the
 * lock. */
struct node *graph_writable(struct situ_graph *graph, int32_t id);

/* The graph of a snapshot; a graph itself. Its maps are read with the lock. */
const struct situ_graph *graph_live(const struct situ_graph *graph);

/* A value that may be passed on and is nothing. */
static inline situ_value graph_no_value(struct situ_graph *graph) {
  return (situ_value){graph, -1, -1};
}

/* The first output of a node, or its value without output. */
situ_value graph_value(struct situ_graph *graph, const struct node *node);

/* Reads "name" or "name:1": the length of the name, and the output; 0 where the text is neither. */
size_t graph_split(const char *text, size_t length, int32_t *output);

/* Keeps a reference to a tensor as long as the graph lives; false without memory. */
bool graph_hold(struct situ_graph *graph, situ_tensor *tensor);

enum { DRAFT_ATTRS = 16 };

/* A node that is being made; its parts may still be written. */
struct draft {
  struct node *node;
  struct edge *inputs;
  struct attr_value *attrs; /* all of kind NONE at first */
  struct attr_value room[DRAFT_ATTRS];
};

/* Begins a node of the graph. False without memory. */
bool emit_begin(struct situ_graph *graph, const struct schema *schema, int32_t n_inputs,
                struct draft *out);

/* Completes a node whose name, inputs, given attributes, device, groups and control inputs are set:
 * infers the other attributes, types and shapes, and adds it to the graph. */
situ_status emit_finish(struct situ_graph *graph, struct draft *draft) SITU_MUST_USE;

/* The status for an op that is not there; names the nearest one. */
situ_status emit_unknown_op(const char *op) SITU_MUST_USE;

#endif
