/* SPDX-License-Identifier: Apache-2.0
 * scope.h: the scopes of a graph under construction: stacks of devices, name prefixes, control
 * inputs and colocation. */
#ifndef SITU_GRAPH_SCOPE_H
#define SITU_GRAPH_SCOPE_H

#include <pthread.h>

#include "graph/graph.h"
#include "graph/names.h"

/* Nodes created in the scope run after `nodes`. */
struct control_scope {
  int32_t first; /* nodes from this id on were created in the scope */
  int32_t count;
  const int32_t *nodes;
};

/* Nodes created in the scope are colocated with others. */
struct colocate_scope {
  int32_t spec;  /* requested device of those; 0: none */
  int32_t floor; /* depth of the device stack outside of the scope, which the scope hides */
  int32_t n_groups;
  const char *const *groups; /* sorted */
};

/* The attributes of the last node of an op. */
struct recent_attrs {
  const struct schema *schema;
  const struct attr_value *attrs;
};

/* The open scopes; the top of each stack already includes the enclosing scopes. */
struct scope_stacks {
  int32_t *devices; /* indices of specs */
  int32_t n_devices, device_capacity;
  const char **prefixes; /* "scope/inner/" */
  int32_t n_prefixes, prefix_capacity;
  struct control_scope *controls;
  int32_t n_controls, control_capacity;
  struct colocate_scope *colocates;
  int32_t n_colocates, colocate_capacity;
  const char *const *default_group; /* one group for nodes outside of `colocates`; NULL: none */
  bool has_inherited;               /* of a thread: all stacks are its own, not only the prefixes */
  pthread_t thread;
  struct scope_stacks *next;
};

/* TensorFlow's rule: name scopes belong to a thread; devices, control inputs and colocation are
 * those of all threads until situ_graph_use_thread_scopes is called. */
struct scopes {
  struct names names;
  struct recent_attrs attrs[RECENT]; /* indexed by op */
  struct scope_stacks shared;        /* of all threads */
  struct scope_stacks *by_thread;    /* a list with the stacks of each thread */
  bool is_by_thread;                 /* all stacks, not only name scopes */
  uint32_t *marks;                   /* per node: the last round in which it was marked */
  uint32_t round;
  int32_t n_marks;
};

/* Creates the scopes of a graph; false when memory runs out. */
bool scope_create(struct situ_graph *graph);
void scope_destroy(struct situ_graph *graph);

/* The prefix of new names: "scope/" or "". */
const char *scope_prefix(const struct situ_graph *graph);

/* Sets the requested device, groups and control inputs of a new node, whose inputs are set, from
 * the current scopes. False when memory runs out. */
bool scope_apply(struct situ_graph *graph, struct node *node);

#endif
