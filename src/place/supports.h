/* SPDX-License-Identifier: Apache-2.0
 * supports.h: interned kernel sets: the kinds of devices for which a node, or all nodes of a
 * colocated set, have kernels, with device masks. */
#ifndef SITU_PLACE_SUPPORTS_H
#define SITU_PLACE_SUPPORTS_H

#include "place/ranks.h"

/* A kind of device and the priority of the kernel for it. */
struct kernel_kind {
  int32_t kind, priority;
};

/* Kernels of equal priority form a tier. */
struct kernel_set {
  struct kernel_kind *kinds; /* sorted: kernel's priority, kind's priority, kind's name */
  int32_t n_kinds, n_tiers;
  unsigned needs;  /* enum place_needs: devices that lack one are in no tier */
  uint64_t *tiers; /* one device mask per tier */
  uint64_t *all;   /* devices of all tiers */
  int32_t first;   /* rank of the best device, or -1 */
  uint8_t cause;   /* for choosing it without other constraints */
};

struct device_kind {
  const char *text;
  int priority;
  bool present; /* a device of this kind exists */
  uint64_t *mask;
};

/* Kernel set 0 is empty. */
struct supports {
  const struct place_problem *problem;
  const struct ranks *ranks;
  struct arena *arena;
  struct device_kind *kinds;
  int32_t n_kinds, kind_capacity;
  struct kernel_kind *buffer_a, *buffer_b; /* scratch, for all kinds each */
  struct kernel_set *kernel_sets;
  int32_t n_kernel_sets, kernel_set_capacity;
  int32_t default_rank;           /* of the default device, or -1 */
  uint64_t *lacking[NEEDS_COUNT]; /* per enum place_needs: mask of the devices that lack it */
};

/* Collects the kinds of the devices and creates kernel set 0. */
situ_status supports_create(const struct place_problem *problem, const struct ranks *ranks,
                            struct arena *arena, struct supports *out) SITU_MUST_USE;

/* Interns the set of these kernels, without kinds that no device has; -1: out of memory. */
int32_t supports_intern(struct supports *supports, const struct place_support *support);

/* The kernel set of one kind, which need not have devices, or of all kinds if NULL, with priority
 * 0; -1: out of memory. */
int32_t supports_any(struct supports *supports, const char *kind);

/* The intersection of two kernel sets, in the order of `a` if possible; 0: empty, -1: out of
 * memory. */
int32_t supports_intersect(struct supports *supports, int32_t a, int32_t b);

/* The rank of the best device in a mask that has a kernel, or -1. */
int32_t supports_first(const struct supports *supports, int32_t kernel_set, const uint64_t *mask);

/* Whether the set has a kernel for this kind. */
bool supports_kind(const struct supports *supports, int32_t kernel_set, const char *kind);

#endif
