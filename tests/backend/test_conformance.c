/* SPDX-License-Identifier: Apache-2.0
 * test_conformance.c: the requirements of every back end, tested on every one with a device.
 *
 * A new back end needs no line here. known_gaps lists requirements that a back end cannot meet,
 * with the reason. */
#include <pthread.h>

#include "backend/backends.h"
#include "backend/rig.h"
#include "support/skip.h"
#include "support/threads.h"

static const char fleet[] = "Conformance A=64MiB,Conformance B=64MiB;link=1G;flops=1T";

static void listing_opens_nothing(struct rig *rig) {
  const struct backend_request request = rig_request(fleet);
  const char *why = NULL;
  int count = 0, again = 0;
  const int threads = threads_count();
  rig_close(rig);
  *rig = (struct rig){.api = rig->api};
  const int threads_without = threads_count();
  assert_true(threads_without <= threads);
  OK(rig->api->probe(&request, &count, &why));
  OK(rig->api->probe(&request, &again, &why));
  assert_int_equal(count, again);
  for (int i = 0; i < count; i++) {
    struct device_info info;
    memset(&info, 0xff, sizeof info);
    OK(rig->api->describe(i, &info));
    assert_true(info.memory > 0);
    assert_in_range(strnlen(info.model, sizeof info.model), 1, sizeof info.model - 1);
    assert_true(strnlen(info.bus_id, sizeof info.bus_id) < sizeof info.bus_id);
    assert_true(strnlen(info.uuid, sizeof info.uuid) < sizeof info.uuid);
  }
  assert_true(threads_count() <= threads_without);
}

/* ---- Memory ---- */

static uint64_t free_bytes(struct rig *rig, int device) {
  uint64_t bytes = 0;
  OK(rig->api->available(rig->device[device], &bytes));
  return bytes;
}

static void memory_is_accounted(struct rig *rig) {
  struct device_info info;
  OK(rig->api->describe(0, &info));
  const uint64_t before = free_bytes(rig, 0), other = free_bytes(rig, 1);
  assert_true(before <= info.memory);
  const struct span a = rig_alloc(rig, 0, 3 * MIB), b = rig_alloc(rig, 0, MIB);
  assert_ptr_not_equal(a.region, b.region);
  assert_int_equal(free_bytes(rig, 0), before - 4 * MIB);
  assert_int_equal(free_bytes(rig, 1), other);
  rig_free(rig, 0, a);
  assert_int_equal(free_bytes(rig, 0), before - MIB);
  rig_free(rig, 0, b);
  assert_int_equal(free_bytes(rig, 0), before);
}

static void too_much_is_refused(struct rig *rig) {
  struct device_info info;
  void *region = NULL;
  OK(rig->api->describe(0, &info));
  const size_t sizes[] = {(size_t)1 << 60, SIZE_MAX / 2, SIZE_MAX - 100, SIZE_MAX};
  for (size_t i = 0; i < COUNT_OF(sizes); i++)
    FAILS(rig->api->alloc(rig->device[0], sizes[i], &region), SITU_RESOURCE_EXHAUSTED, "");
  const struct span span = rig_alloc(rig, 0, MIB);
  rig_put(rig, 0, span, &(int64_t){7}, 8);
  assert_int_equal(rig_get_number(rig, 0, span), 7);
  rig_free(rig, 0, span);
}

static void closing_gives_memory_back(struct rig *rig) {
  const uint64_t before = free_bytes(rig, 0);
  rig_alloc(rig, 0, 8 * MIB);
  rig->api->close(rig->device[0]);
  OK(rig->api->open(0, &rig->device[0]));
  assert_int_equal(free_bytes(rig, 0), before);
}

/* ---- Copies ---- */

static unsigned char *pattern(size_t bytes, unsigned seed) {
  unsigned char *data = malloc(bytes);
  for (size_t i = 0; i < bytes; i++) data[i] = (unsigned char)(i * 31 + (i >> 8) + seed);
  return data;
}

