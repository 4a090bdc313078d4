/* SPDX-License-Identifier: Apache-2.0
 * rng.c: see rng.h; and the data set of random numbers. */
#include "data/rng.h"

#include <stdlib.h>

#include "base/random_seed.h"

static struct rng rng_of(int64_t seed, int64_t seed2) {
  const u64 key = (u64)seed, counter = (u64)seed2;
  return (struct rng){
      .state = {{0, 0, (u32)counter, (u32)(counter >> 32)}, {(u32)key, (u32)(key >> 32)}}};
}

u32 rng_next(struct rng *rng) {
  if (!rng->used) {
    rng->words = philox_words(rng->state);
    rng->state = philox_skip(rng->state, 1);
  }
  const u32 word = rng->words.at[rng->used];
  rng->used = (rng->used + 1) % 4;
  return word;
}

/* The generator of seeds of a data set. */
struct seeds {
  struct shared_state head;
  bool begun;
  int64_t seed, seed2;
  struct rng rng;
  int64_t rolled; /* how often it was asked */
};

static void free_seeds(struct shared_state *shared_state) { free(shared_state); }

static situ_status create_seeds(struct shared_state **out) {
  struct seeds *seeds = calloc(1, sizeof *seeds);
  if (!seeds) return NO_MEMORY();
  seeds->head.release = free_seeds;
  *out = &seeds->head;
  return NULL;
}

static void set_seeds(struct seeds *seeds, int64_t seed, int64_t seed2, int64_t rolled) {
  seeds->seed = seed;
  seeds->seed2 = seed2;
  seeds->rng = rng_of(seed, seed2);
  seeds->rng.state = philox_skip(seeds->rng.state, (u64)rolled / 4);
  for (int64_t i = 0; i < rolled % 4; i++) rng_next(&seeds->rng);
  seeds->rolled = rolled;
  seeds->begun = true;
}

/* Two seeds of 0 are anybody's. */
static situ_status choose_seeds(int64_t *seed, int64_t *seed2) {
  uint64_t any[2];
  if (*seed || *seed2) return NULL;
  TRY(random_seed_next(any));
  *seed = (int64_t)any[0];
  *seed2 = (int64_t)any[1];
  return NULL;
}

/* Seeds that are anybody's follow from the first ones of the walk, so that another walk can be the
 * same. */
static situ_status begin_seeds(const struct cursor *cursor, int first, struct mark *mark,
                               struct seeds *seeds) {
  int64_t seed = 0, seed2 = 0;
  TRY(cursor_number(cursor, first, &seed));
  TRY(cursor_number(cursor, first + 1, &seed2));
  if (!seed && !seed2 && mark->known) {
    seed = mark->seed;
    seed2 = (int64_t)((u64)mark->seed2 + (u64)++mark->again);
  }
  TRY(choose_seeds(&seed, &seed2));
  set_seeds(seeds, seed, seed2, 0);
  return NULL;
}

/* The seeds that a cursor finds, as the mark of its data set says or has to say. With both locks.
 */
static situ_status find_seeds(const struct cursor *cursor, int first, struct seeds *seeds) {
  struct mark *mark = iterator_state_mark(cursor->iteration, cursor->dataset);
  if (!mark) return NO_MEMORY();
  if (mark->given)
    set_seeds(seeds, mark->seed, mark->seed2, mark->rolled);
  else if (!seeds->begun)
    TRY(begin_seeds(cursor, first, mark, seeds));
  mark->given = false;
  if (mark->known) return NULL;
  mark->seed = seeds->seed;
  mark->seed2 = seeds->seed2;
  mark->rolled = seeds->rolled;
  mark->known = true;
  return NULL;
}

/* With the locks of the walk and of what the data set keeps, if it does. */
static situ_status mark_seeds(struct iteration *iteration, const situ_dataset *dataset,
                              const struct seeds *seeds) {
  const int last = dataset->kind->seeds;
  const situ_param *params = dataset->spec.params;
  struct mark *mark = iterator_state_mark(iteration, dataset);
  if (!mark) return NO_MEMORY();
  if (mark->known) return NULL;
  if (seeds && seeds->begun) {
    mark->seed = seeds->seed;
    mark->seed2 = seeds->seed2;
    mark->rolled = seeds->rolled;
  } else if (params[last].tensor && params[last - 1].tensor) {
    mark->seed = dataset_number(dataset, last - 1, 0);
    mark->seed2 = dataset_number(dataset, last, 0);
    TRY(choose_seeds(&mark->seed, &mark->seed2));
  } else {
    return NULL; /* arguments tell them */
  }
  mark->known = mark->given = true;
  return NULL;
}

situ_status rng_mark(struct iteration *iteration, situ_dataset *dataset, bool shares) {
  pthread_mutex_lock(&dataset->lock);
  struct shared_state *shared_state = shares ? dataset->shared_state : NULL;
  if (shared_state) __atomic_add_fetch(&shared_state->references, 1, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&dataset->lock);
  if (shared_state) pthread_mutex_lock(&shared_state->lock);
  pthread_mutex_lock(&iteration->lock);
  const situ_status status = mark_seeds(iteration, dataset, (struct seeds *)shared_state);
  pthread_mutex_unlock(&iteration->lock);
  if (shared_state) pthread_mutex_unlock(&shared_state->lock);
  shared_state_release(shared_state);
  return status;
}

situ_status rng_begin(const struct cursor *cursor, int first, bool anew, struct rng *out) {
  struct shared_state *shared_state = NULL;
  TRY(shared_state_find(cursor, create_seeds, &shared_state));
  struct seeds *seeds = (struct seeds *)shared_state;
  pthread_mutex_lock(&shared_state->lock);
  pthread_mutex_lock(&cursor->iteration->lock);
  const situ_status status = find_seeds(cursor, first, seeds);
  pthread_mutex_unlock(&cursor->iteration->lock);
  int64_t seed = seeds->seed, seed2 = seeds->seed2;
  if (anew) {
    seed = rng_next(&seeds->rng);
    seed2 = rng_next(&seeds->rng);
    seeds->rolled += 2;
  }
  pthread_mutex_unlock(&shared_state->lock);
  shared_state_release(shared_state);
  *out = rng_of(seed, seed2);
  return status;
}

/* Random numbers, for ever */

struct rolling {
  struct cursor head;
  struct rng rng;
};

static situ_status make(situ_dataset *dataset) {
  dataset->n_parts = 1;
  return NULL;
}

static situ_status open(struct cursor *cursor) {
  const bool anew = cursor->dataset->spec.flags & SITU_RESHUFFLE;
  return rng_begin(cursor, 0, anew, &((struct rolling *)cursor)->rng);
}

static situ_status next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  (void)end;
  const int64_t number = rng_next(&((struct rolling *)cursor)->rng);
  return situ_tensor_create(SITU_INT64, SITU_SCALAR, &number, &parts[0]);
}

static int64_t count(const situ_dataset *dataset) {
  (void)dataset;
  return UNENDING;
}

const struct data_kind kind_Random = {.name = "Random",
                                      .seeds = 1,
                                      .size = sizeof(struct rolling),
                                      .n_params = 2,
                                      .make = make,
                                      .open = open,
                                      .next = next,
                                      .count = count};
