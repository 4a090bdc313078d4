/* SPDX-License-Identifier: Apache-2.0
 * shuffle.c: Shuffle and Cache.  Shuffle uses a ring buffer of elements; each step returns a random
 * one, replaces it by the oldest and refills the buffer. The order equals TensorFlow's for equal
 * seeds (Philox). */
#include <stdlib.h>
#include <string.h>

#include "data/data.h"
#include "data/rng.h"

struct shuffle_cursor {
  struct cursor head;
  struct rng rng;
  situ_tensor **elements; /* ring buffer, n_components each */
  int64_t capacity, n_elements, size;
  int64_t first; /* index of the oldest element */
  bool ended;
};

static situ_status shuffle_open(struct cursor *cursor) {
  struct shuffle_cursor *self = (struct shuffle_cursor *)cursor;
  TRY(cursor_int_param(cursor, 0, &self->size));
  if (self->size == UNKNOWN_COUNT) self->size = INT64_MAX; /* unbounded */
  if (self->size < 1)
    return INVALID("buffer_size must be greater than zero or UNKNOWN_CARDINALITY");
  return rng_begin(cursor, 1, cursor->dataset->spec.flags & SITU_RESHUFFLE, &self->rng);
}

static void shuffle_close(struct cursor *cursor) {
  struct shuffle_cursor *self = (struct shuffle_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  for (int64_t i = 0; i < self->n_elements; i++)
    cursor_release_tensors(self->elements + (self->first + i) % self->capacity * n, n);
  free(self->elements);
}

/* Grows the buffer up to `size`, which is often larger than the dataset. The buffer only grows
 * before the first element is returned, so that it starts at index 0. */
static situ_status grow(struct shuffle_cursor *self) {
  const int n = self->head.dataset->n_components;
  const int64_t capacity = min_i64(self->size, self->capacity ? self->capacity * 2 : 64);
  situ_tensor **elements = realloc(self->elements, sizeof *elements * (size_t)capacity * (size_t)n);
  if (!elements) return NO_MEMORY();
  self->elements = elements;
  self->capacity = capacity;
  return NULL;
}

static situ_status fill(struct shuffle_cursor *self) {
  const int n = self->head.dataset->n_components;
  while (!self->ended && self->n_elements < self->size) {
    if (self->n_elements == self->capacity) TRY(grow(self));
    situ_tensor **element = self->elements + (self->first + self->n_elements) % self->capacity * n;
    memset(element, 0, sizeof *element * (size_t)n);
    TRY(cursor_pull(&self->head, element, &self->ended));
    self->n_elements += !self->ended;
  }
  return NULL;
}

static situ_status shuffle_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct shuffle_cursor *self = (struct shuffle_cursor *)cursor;
  const size_t n = (size_t)cursor->dataset->n_components;
  TRY(fill(self));
  *end = !self->n_elements;
  if (*end) return NULL;
  const int64_t chosen = (self->first + (int64_t)(rng_next(&self->rng) % (u64)self->n_elements));
  situ_tensor **from = self->elements + (size_t)(chosen % self->capacity) * n;
  situ_tensor **first = self->elements + (size_t)self->first * n;
  memcpy(components, from, sizeof *components * n);
  memmove(from, first, sizeof *components * n);
  self->first = (self->first + 1) % self->capacity;
  self->n_elements--;
  return NULL;
}

const struct data_kind kind_Shuffle = {.name = "Shuffle",
                                       .seeds = 2,
                                       .size = sizeof(struct shuffle_cursor),
                                       .n_inputs = 1,
                                       .n_params = 3,
                                       .open = shuffle_open,
                                       .next = shuffle_next,
                                       .close = shuffle_close};

/* ---- Cache ---- */

struct cache {
  struct shared_state head;
  situ_tensor **elements;
  int64_t n_elements, capacity;
  int n_components;
  bool complete;
};

