/* SPDX-License-Identifier: Apache-2.0
 * test_memory.c: the memory of a device: limits, blocks, pressure, the error of one screen, the
 * report, faults. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/json.h"
#include "device/allocation_log.h"
#include "device/memory.h"

#define KIB ((size_t)1024)
#define MIB (1024 * KIB)
#define GIB (1024 * MIB)

/* A fake device with memory only. */
struct fake {
  uint64_t memory, held; /* held by other processes */
  uint64_t taken;
  int64_t calls, fail_from; /* fail with `code` from this call on; 0: never */
  situ_code code;
};

static situ_status fake_alloc(void *device, size_t bytes, void **region) {
  struct fake *fake = device;
  fake->calls++;
  if (fake->fail_from && fake->calls >= fake->fail_from)
    return situ_status_create(fake->code, "Call %d fails.", (int)fake->calls);
  if (bytes > fake->memory - fake->held - fake->taken)
    return situ_status_create(SITU_RESOURCE_EXHAUSTED, "The device is full.");
  size_t *size = malloc(sizeof *size);
  *size = bytes;
  fake->taken += bytes;
  *region = size;
  return NULL;
}

static void fake_free(void *device, void *region) {
  struct fake *fake = device;
  fake->taken -= *(size_t *)region;
  free(region);
}

static situ_status fake_available(void *device, uint64_t *bytes) {
  const struct fake *fake = device;
  *bytes = fake->memory - fake->held - fake->taken;
  return NULL;
}

static const struct backend fake_backend = {.name = "fake",
                                            .kind = "GPU",
                                            .alloc = fake_alloc,
                                            .free = fake_free,
                                            .available = fake_available};

static const char device_name[] = "/job:localhost/replica:0/task:0/device:GPU:0";

static situ_status try_make(struct fake *fake, struct memory_options options, struct memory **out) {
  const struct memory_setup setup = {.backend = &fake_backend,
                                     .device = fake,
                                     .device_name = device_name,
                                     .name = "GPU_0_bfc",
                                     .info = {.memory = fake->memory, .capability_major = 3}};
  return memory_create(&setup, &options, out);
}

static struct memory *make(struct fake *fake, struct memory_options options) {
  struct memory *memory = NULL;
  assert_null(try_make(fake, options, &memory));
  assert_int_equal(fake->calls, 0);
  return memory;
}

static struct memory_block take(struct memory *memory, size_t bytes, const char *op) {
  struct memory_block block;
  const struct memory_tag tag = {
      .op = op, .type = SITU_FLOAT, .shape = SITU_SHAPE((int64_t)bytes / 4), .step = 3};
  assert_null(memory_alloc(memory, bytes, &tag, &block));
  assert_int_equal(block.bytes, bytes);
  assert_int_equal(block.span.offset % 256, 0);
  return block;
}

static struct memory_stats figures(struct memory *memory) {
  struct memory_stats stats;
  memory_stats(memory, &stats);
  return stats;
}

/* Returns the message of the expected failure. */
static char *fails(struct memory *memory, size_t bytes, const struct memory_tag *tag) {
  struct memory_block block = {.bytes = 1};
  situ_status status = memory_alloc(memory, bytes, tag, &block);
  assert_non_null(status);
  assert_int_equal(situ_status_code(status), SITU_RESOURCE_EXHAUSTED);
  assert_int_equal(block.bytes, 0);
  char *text = strdup(situ_status_message(status));
  situ_status_release(status);
  int lines = 1;
  for (const char *at = text; *at; at++) lines += *at == '\n';
  assert_true(lines <= 12);
  return text;
}

static void assert_contains(const char *text, const char *part) {
  if (!strstr(text, part)) print_error("missing: %s\nin: %s\n", part, text);
  assert_non_null(strstr(text, part));
}

static void alloc_fails_with(struct memory *memory, size_t bytes, const char *part) {
  char *text = fails(memory, bytes, NULL);
  assert_contains(text, part);
  free(text);
}