static void copies_really_copy(struct rig *rig) {
  enum { BYTES = 10007, OFFSET = 256 };
  unsigned char *data = pattern(BYTES, 1), *back = calloc(1, BYTES);
  struct span a = rig_alloc(rig, 0, 64 * KIB), b = rig_alloc(rig, 0, 64 * KIB);
  a.offset = OFFSET;
  b.offset = 2 * OFFSET;
  rig_put(rig, 0, a, data, BYTES);
  data[0] ^= 0xff; /* the device has a copy */
  OK(rig->api->copy(rig->device[0], QUEUE_COMPUTE, b, a, BYTES));
  rig_drain(rig, 0);
  rig_put(rig, 0, a, (unsigned char[100]){0}, 100);
  rig_get(rig, 0, back, b, BYTES);
  data[0] ^= 0xff;
  assert_memory_equal(back, data, BYTES);
  rig_get(rig, 0, back, a, BYTES);
  assert_int_equal(back[99], 0);
  assert_memory_equal(back + 100, data + 100, BYTES - 100);
  rig_free(rig, 0, a);
  rig_free(rig, 0, b);
  free(data);
  free(back);
}

/* Copies to device 1 as programs do: directly or through the host. */
static void peer(struct rig *rig, struct span to, struct span from, size_t bytes) {
  if (rig->api->peer) {
    OK(rig->api->peer(rig->device[1], QUEUE_IN, to, rig->device[0], from, bytes));
    return;
  }
  void *staged = malloc(bytes);
  rig_get(rig, 0, staged, from, bytes);
  rig_put(rig, 1, to, staged, bytes);
  free(staged);
}

static void devices_copy_to_each_other(struct rig *rig) {
  enum { BYTES = 70001 };
  unsigned char *data = pattern(BYTES, 2), *back = calloc(1, BYTES);
  const struct span a = rig_alloc(rig, 0, 128 * KIB), b = rig_alloc(rig, 1, 128 * KIB);
  rig_put(rig, 0, a, data, BYTES);
  peer(rig, (struct span){b.region, 512}, a, BYTES);
  rig_drain(rig, 1);
  rig_put(rig, 0, a, back, BYTES);
  rig_get(rig, 1, back, (struct span){b.region, 512}, BYTES);
  assert_memory_equal(back, data, BYTES);
  rig_free(rig, 0, a);
  rig_free(rig, 1, b);
  free(data);
  free(back);
}

static void sizes_from_nothing_to_large(struct rig *rig) {
  enum { LARGE = 24 * MIB };
  const struct span none = rig_alloc(rig, 0, 0), large = rig_alloc(rig, 0, LARGE);
  OK(rig->api->write(rig->device[0], QUEUE_IN, none, NULL, 0));
  OK(rig->api->read(rig->device[0], QUEUE_OUT, NULL, none, 0));
  OK(rig->api->copy(rig->device[0], QUEUE_COMPUTE, none, large, 0));
  if (rig->api->peer) OK(rig->api->peer(rig->device[0], QUEUE_IN, none, rig->device[0], large, 0));
  unsigned char *data = pattern(LARGE, 3), *back = calloc(1, LARGE);
  rig_put(rig, 0, large, data, LARGE);
  rig_get(rig, 0, back, large, LARGE);
  assert_memory_equal(back, data, LARGE);
  rig_free(rig, 0, none);
  rig_free(rig, 0, large);
  free(data);
  free(back);
}

/* ---- Queues ---- */

static void a_queue_keeps_its_order(struct rig *rig) {
  enum { ROUNDS = 500 };
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 0, KIB);
  int64_t seen[ROUNDS];
  rig_put(rig, 0, x, &(int64_t){0}, 8);
  struct bound_kernel *forth = rig_bind(rig, 0, rig_launch_of(rig, &add_kernel, 1, 1), x, y);
  for (int i = 0; i < ROUNDS; i++) {
    rig_call(rig, 0, QUEUE_COMPUTE, forth);
    OK(rig->api->read(rig->device[0], QUEUE_COMPUTE, &seen[i], y, 8));
    OK(rig->api->copy(rig->device[0], QUEUE_COMPUTE, x, y, 8));
  }
  rig_drain(rig, 0);
  for (int i = 0; i < ROUNDS; i++) assert_int_equal(seen[i], i + 1);
  rig_free(rig, 0, x);
  rig_free(rig, 0, y);
}

