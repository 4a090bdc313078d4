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

/* A driver that records its requests. */
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
  *region = (char *)driver + *address; /* never dereferenced */
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

static struct bfc_chunk alloc_chunk(struct bfc *bfc, size_t bytes) {
  struct bfc_chunk chunk;
  assert_true(bfc_alloc(bfc, bytes, &chunk));
  assert_int_equal(chunk.requested, bytes);
  assert_true(chunk.size >= bytes);
  return chunk;
}

static void free_chunk(struct bfc *bfc, struct bfc_chunk chunk) {
  assert_true(bfc_free(bfc, &chunk));
}

static struct bfc_stats get_stats(const struct bfc *bfc) {
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
    assert_int_equal(alloc_chunk(bfc, 1).size, 256);
    assert_int_equal(alloc_chunk(bfc, 256).offset, 256);
    const struct bfc_chunk third = alloc_chunk(bfc, 257);
    assert_int_equal(third.size, 512);
    assert_int_equal(third.offset, 512);
    assert_int_equal(get_stats(bfc).in_use, 1024);
    assert_int_equal(get_stats(bfc).requested, 514);
    finish(bfc, &driver);
  }
}

static void empty_and_excessive_requests_fail(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB, (struct bfc_options){.limit = MIB, .reference = reference});
    const size_t sizes[] = {0, MIB + 1, SIZE_MAX, SIZE_MAX - 100, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT_OF(sizes); i++) {
      struct bfc_chunk chunk = {.size = 7};
      assert_false(bfc_alloc(bfc, sizes[i], &chunk));
      assert_int_equal(chunk.size, 0);
    }
    assert_int_equal(get_stats(bfc).allocations, 0);
    assert_int_equal(alloc_chunk(bfc, MIB).size, MIB);
    finish(bfc, &driver);
  }
}

static void reference_splits_at_twice_the_size(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB, .reference = true});
  struct bfc_chunk first = alloc_chunk(bfc, 4096);
  alloc_chunk(bfc, 256);
  free_chunk(bfc, first);
  first = alloc_chunk(bfc, 2304);
  assert_int_equal(first.size, 4096);
  assert_int_equal(first.offset, 0);
  free_chunk(bfc, first);
  assert_int_equal(alloc_chunk(bfc, 2048).size, 2048);
  assert_int_equal(alloc_chunk(bfc, 2048).offset, 2048);
  finish(bfc, &driver);
}

static void reference_caps_unsplit_remainder(void **state) {
  (void)state;
  struct driver driver;
  struct bfc_options options = {.limit = 1000 * MIB, .reference = true};
  struct bfc *bfc = make(&driver, GIB, options);
  assert_int_equal(alloc_chunk(bfc, 871 * MIB).size, 871 * MIB); /* 129 MiB are left: split */
  finish(bfc, &driver);
  bfc = make(&driver, GIB, options);
  assert_int_equal(alloc_chunk(bfc, 873 * MIB).size, 1000 * MIB); /* 127 MiB: not */
  finish(bfc, &driver);
  options.fragmentation_fraction = 0.05;
  bfc = make(&driver, GIB, options);
  assert_int_equal(alloc_chunk(bfc, 951 * MIB).size, 1000 * MIB);
  finish(bfc, &driver);
  bfc = make(&driver, GIB, options);
  assert_int_equal(alloc_chunk(bfc, 949 * MIB).size, 949 * MIB);
  finish(bfc, &driver);
}

static void default_splits_off_useful_remainders(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = 64 * MIB});
  const struct bfc_chunk first = alloc_chunk(bfc, 4096), wall = alloc_chunk(bfc, 256);
  struct bfc_chunk large = alloc_chunk(bfc, 8 * MIB);
  assert_true(wall.size + alloc_chunk(bfc, 256).size == 512);
  free_chunk(bfc, first);
  assert_int_equal(alloc_chunk(bfc, 3840).size, 3840);
  free_chunk(bfc, large);
  large = alloc_chunk(bfc,
                      8 * MIB - 32 * KIB); /* a small remainder of a large chunk is not split off */
  assert_int_equal(large.size, 8 * MIB);
  free_chunk(bfc, large);
  assert_int_equal(alloc_chunk(bfc, 8 * MIB - 64 * KIB).size, 8 * MIB - 64 * KIB);
  finish(bfc, &driver);
}

