/* SPDX-License-Identifier: Apache-2.0
 * test_bfc.c: both policies of the allocator: fixed traces, random traces against plain rules, a
 * driver that refuses, and how much a training run wastes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "device/bfc.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* A driver that remembers what it was asked for. */
struct driver {
  uint64_t capacity, taken, end;
  int64_t calls, refusals;
  size_t asked[64], given[64];
  int n_asked, n_given;
};

static bool driver_alloc(void *context, size_t bytes, void **region, uint64_t *address) {
  struct driver *driver = context;
  driver->calls++;
  if (driver->n_asked < 64) driver->asked[driver->n_asked++] = bytes;
  if (bytes > driver->capacity - driver->taken) {
    driver->refusals++;
    return false;
  }
  if (driver->n_given < 64) driver->given[driver->n_given++] = bytes;
  *address = driver->end;
  *region = (char *)driver + *address; /* never looked into */
  driver->taken += bytes;
  driver->end += round_up(bytes, 4096) + MIB;
  return true;
}

static void driver_free(void *context, void *region, uint64_t address, size_t bytes) {
  struct driver *driver = context;
  assert_ptr_equal(region, (char *)driver + address);
  assert_true(bytes <= driver->taken);
  driver->taken -= bytes;
}

static struct bfc *make(struct driver *driver, uint64_t capacity, struct bfc_options options) {
  *driver = (struct driver){.capacity = capacity};
  const struct bfc_sub_allocator source = {driver, driver_alloc, driver_free};
  struct bfc *bfc = bfc_create(&options, source);
  assert_non_null(bfc);
  assert_int_equal(driver->calls, 0);
  return bfc;
}

static struct bfc_chunk take(struct bfc *bfc, size_t bytes) {
  struct bfc_chunk piece;
  assert_true(bfc_alloc(bfc, bytes, &piece));
  assert_int_equal(piece.requested, bytes);
  assert_true(piece.size >= bytes);
  return piece;
}

static void drop(struct bfc *bfc, struct bfc_chunk piece) { assert_true(bfc_free(bfc, &piece)); }

static struct bfc_stats figures(const struct bfc *bfc) {
  struct bfc_stats stats;
  bfc_stats(bfc, &stats);
  return stats;
}

static void finish(struct bfc *bfc, struct driver *driver) {
  bfc_destroy(bfc);
  assert_int_equal(driver->taken, 0);
}

static void sizes_are_multiples_of_256(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB, (struct bfc_options){.limit = GIB, .reference = reference});
    assert_int_equal(take(bfc, 1).size, 256);
    assert_int_equal(take(bfc, 256).offset, 256);
    const struct bfc_chunk third = take(bfc, 257);
    assert_int_equal(third.size, 512);
    assert_int_equal(third.offset, 512);
    assert_int_equal(figures(bfc).in_use, 1024);
    assert_int_equal(figures(bfc).requested, 514);
    finish(bfc, &driver);
  }
}

static void nothing_and_too_much_are_refused(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB, (struct bfc_options){.limit = MIB, .reference = reference});
    const size_t sizes[] = {0, MIB + 1, SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
      struct bfc_chunk piece = {.size = 7};
      assert_false(bfc_alloc(bfc, sizes[i], &piece));
      assert_int_equal(piece.size, 0);
    }
    assert_int_equal(figures(bfc).allocations, 0);
    assert_int_equal(take(bfc, MIB).size, MIB);
    finish(bfc, &driver);
  }
}

static void the_reference_splits_at_twice_the_size(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB, .reference = true});
  struct bfc_chunk first = take(bfc, 4096);
  take(bfc, 256);
  drop(bfc, first);
  first = take(bfc, 2304);
  assert_int_equal(first.size, 4096);
  assert_int_equal(first.offset, 0);
  drop(bfc, first);
  assert_int_equal(take(bfc, 2048).size, 2048);
  assert_int_equal(take(bfc, 2048).offset, 2048);
  finish(bfc, &driver);
}

static void the_reference_caps_what_stays_unsplit(void **state) {
  (void)state;
  struct driver driver;
  struct bfc_options options = {.limit = 1000 * MIB, .reference = true};
  struct bfc *bfc = make(&driver, GIB, options);
  assert_int_equal(take(bfc, 871 * MIB).size, 871 * MIB); /* 129 MiB are left: split */
  finish(bfc, &driver);
  bfc = make(&driver, GIB, options);
  assert_int_equal(take(bfc, 873 * MIB).size, 1000 * MIB); /* 127 MiB: not */
  finish(bfc, &driver);
  options.fragmentation_fraction = 0.05;
  bfc = make(&driver, GIB, options);
  assert_int_equal(take(bfc, 951 * MIB).size, 1000 * MIB);
  finish(bfc, &driver);
  bfc = make(&driver, GIB, options);
  assert_int_equal(take(bfc, 949 * MIB).size, 949 * MIB);
  finish(bfc, &driver);
}

