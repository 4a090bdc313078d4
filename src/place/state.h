/* SPDX-License-Identifier: Apache-2.0
 * state.h: what the parts of the placer share while it runs. */
#ifndef SITU_PLACE_STATE_H
#define SITU_PLACE_STATE_H

#include "place/specs.h"
#include "place/supports.h"

/* What is asked of a node, or of a set of nodes that must be together; numbers in specs and rows.
 * The request is never less than what is assigned and where the resource lives. */
struct claim {
  int32_t requested, assigned, resource;
  int32_t row;
};

/* A node that a reference edge or a colocation group touches; claims count in the root. */
struct set {
  struct claim claim;
  int32_t parent, rank; /* as numbers of sets */
  int32_t node;
  int32_t device;           /* where a member was placed, or -1 */
  struct place_reason link; /* what joined the node with the set first; `other` -1: nothing */
};

/* Zero: every node is alone. */
struct sets {
  int32_t *of; /* the set of each node + 1, or 0; NULL while all are alone */
  struct set *sets;
  int32_t count;
  int32_t refused;              /* joins that soft placement ignored */
  struct place_reference first; /* the first of them */
};

struct placer {
  const struct place_problem *problem;
  struct arena *arena; /* of what dies with the run */
  struct ranks ranks;
  struct specs specs;
  struct supports supports;
  struct sets sets;
  int32_t *values;    /* the problem's specs as numbers of `specs` */
  int32_t *rows;      /* the problem's supports as rows */
  int32_t *addresses; /* each device as a number of `specs` */
  int32_t *device;    /* the results */
  struct place_reason *reasons;
  int32_t moved; /* nodes that soft placement moved */
};

/* The devices that a claim leaves. */
struct candidates {
  const uint64_t *mask; /* of the request, or of what soft placement left of it */
  int32_t row;
  int32_t first; /* as a rank; -1: there is none */
};

/* The name and the op of a node, for texts. */
static inline const char *placer_name(const struct placer *placer, int32_t node) {
  return placer->problem->words.name(placer->problem->words.context, node);
}
static inline const char *placer_op(const struct placer *placer, int32_t node) {
  return placer->problem->words.op(placer->problem->words.context, node);
}

/* What is asked of a node alone. */
struct claim placer_claim(struct placer *placer, int32_t node);

/* What is asked of a node with all that must be with it. */
struct claim placer_whole_claim(struct placer *placer, int32_t node);

/* The devices that a claim leaves. */
struct candidates placer_candidates(struct placer *placer, const struct claim *claim);

#endif