static void marks_grow_and_are_reached(struct rig *rig) {
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 0, KIB);
  rig_put(rig, 0, x, &(int64_t){41}, 8);
  const uint64_t first = rig_mark(rig, 0, QUEUE_COMPUTE);
  OK(rig->api->sync(rig->device[0], QUEUE_COMPUTE, first));
  rig_run(rig, 0, &late_kernel, x, y, 1, 20);
  const uint64_t second = rig_mark(rig, 0, QUEUE_COMPUTE);
  rig_run(rig, 0, &late_kernel, x, x, 1, 20);
  const uint64_t third = rig_mark(rig, 0, QUEUE_COMPUTE);
  assert_true(first <= second && second <= third);
  OK(rig->api->sync(rig->device[0], QUEUE_COMPUTE, second));
  assert_int_equal(rig_get_number(rig, 0, y), 42);
  OK(rig->api->sync(rig->device[0], QUEUE_COMPUTE, third));
  assert_int_equal(rig_get_number(rig, 0, x), 42);
  OK(rig->api->sync(rig->device[0], QUEUE_COMPUTE, first)); /* long past */
  rig_free(rig, 0, x);
  rig_free(rig, 0, y);
}

static void queues_wait_for_each_other(struct rig *rig) {
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 0, KIB);
  int64_t result = 0;
  const int64_t input = 5;
  OK(rig->api->write(rig->device[0], QUEUE_IN, x, &input, 8));
  rig_wait(rig, 0, QUEUE_COMPUTE, 0, QUEUE_IN);
  rig_run(rig, 0, &late_kernel, x, y, 1, 20);
  rig_wait(rig, 0, QUEUE_OUT, 0, QUEUE_COMPUTE);
  OK(rig->api->read(rig->device[0], QUEUE_OUT, &result, y, 8));
  OK(rig->api->sync(rig->device[0], QUEUE_OUT, rig_mark(rig, 0, QUEUE_OUT)));
  assert_int_equal(result, 6);
  rig_free(rig, 0, x);
  rig_free(rig, 0, y);
}

/* Ping-pong: two queues wait for each other in turn. */
/* Copies a number between devices: after the kernels of `from`, before those of `to`. */
static void copy_between(struct rig *rig, int to, struct span y, int from, struct span x) {
  static int64_t way; /* staging through the host if there are no peer copies */
  if (rig->api->peer) {
    rig_wait(rig, to, QUEUE_IN, from, QUEUE_COMPUTE);
    OK(rig->api->peer(rig->device[to], QUEUE_IN, y, rig->device[from], x, sizeof way));
  } else {
    rig_wait(rig, from, QUEUE_OUT, from, QUEUE_COMPUTE);
    rig_wait(rig, from, QUEUE_OUT, from, QUEUE_IN); /* the previous copy may be in flight */
    OK(rig->api->read(rig->device[from], QUEUE_OUT, &way, x, sizeof way));
    rig_wait(rig, to, QUEUE_IN, from, QUEUE_OUT);
    OK(rig->api->write(rig->device[to], QUEUE_IN, y, &way, sizeof way));
  }
  rig_wait(rig, to, QUEUE_COMPUTE, to, QUEUE_IN);
}