static void the_default_splits_what_is_worth_having(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = 64 * MIB});
  const struct bfc_chunk first = take(bfc, 4096), wall = take(bfc, 256);
  struct bfc_chunk large = take(bfc, 8 * MIB);
  assert_true(wall.size + take(bfc, 256).size == 512);
  drop(bfc, first);
  assert_int_equal(take(bfc, 3840).size, 3840);
  drop(bfc, large);
  large = take(bfc, 8 * MIB - 32 * KIB); /* a sliver is not worth having beside a large piece */
  assert_int_equal(large.size, 8 * MIB);
  drop(bfc, large);
  assert_int_equal(take(bfc, 8 * MIB - 64 * KIB).size, 8 * MIB - 64 * KIB);
  finish(bfc, &driver);
}

static void free_neighbours_are_joined(void **state) {
  (void)state;
  for (int order = 0; order < 6; order++) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct driver driver;
    struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB});
    struct bfc_chunk pieces[3];
    for (int i = 0; i < 3; i++) pieces[i] = take(bfc, 1024);
    take(bfc, MIB - 3 * KIB);
    for (int i = 0; i < 3; i++) drop(bfc, pieces[orders[order][i]]);
    assert_int_equal(figures(bfc).largest_free, 3 * KIB);
    assert_int_equal(take(bfc, 3 * KIB).offset, 0);
    finish(bfc, &driver);
  }
}

static void a_piece_is_freed_once(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB});
  const struct bfc_chunk a = take(bfc, 1024), b = take(bfc, 1024), c = take(bfc, 1024);
  drop(bfc, a);
  drop(bfc, b);
  assert_false(bfc_free(bfc, &a));
  assert_false(bfc_free(bfc, &b));
  assert_false(bfc_free(bfc, &(struct bfc_chunk){.handle = -1}));
  assert_false(bfc_free(bfc, &(struct bfc_chunk){.handle = 100000}));
  assert_int_equal(figures(bfc).in_use, 1024);
  drop(bfc, c);
  assert_int_equal(figures(bfc).in_use, 0);
  assert_int_equal(figures(bfc).n_chunks, 0);
  finish(bfc, &driver);
}

static void without_growth_everything_is_taken_at_once(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB, (struct bfc_options){.limit = 10000000, .reference = reference});
    take(bfc, 1);
    assert_int_equal(driver.n_given, 1);
    assert_int_equal(driver.given[0], 10000000 / 256 * 256);
    finish(bfc, &driver);
  }
}

static void the_reference_grows_by_doubling(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc =
      make(&driver, GIB, (struct bfc_options){.limit = GIB, .growth = true, .reference = true});
  static const size_t asked[] = {MIB, 2 * MIB, 4 * MIB, 40 * MIB, 40 * MIB};
  static const size_t given[] = {2 * MIB, 4 * MIB, 8 * MIB, 64 * MIB, 64 * MIB};
  for (size_t i = 0; i < COUNT_OF(asked); i++) take(bfc, asked[i]);
  assert_int_equal(driver.n_given, COUNT_OF(given));
  assert_memory_equal(driver.given, given, sizeof given);
  finish(bfc, &driver);
}

static void the_default_grows_by_what_is_needed(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = GIB, .growth = true});
  for (int i = 0; i < 8; i++) take(bfc, 3 * MIB);
  const struct bfc_stats stats = figures(bfc);
  assert_int_equal(stats.in_use, 24 * MIB);
  assert_true(stats.reserved <= 32 * MIB);
  take(bfc, 500 * MIB);
  take(bfc, 300 * MIB);
  assert_true(figures(bfc).reserved <= 834 * MIB);
  finish(bfc, &driver);
}

static void idle_regions_are_joined(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = 64 * MIB, .growth = true});
  struct bfc_chunk pieces[8];
  for (int i = 0; i < 8; i++) pieces[i] = take(bfc, 6 * MIB);
  assert_int_equal(figures(bfc).n_regions, 8);
  for (int i = 0; i < 8; i++) drop(bfc, pieces[i]);
  assert_int_equal(figures(bfc).idle, 48 * MIB);
  assert_int_equal(take(bfc, 40 * MIB).size, 40 * MIB);
  assert_int_equal(figures(bfc).reserved, 48 * MIB); /* the same memory, in one piece */
  assert_int_equal(figures(bfc).n_regions, 1);
  finish(bfc, &driver);
}

