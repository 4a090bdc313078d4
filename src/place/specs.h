/* SPDX-License-Identifier: Apache-2.0
 * specs.h: interned device requests, each with the mask of the devices that satisfy it. */
#ifndef SITU_PLACE_SPECS_H
#define SITU_PLACE_SPECS_H

#include "place/ranks.h"

/* The parts that soft placement may drop from a request. */
enum { DROP_KIND = 1, DROP_INDEX = 2, DROP_ALL = 3 };

struct spec_value {
  struct device_name name;
  uint64_t *mask;             /* the devices that satisfy it, by rank */
  int32_t less[DROP_ALL + 1]; /* without kind, index or both: index + 1; 0: not computed yet */
};

/* Spec 0 is the empty request; -1 means out of memory and is passed through. */
struct specs {
  const struct place_problem *problem;
  const struct ranks *ranks;
  struct arena *arena;
  struct spec_value *values;
  int32_t count, capacity;
  int32_t *table; /* hash table with open addressing: indices, or -1 */
  int32_t table_size;
};

/* Creates a table with spec 0. */
situ_status specs_create(const struct place_problem *problem, const struct ranks *ranks,
                         struct arena *arena, struct specs *out) SITU_MUST_USE;

/* The index of a request; -1: out of memory. */
int32_t specs_intern(struct specs *specs, const struct device_name *name);

/* The index of a request without the parts in `drop`; -1: out of memory. */
int32_t specs_drop(struct specs *specs, int32_t spec, unsigned drop);

/* Merges `other` into `*target`, as name_merge does. Returns false and leaves `*target` unchanged
 * if they conflict. `*target` becomes -1 when memory runs out. */
bool specs_merge(struct specs *specs, int32_t *target, int32_t other, enum name_merge how);

/* Overwrites fields of `*more` with those that `less` has; -1 when memory runs out. */
void specs_ensure(struct specs *specs, int32_t *more, int32_t less);

/* Whether no field that both have differs. */
bool specs_compatible(const struct specs *specs, int32_t a, int32_t b);

#endif
