/* SPDX-License-Identifier: Apache-2.0
 * attrs.h: the attributes of a node in the order and words of a GraphDef. */
#ifndef SITU_GRAPH_ATTRS_H
#define SITU_GRAPH_ATTRS_H

#include "graph/build.h"

enum { ATTRS_CLASS = -1 }; /* the attribute "_class": the colocation groups */

/* A walk over the attributes of a node that are set, in alphabetical order. */
struct attrs_walk {
  const struct node *node;
  int index;        /* in the signature, or ATTRS_CLASS */
  const char *name; /* of the present one; NULL before the first */
};

/* Goes to the next attribute; false behind the last. */
bool attrs_next(struct attrs_walk *walk);

/* "DT_FLOAT" for SITU_FLOAT. */
const char *attrs_type_name(situ_type type);

/* Appends bytes with C escapes: \n, \", \377. */
void attrs_escape(struct strbuf *out, const char *bytes, size_t length);

/* Sets an attribute of a new node; texts, lists and tensors are kept by the graph. */
situ_status attrs_set(struct situ_graph *graph, struct draft *draft,
                      const situ_attr *attr) SITU_MUST_USE;

#endif
