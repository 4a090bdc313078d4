/* SPDX-License-Identifier: Apache-2.0
 * ranks.c: sorts devices by preference. */
#include "place/ranks.h"

#include <stdlib.h>
#include <string.h>

/* An element of the sort. */
struct ranked {
  const struct place_device *device;
  bool as_text;
};

static int compare_integers(int64_t a, int64_t b) { return (a > b) - (a < b); }

static int compare_names(const struct device_name *a, const struct device_name *b) {
  int order = strcmp(a->job, b->job);
  if (!order) order = compare_integers(a->replica, b->replica);
  if (!order) order = compare_integers(a->task, b->task);
  if (!order) order = strcmp(a->kind, b->kind);
  return order ? order : compare_integers(a->index, b->index);
}

static int compare_devices(const void *left, const void *right) {
  const struct ranked *a = left, *b = right;
  int order = compare_integers(b->device->priority, a->device->priority);
  if (!order && a->as_text) order = strcmp(a->device->text, b->device->text);
  if (!order && !a->as_text) order = compare_names(&a->device->name, &b->device->name);
  return order ? order : (a->device > b->device) - (a->device < b->device);
}

situ_status ranks_create(const struct place_problem *problem, struct arena *arena,
                         struct ranks *out) {
  const int32_t n = problem->n_devices;
  struct ranked *sorted = ARENA_ARRAY(arena, struct ranked, n);
  *out = (struct ranks){.count = n,
                        .words = (n + 63) / 64,
                        .order = ARENA_ARRAY(arena, int32_t, n),
                        .rank = ARENA_ARRAY(arena, int32_t, n)};
  if (!sorted || !out->order || !out->rank) return NO_MEMORY();
  for (int32_t i = 0; i < n; i++)
    sorted[i] = (struct ranked){&problem->devices[i], problem->reference};
  qsort(sorted, (size_t)n, sizeof *sorted, compare_devices);
  for (int32_t i = 0; i < n; i++) {
    out->order[i] = (int32_t)(sorted[i].device - problem->devices);
    out->rank[out->order[i]] = i;
  }
  return NULL;
}

int32_t ranks_first(const struct ranks *ranks, const uint64_t *a, const uint64_t *b) {
  for (int32_t i = 0; i < ranks->words; i++)
    if (a[i] & b[i]) return 64 * i + __builtin_ctzll(a[i] & b[i]);
  return -1;
}
