/* SPDX-License-Identifier: Apache-2.0
 * program_cache.c: see program_cache.h. A hash table with chaining; its entries are also a list in
 * order of use. A program that is found moves to the front of the list unless it is in the newest
 * quarter: calls that alternate between a few programs do not write to the list. */
#include "api/program_cache.h"

#include <stdlib.h>

#include "base/heap_trim.h"
#include "graph/scope.h"

/* ---- Keys ---- */

bool program_key_grow(struct program_key *key, size_t bytes) {
  const size_t capacity = 2 * (key->length + bytes);
  unsigned char *more = key->failed ? NULL : malloc(capacity);
  key->failed = !more;
  if (!more) return false;
  memcpy(more, key->bytes, key->length);
  program_key_free(key);
  key->bytes = more;
  key->capacity = capacity;
  return true;
}

void program_key_free(struct program_key *key) {
  if (key->bytes != key->inline_buffer) free(key->bytes);
}

void program_key_append_string(struct program_key *key, const char *string) {
  program_key_append(key, string ? string : "", string ? strlen(string) + 1 : 1);
}

void program_key_append_elements(struct program_key *key, const situ_tensor *tensor) {
  const void *data = situ_tensor_data(tensor);
  if (data) program_key_append(key, data, tensor->bytes);
}

void program_key_append_type(struct program_key *key, const situ_tensor *tensor) {
  const int32_t type = tensor->type;
  program_key_append_shape(key, &type, 1, &tensor->shape);
}

void program_key_append_attr(struct program_key *key, const situ_attr *attr) {
  const situ_attr_kind kind = attr->kind;
  const int32_t no_type = 0;
  const size_t count = (size_t)attr->integer; /* of a list */
  program_key_append_string(key, attr->name);
  program_key_append(key, &kind, sizeof kind);
  program_key_append(key, &attr->integer, sizeof attr->integer);
  if (kind == SITU_ATTR_FLOAT) program_key_append(key, &attr->real, sizeof attr->real);
  if (kind == SITU_ATTR_STRING || kind == SITU_ATTR_FUNCTION)
    program_key_append_string(key, attr->text);
  if (kind == SITU_ATTR_SHAPE) program_key_append_shape(key, &no_type, 1, &attr->shape);
  if (kind == SITU_ATTR_TENSOR) {
    const situ_tensor *tensor = attr->tensor;
    program_key_append_type(key, tensor);
    program_key_append_elements(key, tensor);
    if (tensor->buffer->device) /* the graph of the program retains it */
      program_key_append(key, &tensor, sizeof tensor);
  }
  if (kind == SITU_ATTR_SHAPES && count)
    program_key_append(key, attr->shapes, sizeof *attr->shapes * count);
  if (kind == SITU_ATTR_FLOATS && count)
    program_key_append(key, attr->reals, sizeof *attr->reals * count);
  if ((kind == SITU_ATTR_INTS || kind == SITU_ATTR_TYPES) && count)
    program_key_append(key, attr->integers, sizeof *attr->integers * count);
}

