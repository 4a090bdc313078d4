/* SPDX-License-Identifier: Apache-2.0
 * shade.c: finds races: two threads touch a byte, one of them writes, and no barrier is between
 * them. Threads of different blocks are never ordered within a launch. */
#include <string.h>

#include "cuda/ptx/ptx.h"

/* Whether an earlier touch is another thread's and nothing orders the two. */
static bool meets(const struct touch *touch, const struct thread *t, uint32_t threads) {
  if (!touch->thread || touch->thread == t->number + 1) return false;
  const bool same_block = (touch->thread - 1) / threads == t->number / threads;
  return !same_block || touch->epoch == t->block->epoch;
}

static void note_reader(struct shade *shade, struct touch mine, const struct thread *t,
                        uint32_t threads) {
  for (int k = 0; k < 2; k++) {
    if (shade->readers[k].thread == mine.thread || !meets(&shade->readers[k], t, threads)) {
      shade->readers[k] = mine;
      return;
    }
  }
}

static bool touch_one(struct shade *shade, enum access access, const struct thread *t,
                      uint32_t threads, uint32_t *other) {
  const struct touch mine = {t->number + 1, t->block->epoch};
  if (shade->launch != t->block->launch->number) {
    memset(shade, 0, sizeof *shade);
    shade->launch = t->block->launch->number;
  }
  if (meets(&shade->writer, t, threads) && !(access == ACCESS_ATOMIC && shade->atomic)) {
    *other = shade->writer.thread - 1;
    return false;
  }
  if (access == ACCESS_READ) {
    note_reader(shade, mine, t, threads);
    return true;
  }
  for (int k = 0; k < 2; k++) {
    if (meets(&shade->readers[k], t, threads)) {
      *other = shade->readers[k].thread - 1;
      return false;
    }
  }
  shade->writer = mine;
  shade->atomic = access == ACCESS_ATOMIC;
  return true;
}

bool shade_touch(struct shade *shades, size_t bytes, enum access access, const struct thread *t,
                 uint32_t *other) {
  const uint32_t *block = t->block->launch->block;
  const uint32_t threads = block[0] * block[1] * block[2];
  for (size_t k = 0; k < bytes; k++)
    if (!touch_one(&shades[k], access, t, threads, other)) return false;
  return true;
}
