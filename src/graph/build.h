/* SPDX-License-Identifier: Apache-2.0
 * build.h: internal functions for building graphs: errors, arrays, drafts of nodes. */
#ifndef SITU_GRAPH_BUILD_H
#define SITU_GRAPH_BUILD_H

#include "graph/graph.h"

/* Sets the graph's error unless it already has one. Takes ownership of `status`; ignores NULL. */
void graph_set_error(struct situ_graph *graph, situ_status status);

/* Fails if a value does not belong to the graph or, with `needs_output`, is not an output. The
 * error names `where` and the index of the argument. */
situ_status graph_check_value(const struct situ_graph *graph, situ_value value, bool needs_output,
                              const char *where, int index) SITU_MUST_USE;

/* Create and destroy the data shared by a graph and its snapshots; false: out of memory. */
bool graph_create_shared(struct situ_graph *graph);
void graph_destroy_shared(struct situ_graph *graph);

/* Must be called, with the lock, after each change of a graph. */
void graph_invalidate_snapshot(struct situ_graph *graph);

/* Make room for one more node, spec or function without moving arrays that a snapshot refers to.
 * False when memory runs out. Must hold the lock. */
bool graph_grow_nodes(struct situ_graph *graph);
bool graph_grow_specs(struct situ_graph *graph);
bool graph_grow_functions(struct situ_graph *graph);

/* Returns a node that may be modified: replaces it by a copy if a snapshot refers to it. NULL when
 * memory runs out. Must hold the lock. */
struct node *graph_writable_node(struct situ_graph *graph, int32_t id);

/* The graph of a snapshot; of a graph, itself. Must hold the lock to read its maps. */
const struct situ_graph *graph_live(const struct situ_graph *graph);

/* The value that failed calls return. */
static inline situ_value graph_invalid_value(struct situ_graph *graph) {
  return (situ_value){graph, -1, -1};
}

/* The first output of a node, or the node itself if it has no outputs. */
situ_value graph_value(struct situ_graph *graph, const struct node *node);

/* Parses "name" or "name:1". Returns the length of the name and sets the output; 0: malformed. */
size_t graph_parse_tensor_name(const char *text, size_t length, int32_t *output);

/* Retains a tensor until the graph is destroyed; false when memory runs out. */
bool graph_retain_tensor(struct situ_graph *graph, situ_tensor *tensor);

enum { DRAFT_ATTRS = 16 };

/* A node under construction. */
struct draft {
  struct node *node;
  struct edge *inputs;
  struct attr_value *attrs; /* initially of kind SITU_ATTR_NONE */
  struct attr_value inline_attrs[DRAFT_ATTRS];
};

/* Begins a node. False when memory runs out. */
bool emit_begin(struct situ_graph *graph, const struct schema *schema, int32_t n_inputs,
                struct draft *out);

/* Completes a node whose name, inputs, explicit attributes, device, groups and control inputs are
 * set: infers the remaining attributes, types and shapes, and adds it to the graph. */
situ_status emit_finish(struct situ_graph *graph, struct draft *draft) SITU_MUST_USE;

/* The error for an unknown op; suggests the nearest name. */
situ_status emit_unknown_op(const char *op) SITU_MUST_USE;

#endif
