/* SPDX-License-Identifier: Apache-2.0
 * slices.h: sparse gradients (IndexedSlices), such as those of tf.gather: kept as values and
 * indices until an op needs the dense tensor. */
#ifndef SITU_GRAD_SLICES_H
#define SITU_GRAD_SLICES_H

#include "ops/gradient.h"

/* Slice indices[i] of a tensor of shape `shape` is values[i]; duplicate indices are summed. */
struct slices {
  struct term values, indices, shape;
  struct term dense; /* the dense tensor once it is computed, or NO_TERM */
  situ_shape known;  /* static shape */
};

/* All slices of a backward pass. A term with output SLICES_OUTPUT is an index into the list. */
struct slices_list {
  struct slices *items;
  int32_t count, capacity;
};

enum { SLICES_OUTPUT = -2 };

static inline bool slices_is(struct term term) { return term.output == SLICES_OUTPUT; }

/* Adds slices and returns their term; NO_TERM when memory runs out. */
struct term slices_add(struct slices_list *list, struct slices slices);

/* The dense tensor of slices; emits an op at the first call. */
struct term slices_dense(struct gradient *g, struct slices *slices);

/* The sum of terms that are all slices: their concatenation. */
struct term slices_join(struct gradient *g, struct slices_list *list, const struct term *terms,
                        int count);

void slices_free(struct slices_list *list);

#endif
