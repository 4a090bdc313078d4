/* SPDX-License-Identifier: Apache-2.0
 * rng.c: see rng.h; and the dataset Random. */
#include "data/rng.h"

#include <stdlib.h>

#include "base/random_seed.h"

/* The seed generator of a dataset, shared by its cursors. */
struct seeds {
  struct shared_state head;
  bool seeded;
  int64_t seed, seed2;
  struct rng rng;
  int64_t drawn; /* numbers drawn from rng */
};

static void free_seeds(struct shared_state *shared_state) { free(shared_state); }

static situ_status create_seeds(struct shared_state **out) {
  struct seeds *seeds = calloc(1, sizeof *seeds);
  if (!seeds) return NO_MEMORY();
  seeds->head.release = free_seeds;
  *out = &seeds->head;
  return NULL;
}

static void set_seeds(struct seeds *seeds, int64_t seed, int64_t seed2, int64_t drawn) {
  seeds->seed = seed;
  seeds->seed2 = seed2;
  seeds->rng = rng_create(seed, seed2);
  seeds->rng.state = philox_skip(seeds->rng.state, (u64)drawn / 4);
  for (int64_t i = 0; i < drawn % 4; i++) rng_next(&seeds->rng);
  seeds->drawn = drawn;
  seeds->seeded = true;
}

/* Replaces two zero seeds by random ones. */
static situ_status randomize_zero_seeds(int64_t *seed, int64_t *seed2) {
  uint64_t any[2];
  if (*seed || *seed2) return NULL;
  TRY(random_seed_next(any));
  *seed = (int64_t)any[0];
  *seed2 = (int64_t)any[1];
  return NULL;
}

/* Initializes the seed generator. Random seeds derive from the first seeds of the iteration, so
 * that a restored iteration repeats them. */
static situ_status begin_seeds(const struct cursor *cursor, int first, struct seed_record *record,
                               struct seeds *seeds) {
  int64_t seed = 0, seed2 = 0;
  TRY(cursor_int_param(cursor, first, &seed));
  TRY(cursor_int_param(cursor, first + 1, &seed2));
  if (!seed && !seed2 && record->known) {
    seed = record->seed;
    seed2 = (int64_t)((u64)record->seed2 + (u64)++record->restarts);
  }
  TRY(randomize_zero_seeds(&seed, &seed2));
  set_seeds(seeds, seed, seed2, 0);
  return NULL;
}

/* Sets the seeds of a cursor from the seed record of its dataset, or fills in the record. Must
 * hold the locks of the shared state and of the iteration. */
static situ_status find_seeds(const struct cursor *cursor, int first, struct seeds *seeds) {
  struct seed_record *record = iterator_state_seeds(cursor->iteration, cursor->dataset);
  if (!record) return NO_MEMORY();
  if (record->restored)
    set_seeds(seeds, record->seed, record->seed2, record->drawn);
  else if (!seeds->seeded)
    TRY(begin_seeds(cursor, first, record, seeds));
  record->restored = false;
  if (record->known) return NULL;
  record->seed = seeds->seed;
  record->seed2 = seeds->seed2;
  record->drawn = seeds->drawn;
  record->known = true;
  return NULL;
}

/* Must hold the lock of the iteration, and of the shared state if there is one. */
static situ_status record_seeds(struct iteration *iteration, const situ_dataset *dataset,
                                const struct seeds *seeds) {
  const int last = dataset->kind->seeds;
  const situ_param *params = dataset->spec.params;
  struct seed_record *record = iterator_state_seeds(iteration, dataset);
  if (!record) return NO_MEMORY();
  if (record->known) return NULL;
  if (seeds && seeds->seeded) {
    record->seed = seeds->seed;
    record->seed2 = seeds->seed2;
    record->drawn = seeds->drawn;
  } else if (params[last].tensor && params[last - 1].tensor) {
    record->seed = dataset_int_param(dataset, last - 1, 0);
    record->seed2 = dataset_int_param(dataset, last, 0);
    TRY(randomize_zero_seeds(&record->seed, &record->seed2));
  } else {
    return NULL; /* the seeds are arguments */
  }
  record->known = record->restored = true;
  return NULL;
}

situ_status rng_record_seeds(struct iteration *iteration, situ_dataset *dataset, bool share_state) {
  pthread_mutex_lock(&dataset->lock);
  struct shared_state *shared_state = share_state ? dataset->shared_state : NULL;
  if (shared_state) __atomic_add_fetch(&shared_state->references, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&dataset->lock);
  if (shared_state) pthread_mutex_lock(&shared_state->lock);
  pthread_mutex_lock(&iteration->lock);
  const situ_status status = record_seeds(iteration, dataset, (struct seeds *)shared_state);
  pthread_mutex_unlock(&iteration->lock);
  if (shared_state) pthread_mutex_unlock(&shared_state->lock);
  shared_state_release(shared_state);
  return status;
}

situ_status rng_begin(const struct cursor *cursor, int first, bool reseed, struct rng *out) {
  struct shared_state *shared_state = NULL;
  TRY(shared_state_find(cursor, create_seeds, &shared_state));
  struct seeds *seeds = (struct seeds *)shared_state;
  pthread_mutex_lock(&shared_state->lock);
  pthread_mutex_lock(&cursor->iteration->lock);
  const situ_status status = find_seeds(cursor, first, seeds);
  pthread_mutex_unlock(&cursor->iteration->lock);
  int64_t seed = seeds->seed, seed2 = seeds->seed2;
  if (reseed) {
    seed = rng_next(&seeds->rng);
    seed2 = rng_next(&seeds->rng);
    seeds->drawn += 2;
  }
  pthread_mutex_unlock(&shared_state->lock);
  shared_state_release(shared_state);
  *out = rng_create(seed, seed2);
  return status;
}

/* ---- Random ---- */

struct random_cursor {
  struct cursor head;
  struct rng rng;
};

static situ_status init(situ_dataset *dataset) {
  dataset->n_components = 1;
  return NULL;
}

static situ_status open(struct cursor *cursor) {
  const bool reseed = cursor->dataset->spec.flags & SITU_RESHUFFLE;
  return rng_begin(cursor, 0, reseed, &((struct random_cursor *)cursor)->rng);
}

static situ_status next(struct cursor *cursor, situ_tensor **components, bool *end) {
  (void)end;
  const int64_t number = rng_next(&((struct random_cursor *)cursor)->rng);
  return situ_tensor_create(SITU_INT64, SITU_SCALAR, &number, &components[0]);
}

static int64_t count(const situ_dataset *dataset) {
  (void)dataset;
  return INFINITE_COUNT;
}

const struct data_kind kind_Random = {.name = "Random",
                                      .seeds = 1,
                                      .size = sizeof(struct random_cursor),
                                      .n_params = 2,
                                      .init = init,
                                      .open = open,
                                      .next = next,
                                      .cardinality = count};
