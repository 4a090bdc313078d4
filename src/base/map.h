/* SPDX-License-Identifier: Apache-2.0
 * map.h: a hash map from strings to integers. */
#ifndef SITU_BASE_MAP_H
#define SITU_BASE_MAP_H

#include "base/base.h"

struct map_entry {
  const char *key; /* borrowed: must live as long as the map */
  uint32_t hash;
  int32_t value;
};

/* Zero-initialized is empty. */
struct map {
  struct map_entry *entries;
  uint32_t capacity, count;
};

/* Returns the value of a key, or -1. */
int32_t map_get(const struct map *map, const char *key, size_t length);

/* Inserts or replaces; returns false if out of memory. The null-terminated key is borrowed. */
bool map_put(struct map *map, const char *key, int32_t value);

/* Looks up a key and inserts it with `value` if it is missing. `*found` is set to the old value or
 * -1. Returns false if out of memory. */
bool map_find_or_put(struct map *map, const char *key, int32_t value, int32_t *found);

void map_free(struct map *map);

#endif
