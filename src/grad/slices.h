/* SPDX-License-Identifier: Apache-2.0
 * slices.h: gradients of which only some rows are not 0, as those of what rows were taken from:
 * kept as the rows and their numbers, until something wants all of them. */
#ifndef SITU_GRAD_SLICES_H
#define SITU_GRAD_SLICES_H

#include "ops/gradient.h"

/* Row indices[i] of a tensor of shape `shape` is values[i]; rows that are named twice are added. */
struct slices {
  struct term values, indices, shape;
  struct term dense; /* all of it, once something wanted that; or none */
  situ_shape known;  /* the shape as far as it is known */
};

/* Those of a walk. A term for one of them is no output of a node. */
struct slices_list {
  struct slices *items;
  int32_t count, capacity;
};

enum { SLICES_OUTPUT = -2 };

static inline bool slices_is(struct term term) { return term.output == SLICES_OUTPUT; }

/* Keeps slices, and gives the term for them; none without memory. */
struct term slices_add(struct slices_list *list, struct slices slices);

/* All of a tensor, of which slices are given: an op, the first time. */
struct term slices_dense(struct gradient *g, struct slices *slices);

/* The sum of terms that all are slices: their rows one after the other. */
struct term slices_join(struct gradient *g, struct slices_list *list, const struct term *terms,
                        int count);

void slices_free(struct slices_list *list);

#endif