static uint64_t limit_of(struct memory_options options, enum memory_bound expected) {
  enum memory_bound bound;
  uint64_t limit = 0;
  assert_null(memory_limit(&options, 12 * GIB, 11 * GIB, 3, &limit, &bound));
  assert_int_equal(bound, expected);
  return limit;
}

static void first_bound_applies(void **state) {
  (void)state;
  struct memory_options options = {0};
  assert_int_equal(limit_of(options, BOUND_DEFAULT), 11 * GIB - 11 * GIB / 20);
  options.fraction = 0.5;
  assert_int_equal(limit_of(options, BOUND_FRACTION), 6 * GIB);
  options.reserve_bytes = GIB;
  assert_int_equal(limit_of(options, BOUND_RESERVE), 10 * GIB);
  options.limit_bytes = 3 * GIB;
  assert_int_equal(limit_of(options, BOUND_LIMIT), 3 * GIB);
}

static void invalid_limits_are_rejected(void **state) {
  (void)state;
  static const struct {
    struct memory_options options;
    situ_code code;
  } cases[] = {{{.fraction = -0.1}, SITU_INVALID_ARGUMENT},
               {{.fraction = 0.0 / 0.0}, SITU_INVALID_ARGUMENT},
               {{.fraction = 1.5}, SITU_INTERNAL},
               {{.reserve_bytes = 20 * GIB}, SITU_RESOURCE_EXHAUSTED}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct fake fake = {.memory = 12 * GIB};
    struct memory *memory = NULL;
    situ_status status = try_make(&fake, cases[i].options, &memory);
    assert_int_equal(situ_status_code(status), cases[i].code);
    assert_null(memory);
    situ_status_release(status);
  }
}

static void nothing_is_reserved_before_first_use(void **state) {
  (void)state;
  struct fake fake = {.memory = 12 * GIB};
  struct memory *memory = make(&fake, (struct memory_options){0});
  assert_int_equal(figures(memory).limit, 12 * GIB - 12 * GIB / 20);
  assert_int_equal(figures(memory).reserved, 0);
  struct memory_block none;
  assert_null(memory_alloc(memory, 0, NULL, &none));
  assert_int_equal(fake.calls, 0);
  memory_free(memory, &none);
  struct memory_block block = take(memory, 1000, "a");
  assert_int_equal(fake.taken,
                   (12 * GIB - 12 * GIB / 20) / 256 * 256); /* nearly all, on first use */
  assert_int_equal(figures(memory).current, 1024);
  memory_free(memory, &block);
  memory_free(memory, &block); /* cleared: no effect */
  assert_int_equal(figures(memory).current, 0);
  assert_int_equal(figures(memory).peak, 1024);
  memory_destroy(memory);
  assert_int_equal(fake.taken, 0);
}

static void trim_frees_idle_memory(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct memory *memory = make(&fake, (struct memory_options){.growth = true});
  struct memory_block a = take(memory, 3 * MIB, "a"), b = take(memory, 50 * MIB, "b");
  assert_true(fake.taken < 60 * MIB);
  memory_free(memory, &b);
  const uint64_t before = fake.taken;
  assert_true(figures(memory).idle >= 50 * MIB);
  const uint64_t trimmed = memory_trim(memory);
  assert_true(trimmed >= 50 * MIB);
  assert_int_equal(fake.taken, before - trimmed);
  memory_free(memory, &a);
  memory_trim(memory);
  assert_int_equal(fake.taken, 0);
  memory_reset_peak(memory);
  assert_int_equal(figures(memory).peak, 0);
  memory_destroy(memory);
}

