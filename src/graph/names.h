/* SPDX-License-Identifier: Apache-2.0
 * names.h: names of nodes and scopes: validation, unique names ("_1", "_2", ...), and lookup.
 *
 * As in TensorFlow, names are unique ignoring case. A base stores the next suffix; all smaller
 * suffixes are in use. So the names Add, Add_1, Add_2, ... of a hundred thousand nodes are one hash
 * table entry and an array of nodes, and creating such a name needs no lookup. */
#ifndef SITU_GRAPH_NAMES_H
#define SITU_GRAPH_NAMES_H

#include "base/arena.h"
#include "base/map.h"

struct situ_graph;

/* A name without suffix. */
struct base {
  int32_t node;              /* with exactly this name, or -1: a scope */
  int32_t next;              /* the next suffix to try */
  int32_t n_nodes, capacity; /* of `nodes` */
  int32_t *nodes;            /* by suffix: the node "base_suffix", or -1; NULL if there is none */
};

/* Cache of the last use of an op's name in a scope, indexed by op. */
struct recent {
  const char *prefix, *name;
  int32_t base;              /* index in names->bases */
  uint32_t n_prefix, n_name; /* lengths */
};

enum { RECENT = 64 };

/* Zero-initialized: empty. */
struct names {
  struct map indices; /* from lower-case names to indices in `bases` */
  struct base *bases;
  int32_t count, capacity;
  bool numbered;            /* a name with an explicit suffix, like a_1, exists */
  struct map case_variants; /* imported nodes whose names differ from others in case only */
  struct recent recent[RECENT];
};

/* Whether a string is a valid node name: [A-Za-z0-9.][A-Za-z0-9_.\-/]*. */
bool names_legal(const char *name);

/* Whether a string is valid inside a scope: [A-Za-z0-9_.\-/]+. */
bool names_legal_inside(const char *name);

/* Makes prefix + name unique by appending "_1", "_2", ..., and assigns it to a node (-1: a scope).
 * Allocated in the arena; NULL when memory runs out. */
const char *names_unique(struct names *names, struct arena *arena, const char *prefix,
                         const char *name, int32_t node);

/* The same for the default name of op `op`, with a cache. `prefix` and `name` are compared by
 * address and must not change. */
const char *names_unique_op(struct names *names, struct arena *arena, const char *prefix,
                            const char *name, int op, int32_t node);

/* Adds the exact name of a node; no other node has it. False when memory runs out. */
bool names_add(struct names *names, struct arena *arena, const char *name, int32_t node);

/* The node of the graph that has the name, or -1. */
int32_t names_find(const struct names *names, const struct situ_graph *graph, const char *name,
                   size_t length);

void names_free(struct names *names);

#endif