static void devices_wait_for_each_other(struct rig *rig) {
  enum { ROUNDS = 50 };
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 1, KIB);
  const uint64_t start = rig_mark(rig, 0, QUEUE_IN);
  rig_put(rig, 0, x, &(int64_t){0}, 8);
  OK(rig->api->wait(rig->device[1], QUEUE_IN, rig->device[0], QUEUE_IN, start));
  for (int i = 0; i < ROUNDS; i++) {
    rig_run(rig, 0, &late_kernel, x, x, 1, i == 0 ? 30 : 0);
    copy_between(rig, 1, y, 0, x);
    rig_run(rig, 1, &late_kernel, y, y, 1, 0);
    copy_between(rig, 0, x, 1, y);
  }
  rig_drain(rig, 0);
  rig_drain(rig, 1);
  assert_int_equal(rig_get_number(rig, 0, x), 2 * ROUNDS);
  rig_free(rig, 0, x);
  rig_free(rig, 1, y);
}

/* ---- Kernels ---- */

static void memory_of_others_is_refused(struct rig *rig) {
  const struct backend *api = rig->api;
  void *device = rig->device[0];
  int64_t host[64] = {0};
  struct bound_kernel *bound = NULL;
  const struct span ours = rig_alloc(rig, 0, KIB), theirs = rig_alloc(rig, 1, KIB);
  const struct span wrong[] = {theirs, {host, 0}, {ours.region, KIB + 8}};
  const struct launch *launch = rig_launch_of(rig, &add_kernel, 1, 1);
  struct bound_kernel *good = rig_bind(rig, 0, launch, ours, ours);
  for (size_t i = 0; i < COUNT_OF(wrong); i++) {
    const struct span slots[] = {ours, wrong[i]};
    FAILS(api->bind(device, launch, slots, &rig->arena, &bound), SITU_INTERNAL, "'add'");
    FAILS(api->rebind(device, good, 1, wrong[i]), SITU_INTERNAL, "'add'");
    FAILS(api->write(device, QUEUE_IN, wrong[i], host, 8), SITU_INTERNAL, "does not belong to it");
    FAILS(api->read(device, QUEUE_OUT, host, wrong[i], 8), SITU_INTERNAL, "does not belong to it");
    FAILS(api->copy(device, QUEUE_OUT, ours, wrong[i], 8), SITU_INTERNAL, "does not belong to it");
    FAILS(api->copy(device, QUEUE_OUT, wrong[i], ours, 8), SITU_INTERNAL, "does not belong to it");
  }
  FAILS(api->write(device, QUEUE_IN, ours, host, KIB + 1), SITU_INTERNAL, "does not belong to it");
  if (api->peer)
    FAILS(api->peer(device, QUEUE_IN, ours, rig->device[1], ours, 8), SITU_INTERNAL, "");
  rig_drain(rig, 0);
  rig_free(rig, 0, ours);
  rig_free(rig, 1, theirs);
  FAILS(api->write(device, QUEUE_IN, ours, host, 8), SITU_INTERNAL, ""); /* freed */
}

static void calls_are_bound_to_other_memory(struct rig *rig) {
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 0, KIB);
  const struct span z = {y.region, 512};
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  rig_put(rig, 0, z, &(int64_t){0}, 8);
  struct bound_kernel *bound = rig_bind(rig, 0, rig_launch_of(rig, &add_kernel, 1, 10), x, y);
  rig_call(rig, 0, QUEUE_COMPUTE, bound);
  rig_drain(rig, 0);
  OK(rig->api->rebind(rig->device[0], bound, 0, y));
  OK(rig->api->rebind(rig->device[0], bound, 1, z));
  assert_int_equal(rig_get_number(rig, 0, z), 0);
  rig_call(rig, 0, QUEUE_COMPUTE, bound);
  rig_drain(rig, 0);
  assert_int_equal(rig_get_number(rig, 0, y), 11);
  assert_int_equal(rig_get_number(rig, 0, z), 21);
  if (rig->api->unbind) rig->api->unbind(rig->device[0], bound);
  rig_free(rig, 0, x);
  rig_free(rig, 0, y);
}

static void values_without_elements_have_no_memory(struct rig *rig) {
  const struct span none = {0}, y = rig_alloc(rig, 0, KIB);
  rig_put(rig, 0, y, &(int64_t){3}, 8);
  rig_run(rig, 0, &add_kernel, none, none, 0, 1);
  rig_run(rig, 0, &add_kernel, none, y, 0, 1);
  rig_drain(rig, 0);
  assert_null(rig->error);
  assert_int_equal(rig_get_number(rig, 0, y), 3);
  rig_free(rig, 0, y);
}

