/* SPDX-License-Identifier: Apache-2.0
 * specs.c: interns device requests in a hash table, so that comparing two compares integers. */
#include "place/specs.h"

#include <string.h>

enum { FIRST_VALUES = 32 };

static uint32_t mix(uint32_t hash, uint32_t value) { return (hash ^ value) * 0x9E3779B1u; }

static uint32_t mix_string(uint32_t hash, const char *text) {
  for (; *text; text++) hash = mix(hash, (unsigned char)*text);
  return hash;
}

static uint32_t hash_name(const struct device_name *name) {
  const uint32_t present = (uint32_t)name->has_job | (uint32_t)name->has_replica << 1 |
                           (uint32_t)name->has_task << 2 | (uint32_t)name->has_kind << 3 |
                           (uint32_t)name->has_index << 4;
  uint32_t hash = mix(2166136261u, present);
  if (name->has_job) hash = mix_string(hash, name->job);
  if (name->has_replica) hash = mix(hash, (uint32_t)name->replica);
  if (name->has_task) hash = mix(hash, (uint32_t)name->task);
  if (name->has_kind) hash = mix_string(hash, name->kind);
  if (name->has_index) hash = mix(hash, (uint32_t)name->index);
  return hash ^ hash >> 15;
}

/* The table entry of a name, or the free entry where it belongs. */
static int32_t *find(const struct specs *specs, const struct device_name *name) {
  const uint32_t mask = (uint32_t)specs->table_size - 1;
  for (uint32_t i = hash_name(name) & mask;; i = (i + 1) & mask) {
    int32_t *place = &specs->table[i];
    if (*place < 0 || name_equal(&specs->values[*place].name, name)) return place;
  }
}

/* Makes room for one more; keeps the table at most half full. */
static bool grow(struct specs *specs) {
  if (specs->count < specs->capacity) return true;
  const int32_t capacity = specs->capacity ? specs->capacity * 2 : FIRST_VALUES;
  struct spec_value *values =
      arena_alloc(specs->arena, sizeof(struct spec_value) * (size_t)capacity);
  int32_t *table = arena_alloc(specs->arena, sizeof(int32_t) * 2 * (size_t)capacity);
  if (!values || !table) return false;
  if (specs->count) memcpy(values, specs->values, sizeof *values * (size_t)specs->count);
  memset(table, 0xFF, sizeof *table * 2 * (size_t)capacity);
  specs->values = values;
  specs->capacity = capacity;
  specs->table = table;
  specs->table_size = 2 * capacity;
  for (int32_t i = 0; i < specs->count; i++) *find(specs, &values[i].name) = i;
  return true;
}

situ_status specs_create(const struct place_problem *problem, const struct ranks *ranks,
                         struct arena *arena, struct specs *out) {
  *out = (struct specs){.problem = problem, .ranks = ranks, .arena = arena};
  const struct device_name nothing = {0};
  return specs_intern(out, &nothing) < 0 ? NO_MEMORY() : NULL;
}

int32_t specs_intern(struct specs *specs, const struct device_name *name) {
  if (!grow(specs)) return -1;
  int32_t *place = find(specs, name);
  if (*place >= 0) return *place;
  const struct ranks *ranks = specs->ranks;
  uint64_t *mask = ARENA_ARRAY(specs->arena, uint64_t, ranks->words);
  if (!mask) return -1;
  for (int32_t i = 0; i < ranks->count; i++)
    if (name_matches(name, &specs->problem->devices[i].name)) ranks_add(mask, ranks->rank[i]);
  specs->values[specs->count] = (struct spec_value){.name = *name, .mask = mask};
  *place = specs->count;
  return specs->count++;
}

int32_t specs_drop(struct specs *specs, int32_t spec, unsigned drop) {
  if (!drop) return spec;
  const int32_t cached = specs->values[spec].less[drop];
  if (cached) return cached - 1;
  struct device_name name = specs->values[spec].name;
  if (drop & DROP_KIND) {
    name.has_kind = false;
    name.kind[0] = 0;
  }
  if (drop & DROP_INDEX) {
    name.has_index = false;
    name.index = 0;
  }
  const int32_t less = specs_intern(specs, &name);
  if (less >= 0) specs->values[spec].less[drop] = less + 1;
  return less;
}

bool specs_merge(struct specs *specs, int32_t *target, int32_t other, enum name_merge how) {
  if (*target == other || other <= 0 || *target < 0) return true;
  if (!*target) {
    *target = other;
    return true;
  }
  const struct device_name *from = &specs->values[other].name;
  struct device_name name = specs->values[*target].name;
  /* Checked first: a failing name_merge formats a message, and soft placement rejects many. */
  const bool conflict =
      how == MERGE_HARD ? !name_compatible(&name, from) : name_different_address_space(&name, from);
  if (conflict) return false;
  const situ_status s = name_merge(&name, from, how);
  situ_status_release(s);
  if (!s) *target = specs_intern(specs, &name);
  return !s;
}

void specs_ensure(struct specs *specs, int32_t *more, int32_t less) {
  if (*more == less || less <= 0 || *more < 0) return;
  struct device_name name = specs->values[*more].name;
  name_ensure(&name, &specs->values[less].name);
  *more = specs_intern(specs, &name);
}

bool specs_compatible(const struct specs *specs, int32_t a, int32_t b) {
  return a == b || a <= 0 || b <= 0 ||
         name_compatible(&specs->values[a].name, &specs->values[b].name);
}