static void free_cache(struct shared_state *shared_state) {
  struct cache *cache = (struct cache *)shared_state;
  for (int64_t i = 0; i < cache->n_elements; i++)
    cursor_release_tensors(cache->elements + i * cache->n_components, cache->n_components);
  free(cache->elements);
  free(cache);
}

static situ_status create_cache(struct shared_state **out) {
  struct cache *cache = calloc(1, sizeof *cache);
  if (!cache) return NO_MEMORY();
  cache->head.release = free_cache;
  *out = &cache->head;
  return NULL;
}

struct cache_cursor {
  struct cursor head;
  struct cache *shared, *own; /* the cache of the dataset; the cache that this cursor fills, or
                                 NULL */
  int64_t at;
};

static situ_status cache_open(struct cursor *cursor) {
  struct cache_cursor *self = (struct cache_cursor *)cursor;
  struct shared_state *shared_state = NULL, *own = NULL;
  TRY(shared_state_find(cursor, create_cache, &shared_state));
  self->shared = (struct cache *)shared_state;
  pthread_mutex_lock(&shared_state->lock);
  const bool complete = self->shared->complete;
  pthread_mutex_unlock(&shared_state->lock);
  if (complete) return NULL;
  TRY(create_cache(&own));
  self->own = (struct cache *)own;
  self->own->n_components = cursor->dataset->n_components;
  return cursor_open_input(cursor, 0);
}

static void cache_close(struct cursor *cursor) {
  struct cache_cursor *self = (struct cache_cursor *)cursor;
  if (self->own) free_cache(&self->own->head);
  if (self->shared) shared_state_release(&self->shared->head);
}

/* Publishes the complete cache, unless another cursor was first. */
static void share(struct cache_cursor *self) {
  struct cache *shared = self->shared;
  pthread_mutex_lock(&shared->head.lock);
  if (!shared->complete) {
    shared->elements = self->own->elements;
    shared->n_elements = self->own->n_elements;
    shared->n_components = self->own->n_components;
    shared->complete = true;
    self->own->elements = NULL;
    self->own->n_elements = 0;
  }
  pthread_mutex_unlock(&shared->head.lock);
  free_cache(&self->own->head);
  self->own = NULL;
  self->at = INT64_MAX;
}

static situ_status collect(struct cache_cursor *self, situ_tensor *const *components) {
  struct cache *own = self->own;
  const int n = own->n_components;
  if (own->n_elements == own->capacity) {
    const int64_t capacity = own->capacity ? own->capacity * 2 : 64;
    situ_tensor **elements =
        realloc(own->elements, sizeof *elements * (size_t)capacity * (size_t)n);
    if (!elements) return NO_MEMORY();
    own->elements = elements;
    own->capacity = capacity;
  }
  for (int i = 0; i < n; i++)
    own->elements[own->n_elements * n + i] = situ_tensor_retain(components[i]);
  own->n_elements++;
  return NULL;
}

static situ_status cache_next(struct cursor *cursor, situ_tensor **components, bool *end) {
  struct cache_cursor *self = (struct cache_cursor *)cursor;
  const int n = cursor->dataset->n_components;
  if (!self->own) {
    *end = self->at >= self->shared->n_elements;
    for (int i = 0; i < n && !*end; i++)
      components[i] = situ_tensor_retain(self->shared->elements[self->at * n + i]);
    if (!*end) self->at++;
    return NULL;
  }
  TRY(cursor_pull(cursor, components, end));
  if (*end) {
    share(self);
    return NULL;
  }
  const situ_status status = collect(self, components);
  if (status) cursor_release_tensors(components, n);
  return status;
}

const struct data_kind kind_Cache = {.name = "Cache",
                                     .size = sizeof(struct cache_cursor),
                                     .n_inputs = 1,
                                     .open = cache_open,
                                     .next = cache_next,
                                     .close = cache_close,
                                     .lazy = true};
