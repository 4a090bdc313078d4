/* SPDX-License-Identifier: Apache-2.0
 * names.c: a hash table from lower-case base names to their suffixes in use. */
#include "graph/names.h"

#include <stdlib.h>
#include <string.h>

#include "graph/graph.h"
#include "graph/grow.h"

enum { SUFFIX_SIZE = 12 }; /* "_2147483647" and the terminating 0 */

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

bool names_legal_inside(const char *name) {
  for (const char *at = name; *at; at++)
    if (!is_plain(*at) && *at != '_' && *at != '-' && *at != '/') return false;
  return *name;
}

bool names_legal(const char *name) { return is_plain(*name) && names_legal_inside(name); }

/* A lower-case name. */
struct key {
  char inline_buffer[128];
  char *text;
  size_t length;
};

/* Concatenates and lower-cases; leaves room for a suffix. False when memory runs out. */
static bool make_key(struct key *key, const char *prefix, size_t n_prefix, const char *name,
                     size_t n_name) {
  key->length = n_prefix + n_name;
  const size_t size = key->length + SUFFIX_SIZE;
  key->text = size <= sizeof key->inline_buffer ? key->inline_buffer : malloc(size);
  if (!key->text) return false;
  memcpy(key->text, prefix, n_prefix);
  memcpy(key->text + n_prefix, name, n_name);
  key->text[key->length] = 0;
  for (char *at = key->text; *at; at++)
    if (*at >= 'A' && *at <= 'Z') *at = (char)(*at + 32);
  return true;
}

static void free_key(struct key *key) {
  if (key->text != key->inline_buffer) free(key->text);
}

/* Splits "base_57": returns the length of the base and sets *number; 0: no suffix. */
static size_t split_suffix(const char *name, size_t length, int32_t *number) {
  size_t at = length;
  int64_t value = 0, unit = 1;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9' && length - at < 9) {
    value += (name[--at] - '0') * unit;
    unit *= 10;
  }
  if (at == length || at < 2 || name[at - 1] != '_' || name[at] == '0') return 0;
  *number = (int32_t)value;
  return at - 1;
}

/* The base that has used this name as one of its suffixes, with *number set; or NULL. */
static const struct base *find_base(const struct names *names, const char *key, size_t length,
                                    int32_t *number) {
  const size_t n_base = split_suffix(key, length, number);
  const int32_t index = n_base ? map_get(&names->indices, key, n_base) : -1;
  return index >= 0 && *number < names->bases[index].next ? &names->bases[index] : NULL;
}

/* Adds a base. Returns its index, or -1 when memory runs out. */
static int32_t add_base(struct names *names, struct arena *arena, const struct key *key,
                        int32_t node) {
  if (!GROW(names->bases, names->count, names->capacity)) return -1;
  int32_t number = 0;
  if (split_suffix(key->text, key->length, &number)) names->numbered = true;
  const char *copy = arena_strndup(arena, key->text, key->length);
  if (!copy || !map_put(&names->indices, copy, names->count)) return -1;
  names->bases[names->count] = (struct base){.node = node, .next = 1};
  return names->count++;
}

/* Writes "_57". Returns its length. */
static size_t write_suffix(char *to, int32_t number) {
  char digits[SUFFIX_SIZE];
  size_t count = 0, length = 0;
  for (; number; number /= 10) digits[count++] = (char)('0' + number % 10);
  to[length++] = '_';
  while (count) to[length++] = digits[--count];
  to[length] = 0;
  return length;
}

/* Skips suffixes that are in use as explicit names; false when memory runs out. */
static bool skip_used(struct names *names, const struct recent *use) {
  struct key key;
  if (!names->numbered) return true;
  if (!make_key(&key, use->prefix, use->n_prefix, use->name, use->n_name)) return false;
  int32_t *next = &names->bases[use->base].next;
  for (;; ++*next) {
    const size_t suffix = write_suffix(key.text + key.length, *next);
    if (map_get(&names->indices, key.text, key.length + suffix) < 0) break;
  }
  free_key(&key);
  return true;
}

/* Stores the node of a suffix; false when memory runs out. */
static bool set_node(struct base *base, int32_t number, int32_t node) {
  if (node < 0) return true;
  while (base->n_nodes <= number) {
    if (!GROW(base->nodes, base->n_nodes, base->capacity)) return false;
    base->nodes[base->n_nodes++] = -1;
  }
  base->nodes[number] = node;
  return true;
}