static void a_type_without_a_kernel_is_refused(struct rig *rig) {
  const struct span x = rig_alloc(rig, 0, KIB);
  struct launch *launch = rig_launch_of(rig, &add_kernel, 1, 1);
  struct bound_kernel *bound = NULL;
  launch->type = SITU_HALF;
  FAILS(rig->api->bind(rig->device[0], launch, (struct span[]){x, x}, &rig->arena, &bound),
        SITU_UNIMPLEMENTED, "'add'");
  rig_free(rig, 0, x);
}

static void large_calls_do_every_item_once(struct rig *rig) {
  enum { N = 1 << 20 };
  const struct span x = rig_alloc(rig, 0, N * 8);
  struct launch *launch = rig_launch_of(rig, &add_kernel, N, 5);
  launch->grain = 1000;
  int64_t *data = calloc(N, 8);
  rig_put(rig, 0, x, data, N * 8);
  struct bound_kernel *bound = rig_bind(rig, 0, launch, x, x);
  for (int i = 0; i < 3; i++) rig_call(rig, 0, QUEUE_COMPUTE, bound);
  rig_drain(rig, 0);
  rig_get(rig, 0, data, x, N * 8);
  for (int i = 0; i < N; i++) assert_int_equal(data[i], 15);
  rig_free(rig, 0, x);
  free(data);
}

static void a_kernel_may_fail(struct rig *rig) {
  const struct span x = rig_alloc(rig, 0, KIB), y = rig_alloc(rig, 0, KIB);
  rig_put(rig, 0, x, &(int64_t){1}, 8);
  rig_run(rig, 0, &refuse_kernel, x, y, 1, 17);
  rig_run(rig, 0, &refuse_kernel, x, y, 1, 18); /* the first error is kept */
  rig_run(rig, 0, &add_kernel, x, y, 1, 1);
  rig_drain(rig, 0); /* the device still works */
  const situ_status status = atomic_exchange(&rig->error, (situ_status)NULL);
  if (!rig->api->is_host) assert_string_equal(situ_status_node(status), "refuse");
  FAILS(status, SITU_INVALID_ARGUMENT, "Refused 17.");
  assert_int_equal(rig_get_number(rig, 0, y), 2);
  rig_run(rig, 0, &add_kernel, x, y, 1, 2);
  rig_drain(rig, 0);
  assert_null(rig->error);
  assert_int_equal(rig_get_number(rig, 0, y), 3);
  rig_free(rig, 0, x);
  rig_free(rig, 0, y);
}

/* ---- Devices ---- */

static atomic_int arrived;

/* Returns when kernels on both devices have started, or after some minutes. */
static situ_status wait_for_both(const union arg *args, int64_t begin, int64_t end) {
  (void)args, (void)begin, (void)end;
  atomic_fetch_add(&arrived, 1);
  for (int i = 0; i < 300000 && atomic_load(&arrived) < 2; i++) usleep(1000);
  return atomic_load(&arrived) < 2 ? INTERNAL("Nobody came.") : NULL;
}

static const struct kernel meet_kernel = {.name = "meet", .host = {[SITU_INT64] = wait_for_both}};

struct driver {
  struct rig *rig;
  int device;
  struct bound_kernel *meeting, *step;
  struct span x;
  int64_t result;
  bool failed;
};

/* No asserts: cmocka supports them in the main thread only. */
static void *run_device(void *context) {
  struct driver *driver = context;
  const struct backend *api = driver->rig->api;
  void *device = driver->rig->device[driver->device];
  uint64_t mark = 0;
  situ_status status = api->launch(device, QUEUE_COMPUTE, driver->meeting);
  for (int i = 0; i < 300 && !status; i++) {
    status = api->launch(device, QUEUE_COMPUTE, driver->step);
    if (!status && i % 7 == 0) status = api->mark(device, QUEUE_COMPUTE, &mark);
    if (!status && i % 7 == 0) status = api->sync(device, QUEUE_COMPUTE, mark);
  }
  if (!status) status = api->read(device, QUEUE_COMPUTE, &driver->result, driver->x, 8);
  if (!status) status = api->mark(device, QUEUE_COMPUTE, &mark);
  if (!status) status = api->sync(device, QUEUE_COMPUTE, mark);
  driver->failed = status;
  situ_status_release(status);
  return NULL;
}