static void free_neighbors_are_coalesced(void **state) {
  (void)state;
  for (int order = 0; order < 6; order++) {
    static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
    struct driver driver;
    struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB});
    struct bfc_chunk pieces[3];
    for (int i = 0; i < 3; i++) pieces[i] = alloc_chunk(bfc, 1024);
    alloc_chunk(bfc, MIB - 3 * KIB);
    for (int i = 0; i < 3; i++) free_chunk(bfc, pieces[orders[order][i]]);
    assert_int_equal(get_stats(bfc).largest_free, 3 * KIB);
    assert_int_equal(alloc_chunk(bfc, 3 * KIB).offset, 0);
    finish(bfc, &driver);
  }
}

static void double_free_is_detected(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = MIB});
  const struct bfc_chunk a = alloc_chunk(bfc, 1024), b = alloc_chunk(bfc, 1024),
                         c = alloc_chunk(bfc, 1024);
  free_chunk(bfc, a);
  free_chunk(bfc, b);
  assert_false(bfc_free(bfc, &a));
  assert_false(bfc_free(bfc, &b));
  assert_false(bfc_free(bfc, &(struct bfc_chunk){.handle = -1}));
  assert_false(bfc_free(bfc, &(struct bfc_chunk){.handle = 100000}));
  assert_int_equal(get_stats(bfc).in_use, 1024);
  free_chunk(bfc, c);
  assert_int_equal(get_stats(bfc).in_use, 0);
  assert_int_equal(get_stats(bfc).n_chunks, 0);
  finish(bfc, &driver);
}

static void without_growth_the_limit_is_reserved_on_first_use(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB, (struct bfc_options){.limit = 10000000, .reference = reference});
    alloc_chunk(bfc, 1);
    assert_int_equal(driver.n_given, 1);
    assert_int_equal(driver.given[0], 10000000 / 256 * 256);
    finish(bfc, &driver);
  }
}

static void reference_regions_double(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc =
      make(&driver, GIB, (struct bfc_options){.limit = GIB, .growth = true, .reference = true});
  static const size_t asked[] = {MIB, 2 * MIB, 4 * MIB, 40 * MIB, 40 * MIB};
  static const size_t given[] = {2 * MIB, 4 * MIB, 8 * MIB, 64 * MIB, 64 * MIB};
  for (size_t i = 0; i < COUNT_OF(asked); i++) alloc_chunk(bfc, asked[i]);
  assert_int_equal(driver.n_given, COUNT_OF(given));
  assert_memory_equal(driver.given, given, sizeof given);
  finish(bfc, &driver);
}

static void default_regions_have_the_needed_size(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = GIB, .growth = true});
  for (int i = 0; i < 8; i++) alloc_chunk(bfc, 3 * MIB);
  const struct bfc_stats stats = get_stats(bfc);
  assert_int_equal(stats.in_use, 24 * MIB);
  assert_true(stats.reserved <= 32 * MIB);
  alloc_chunk(bfc, 500 * MIB);
  alloc_chunk(bfc, 300 * MIB);
  assert_true(get_stats(bfc).reserved <= 834 * MIB);
  finish(bfc, &driver);
}

static void idle_regions_are_merged(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, GIB, (struct bfc_options){.limit = 64 * MIB, .growth = true});
  struct bfc_chunk pieces[8];
  for (int i = 0; i < 8; i++) pieces[i] = alloc_chunk(bfc, 6 * MIB);
  assert_int_equal(get_stats(bfc).n_regions, 8);
  for (int i = 0; i < 8; i++) free_chunk(bfc, pieces[i]);
  assert_int_equal(get_stats(bfc).idle, 48 * MIB);
  assert_int_equal(alloc_chunk(bfc, 40 * MIB).size, 40 * MIB);
  assert_int_equal(get_stats(bfc).reserved, 48 * MIB); /* the same memory, coalesced */
  assert_int_equal(get_stats(bfc).n_regions, 1);
  finish(bfc, &driver);
}

static void reference_backs_off_by_a_tenth(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc =
      make(&driver, 800000, (struct bfc_options){.limit = 1000000, .reference = true});
  alloc_chunk(bfc, 1000);
  /* 999936, then 0.9 of it rounded up to 256, and so on */
  static const size_t asked[] = {999936, 900096, 810240, 729344};
  assert_int_equal(driver.n_asked, COUNT_OF(asked));
  assert_memory_equal(driver.asked, asked, sizeof asked);
  assert_int_equal(get_stats(bfc).reserved, 729344);
  finish(bfc, &driver);
}

