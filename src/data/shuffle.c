/* SPDX-License-Identifier: Apache-2.0
 * shuffle.c: elements in another order, and elements that are kept: what needs room for many.
 *
 * The order is TensorFlow's for the same seeds: a window of the first elements, of which a word of
 * Philox chooses one; a data set that reshuffles has a generator of seeds. */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/rng.h"

struct shuffling {
  struct cursor head;
  struct rng rng;
  situ_tensor **rows; /* n_parts each */
  int64_t room, n_rows, size;
  int64_t first; /* where the elements begin, which go round */
  bool ended;
};

static situ_status shuffle_open(struct cursor *cursor) {
  struct shuffling *self = (struct shuffling *)cursor;
  TRY(cursor_number(cursor, 0, &self->size));
  if (self->size == UNKNOWN_COUNT) self->size = INT64_MAX; /* all of them */
  if (self->size < 1)
    return INVALID("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  return rng_begin(cursor, 1, cursor->dataset->spec.flags & SITU_RESHUFFLE, &self->rng);
}

static void shuffle_close(struct cursor *cursor) {
  struct shuffling *self = (struct shuffling *)cursor;
  const int n = cursor->dataset->n_parts;
  for (int64_t i = 0; i < self->n_rows; i++)
    cursor_drop(self->rows + (self->first + i) % self->room * n, n);
  free(self->rows);
}

/* More room, up to what was asked for: data sets are often smaller than that. Before anything has
 * been taken, so that the elements begin at the first place. */
static situ_status grow(struct shuffling *self) {
  const int n = self->head.dataset->n_parts;
  const int64_t room = min_i64(self->size, self->room ? self->room * 2 : 64);
  situ_tensor **rows = realloc(self->rows, sizeof *rows * (size_t)room * (size_t)n);
  if (!rows) return NO_MEMORY();
  self->rows = rows;
  self->room = room;
  return NULL;
}

static situ_status fill(struct shuffling *self) {
  const int n = self->head.dataset->n_parts;
  while (!self->ended && self->n_rows < self->size) {
    if (self->n_rows == self->room) TRY(grow(self));
    situ_tensor **row = self->rows + (self->first + self->n_rows) % self->room * n;
    memset(row, 0, sizeof *row * (size_t)n);
    TRY(cursor_pull(&self->head, row, &self->ended));
    self->n_rows += !self->ended;
  }
  return NULL;
}

static situ_status shuffle_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct shuffling *self = (struct shuffling *)cursor;
  const size_t n = (size_t)cursor->dataset->n_parts;
  TRY(fill(self));
  *end = !self->n_rows;
  if (*end) return NULL;
  const int64_t chosen = (self->first + (int64_t)(rng_next(&self->rng) % (u64)self->n_rows));
  situ_tensor **from = self->rows + (size_t)(chosen % self->room) * n;
  situ_tensor **first = self->rows + (size_t)self->first * n;
  memcpy(parts, from, sizeof *parts * n);
  memmove(from, first, sizeof *parts * n);
  self->first = (self->first + 1) % self->room;
  self->n_rows--;
  return NULL;
}

const struct data_kind kind_Shuffle = {.name = "Shuffle",
                                       .seeds = 2,
                                       .size = sizeof(struct shuffling),
                                       .n_inputs = 1,
                                       .n_params = 3,
                                       .open = shuffle_open,
                                       .next = shuffle_next,
                                       .close = shuffle_close};

/* Elements that are read once */

struct cache {
  struct shared_state head;
  situ_tensor **rows;
  int64_t n_rows, room;
  int n_parts;
  bool complete;
};

static void free_cache(struct shared_state *shared_state) {
  struct cache *cache = (struct cache *)shared_state;
  for (int64_t i = 0; i < cache->n_rows; i++)
    cursor_drop(cache->rows + i * cache->n_parts, cache->n_parts);
  free(cache->rows);
  free(cache);
}

static situ_status create_cache(struct shared_state **out) {
  struct cache *cache = calloc(1, sizeof *cache);
  if (!cache) return NO_MEMORY();
  cache->head.release = free_cache;
  *out = &cache->head;
  return NULL;
}

struct caching {
  struct cursor head;
  struct cache *shared, *own; /* that of the data set; what this cursor collects, or NULL */
  int64_t at;
};

static situ_status cache_open(struct cursor *cursor) {
  struct caching *self = (struct caching *)cursor;
  struct shared_state *shared_state = NULL, *own = NULL;
  TRY(shared_state_find(cursor, create_cache, &shared_state));
  self->shared = (struct cache *)shared_state;
  pthread_mutex_lock(&shared_state->lock);
  const bool complete = self->shared->complete;
  pthread_mutex_unlock(&shared_state->lock);
  if (complete) return NULL;
  TRY(create_cache(&own));
  self->own = (struct cache *)own;
  self->own->n_parts = cursor->dataset->n_parts;
  return cursor_begin(cursor, 0);
}

static void cache_close(struct cursor *cursor) {
  struct caching *self = (struct caching *)cursor;
  if (self->own) free_cache(&self->own->head);
  if (self->shared) shared_state_release(&self->shared->head);
}

/* All has been read: it is everybody's, unless another one was faster. */
static void share(struct caching *self) {
  struct cache *shared = self->shared;
  pthread_mutex_lock(&shared->head.lock);
  if (!shared->complete) {
    shared->rows = self->own->rows;
    shared->n_rows = self->own->n_rows;
    shared->n_parts = self->own->n_parts;
    shared->complete = true;
    self->own->rows = NULL;
    self->own->n_rows = 0;
  }
  pthread_mutex_unlock(&shared->head.lock);
  free_cache(&self->own->head);
  self->own = NULL;
  self->at = INT64_MAX;
}

static situ_status collect(struct caching *self, situ_tensor *const *parts) {
  struct cache *own = self->own;
  const int n = own->n_parts;
  if (own->n_rows == own->room) {
    const int64_t room = own->room ? own->room * 2 : 64;
    situ_tensor **rows = realloc(own->rows, sizeof *rows * (size_t)room * (size_t)n);
    if (!rows) return NO_MEMORY();
    own->rows = rows;
    own->room = room;
  }
  for (int i = 0; i < n; i++) own->rows[own->n_rows * n + i] = situ_tensor_retain(parts[i]);
  own->n_rows++;
  return NULL;
}

static situ_status cache_next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  struct caching *self = (struct caching *)cursor;
  const int n = cursor->dataset->n_parts;
  if (!self->own) {
    *end = self->at >= self->shared->n_rows;
    for (int i = 0; i < n && !*end; i++)
      parts[i] = situ_tensor_retain(self->shared->rows[self->at * n + i]);
    if (!*end) self->at++;
    return NULL;
  }
  TRY(cursor_pull(cursor, parts, end));
  if (*end) {
    share(self);
    return NULL;
  }
  const situ_status status = collect(self, parts);
  if (status) cursor_drop(parts, n);
  return status;
}

const struct data_kind kind_Cache = {.name = "Cache",
                                     .size = sizeof(struct caching),
                                     .n_inputs = 1,
                                     .open = cache_open,
                                     .next = cache_next,
                                     .close = cache_close,
                                     .lazy = true};