static void two_devices_work_at_once(struct rig *rig) {
  struct driver drivers[2];
  pthread_t threads[2];
  atomic_store(&arrived, 0);
  for (int i = 0; i < 2; i++) {
    const struct span x = rig_alloc(rig, i, KIB);
    rig_put(rig, i, x, &(int64_t){100}, 8);
    drivers[i] =
        (struct driver){.rig = rig,
                        .device = i,
                        .x = x,
                        .meeting = rig_bind(rig, i, rig_launch_of(rig, &meet_kernel, 1, 0), x, x),
                        .step = rig_bind(rig, i, rig_launch_of(rig, &add_kernel, 1, i + 1), x, x)};
  }
  for (int i = 0; i < 2; i++) pthread_create(&threads[i], NULL, run_device, &drivers[i]);
  for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
  assert_null(rig->error);
  for (int i = 0; i < 2; i++) {
    assert_false(drivers[i].failed);
    assert_int_equal(drivers[i].result, 100 + 300 * (i + 1));
    rig_free(rig, i, drivers[i].x);
  }
}

static void idle_devices_close_and_open_again(struct rig *rig) {
  for (int round = 0; round < 20; round++) {
    if (round % 2) {
      const struct span x = rig_alloc(rig, 0, KIB);
      rig_put(rig, 0, x, &(int64_t){round}, 8);
      rig_run(rig, 0, &add_kernel, x, x, 1, 1);
      rig_drain(rig, 0);
      assert_int_equal(rig_get_number(rig, 0, x), round + 1);
      rig_free(rig, 0, x);
    }
    rig->api->close(rig->device[0]);
    OK(rig->api->open(0, &rig->device[0]));
  }
}

static void the_clock_never_goes_back(struct rig *rig) {
  if (!rig->api->clock) SKIP("the back end has no device clock");
  const struct span x = rig_alloc(rig, 0, KIB);
  double last = rig->api->clock(rig->device[0]);
  assert_float_equal(last, 0, 0);
  for (int i = 0; i < 10; i++) {
    rig_run(rig, 0, &add_kernel, x, x, 1, 1);
    rig_put(rig, 0, x, &(int64_t){0}, 8);
    assert_true(rig->api->clock(rig->device[0]) >= last);
    last = rig->api->clock(rig->device[0]);
  }
  rig_drain(rig, 0);
  rig_free(rig, 0, x);
}

/* ---- The table ---- */

/* Name and number of devices. */
#define TESTS(X)                               \
  X(listing_opens_nothing, 1)                  \
  X(memory_is_accounted, 2)                    \
  X(too_much_is_refused, 1)                    \
  X(closing_gives_memory_back, 1)              \
  X(copies_really_copy, 1)                     \
  X(devices_copy_to_each_other, 2)             \
  X(sizes_from_nothing_to_large, 1)            \
  X(a_queue_keeps_its_order, 1)                \
  X(marks_grow_and_are_reached, 1)             \
  X(queues_wait_for_each_other, 1)             \
  X(devices_wait_for_each_other, 2)            \
  X(memory_of_others_is_refused, 2)            \
  X(calls_are_bound_to_other_memory, 1)        \
  X(values_without_elements_have_no_memory, 1) \
  X(a_type_without_a_kernel_is_refused, 1)     \
  X(large_calls_do_every_item_once, 1)         \
  X(a_kernel_may_fail, 1)                      \
  X(two_devices_work_at_once, 2)               \
  X(idle_devices_close_and_open_again, 1)      \
  X(the_clock_never_goes_back, 1)