static void the_reference_backs_off_by_a_tenth(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc =
      make(&driver, 800000, (struct bfc_options){.limit = 1000000, .reference = true});
  take(bfc, 1000);
  /* 999936, then 0.9 of it rounded up to 256, and so on */
  static const size_t asked[] = {999936, 900096, 810240, 729344};
  assert_int_equal(driver.n_asked, COUNT_OF(asked));
  assert_memory_equal(driver.asked, asked, sizeof asked);
  assert_int_equal(figures(bfc).reserved, 729344);
  finish(bfc, &driver);
}

static void a_driver_that_refuses_ends_it(void **state) {
  (void)state;
  for (int mode = 0; mode < 8; mode++) {
    struct driver driver;
    struct bfc *bfc = make(&driver, 0,
                           (struct bfc_options){.limit = mode & 4 ? 2560 : 8 * GIB,
                                                .growth = mode & 1,
                                                .reference = mode & 2,
                                                .collect = true});
    struct bfc_chunk piece;
    assert_false(bfc_alloc(bfc, 300, &piece));
    assert_true(driver.refusals > 0 && driver.refusals < 1000);
    assert_int_equal(figures(bfc).reserved, 0);
    driver.capacity = GIB; /* and goes on when there is memory again */
    drop(bfc, take(bfc, 300));
    finish(bfc, &driver);
  }
}

static void the_default_tries_down_to_what_is_needed(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, 300 * MIB, (struct bfc_options){.limit = GIB});
  assert_int_equal(take(bfc, 300 * MIB).size, 300 * MIB);
  assert_int_equal(driver.given[0], 300 * MIB);
  finish(bfc, &driver);
}

static void the_reference_collects_only_when_told(void **state) {
  (void)state;
  for (int collect = 0; collect < 2; collect++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB,
             (struct bfc_options){
                 .limit = 16 * MIB, .growth = true, .reference = true, .collect = collect});
    const struct bfc_chunk a = take(bfc, 2 * MIB), b = take(bfc, 4 * MIB), c = take(bfc, 8 * MIB);
    drop(bfc, a);
    drop(bfc, b);
    drop(bfc, c);
    struct bfc_chunk piece;
    assert_int_equal(bfc_alloc(bfc, 12 * MIB, &piece), collect);
    assert_int_equal(figures(bfc).n_regions, collect ? 1 : 3);
    finish(bfc, &driver);
  }
}

static void trim_gives_whole_regions_back(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc = make(
        &driver, GIB, (struct bfc_options){.limit = GIB, .growth = true, .reference = reference});
    const struct bfc_chunk a = take(bfc, 2 * MIB), b = take(bfc, 30 * MIB), c = take(bfc, 70 * MIB);
    assert_int_equal(bfc_trim(bfc), 0);
    drop(bfc, b);
    assert_int_equal(bfc_trim(bfc), driver.given[1]);
    drop(bfc, a);
    drop(bfc, c);
    assert_int_equal(bfc_trim(bfc), driver.given[0] + driver.given[2]);
    assert_int_equal(driver.taken, 0);
    assert_int_equal(figures(bfc).reserved, 0);
    assert_int_equal(figures(bfc).n_regions, 0);
    assert_int_equal(figures(bfc).peak, a.size + b.size + c.size);
    bfc_reset_peak(bfc);
    assert_int_equal(figures(bfc).peak, 0);
    drop(bfc, take(bfc, 5 * MIB));
    finish(bfc, &driver);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_multiples_of_256),
      cmocka_unit_test(nothing_and_too_much_are_refused),
      cmocka_unit_test(the_reference_splits_at_twice_the_size),
      cmocka_unit_test(the_reference_caps_what_stays_unsplit),
      cmocka_unit_test(the_default_splits_what_is_worth_having),
      cmocka_unit_test(free_neighbours_are_joined),
      cmocka_unit_test(a_piece_is_freed_once),
      cmocka_unit_test(without_growth_everything_is_taken_at_once),
      cmocka_unit_test(the_reference_grows_by_doubling),
      cmocka_unit_test(the_default_grows_by_what_is_needed),
      cmocka_unit_test(idle_regions_are_joined),
      cmocka_unit_test(the_reference_backs_off_by_a_tenth),
      cmocka_unit_test(a_driver_that_refuses_ends_it),
      cmocka_unit_test(the_default_tries_down_to_what_is_needed),
      cmocka_unit_test(the_reference_collects_only_when_told),
      cmocka_unit_test(trim_gives_whole_regions_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
