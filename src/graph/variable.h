/* SPDX-License-Identifier: Apache-2.0
 * variable.h: the variable behind a reference or a handle. */
#ifndef SITU_GRAPH_VARIABLE_H
#define SITU_GRAPH_VARIABLE_H

#include "graph/graph.h"

/* Element type and shape of the variable of an OP_VARIABLE node. */
situ_type variable_type(const struct node *node);
const situ_shape *variable_shape(const struct node *node);

/* The OP_VARIABLE node of a handle; NULL if the value is not the handle of a variable. */
const struct node *variable_of(const struct situ_graph *graph, struct edge handle);

/* Type and shape of an edge; of a handle, those of its variable. */
struct output variable_value(const struct situ_graph *graph, struct edge edge);

/* The name of the variable of a node: its shared_name, or the node's name. */
const char *variable_name(const struct node *node);

/* The container of the variable; "" for the default. */
const char *variable_container(const struct node *node);

/* Registers a new OP_VARIABLE node in graph->variables; false when memory runs out. */
bool variable_register(struct situ_graph *graph, const struct node *node);

/* Finds the first node of the graph with the same variable; fails if that has another type or
 * shape. */
situ_status variable_first(const struct situ_graph *graph, const struct node *node,
                           int32_t *out) SITU_MUST_USE;

#endif
