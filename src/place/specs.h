/* SPDX-License-Identifier: Apache-2.0
 * specs.h: requests as numbers: each distinct one once, with the mask of the devices that meet it.
 */
#ifndef SITU_PLACE_SPECS_H
#define SITU_PLACE_SPECS_H

#include "place/ranks.h"

/* What soft placement may drop from a request. */
enum { DROP_KIND = 1, DROP_INDEX = 2, DROP_ALL = 3 };

struct spec_value {
  struct device_name name;
  uint64_t *mask;             /* the devices that meet it, by rank */
  int32_t less[DROP_ALL + 1]; /* without kind, index, both: number + 1; 0: not made yet */
};

/* Number 0 is the request for nothing; -1 is what comes out without memory, and goes through. */
struct specs {
  const struct place_problem *problem;
  const struct ranks *ranks;
  struct arena *arena;
  struct spec_value *values;
  int32_t count, capacity;
  int32_t *table; /* open addressing: numbers, or -1 */
  int32_t table_size;
};

/* An empty table with number 0 in it. */
situ_status specs_create(const struct place_problem *problem, const struct ranks *ranks,
                         struct arena *arena, struct specs *out) SITU_MUST_USE;

/* The number of a request; -1 without memory. */
int32_t specs_intern(struct specs *specs, const struct device_name *name);

/* The number of a request without what `drop` says; -1 without memory. */
int32_t specs_drop(struct specs *specs, int32_t spec, unsigned drop);

/* Merges `other` into `*target`, as name_merge does. False where they conflict; `*target` is then
 * as before. Without memory it becomes -1. */
bool specs_merge(struct specs *specs, int32_t *target, int32_t other, enum name_merge how);

/* Copies the fields of `less` over those of `*more`. Without memory it becomes -1. */
void specs_ensure(struct specs *specs, int32_t *more, int32_t less);

/* No field that both have differs. */
bool specs_compatible(const struct specs *specs, int32_t a, int32_t b);

#endif
