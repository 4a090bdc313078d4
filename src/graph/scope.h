/* SPDX-License-Identifier: Apache-2.0
 * scope.h: the stacks of a graph that is being built: devices, names, control inputs, colocation.
 */
#ifndef SITU_GRAPH_SCOPE_H
#define SITU_GRAPH_SCOPE_H

#include "graph/graph.h"
#include "graph/names.h"

/* Nodes made inside run after these. */
struct control_scope {
  int32_t first; /* nodes from here on were made inside */
  int32_t count;
  const int32_t *nodes;
};

/* Nodes made inside are placed with others. */
struct colocate_scope {
  int32_t spec;  /* the device that they copy; 0: none */
  int32_t floor; /* the depth of the device stack outside, which is hidden */
  int32_t n_groups;
  const char *const *groups; /* sorted */
};

/* The attributes of the last node of an op. */
struct recent_attrs {
  const struct schema *schema;
  const struct attr_value *attrs;
};

/* Each stack is an array that grows; what stands on top already holds all that is outside. */
struct scopes {
  struct names names;
  struct recent_attrs attrs[RECENT]; /* by the number of the op */
  int32_t *devices;                  /* numbers of specs */
  int32_t n_devices, device_capacity;
  const char **prefixes; /* "scope/inner/" */
  int32_t n_prefixes, prefix_capacity;
  struct control_scope *controls;
  int32_t n_controls, control_capacity;
  struct colocate_scope *colocates;
  int32_t n_colocates, colocate_capacity;
  const char *const *default_group; /* one name, of nodes outside of `colocates`; NULL: none */
  uint32_t *marks;                  /* by node: the last round in which it was met */
  uint32_t round;
  int32_t n_marks;
};

/* The stacks of a new graph; false without memory. */
bool scope_create(struct situ_graph *graph);
void scope_destroy(struct situ_graph *graph);

/* The prefix of names that are made now: "scope/" or "". */
const char *scope_prefix(const struct situ_graph *graph);

/* Sets the requested device, the groups and the control inputs of a new node, whose inputs are set,
 * from the scopes it stands in. False without memory. */
bool scope_apply(struct situ_graph *graph, struct node *node);

#endif
