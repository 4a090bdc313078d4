/* SPDX-License-Identifier: Apache-2.0
 * names.h: names of nodes and scopes: legal characters, numbers that make them unique, and the way
 * from a name to its node.
 *
 * As in TensorFlow, names that differ in case only count as the same. A base knows the next number
 * to try; all its smaller numbers are in use. So the names Add, Add_1, Add_2, ... of a hundred
 * thousand nodes are one entry and a list of nodes, and making such a name looks nothing up. */
#ifndef SITU_GRAPH_NAMES_H
#define SITU_GRAPH_NAMES_H

#include "base/arena.h"
#include "base/map.h"

struct situ_graph;

/* What is known of a name that was asked for. */
struct base {
  int32_t node;              /* of that very name, or -1: a scope */
  int32_t next;              /* the number to try */
  int32_t n_nodes, capacity; /* of `nodes` */
  int32_t *nodes;            /* by number: the node "base_number", or -1; NULL until there is one */
};

/* The last use of the name of an op in a scope, by the op's number. */
struct recent {
  const char *prefix, *name;
  int32_t place;
  uint32_t front, back; /* lengths of both */
};

enum { RECENT = 64 };

/* Zero is empty. */
struct names {
  struct map places; /* of names in lower case that were asked for: in `bases` */
  struct base *bases;
  int32_t count, capacity;
  bool numbered;    /* somebody asked for a name that ends in a number, like a_1 */
  struct map twins; /* nodes of a file whose names differ from another's in case only */
  struct recent recent[RECENT];
};

/* Whether a text is a legal name of a node: [A-Za-z0-9.][A-Za-z0-9_.\-/]*. */
bool names_legal(const char *name);

/* Whether a text is legal inside a scope: [A-Za-z0-9_.\-/]+. */
bool names_legal_inside(const char *name);

/* Makes prefix + name unique by "_1", "_2", ..., and marks it as used, by node `node` (-1: by a
 * scope). The result lives in the arena; NULL without memory. */
const char *names_unique(struct names *names, struct arena *arena, const char *prefix,
                         const char *name, int32_t node);

/* The same for a name and a prefix that stay where they are and as they are; `number` is that of
 * the name. */
const char *names_number(struct names *names, struct arena *arena, const char *prefix,
                         const char *name, int number, int32_t node);

/* Enters the name of a node as it stands; no node has it yet. False without memory. */
bool names_enter(struct names *names, struct arena *arena, const char *name, int32_t node);

/* The node of the graph that has the name, or -1. */
int32_t names_find(const struct names *names, const struct situ_graph *graph, const char *name,
                   size_t length);

void names_free(struct names *names);

#endif
