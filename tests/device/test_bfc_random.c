/* SPDX-License-Identifier: Apache-2.0
 * test_bfc_random.c: random traces on the allocator, checked after every step against what a plain
 * walk over all pieces says; and the waste of the policies on a made-up training run. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "device/bfc.h"

enum { LIVE = 200 };

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

static uint32_t seed;

static uint32_t draw(uint32_t below) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % below;
}

struct driver {
  uint64_t capacity, taken, end;
  int64_t regions; /* ever */
  uint32_t refuse; /* refuses one of so many; 0: none */
};

static bool driver_alloc(void *context, size_t bytes, void **region, uint64_t *address) {
  struct driver *driver = context;
  if (bytes > driver->capacity - driver->taken) return false;
  if (driver->refuse && !draw(driver->refuse)) return false;
  *region = driver;
  *address = driver->end;
  driver->taken += bytes;
  driver->end +=
      bytes + (driver->regions++ % 2 ? MIB : 0); /* neighbouring regions are not joined */
  return true;
}

static void driver_free(void *context, void *region, uint64_t address, size_t bytes) {
  struct driver *driver = context;
  assert_ptr_equal(region, driver);
  assert_true(address + bytes <= driver->end);
  driver->taken -= bytes;
}

/* What a walk finds. */
struct seen {
  struct bfc_view last;
  bool any;
  uint64_t used, requested, reserved, idle, largest_free;
  uint64_t filled; /* bytes of the current region so far */
  bool untouched;  /* nothing of the current region is in use */
  int32_t regions, pieces;
  uint64_t want;         /* of all holes of at least that size ... */
  struct bfc_chunk best; /* ... the smallest, then the lowest */
};

static void see_region(struct seen *seen, const struct bfc_view *view) {
  if (seen->any) assert_int_equal(seen->filled, seen->last.region_bytes);
  if (seen->any)
    assert_true(seen->last.region_address + seen->last.region_bytes <= view->region_address);
  seen->reserved += view->region_bytes;
  seen->idle += view->region_bytes;
  seen->untouched = true;
  seen->regions++;
  seen->filled = 0;
}

static void see_hole(struct seen *seen, const struct bfc_chunk *piece) {
  if (piece->size > seen->largest_free) seen->largest_free = piece->size;
  if (piece->size < seen->want) return;
  if (!seen->best.size || piece->size < seen->best.size) seen->best = *piece;
}

static void see(void *context, const struct bfc_view *view) {
  struct seen *seen = context;
  const bool first = !seen->any || view->region_address != seen->last.region_address;
  if (first) see_region(seen, view);
  assert_int_equal(view->chunk.offset, seen->filled);
  assert_int_equal(view->chunk.address, view->region_address + seen->filled);
  assert_true(view->chunk.size > 0 && view->chunk.size % BFC_ALIGNMENT == 0);
  if (!first) assert_true(view->used || seen->last.used); /* else they had to be joined */
  seen->filled += view->chunk.size;
  if (view->used) {
    if (seen->untouched) seen->idle -= view->region_bytes;
    seen->untouched = false;
    seen->pieces++;
    seen->used += view->chunk.size;
    seen->requested += view->chunk.requested;
  } else {
    see_hole(seen, &view->chunk);
  }
  seen->last = *view;
  seen->any = true;
}

static struct seen look(const struct bfc *bfc, uint64_t want) {
  struct seen seen = {.want = want};
  bfc_visit(bfc, see, &seen);
  if (seen.any) assert_int_equal(seen.filled, seen.last.region_bytes);
  return seen;
}