static void refusal_of_the_driver_fails_cleanly(void **state) {
  (void)state;
  for (int mode = 0; mode < 8; mode++) {
    struct driver driver;
    struct bfc *bfc = make(&driver, 0,
                           (struct bfc_options){.limit = mode & 4 ? 2560 : 8 * GIB,
                                                .growth = mode & 1,
                                                .reference = mode & 2,
                                                .collect = true});
    struct bfc_chunk chunk;
    assert_false(bfc_alloc(bfc, 300, &chunk));
    assert_true(driver.refusals > 0 && driver.refusals < 1000);
    assert_int_equal(get_stats(bfc).reserved, 0);
    driver.capacity = GIB; /* and works again when memory is available */
    free_chunk(bfc, alloc_chunk(bfc, 300));
    finish(bfc, &driver);
  }
}

static void default_backs_off_to_the_needed_size(void **state) {
  (void)state;
  struct driver driver;
  struct bfc *bfc = make(&driver, 300 * MIB, (struct bfc_options){.limit = GIB});
  assert_int_equal(alloc_chunk(bfc, 300 * MIB).size, 300 * MIB);
  assert_int_equal(driver.given[0], 300 * MIB);
  finish(bfc, &driver);
}

static void reference_collects_only_with_the_option(void **state) {
  (void)state;
  for (int collect = 0; collect < 2; collect++) {
    struct driver driver;
    struct bfc *bfc =
        make(&driver, GIB,
             (struct bfc_options){
                 .limit = 16 * MIB, .growth = true, .reference = true, .collect = collect});
    const struct bfc_chunk a = alloc_chunk(bfc, 2 * MIB), b = alloc_chunk(bfc, 4 * MIB),
                           c = alloc_chunk(bfc, 8 * MIB);
    free_chunk(bfc, a);
    free_chunk(bfc, b);
    free_chunk(bfc, c);
    struct bfc_chunk chunk;
    assert_int_equal(bfc_alloc(bfc, 12 * MIB, &chunk), collect);
    assert_int_equal(get_stats(bfc).n_regions, collect ? 1 : 3);
    finish(bfc, &driver);
  }
}

static void trim_frees_idle_regions(void **state) {
  (void)state;
  for (int reference = 0; reference < 2; reference++) {
    struct driver driver;
    struct bfc *bfc = make(
        &driver, GIB, (struct bfc_options){.limit = GIB, .growth = true, .reference = reference});
    const struct bfc_chunk a = alloc_chunk(bfc, 2 * MIB), b = alloc_chunk(bfc, 30 * MIB),
                           c = alloc_chunk(bfc, 70 * MIB);
    assert_int_equal(bfc_trim(bfc), 0);
    free_chunk(bfc, b);
    assert_int_equal(bfc_trim(bfc), driver.given[1]);
    free_chunk(bfc, a);
    free_chunk(bfc, c);
    assert_int_equal(bfc_trim(bfc), driver.given[0] + driver.given[2]);
    assert_int_equal(driver.taken, 0);
    assert_int_equal(get_stats(bfc).reserved, 0);
    assert_int_equal(get_stats(bfc).n_regions, 0);
    assert_int_equal(get_stats(bfc).peak, a.size + b.size + c.size);
    bfc_reset_peak(bfc);
    assert_int_equal(get_stats(bfc).peak, 0);
    free_chunk(bfc, alloc_chunk(bfc, 5 * MIB));
    finish(bfc, &driver);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_are_multiples_of_256),
      cmocka_unit_test(empty_and_excessive_requests_fail),
      cmocka_unit_test(reference_splits_at_twice_the_size),
      cmocka_unit_test(reference_caps_unsplit_remainder),
      cmocka_unit_test(default_splits_off_useful_remainders),
      cmocka_unit_test(free_neighbors_are_coalesced),
      cmocka_unit_test(double_free_is_detected),
      cmocka_unit_test(without_growth_the_limit_is_reserved_on_first_use),
      cmocka_unit_test(reference_regions_double),
      cmocka_unit_test(default_regions_have_the_needed_size),
      cmocka_unit_test(idle_regions_are_merged),
      cmocka_unit_test(reference_backs_off_by_a_tenth),
      cmocka_unit_test(refusal_of_the_driver_fails_cleanly),
      cmocka_unit_test(default_backs_off_to_the_needed_size),
      cmocka_unit_test(reference_collects_only_with_the_option),
      cmocka_unit_test(trim_frees_idle_regions),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