static const struct conformance {
  const char *name;
  void (*run)(struct rig *rig);
  int devices;
} table[] = {
#define ROW(name, devices) {#name, name, devices},
    TESTS(ROW)
#undef ROW
};

/* Tests that do not apply to a back end. */
static const struct gap {
  const char *test, *backend, *reason;
} known_gaps[] = {
    {"memory_is_accounted", "cpu", "what is free is the whole machine's, and others take it too"},
    {"closing_gives_memory_back", "cpu", "its regions are the process's own memory"},
    {"memory_of_others_is_refused", "cpu", "every address of the process is its memory"},
    {"a_kernel_may_fail", "opencl", "kernels on a GPU end bad items in silence"},
    {"two_devices_work_at_once", "opencl", "its kernels cannot meet: they see one device's memory"},
    {"a_kernel_may_fail", "cuda", "kernels on a GPU end bad items in silence"},
    {"two_devices_work_at_once", "cuda", "its kernels cannot meet: they see one device's memory"},
};

struct run {
  const struct conformance *test;
  const struct backend *backend;
  char name[128];
};

static void run_one(void **state) {
  const struct run *run = *state;
  struct rig rig;
  for (size_t i = 0; i < COUNT_OF(known_gaps); i++) {
    const struct gap *gap = &known_gaps[i];
    if (strcmp(gap->test, run->test->name) || strcmp(gap->backend, run->backend->name)) continue;
    SKIP(gap->reason);
  }
  rig_open(&rig, run->backend, fleet);
  assert_non_null(rig.device[0]);
  const bool is_enough = run->test->devices == 1 || rig.device[1];
  if (is_enough) run->test->run(&rig);
  rig_close(&rig);
  if (!is_enough) SKIP("fewer than two devices");
}

/* Every gap names an existing test and back end. */
static void gaps_are_real(void **state) {
  (void)state;
  for (size_t i = 0; i < COUNT_OF(known_gaps); i++) {
    bool is_test = false, is_backend = false;
    for (size_t t = 0; t < COUNT_OF(table); t++)
      is_test = is_test || !strcmp(known_gaps[i].test, table[t].name);
    for (int b = 0; backends[b]; b++)
      is_backend = is_backend || !strcmp(known_gaps[i].backend, backends[b]->name);
    assert_true(is_test && is_backend && known_gaps[i].reason[0]);
  }
}

static void every_back_end_is_complete(void **state) {
  (void)state;
  for (int b = 0; backends[b]; b++) {
    const struct backend *api = backends[b];
    assert_true(*api->name && *api->kind && *api->tested);
    assert_true(api->probe && api->describe && api->open && api->close);
    assert_true(api->alloc && api->free && api->write && api->read && api->copy);
    assert_true(api->bind && api->rebind && api->launch && api->mark && api->wait && api->sync);
    for (int other = 0; other < b; other++)
      assert_string_not_equal(api->name, backends[other]->name);
  }
}

int main(void) {
  enum { MOST = 16 * COUNT_OF(table) + 3 };
  static struct run runs[MOST];
  static struct CMUnitTest tests[MOST];
  size_t n = 0;
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(every_back_end_is_complete);
  tests[n++] = (struct CMUnitTest)cmocka_unit_test(gaps_are_real);
  for (int b = 0; backends[b]; b++) {
    int count = 0;
    const char *why = NULL;
    const struct backend_request request = rig_request(fleet);
    if (backends[b]->probe(&request, &count, &why)) return 1;
    for (size_t t = 0; count > 0 && t < COUNT_OF(table) && n < MOST; t++, n++) {
      runs[n] = (struct run){.test = &table[t], .backend = backends[b]};
      snprintf(runs[n].name, sizeof runs[n].name, "%s: %s", backends[b]->name, table[t].name);
      tests[n] = (struct CMUnitTest){
          .name = runs[n].name, .test_func = run_one, .initial_state = &runs[n]};
    }
  }
  return _cmocka_run_group_tests("conformance", tests, n, NULL, NULL);
}
