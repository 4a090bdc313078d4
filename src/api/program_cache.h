/* SPDX-License-Identifier: Apache-2.0
 * program_cache.h: a cache of compiled programs by key, with least-recently-used eviction.
 * Sessions, eager calls and tapes have one each. The owner's lock guards it.
 *
 * Programs keep memory while they do not run. When they keep more than twice what the largest one
 * needs (and more than MIN_IDLE_BYTES), the memory of those that ran least recently is freed; their
 * programs stay. Many shapes of one graph thus need about the memory of two. Programs themselves
 * are evicted when they and their graphs take more than `program_budget` (and more than twice what
 * the largest one takes). */
#ifndef SITU_API_PROGRAM_CACHE_H
#define SITU_API_PROGRAM_CACHE_H

#include <string.h>

#include "exec/frame.h"
#include "situ/graph.h"
#include "tensor/tensor.h"

/* A key under construction: all that a compiled program depends on, as bytes. */
struct program_key {
  size_t length, capacity;
  bool failed;          /* out of memory: check once at the end */
  unsigned char *bytes; /* inline_buffer or malloc'ed */
  unsigned char inline_buffer[512];
};

enum { MIN_IDLE_BYTES = 8 << 20 };

/* A compiled program with its frames; the first member of what an owner caches. */
struct cached_program {
  struct program *program; /* NULL if the owner keeps it elsewhere */
  struct frame *idle;      /* frames that are not running */
  int32_t active;          /* number of users: never evicted while there are any */
  uint64_t program_bytes;  /* size of the program and what belongs to it; set by the owner */
  /* Members of the cache: */
  uint64_t idle_bytes;                  /* memory held while it does not run */
  uint64_t last_run;                    /* cache->runs when its last run ended */
  struct cached_program *next;          /* in the hash bucket */
  struct cached_program *newer, *older; /* in order of use */
  uint64_t linked;                      /* cache->clock when it became the newest */
  struct cached_program **recent;       /* as in program_cache_find */
  unsigned char *key;
  size_t length;
  uint64_t hash;
};

struct program_cache_stats {
  uint64_t hits, misses, evictions;
};

struct program_cache {
  int32_t capacity;                         /* a power of 2; set by the owner */
  void (*destroy)(struct cached_program *); /* set by the owner: frees a program without frames */
  void (*shrink)(struct cached_program *);  /* set by the owner: frees memory it holds elsewhere */
  uint64_t program_budget;                  /* set by the owner: bytes for programs; 0: no limit */
  void (*on_free)(const struct frame *);    /* set by the owner: before a frame is freed; or NULL */
  /* Set by the owner: decides among programs with equal keys; NULL: any. */
  bool (*accepts)(const struct cached_program *cached, const void *context);
  int32_t count;
  struct cached_program **buckets;               /* `capacity` hash buckets; NULL while empty */
  struct cached_program *newest, *oldest;        /* in order of use */
  uint64_t clock;                                /* number of programs that became the newest */
  uint64_t runs;                                 /* number of runs that ended */
  uint64_t idle_bytes, largest_bytes;            /* of all programs; of the one that held most */
  uint64_t program_bytes, largest_program_bytes; /* as these */
  struct program_cache_stats stats;
};

/* Initializes a key, or empties one to be built again. */
static inline void program_key_init(struct program_key *key) {
  key->bytes = key->inline_buffer;
  key->capacity = sizeof key->inline_buffer;
  key->length = 0;
  key->failed = false;
}
static inline void program_key_reset(struct program_key *key) {
  key->length = 0;
  key->failed = false;
}
void program_key_free(struct program_key *key);

/* Makes room for more bytes; false: out of memory. */
bool program_key_grow(struct program_key *key, size_t bytes);

/* Appends to a key; inline because most pieces are a few bytes. */
static inline void program_key_append(struct program_key *key, const void *data, size_t bytes) {
  if (key->length + bytes > key->capacity && !program_key_grow(key, bytes)) return;
  memcpy(key->bytes + key->length, data, bytes);
  key->length += bytes;
}

/* Appends a string; NULL is empty. */
void program_key_append_string(struct program_key *key, const char *string);

/* Appends `n_head` integers, the rank and the sizes of a shape. */
static inline void program_key_append_shape(struct program_key *key, const int32_t *head,
                                            int n_head, const situ_shape *shape) {
  const size_t bytes = sizeof *head * ((size_t)n_head + 1) + sizeof *shape->dim * SITU_MAX_RANK;
  if (key->length + bytes > key->capacity && !program_key_grow(key, bytes)) return;
  unsigned char *at = key->bytes + key->length;
  const int32_t rank = shape->rank;
  memcpy(at, head, sizeof *head * (size_t)n_head);
  at += sizeof *head * (size_t)n_head;
  memcpy(at, &rank, sizeof rank);
  at += sizeof rank;
  for (int i = 0; i < rank; i++, at += sizeof *shape->dim)
    memcpy(at, &shape->dim[i], sizeof *shape->dim);
  key->length = (size_t)(at - key->bytes);
}