static void oom_error_is_short(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct memory *memory = make(&fake, (struct memory_options){.fraction = 0.25});
  take(memory, 100 * MIB, "conv1/weights");
  for (int i = 0; i < 3; i++) take(memory, 20 * MIB, "conv2/weights");
  char name[32];
  for (int i = 0; i < 10; i++) {
    snprintf(name, sizeof name, "small_%d", i);
    take(memory, 1024, name);
  }
  const struct memory_tag tag = {
      .op = "MatMul_1", .type = SITU_FLOAT, .shape = SITU_SHAPE(8192, 4096), .step = 7};
  char *text = fails(memory, 128 * MIB, &tag);
  const char first[] =
      "OOM when allocating tensor with shape[8192,4096] and type float on "
      "/job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc\n";
  assert_memory_equal(text, first, sizeof first - 1);
  assert_contains(text, "128.00MiB by MatMul_1 in step 7");
  assert_contains(text, "limit: 256.00MiB, in use: 160.01MiB, peak: 160.01MiB");
  assert_contains(text, "largest free piece: 95.99MiB: too little memory, 32.01MiB are missing");
  assert_contains(text, "100.00MiB  conv1/weights shape[26214400] float\n");
  assert_contains(text, "60.00MiB  conv2/weights shape[5242880] float, 3 pieces\n");
  assert_contains(text, "and 7 more");
  assert_contains(text, "raise per_process_gpu_memory_fraction from 0.25 to at least 0.282");
  free(text);
  assert_int_equal(figures(memory).failures, 1);
  take(memory, 60 * MIB, "still usable");
  memory_destroy(memory);
}

static void oom_error_names_the_option(void **state) {
  (void)state;
  static const struct {
    struct memory_options options;
    size_t bytes;
    const char *says;
  } cases[] = {{{.limit_bytes = 64 * MIB},
                100 * MIB,
                "raise limit_bytes from 64.00MiB to at least 100.00MiB"},
               {{.reserve_bytes = 960 * MIB},
                100 * MIB,
                "lower reserve_bytes from 960.00MiB to at most 924.00MiB"},
               {{.fraction = 0.1},
                512 * MIB,
                "raise per_process_gpu_memory_fraction from 0.1 to at least 0.5"},
               {{.fraction = 0.1},
                2 * GIB,
                "use a smaller batch: 2.00GiB are needed and the device has 1.00GiB"},
               {{0}, 1000 * MIB, "set limit_bytes to at least 1000.00MiB"},
               {{0}, SIZE_MAX / 2, "use a smaller batch"}};
  for (size_t i = 0; i < COUNT_OF(cases); i++) {
    struct fake fake = {.memory = GIB};
    struct memory *memory = make(&fake, cases[i].options);
    alloc_fails_with(memory, cases[i].bytes, cases[i].says);
    memory_destroy(memory);
  }
}

static void oom_error_detects_fragmentation(void **state) {
  (void)state;
  for (int growth = 0; growth < 2; growth++) {
    struct fake fake = {.memory = GIB};
    struct memory *memory =
        make(&fake, (struct memory_options){.limit_bytes = 64 * MIB, .growth = growth});
    struct memory_block blocks[64];
    for (int i = 0; i < 64; i++) blocks[i] = take(memory, MIB, "wall");
    for (int i = 0; i < 64; i += 2) memory_free(memory, &blocks[i]);
    char *text = fails(memory, 20 * MIB, NULL);
    assert_contains(text, "OOM when allocating 20.00MiB on ");
    assert_contains(text, "fragmentation, 32.00MiB are free in pieces");
    assert_contains(text, growth ? "set allow_growth to false" : "use a smaller batch");
    free(text);
    memory_destroy(memory);
  }
}

static void oom_error_detects_other_processes(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct memory *memory = make(&fake, (struct memory_options){.growth = true});
  fake.held = 900 * MIB;
  alloc_fails_with(memory, 200 * MIB, "the device itself refused 200.00MiB more");
  alloc_fails_with(memory, 200 * MIB, "end other programs that hold memory of this device");
  take(memory, 100 * MIB, "fits");
  memory_destroy(memory);
  assert_int_equal(fake.taken, 0);
}

static void lost_device_is_not_out_of_memory(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB, .fail_from = 2, .code = SITU_UNAVAILABLE};
  struct memory *memory = make(&fake, (struct memory_options){.growth = true});
  take(memory, MIB, "before");
  for (int i = 0; i < 2; i++) {
    struct memory_block block;
    situ_status status = memory_alloc(memory, 50 * MIB, NULL, &block);
    assert_int_equal(situ_status_code(status), SITU_UNAVAILABLE);
    situ_status_release(status);
  }
  assert_true(fake.calls <= 6);
  memory_destroy(memory);
}

