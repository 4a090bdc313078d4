/* SPDX-License-Identifier: Apache-2.0
 * dice.c: see dice.h; and the data set of random numbers. */
#include "data/dice.h"

#include <stdlib.h>

#include "base/chance.h"

static struct dice dice_of(int64_t seed, int64_t seed2) {
  const u64 key = (u64)seed, counter = (u64)seed2;
  return (struct dice){
      .state = {{0, 0, (u32)counter, (u32)(counter >> 32)}, {(u32)key, (u32)(key >> 32)}}};
}

u32 dice_roll(struct dice *dice) {
  if (!dice->used) {
    dice->words = philox_words(dice->state);
    dice->state = philox_skip(dice->state, 1);
  }
  const u32 word = dice->words.at[dice->used];
  dice->used = (dice->used + 1) % 4;
  return word;
}

/* The generator of seeds of a data set. */
struct seeds {
  struct keep head;
  bool begun;
  int64_t seed, seed2;
  struct dice dice;
};

static void free_seeds(struct keep *keep) { free(keep); }

static situ_status create_seeds(struct keep **out) {
  struct seeds *seeds = calloc(1, sizeof *seeds);
  if (!seeds) return NO_MEMORY();
  seeds->head.release = free_seeds;
  *out = &seeds->head;
  return NULL;
}

static situ_status begin_seeds(const struct cursor *cursor, int first, struct seeds *seeds) {
  TRY(cursor_number(cursor, first, &seeds->seed));
  TRY(cursor_number(cursor, first + 1, &seeds->seed2));
  if (!seeds->seed && !seeds->seed2) {
    uint64_t any[2];
    TRY(chance_seeds(any));
    seeds->seed = (int64_t)any[0];
    seeds->seed2 = (int64_t)any[1];
  }
  seeds->dice = dice_of(seeds->seed, seeds->seed2);
  seeds->begun = true;
  return NULL;
}

situ_status dice_begin(const struct cursor *cursor, int first, bool anew, struct dice *out) {
  struct keep *keep = NULL;
  TRY(keep_find(cursor, create_seeds, &keep));
  struct seeds *seeds = (struct seeds *)keep;
  pthread_mutex_lock(&keep->lock);
  const situ_status status = seeds->begun ? NULL : begin_seeds(cursor, first, seeds);
  int64_t seed = seeds->seed, seed2 = seeds->seed2;
  if (anew) {
    seed = dice_roll(&seeds->dice);
    seed2 = dice_roll(&seeds->dice);
  }
  pthread_mutex_unlock(&keep->lock);
  keep_release(keep);
  *out = dice_of(seed, seed2);
  return status;
}

/* Random numbers, for ever */

struct rolling {
  struct cursor head;
  struct dice dice;
};

static situ_status make(situ_dataset *dataset) {
  dataset->n_parts = 1;
  return NULL;
}

static situ_status open(struct cursor *cursor) {
  const bool anew = cursor->dataset->recipe.flags & SITU_RESHUFFLE;
  return dice_begin(cursor, 0, anew, &((struct rolling *)cursor)->dice);
}

static situ_status next(struct cursor *cursor, situ_tensor **parts, bool *end) {
  (void)end;
  const int64_t number = dice_roll(&((struct rolling *)cursor)->dice);
  return situ_tensor_create(SITU_INT64, SITU_SCALAR, &number, &parts[0]);
}

static int64_t count(const situ_dataset *dataset) {
  (void)dataset;
  return UNENDING;
}

const struct data_kind kind_Random = {.name = "Random",
                                      .size = sizeof(struct rolling),
                                      .n_params = 2,
                                      .make = make,
                                      .open = open,
                                      .next = next,
                                      .count = count};
