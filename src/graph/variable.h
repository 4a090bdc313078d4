/* SPDX-License-Identifier: Apache-2.0
 * variable.h: which variable a reference or a handle names. */
#ifndef SITU_GRAPH_VARIABLE_H
#define SITU_GRAPH_VARIABLE_H

#include "graph/graph.h"

/* Element type and shape of what a variable's node (OP_VARIABLE) stands for. */
situ_type variable_type(const struct node *node);
const situ_shape *variable_shape(const struct node *node);

/* The variable's node behind a handle; NULL where the value is no handle of a variable. */
const struct node *variable_of(const struct situ_graph *graph, struct edge handle);

/* The value behind an edge: its element type and shape, of a handle those of the variable. */
struct output variable_value(const struct situ_graph *graph, struct edge edge);

/* What a node of a variable names: its shared name, or else its own. */
const char *variable_name(const struct node *node);

/* The container of a variable's node; "" for the default one. */
const char *variable_container(const struct node *node);

/* Enters a new node of a variable into the graph's list; false without memory. */
bool variable_enter(struct situ_graph *graph, const struct node *node);

/* The first node of the graph that names the same variable; fails where that has another type or
 * shape. */
situ_status variable_first(const struct situ_graph *graph, const struct node *node,
                           int32_t *out) SITU_MUST_USE;

#endif