static void check_stats(const struct bfc *bfc, const struct driver *driver, uint64_t limit) {
  const struct seen seen = look(bfc, UINT64_MAX);
  struct bfc_stats stats;
  bfc_stats(bfc, &stats);
  assert_int_equal(stats.in_use, seen.used);
  assert_int_equal(stats.requested, seen.requested);
  assert_int_equal(stats.reserved, seen.reserved);
  assert_int_equal(stats.reserved, driver->taken);
  assert_int_equal(stats.idle, seen.idle);
  assert_int_equal(stats.largest_free, seen.largest_free);
  assert_int_equal(stats.n_regions, seen.regions);
  assert_int_equal(stats.n_chunks, seen.pieces);
  assert_true(stats.reserved <= limit && stats.in_use <= stats.peak);
}

static void check_no_overlap(const struct bfc_chunk *live, int i) {
  for (int j = 0; j < LIVE; j++) {
    if (j == i || !live[j].size) continue;
    assert_true(live[j].address + live[j].size <= live[i].address ||
                live[i].address + live[i].size <= live[j].address);
    assert_int_not_equal(live[j].handle, live[i].handle);
  }
}

/* The best hole is used; its rest is split off as the policy says. */
static void check_fit(const struct bfc_options *options, const struct seen *seen,
                      const struct bfc_chunk *got) {
  const uint64_t want = seen->want, have = seen->best.size;
  if (!have) return; /* from a new region */
  const uint64_t cap = options->fragmentation_fraction > 0
                           ? (uint64_t)(options->fragmentation_fraction * (double)options->limit)
                           : 128 * MIB;
  const bool split = options->reference ? have >= 2 * want || have - want >= cap
                                        : have - want >= (want <= MIB ? 256 : 64 * KIB);
  assert_int_equal(got->address, seen->best.address);
  assert_int_equal(got->size, split ? want : have);
}

static size_t draw_bytes(uint64_t limit) {
  switch (draw(4)) {
    case 0:
      return 1 + draw(2000);
    case 1:
      return (size_t)1 << draw(22);
    case 2:
      return (size_t)(limit / (1 + draw(100))) + draw(300);
    default:
      return 1 + draw(300000);
  }
}

static void step(struct bfc *bfc, const struct bfc_options *options, struct bfc_chunk *live) {
  const int i = (int)draw(LIVE);
  if (live[i].size) {
    assert_true(bfc_free(bfc, &live[i]));
    live[i] = (struct bfc_chunk){0};
    return;
  }
  const size_t bytes = draw_bytes(options->limit);
  const struct seen seen = look(bfc, round_up(bytes, BFC_ALIGNMENT));
  const bool got = bfc_alloc(bfc, bytes, &live[i]);
  if (seen.best.size) assert_true(got);
  if (!got) return;
  check_no_overlap(live, i);
  check_fit(options, &seen, &live[i]);
}

static void run_trace(const struct bfc_options *options, uint64_t capacity, uint32_t refuse) {
  struct driver driver = {.capacity = capacity, .refuse = refuse};
  struct bfc_chunk live[LIVE] = {{0}};
  struct bfc *bfc =
      bfc_create(options, (struct bfc_sub_allocator){&driver, driver_alloc, driver_free});
  assert_non_null(bfc);
  for (int i = 0; i < 1500; i++) {
    step(bfc, options, live);
    if (!draw(400)) bfc_trim(bfc);
    check_stats(bfc, &driver, options->limit);
  }
  for (int i = 0; i < LIVE; i++)
    if (live[i].size) assert_true(bfc_free(bfc, &live[i]));
  check_stats(bfc, &driver, options->limit);
  bfc_trim(bfc);
  assert_int_equal(driver.taken, 0);
  bfc_destroy(bfc);
}

static void random_traces_keep_the_rules(void **state) {
  (void)state;
  static const uint64_t limits[] = {MIB, 10000000, 64 * MIB, GIB};
  static const double fractions[] = {0.0, 0.001, 0.1};
  seed = 1;
  for (int i = 0; i < 64; i++) {
    const struct bfc_options options = {.limit = limits[i / 16],
                                        .growth = i & 1,
                                        .reference = i & 2,
                                        .collect = i & 4,
                                        .fragmentation_fraction = fractions[i % 3]};
    run_trace(&options, i & 8 ? options.limit / 4 * 3 : 2 * options.limit, i % 5 ? 0 : 3);
  }
}