static char *write_name(struct arena *arena, const char *prefix, size_t n_prefix, const char *name,
                        size_t n_name, const char *suffix, size_t end) {
  char *result = arena_alloc(arena, n_prefix + n_name + end + 1);
  if (!result) return NULL;
  memcpy(result, prefix, n_prefix);
  memcpy(result + n_prefix, name, n_name);
  memcpy(result + n_prefix + n_name, suffix, end);
  result[n_prefix + n_name + end] = 0;
  return result;
}

/* The name with the next free suffix of its base. */
static const char *next_name(struct names *names, struct arena *arena, const struct recent *use,
                             int32_t node) {
  char suffix[SUFFIX_SIZE] = "";
  struct base *base = &names->bases[use->base];
  if (!skip_used(names, use)) return NULL;
  const size_t end = write_suffix(suffix, base->next);
  char *name = write_name(arena, use->prefix, use->n_prefix, use->name, use->n_name, suffix, end);
  return name && set_node(base, base->next++, node) ? name : NULL;
}

const char *names_unique(struct names *names, struct arena *arena, const char *prefix,
                         const char *name, int32_t node) {
  struct recent use = {prefix, name, -1, (uint32_t)strlen(prefix), (uint32_t)strlen(name)};
  struct key key;
  if (!make_key(&key, prefix, use.n_prefix, name, use.n_name)) return NULL;
  bool is_free = false;
  use.base = map_get(&names->indices, key.text, key.length);
  if (use.base < 0) {
    int32_t number = 0;
    is_free = !find_base(names, key.text, key.length, &number);
    use.base = add_base(names, arena, &key, is_free ? node : -1);
  }
  free_key(&key);
  if (use.base < 0) return NULL;
  if (is_free) return write_name(arena, prefix, use.n_prefix, name, use.n_name, "", 0);
  return next_name(names, arena, &use, node);
}

const char *names_unique_op(struct names *names, struct arena *arena, const char *prefix,
                            const char *name, int op, int32_t node) {
  struct recent *recent = &names->recent[op % RECENT];
  if (recent->prefix == prefix && recent->name == name)
    return next_name(names, arena, recent, node);
  const char *result = names_unique(names, arena, prefix, name, node);
  struct key key;
  if (!result || !make_key(&key, prefix, strlen(prefix), name, strlen(name))) return result;
  const int32_t index = map_get(&names->indices, key.text, key.length);
  if (index >= 0)
    *recent =
        (struct recent){prefix, name, index, (uint32_t)strlen(prefix), (uint32_t)strlen(name)};
  free_key(&key);
  return result;
}

bool names_add(struct names *names, struct arena *arena, const char *name, int32_t node) {
  struct key key;
  if (!make_key(&key, name, strlen(name), "", 0)) return false;
  bool done = false;
  int32_t number = 0;
  const int32_t index = map_get(&names->indices, key.text, key.length);
  if (index >= 0 && names->bases[index].node < 0) {
    names->bases[index].node = node; /* was a scope only */
    done = true;
  } else if (index >= 0 || find_base(names, key.text, key.length, &number)) {
    const char *copy = arena_strndup(arena, name, strlen(name));
    done = copy && map_put(&names->case_variants, copy, node);
  } else {
    done = add_base(names, arena, &key, node) >= 0;
  }
  free_key(&key);
  return done;
}

/* Whether node `id` exists (adding the last one may have failed) and has that name. */
static bool is_named(const struct situ_graph *graph, int32_t id, const char *name, size_t length) {
  if (id < 0 || id >= graph->n_nodes) return false;
  const char *own = graph->nodes[id]->name;
  return !strncmp(own, name, length) && !own[length];
}

int32_t names_find(const struct names *names, const struct situ_graph *graph, const char *name,
                   size_t length) {
  struct key key;
  if (!make_key(&key, name, length, "", 0)) return -1;
  int32_t number = 0;
  const int32_t index = map_get(&names->indices, key.text, key.length);
  const struct base *base = find_base(names, key.text, key.length, &number);
  const int32_t own = index < 0 ? -1 : names->bases[index].node;
  const int32_t numbered = base && number < base->n_nodes ? base->nodes[number] : -1;
  free_key(&key);
  if (is_named(graph, own, name, length)) return own;
  if (is_named(graph, numbered, name, length)) return numbered;
  const int32_t variant = map_get(&names->case_variants, name, length);
  return is_named(graph, variant, name, length) ? variant : -1;
}

void names_free(struct names *names) {
  for (int32_t i = 0; i < names->count; i++) free(names->bases[i].nodes);
  free(names->bases);
  map_free(&names->indices);
  map_free(&names->case_variants);
  *names = (struct names){0};
}
