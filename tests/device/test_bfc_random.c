/* SPDX-License-Identifier: Apache-2.0
 * test_bfc_random.c: random traces on the allocator, compared after each step with a linear search
 * over all chunks; and the fragmentation of the policies in a synthetic training run. */
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
  int64_t regions; /* total number */
  uint32_t refuse; /* refuses one of N requests; 0: none */
};

static bool driver_alloc(void *context, size_t bytes, void **region, uint64_t *address) {
  struct driver *driver = context;
  if (bytes > driver->capacity - driver->taken) return false;
  if (driver->refuse && !draw(driver->refuse)) return false;
  *region = driver;
  *address = driver->end;
  driver->taken += bytes;
  driver->end += bytes + (driver->regions++ % 2 ? MIB : 0); /* adjacent regions are not coalesced */
  return true;
}

static void driver_free(void *context, void *region, uint64_t address, size_t bytes) {
  struct driver *driver = context;
  assert_ptr_equal(region, driver);
  assert_true(address + bytes <= driver->end);
  driver->taken -= bytes;
}

/* Totals of bfc_visit. */
struct totals {
  struct bfc_view last;
  bool any;
  uint64_t used, requested, reserved, idle, largest_free;
  uint64_t filled; /* bytes of the current region so far */
  bool is_idle;    /* the current region has no allocated chunk */
  int32_t regions, pieces;
  uint64_t requested_size; /* of all free chunks of at least that size ... */
  struct bfc_chunk best;   /* ... the smallest, then the lowest */
};

static void visit_region(struct totals *totals, const struct bfc_view *view) {
  if (totals->any) assert_int_equal(totals->filled, totals->last.region_bytes);
  if (totals->any)
    assert_true(totals->last.region_address + totals->last.region_bytes <= view->region_address);
  totals->reserved += view->region_bytes;
  totals->idle += view->region_bytes;
  totals->is_idle = true;
  totals->regions++;
  totals->filled = 0;
}

static void visit_free_chunk(struct totals *totals, const struct bfc_chunk *chunk) {
  if (chunk->size > totals->largest_free) totals->largest_free = chunk->size;
  if (chunk->size < totals->requested_size) return;
  if (!totals->best.size || chunk->size < totals->best.size) totals->best = *chunk;
}

static void visit_chunk(void *context, const struct bfc_view *view) {
  struct totals *totals = context;
  const bool first = !totals->any || view->region_address != totals->last.region_address;
  if (first) visit_region(totals, view);
  assert_int_equal(view->chunk.offset, totals->filled);
  assert_int_equal(view->chunk.address, view->region_address + totals->filled);
  assert_true(view->chunk.size > 0 && view->chunk.size % BFC_ALIGNMENT == 0);
  if (!first)
    assert_true(view->used || totals->last.used); /* otherwise they would have been coalesced */
  totals->filled += view->chunk.size;
  if (view->used) {
    if (totals->is_idle) totals->idle -= view->region_bytes;
    totals->is_idle = false;
    totals->pieces++;
    totals->used += view->chunk.size;
    totals->requested += view->chunk.requested;
  } else {
    visit_free_chunk(totals, &view->chunk);
  }
  totals->last = *view;
  totals->any = true;
}

static struct totals look(const struct bfc *bfc, uint64_t requested_size) {
  struct totals totals = {.requested_size = requested_size};
  bfc_visit(bfc, visit_chunk, &totals);
  if (totals.any) assert_int_equal(totals.filled, totals.last.region_bytes);
  return totals;
}

static void check_stats(const struct bfc *bfc, const struct driver *driver, uint64_t limit) {
  const struct totals totals = look(bfc, UINT64_MAX);
  struct bfc_stats stats;
  bfc_stats(bfc, &stats);
  assert_int_equal(stats.in_use, totals.used);
  assert_int_equal(stats.requested, totals.requested);
  assert_int_equal(stats.reserved, totals.reserved);
  assert_int_equal(stats.reserved, driver->taken);
  assert_int_equal(stats.idle, totals.idle);
  assert_int_equal(stats.largest_free, totals.largest_free);
  assert_int_equal(stats.n_regions, totals.regions);
  assert_int_equal(stats.n_chunks, totals.pieces);
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

/* Checks that the best free chunk is used and its remainder split off by the policy. */
static void check_fit(const struct bfc_options *options, const struct totals *totals,
                      const struct bfc_chunk *got) {
  const uint64_t requested_size = totals->requested_size, have = totals->best.size;
  if (!have) return; /* from a new region */
  const uint64_t cap = options->fragmentation_fraction > 0
                           ? (uint64_t)(options->fragmentation_fraction * (double)options->limit)
                           : 128 * MIB;
  const bool split = options->reference
                         ? have >= 2 * requested_size || have - requested_size >= cap
                         : have - requested_size >= (requested_size <= MIB ? 256 : 64 * KIB);
  assert_int_equal(got->address, totals->best.address);
  assert_int_equal(got->size, split ? requested_size : have);
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
  const struct totals totals = look(bfc, round_up(bytes, BFC_ALIGNMENT));
  const bool got = bfc_alloc(bfc, bytes, &live[i]);
  if (totals.best.size) assert_true(got);
  if (!got) return;
  check_no_overlap(live, i);
  check_fit(options, &totals, &live[i]);
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

static void random_traces_keep_invariants(void **state) {
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

/* A training run: weights and optimizer slots persist, activations live from forward to backward,
 * batches vary. Measures the wasted memory of both policies. */
enum { LAYERS = 40, RUNS = 40 };

struct training {
  struct bfc *bfc;
  double waste, asked; /* summed over all steps */
  uint64_t now, demand, reserved;
};

static struct bfc_chunk get(struct training *training, size_t bytes) {
  struct bfc_chunk chunk;
  struct bfc_stats stats;
  assert_true(bfc_alloc(training->bfc, bytes, &chunk));
  bfc_stats(training->bfc, &stats);
  training->waste += (double)(stats.in_use - stats.requested);
  training->asked += (double)stats.requested;
  if (training->demand < stats.requested) training->demand = stats.requested;
  if (training->reserved < stats.reserved) training->reserved = stats.reserved;
  return chunk;
}

static void put(struct training *training, struct bfc_chunk chunk) {
  assert_true(bfc_free(training->bfc, &chunk));
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

static void default_policy_wastes_less_in_training(void **state) {
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
      cmocka_unit_test(random_traces_keep_invariants),
      cmocka_unit_test(default_policy_wastes_less_in_training),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