/* A training run: weights and slots stay, activations live from forward to backward, batches vary.
 */
enum { LAYERS = 40, RUNS = 40 };

struct training {
  struct bfc *bfc;
  double waste, asked; /* summed over all moments */
  uint64_t now, demand, reserved;
};

static struct bfc_chunk get(struct training *training, size_t bytes) {
  struct bfc_chunk piece;
  struct bfc_stats stats;
  assert_true(bfc_alloc(training->bfc, bytes, &piece));
  bfc_stats(training->bfc, &stats);
  training->waste += (double)(stats.in_use - stats.requested);
  training->asked += (double)stats.requested;
  if (training->demand < stats.requested) training->demand = stats.requested;
  if (training->reserved < stats.reserved) training->reserved = stats.reserved;
  return piece;
}

static void put(struct training *training, struct bfc_chunk piece) {
  assert_true(bfc_free(training->bfc, &piece));
}

static void run_step(struct training *training, const size_t *weights, const size_t *outputs,
                     uint32_t percent, bool first) {
  struct bfc_chunk kept[LAYERS], grads[LAYERS];
  for (int i = 0; i < LAYERS; i++) {
    const size_t bytes = outputs[i] * percent / 100;
    const struct bfc_chunk scratch = get(training, i % 3 ? 256 : bytes * (1 + draw(3)) / 2);
    kept[i] = get(training, bytes);
    put(training, scratch);
  }
  struct bfc_chunk error = get(training, outputs[LAYERS - 1] * percent / 100);
  for (int i = LAYERS; i-- > 0;) {
    const struct bfc_chunk next = get(training, outputs[i] * percent / 100);
    grads[i] = get(training, weights[i]);
    put(training, error);
    put(training, kept[i]);
    error = next;
  }
  for (int i = 0; first && i < LAYERS; i++) get(training, weights[i]); /* slots */
  for (int i = 0; i < LAYERS; i++) put(training, grads[i]);
  put(training, error);
}

static struct training train(bool reference, bool growth) {
  struct driver driver = {.capacity = 8 * GIB};
  const struct bfc_options options = {
      .limit = 4 * GIB, .growth = growth, .reference = reference, .collect = true};
  struct training training = {
      .bfc = bfc_create(&options, (struct bfc_sub_allocator){&driver, driver_alloc, driver_free})};
  size_t weights[LAYERS], outputs[LAYERS];
  seed = 7;
  for (int i = 0; i < LAYERS; i++) {
    weights[i] = 100000 + draw(4000000);
    outputs[i] = 200000 + draw(3000000);
    get(&training, weights[i]);
    get(&training, 256 + draw(16000));
  }
  for (int i = 0; i < RUNS; i++) run_step(&training, weights, outputs, 30 + draw(90), !i);
  bfc_destroy(training.bfc);
  return training;
}

static void the_default_wastes_less_in_training(void **state) {
  (void)state;
  const struct training reference = train(true, true), ours = train(false, true);
  const double theirs = reference.waste / reference.asked, waste = ours.waste / ours.asked;
  printf("growth: waste %.2f %% (reference %.2f %%), pool %.2f of the demand (reference %.2f)\n",
         100 * waste, 100 * theirs, (double)ours.reserved / (double)ours.demand,
         (double)reference.reserved / (double)reference.demand);
  assert_int_equal(ours.demand, reference.demand);
  assert_true(waste < 0.005 && waste < theirs / 4);
  assert_true(ours.reserved < reference.reserved);
  assert_true((double)ours.reserved < 1.3 * (double)ours.demand);
  const struct training taken = train(false, false);
  assert_true(taken.waste / taken.asked < 0.005);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(random_traces_keep_the_rules),
      cmocka_unit_test(the_default_wastes_less_in_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
