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

/* Zero is an empty map. */
struct map {
  struct map_entry *entries;
  uint32_t capacity, count;
};

/* The value of a key, or -1. */
int32_t map_get(const struct map *map, const char *key, size_t length);

/* Puts or replaces; false without memory. The key (ending in 0) is borrowed. */
bool map_put(struct map *map, const char *key, int32_t value);

/* Looks up a key and, where it is missing, puts it with `value`: one hash, one walk. `*found` gets
 * the old value or -1. False without memory. */
bool map_find_or_put(struct map *map, const char *key, int32_t value, int32_t *found);

void map_free(struct map *map);

#endif