/* Appends the type and shape of a tensor. */
void program_key_append_type(struct program_key *key, const situ_tensor *tensor);

/* Appends the elements of a tensor in host memory; an attribute. */
void program_key_append_elements(struct program_key *key, const situ_tensor *tensor);
void program_key_append_attr(struct program_key *key, const situ_attr *attr);

/* Returns whether a program is in the newest quarter. */
static inline bool program_cache_is_new(const struct program_cache *cache,
                                        const struct cached_program *cached) {
  return cache->clock - cached->linked < (uint64_t)cache->capacity / 4;
}

static inline bool program_cache_matches(const struct program_cache *cache,
                                         const struct cached_program *cached,
                                         const struct program_key *key, const void *context) {
  return cached->length == key->length && !memcmp(cached->key, key->bytes, key->length) &&
         (!cache->accepts || cache->accepts(cached, context));
}

/* Returns the host memory of a graph that is compiled once, about. */
uint64_t program_cache_graph_bytes(const situ_graph *graph);

/* As program_cache_find, without trying *recent. */
struct cached_program *program_cache_search(struct program_cache *cache,
                                            const struct program_key *key,
                                            struct cached_program **recent, const void *context);

/* Finds a program, or returns NULL. `recent`, always the same for a key, is the owner's pointer to
 * the program that it used last; it is tried first, and NULL after an eviction. `context` is for
 * `accepts`. Inline because an eager call takes some 100 ns. */
static inline struct cached_program *program_cache_find(struct program_cache *cache,
                                                        const struct program_key *key,
                                                        struct cached_program **recent,
                                                        const void *context) {
  struct cached_program *found = *recent;
  if (!found || !program_cache_is_new(cache, found) ||
      !program_cache_matches(cache, found, key, context))
    return program_cache_search(cache, key, recent, context);
  cache->stats.hits++;
  return found;
}

/* Adds a program, which the cache owns, also if this fails. Evicts the least recently used programs
 * if the cache is full; it exceeds its limits if all of them are in use. */
situ_status program_cache_add(struct program_cache *cache, const struct program_key *key,
                              struct cached_program **recent,
                              struct cached_program *cached) SITU_MUST_USE;

/* Frees all programs that are not in use. */
void program_cache_clear(struct program_cache *cache);

/* In a forked child: leaks the programs that threads of the parent were using. */
void program_cache_forget(struct program_cache *cache);

/* Frees the idle frames for which `selects` is true, of all programs; NULL: all frames. Returns the
 * bytes of their blocks and results. */
uint64_t program_cache_free_idle(struct program_cache *cache,
                                 bool (*selects)(const struct frame *));

/* Frees memory of programs that do not run, those that ran least recently first, until at most
 * `bytes` are held. */
void program_cache_shrink(struct program_cache *cache, uint64_t bytes);

/* Sets how much memory a program holds while it does not run. If that is more than before, memory
 * of other programs may be freed. */
static inline void program_cache_set_idle(struct program_cache *cache,
                                          struct cached_program *cached, uint64_t bytes) {
  const bool grows = bytes > cached->idle_bytes;
  cache->idle_bytes += bytes - cached->idle_bytes;
  cached->idle_bytes = bytes;
  if (bytes > cache->largest_bytes) cache->largest_bytes = bytes;
  if (grows && cache->idle_bytes > MIN_IDLE_BYTES)
    program_cache_shrink(cache, 2 * cache->largest_bytes);
}

/* Starts a run of a program: returns an idle frame or NULL. program_cache_end_run ends it; a frame
 * becomes idle. */
static inline struct frame *program_cache_begin_run(struct program_cache *cache,
                                                    struct cached_program *cached) {
  struct frame *frame = cached->idle;
  cached->active++;
  if (!frame) {
    if (cache->idle_bytes > MIN_IDLE_BYTES) program_cache_shrink(cache, cache->largest_bytes);
    return NULL;
  }
  cached->idle = frame->next;
  program_cache_set_idle(cache, cached, cached->idle_bytes - frame->bytes);
  return frame;
}
static inline void program_cache_end_run(struct program_cache *cache, struct cached_program *cached,
                                         struct frame *frame) {
  cached->active--;
  cached->last_run = ++cache->runs;
  if (!frame) return;
  frame->next = cached->idle;
  cached->idle = frame;
  program_cache_set_idle(cache, cached, cached->idle_bytes + frame->bytes);
}

#endif