/* Fails every call of the device once, with both policies: the allocation succeeds anyway, or fails
 * cleanly. */
static void every_refusal_is_handled(void **state) {
  (void)state;
  for (int64_t n = 1; n < 12; n++) {
    for (int mode = 0; mode < 4; mode++) {
      struct fake fake = {.memory = GIB, .fail_from = n, .code = SITU_RESOURCE_EXHAUSTED};
      struct memory *memory =
          make(&fake, (struct memory_options){.growth = mode & 1, .reference = mode & 2});
      for (int i = 0; i < 20; i++) {
        struct memory_block block;
        situ_status status = memory_alloc(memory, (size_t)(i + 1) * MIB, NULL, &block);
        assert_true(!status || situ_status_code(status) == SITU_RESOURCE_EXHAUSTED);
        situ_status_release(status);
        if (i % 3 == 0) memory_free(memory, &block);
      }
      fake.fail_from = 0;
      take(memory, 100 * MIB, "again");
      memory_destroy(memory);
      assert_int_equal(fake.taken, 0);
    }
  }
}

/* A holder of idle blocks. */
struct holder {
  struct memory *memory;
  struct memory_block block;
  int asked;
};

static uint64_t give(void *context, uint64_t bytes) {
  struct holder *holder = context;
  const uint64_t size = holder->block.size;
  assert_true(bytes > 0);
  holder->asked++;
  memory_free(holder->memory, &holder->block);
  return size;
}

static void reclaimers_run_before_failure(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct memory *memory = make(&fake, (struct memory_options){.limit_bytes = 64 * MIB});
  struct holder holders[3];
  for (int i = 0; i < 3; i++) {
    holders[i] = (struct holder){.memory = memory, .block = take(memory, 20 * MIB, "idle")};
    assert_true(memory_add_reclaimer(memory, give, &holders[i]));
  }
  struct memory_block block = take(memory, 30 * MIB, "needs two");
  assert_int_equal(holders[0].asked + holders[1].asked + holders[2].asked, 2);
  assert_int_equal(figures(memory).failures, 0);
  memory_remove_reclaimer(memory, give, &holders[2]);
  alloc_fails_with(memory, 60 * MIB, "raise limit_bytes");
  assert_int_equal(holders[2].asked, 0);
  memory_free(memory, &holders[2].block);
  memory_free(memory, &block);
  holders[0].block = take(memory, 5 * MIB, "idle");
  assert_true(memory_trim(memory) > 0); /* also calls the reclaimers */
  assert_int_equal(fake.taken, 0);
  memory_destroy(memory);
}

static const struct json *report(struct memory *memory, struct arena *arena) {
  struct strbuf text = {0};
  struct json *json = NULL;
  memory_report(memory, &text);
  assert_false(text.failed);
  assert_null(json_parse(strbuf_get(&text), text.length, arena, &json));
  strbuf_free(&text);
  return json;
}

