/* SPDX-License-Identifier: Apache-2.0
 * supports.h: where a node or a set of nodes has kernels, as numbered rows with masks. */
#ifndef SITU_PLACE_SUPPORTS_H
#define SITU_PLACE_SUPPORTS_H

#include "place/ranks.h"

/* A kind of device with the priority of the kernel. */
struct support_kind {
  int32_t kind, priority;
};

/* Equal rows have one number. Kernels of one priority make a tier. */
struct support_row {
  struct support_kind *kinds; /* sorted: kernel's priority, kind's priority, kind's name */
  int32_t n_kinds, n_tiers;
  unsigned needs;  /* of enum place_needs: devices that lack one are in no tier */
  uint64_t *tiers; /* the devices of each tier, masks one after another */
  uint64_t *all;   /* those of all tiers */
  int32_t first;   /* the best of all, as a rank; or -1 */
  uint8_t cause;   /* of taking it where nothing is asked for */
};

struct support_text {
  const char *text;
  int priority;
  bool present; /* there is a device of this kind */
  uint64_t *mask;
};

/* Number 0 is the row without kernels. */
struct supports {
  const struct place_problem *problem;
  const struct ranks *ranks;
  struct arena *arena;
  struct support_text *kinds;
  int32_t n_kinds, kind_capacity;
  struct support_kind *mine, *theirs; /* room for all kinds each */
  struct support_row *rows;
  int32_t n_rows, row_capacity;
  int32_t default_rank;           /* of the default device, or -1 */
  uint64_t *lacking[NEEDS_COUNT]; /* the devices that lack each of enum place_needs */
};

/* Collects the kinds of the devices and makes row 0. */
situ_status supports_create(const struct place_problem *problem, const struct ranks *ranks,
                            struct arena *arena, struct supports *out) SITU_MUST_USE;

/* The row of these kernels, without kinds that no device has; -1 without memory. */
int32_t supports_row(struct supports *supports, const struct place_support *support);

/* The row of one kind (there may be no device of it), or of all kinds where it is NULL, with
 * priority 0; -1 without memory. */
int32_t supports_any(struct supports *supports, const char *kind);

/* The row of the kinds that both rows have, `a` deciding the order where it can; 0 where there is
 * none, -1 without memory. */
int32_t supports_meet(struct supports *supports, int32_t a, int32_t b);

/* The best device of a mask that has a kernel, as a rank; or -1. */
int32_t supports_first(const struct supports *supports, int32_t row, const uint64_t *mask);

/* Whether there is a kernel for this kind. */
bool supports_kind(const struct supports *supports, int32_t row, const char *kind);

#endif
