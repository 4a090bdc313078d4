/* SPDX-License-Identifier: Apache-2.0
 * names.h: names of nodes and scopes: legal characters, and numbers that make them unique. */
#ifndef SITU_GRAPH_NAMES_H
#define SITU_GRAPH_NAMES_H

#include "base/arena.h"
#include "base/map.h"

/* What is in use; as in TensorFlow, names that differ in case only are the same. A base knows the
 * next number to try, and all its smaller numbers are in use: so the thousand names Add_1, Add_2,
 * ... need one entry. Zero is empty. */
struct names {
  struct map bases; /* names in lower case that were asked for: to places in `next` */
  int32_t *next;    /* the number to try */
  int32_t count, capacity;
  bool numbered; /* somebody asked for a name that ends in a number, like a_1 */
};

/* Whether a text is a legal name of a node: [A-Za-z0-9.][A-Za-z0-9_.\-/]*. */
bool names_legal(const char *name);

/* Whether a text is a legal scope inside a scope: [A-Za-z0-9_.\-/]+. */
bool names_legal_inside(const char *name);

/* Makes prefix + name unique by "_1", "_2", ..., and marks it as used. The result lives in the
 * arena; NULL without memory. */
const char *names_unique(struct names *names, struct arena *arena, const char *prefix,
                         const char *name);

/* Marks a name as used; false without memory. */
bool names_mark(struct names *names, struct arena *arena, const char *name);

void names_free(struct names *names);

#endif