static void report_is_a_memory_snapshot(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct arena arena = {0};
  const int64_t started = allocation_log_now().time;
  struct memory *memory = make(&fake, (struct memory_options){.limit_bytes = 64 * MIB});
  const struct json *json = report(memory, &arena);
  assert_int_equal(json_get(json, "segments")->count, 0);
  struct memory_block a = take(memory, 1000, "conv \"1\""), b = take(memory, 5000, "b");
  memory_free(memory, &a);
  json = report(memory, &arena);
  const struct json *segment = json_at(json_get(json, "segments"), 0);
  assert_int_equal(json_integer(json_get(segment, "total_size"), 0), 64 * MIB);
  assert_int_equal(json_integer(json_get(segment, "allocated_size"), 0), 5120);
  const struct json *blocks = json_get(segment, "blocks");
  assert_int_equal(blocks->count, 3);
  assert_string_equal(json_string(json_get(json_at(blocks, 0), "state"), ""), "inactive");
  assert_string_equal(json_string(json_get(json_at(blocks, 1), "op"), ""), "b");
  assert_int_equal(json_integer(json_at(json_get(json_at(blocks, 1), "shape"), 0), 0), 1250);
  const struct json *events = json_at(json_get(json, "device_traces"), 0);
  static const char *const actions[] = {"segment_alloc", "alloc", "alloc", "free_completed"};
  assert_int_equal(events->count, COUNT_OF(actions));
  int64_t time = started / 1000;
  for (int i = 0; i < (int)COUNT_OF(actions); i++) {
    const struct json *event = json_at(events, i);
    assert_string_equal(json_string(json_get(event, "action"), ""), actions[i]);
    assert_true(json_integer(json_get(event, "time_us"), 0) >= time);
    time = json_integer(json_get(event, "time_us"), 0);
  }
  assert_true(time <= allocation_log_now().time / 1000);
  assert_string_equal(json_string(json_get(json_at(events, 3), "op"), ""), "conv \"1\"");
  memory_free(memory, &b);
  memory_destroy(memory);
  arena_free(&arena);
}

static void old_events_are_overwritten(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct arena arena = {0};
  struct memory *memory = make(&fake, (struct memory_options){0});
  char name[200];
  memset(name, 'x', sizeof name);
  strcpy(name + 180, "/the_end");
  for (int i = 0; i < 3000; i++) {
    struct memory_block block = take(memory, 256, name);
    memory_free(memory, &block);
  }
  const struct json *events = json_at(json_get(report(memory, &arena), "device_traces"), 0);
  assert_int_equal(events->count, 1024);
  const char *op = json_string(json_get(json_at(events, 0), "op"), "");
  assert_int_equal(strlen(op), 63);
  assert_string_equal(op + 63 - 8, "/the_end");
  assert_memory_equal(op, "...x", 4);
  arena_free(&arena);
  memory_destroy(memory);
}

static void *allocate_and_free(void *context) {
  struct memory *memory = context;
  struct memory_block blocks[8] = {0};
  for (int i = 0; i < 4000; i++) {
    struct memory_block *block = &blocks[i % 8];
    memory_free(memory, block);
    const size_t bytes = (size_t)(i * 37 % 1000 + 1) * 1024;
    situ_status_release(memory_alloc(memory, bytes, &(struct memory_tag){.op = "t"}, block));
  }
  for (int i = 0; i < 8; i++) memory_free(memory, &blocks[i]);
  return NULL;
}

static void threads_share_a_memory(void **state) {
  (void)state;
  struct fake fake = {.memory = GIB};
  struct memory *memory =
      make(&fake, (struct memory_options){.limit_bytes = 12 * MIB, .growth = true});
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    assert_int_equal(pthread_create(&threads[i], NULL, allocate_and_free, memory), 0);
  for (int i = 0; i < 4; i++) pthread_join(threads[i], NULL);
  assert_int_equal(figures(memory).current, 0);
  assert_int_equal(figures(memory).blocks, 0);
  memory_trim(memory);
  assert_int_equal(fake.taken, 0);
  memory_destroy(memory);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(first_bound_applies),
      cmocka_unit_test(invalid_limits_are_rejected),
      cmocka_unit_test(nothing_is_reserved_before_first_use),
      cmocka_unit_test(trim_frees_idle_memory),
      cmocka_unit_test(oom_error_is_short),
      cmocka_unit_test(oom_error_names_the_option),
      cmocka_unit_test(oom_error_detects_fragmentation),
      cmocka_unit_test(oom_error_detects_other_processes),
      cmocka_unit_test(lost_device_is_not_out_of_memory),
      cmocka_unit_test(every_refusal_is_handled),
      cmocka_unit_test(reclaimers_run_before_failure),
      cmocka_unit_test(report_is_a_memory_snapshot),
      cmocka_unit_test(old_events_are_overwritten),
      cmocka_unit_test(threads_share_a_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
