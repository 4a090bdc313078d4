/* SPDX-License-Identifier: Apache-2.0
 * map.c: hash map from strings to integers: open addressing with linear probing, power-of-two
 * capacity, at most half full. */
#include "base/map.h"

#include <stdlib.h>
#include <string.h>

static uint32_t hash_string(const char *key, size_t length) {
  uint64_t hash = 1469598103934665603u;
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)key[i]) * 1099511628211u;
  return (uint32_t)(hash ^ (hash >> 32));
}

/* Returns the entry of the key, or the empty one where it belongs. */
static struct map_entry *find(const struct map *map, const char *key, size_t length,
                              uint32_t hash) {
  const uint32_t mask = map->capacity - 1;
  for (uint32_t i = hash & mask;; i = (i + 1) & mask) {
    struct map_entry *entry = &map->entries[i];
    if (!entry->key) return entry;
    if (entry->hash == hash && !strncmp(entry->key, key, length) && !entry->key[length])
      return entry;
  }
}

static bool grow(struct map *map) {
  const uint32_t capacity = map->capacity ? map->capacity * 2 : 16;
  struct map_entry *entries = calloc(capacity, sizeof *entries);
  if (!entries) return false;
  for (uint32_t i = 0; i < map->capacity; i++) {
    const struct map_entry *old = &map->entries[i];
    if (!old->key) continue;
    uint32_t slot = old->hash & (capacity - 1);
    while (entries[slot].key) slot = (slot + 1) & (capacity - 1);
    entries[slot] = *old;
  }
  free(map->entries);
  map->entries = entries;
  map->capacity = capacity;
  return true;
}

int32_t map_get(const struct map *map, const char *key, size_t length) {
  if (!map->count) return -1;
  const struct map_entry *entry = find(map, key, length, hash_string(key, length));
  return entry->key ? entry->value : -1;
}

bool map_find_or_put(struct map *map, const char *key, int32_t value, int32_t *found) {
  if (2 * (map->count + 1) > map->capacity && !grow(map)) return false;
  const size_t length = strlen(key);
  const uint32_t hash = hash_string(key, length);
  struct map_entry *entry = find(map, key, length, hash);
  *found = entry->key ? entry->value : -1;
  if (entry->key) return true;
  *entry = (struct map_entry){key, hash, value};
  map->count++;
  return true;
}

bool map_put(struct map *map, const char *key, int32_t value) {
  int32_t found = -1;
  if (!map_find_or_put(map, key, value, &found)) return false;
  if (found < 0) return true;
  const size_t length = strlen(key);
  find(map, key, length, hash_string(key, length))->value = value;
  return true;
}

void map_free(struct map *map) {
  free(map->entries);
  *map = (struct map){0};
}