static uint64_t hash_bytes(const unsigned char *bytes, size_t length) {
  uint64_t hash = 0x9e3779b97f4a7c15u ^ length, word = 0;
  size_t i = 0;
  for (; i + 8 <= length; i += 8) {
    memcpy(&word, bytes + i, 8);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  for (; i < length; i++) hash = (hash ^ bytes[i]) * 0x100000001b3u;
  return hash ^ (hash >> 29);
}

uint64_t program_cache_graph_bytes(const situ_graph *graph) {
  const uint64_t tables = sizeof *graph + sizeof *graph->scopes + 4096; /* names, maps, snapshot */
  return graph->arena.total + (uint64_t)graph->node_capacity * sizeof(void *) + tables;
}

/* ---- Order of use ---- */

static void unlink_use(struct program_cache *cache, struct cached_program *cached) {
  *(cached->newer ? &cached->newer->older : &cache->newest) = cached->older;
  *(cached->older ? &cached->older->newer : &cache->oldest) = cached->newer;
}

static void link_newest(struct program_cache *cache, struct cached_program *cached) {
  cached->linked = ++cache->clock;
  cached->newer = NULL;
  cached->older = cache->newest;
  *(cache->newest ? &cache->newest->newer : &cache->oldest) = cached;
  cache->newest = cached;
}

/* ---- Idle frames ---- */

static void free_frame(const struct program_cache *cache, struct frame *frame) {
  const uint64_t bytes = frame->bytes;
  if (cache->on_free) cache->on_free(frame);
  frame_destroy(frame);
  heap_trim_count(bytes);
}

static void free_frames(const struct program_cache *cache, struct cached_program *cached) {
  while (cached->idle) {
    struct frame *frame = cached->idle;
    cached->idle = frame->next;
    free_frame(cache, frame);
  }
}

uint64_t program_cache_free_idle(struct program_cache *cache,
                                 bool (*selects)(const struct frame *)) {
  const uint64_t before = cache->idle_bytes;
  for (struct cached_program *cached = cache->newest; cached; cached = cached->older) {
    struct frame **link = &cached->idle;
    while (*link) {
      struct frame *frame = *link;
      if (selects && !selects(frame)) {
        link = &frame->next;
        continue;
      }
      *link = frame->next;
      program_cache_set_idle(cache, cached, cached->idle_bytes - frame->bytes);
      free_frame(cache, frame);
    }
  }
  return before - cache->idle_bytes;
}

/* ---- The cache ---- */

static struct cached_program **bucket_of(const struct program_cache *cache, uint64_t hash) {
  return &cache->buckets[hash & (uint64_t)(cache->capacity - 1)];
}

struct cached_program *program_cache_search(struct program_cache *cache,
                                            const struct program_key *key,
                                            struct cached_program **recent, const void *context) {
  const uint64_t hash = hash_bytes(key->bytes, key->length);
  struct cached_program *found = cache->buckets ? *bucket_of(cache, hash) : NULL;
  while (found && (found->hash != hash || !program_cache_matches(cache, found, key, context)))
    found = found->next;
  *(found ? &cache->stats.hits : &cache->stats.misses) += 1;
  if (!found) return NULL;
  if (!program_cache_is_new(cache, found)) {
    unlink_use(cache, found);
    link_newest(cache, found);
  }
  return *recent = found;
}

/* Removes a program from the cache without freeing it. */
static void take_out(struct program_cache *cache, struct cached_program *cached) {
  struct cached_program **link = bucket_of(cache, cached->hash);
  while (*link != cached) link = &(*link)->next;
  *link = cached->next;
  unlink_use(cache, cached);
  if (*cached->recent == cached) *cached->recent = NULL;
  cache->idle_bytes -= cached->idle_bytes;
  cache->program_bytes -= cached->program_bytes;
  cache->count--;
}

static void drop(struct program_cache *cache, struct cached_program *cached) {
  const uint64_t bytes = cached->program_bytes;
  take_out(cache, cached);
  free_frames(cache, cached);
  free(cached->key);
  cache->destroy(cached);
  heap_trim_count(bytes);
}

/* Evicts the least recently used program that is not in use; false: there is none. */
static bool evict(struct program_cache *cache) {
  struct cached_program *cached = cache->oldest;
  while (cached && cached->active) cached = cached->newer;
  if (!cached) return false;
  drop(cache, cached);
  cache->stats.evictions++;
  return true;
}

/* Returns whether programs must be evicted before one with this size is added. */
static bool is_full(const struct program_cache *cache, uint64_t bytes) {
  const uint64_t largest =
      bytes > cache->largest_program_bytes ? bytes : cache->largest_program_bytes;
  const uint64_t budget = cache->program_budget;
  const uint64_t limit = 2 * largest > budget ? 2 * largest : budget;
  return cache->count >= cache->capacity || (budget && cache->program_bytes + bytes > limit);
}

situ_status program_cache_add(struct program_cache *cache, const struct program_key *key,
                              struct cached_program **recent, struct cached_program *cached) {
  cached->program_bytes += key->length;
  while (is_full(cache, cached->program_bytes) && evict(cache)) continue;
  if (!cache->buckets) cache->buckets = calloc((size_t)cache->capacity, sizeof *cache->buckets);
  cached->key = malloc(key->length + 1);
  if (!cache->buckets || !cached->key) {
    free(cached->key);
    cache->destroy(cached);
    return NO_MEMORY();
  }
  memcpy(cached->key, key->bytes, key->length);
  cached->length = key->length;
  cached->hash = hash_bytes(key->bytes, key->length);
  struct cached_program **bucket = bucket_of(cache, cached->hash);
  cached->next = *bucket;
  *bucket = cached;
  link_newest(cache, cached);
  cached->recent = recent;
  *recent = cached;
  cache->count++;
  cache->program_bytes += cached->program_bytes;
  if (cached->program_bytes > cache->largest_program_bytes)
    cache->largest_program_bytes = cached->program_bytes;
  return NULL;
}

/* Returns the program that ran least recently among those that hold memory and do not run. */
static struct cached_program *least_recently_run(const struct program_cache *cache) {
  struct cached_program *least = NULL;
  for (struct cached_program *cached = cache->oldest; cached; cached = cached->newer)
    if (cached->idle_bytes && !cached->active && (!least || cached->last_run < least->last_run))
      least = cached;
  return least;
}

void program_cache_shrink(struct program_cache *cache, uint64_t bytes) {
  const uint64_t limit = bytes > MIN_IDLE_BYTES ? bytes : MIN_IDLE_BYTES;
  while (cache->idle_bytes > limit) {
    struct cached_program *cached = least_recently_run(cache);
    if (!cached) return;
    free_frames(cache, cached);
    if (cache->shrink) cache->shrink(cached);
    cache->idle_bytes -= cached->idle_bytes;
    cached->idle_bytes = 0;
  }
}

void program_cache_clear(struct program_cache *cache) {
  for (struct cached_program *cached = cache->newest, *older; cached; cached = older) {
    older = cached->older;
    if (!cached->active) drop(cache, cached);
  }
  if (cache->count) return;
  free(cache->buckets);
  cache->buckets = NULL;
}

void program_cache_forget(struct program_cache *cache) {
  for (struct cached_program *cached = cache->newest; cached; cached = cached->older)
    if (cached->active) take_out(cache, cached);
}
