/* SPDX-License-Identifier: Apache-2.0
 * state.h: the working state of the placer. */
#ifndef SITU_PLACE_STATE_H
#define SITU_PLACE_STATE_H

#include "place/specs.h"
#include "place/supports.h"

/* The constraints of a node, or of a set of nodes that must be colocated: indices into specs and
 * kernel sets. `requested` always includes `assigned` and `resource`. */
struct constraints {
  int32_t requested, assigned, resource;
  int32_t kernel_set;
};

/* A union-find element: a node with a reference edge or a colocation group. The root holds the
 * constraints of the set. */
struct set {
  struct constraints constraints;
  int32_t parent, rank;
  int32_t node;
  int32_t device;           /* where a member was placed, or -1 */
  struct place_reason link; /* what first joined the node to the set; `other` -1: nothing */
};

/* Zero-initialized: no node is colocated. */
struct sets {
  int32_t *of; /* per node: its element + 1, or 0; NULL if no node is colocated */
  struct set *sets;
  int32_t count;
  int32_t n_rejected;           /* colocations that soft placement ignored */
  struct place_reference first; /* the first of them */
};

struct placer {
  const struct place_problem *problem;
  struct arena *arena; /* scratch memory of the run */
  struct ranks ranks;
  struct specs specs;
  struct supports supports;
  struct sets sets;
  int32_t *values;      /* per spec of the problem: its index in `specs` */
  int32_t *kernel_sets; /* per support of the problem: its kernel set */
  int32_t *addresses;   /* per device: its index in `specs` */
  int32_t *device;      /* per node: the result */
  struct place_reason *reasons;
  int32_t n_moved; /* nodes that soft placement moved */
};

/* The devices that satisfy constraints. */
struct candidates {
  const uint64_t *mask; /* of the request, after soft placement has dropped parts of it */
  int32_t kernel_set;
  int32_t first; /* rank of the best; -1: none */
};

/* The name and the op of a node, for messages. */
static inline const char *placer_name(const struct placer *placer, int32_t node) {
  return placer->problem->callbacks.name(placer->problem->callbacks.context, node);
}
static inline const char *placer_op(const struct placer *placer, int32_t node) {
  return placer->problem->callbacks.op(placer->problem->callbacks.context, node);
}

/* The constraints of a node alone. */
struct constraints placer_constraints(struct placer *placer, int32_t node);

/* The constraints of a node and of all nodes colocated with it. */
struct constraints placer_set_constraints(struct placer *placer, int32_t node);

/* The devices that satisfy the constraints. */
struct candidates placer_candidates(struct placer *placer, const struct constraints *constraints);

#endif
