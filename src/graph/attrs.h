/* SPDX-License-Identifier: Apache-2.0
 * attrs.h: attributes of nodes: iteration in GraphDef order, formatting, and setting. */
#ifndef SITU_GRAPH_ATTRS_H
#define SITU_GRAPH_ATTRS_H

#include "graph/build.h"

enum { ATTRS_CLASS = -1 }; /* the attribute "_class": the colocation groups */

/* Iterates over the attributes of a node that are set, in alphabetical order. */
struct attr_iterator {
  const struct node *node;
  int index;        /* in the signature, or ATTRS_CLASS */
  const char *name; /* of the current attribute; NULL before the first */
};

/* Advances to the next attribute; false at the end. */
bool attrs_next(struct attr_iterator *iterator);

/* "DT_FLOAT" for SITU_FLOAT. */
const char *attrs_type_name(situ_type type);

/* Sets an attribute of a new node; the graph copies or retains its value. */
situ_status attrs_set(struct situ_graph *graph, struct draft *draft,
                      const situ_attr *attr) SITU_MUST_USE;

#endif
