/* SPDX-License-Identifier: Apache-2.0
 * selftest_device.c: tests queues, memory and copies of a device through the back end interface. */
#include <stdlib.h>
#include <string.h>

#include "api/selftest.h"
#include "base/arena.h"

enum { NUMBERS = 1 << 18, ROUNDS = 20, BLOCKS = 64 };

/* y[i] = x[i] + by: the result shows whether kernels ran in order. */
static situ_status add(const union arg *args, int64_t begin, int64_t end) {
  const int64_t *x = args[0].pointer;
  int64_t *y = args[1].pointer;
  for (int64_t i = begin; i < end; i++) y[i] = x[i] + args[2].integer;
  return NULL;
}

static const struct kernel add_kernel = {
    .name = "selftest_add",
    .text =
        "KERNEL(selftest_add, IN(T, x), OUT(T, y), SIZE(by), SIZE(n)) {\n"
        "  EACH(i, n);\n"
        "  y[i] = x[i] + by;\n"
        "}\n",
    .host = {[SITU_INT64] = add}};

/* Device memory and host arrays of a test. */
struct fixture {
  struct device *device;
  const struct backend *api;
  struct memory_block x, y;
  int64_t *from, *to;
  struct arena arena;
  _Atomic(situ_status) error;
};

static const struct memory_tag tag = {.op = "selftest"};

static void bench_end(struct fixture *fixture) {
  memory_free(fixture->device->memory, &fixture->x);
  memory_free(fixture->device->memory, &fixture->y);
  free(fixture->from);
  free(fixture->to);
  arena_free(&fixture->arena);
}

static situ_status bench_begin(struct device *device, struct fixture *fixture) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  *fixture = (struct fixture){.device = device, .api = device->backend};
  fixture->from = malloc(bytes);
  fixture->to = calloc(1, bytes);
  situ_status status = fixture->from && fixture->to ? NULL : NO_MEMORY();
  if (!status) status = memory_alloc(device->memory, bytes, &tag, &fixture->x);
  if (!status) status = memory_alloc(device->memory, bytes, &tag, &fixture->y);
  for (int64_t i = 0; !status && i < NUMBERS; i++) fixture->from[i] = i * 7 + 3;
  if (status) bench_end(fixture);
  return status;
}

/* Waits until a queue is idle. */
static situ_status wait_idle(const struct fixture *fixture, int queue) {
  uint64_t mark = 0;
  TRY(fixture->api->mark(fixture->device->handle, queue, &mark));
  return fixture->api->sync(fixture->device->handle, queue, mark);
}

/* Makes a queue wait for another queue, possibly of another device. */
static situ_status wait_for_queue(const struct fixture *fixture, int queue,
                                  const struct fixture *on, int on_queue) {
  uint64_t mark = 0;
  TRY(on->api->mark(on->device->handle, on_queue, &mark));
  return fixture->api->wait(fixture->device->handle, queue, on->device->handle, on_queue, mark);
}

static situ_status expect(const struct fixture *fixture, int64_t count, int64_t more) {
  for (int64_t i = 0; i < count; i++)
    if (fixture->to[i] != fixture->from[i] + more)
      return INTERNAL("element %lld is %lld, not %lld", (long long)i, (long long)fixture->to[i],
                      (long long)(fixture->from[i] + more));
  return NULL;
}

/* ---- Queues ---- */

static situ_status bind_add(struct fixture *fixture, struct span x, struct span y,
                            struct bound_kernel **out) {
  struct launch *launch = arena_zero(&fixture->arena, sizeof *launch);
  struct launch_arg *args = arena_zero(&fixture->arena, 4 * sizeof *args);
  if (!launch || !args) return NO_MEMORY();
  args[0] = (struct launch_arg){.kind = ARG_SLOT, .slot = 0};
  args[1] = (struct launch_arg){.kind = ARG_SLOT, .slot = 1};
  args[2] = (struct launch_arg){.kind = ARG_INTEGER, .integer = 1};
  args[3] = (struct launch_arg){.kind = ARG_INTEGER, .integer = NUMBERS};
  *launch = (struct launch){.kernel = &add_kernel,
                            .type = SITU_INT64,
                            .n_args = 4,
                            .items = NUMBERS,
                            .node = "selftest",
                            .args = args};
  TRY(fixture->api->bind(fixture->device->handle, launch, (const struct span[]){x, y},
                         &fixture->arena, out));
  (*out)->error = &fixture->error;
  return NULL;
}

/* Copies in, adds and copies out on three queues that wait for each other, repeatedly. */
static situ_status test_queue_sync(struct fixture *fixture, struct bound_kernel *bound) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  void *handle = fixture->device->handle;
  for (int i = 0; i < ROUNDS; i++) {
    TRY(fixture->api->write(handle, QUEUE_IN, fixture->x.span, fixture->from, bytes));
    TRY(wait_for_queue(fixture, QUEUE_COMPUTE, fixture, QUEUE_IN));
    TRY(fixture->api->launch(handle, QUEUE_COMPUTE, bound));
    TRY(wait_for_queue(fixture, QUEUE_OUT, fixture, QUEUE_COMPUTE));
    TRY(fixture->api->read(handle, QUEUE_OUT, fixture->to, fixture->y.span, bytes));
    TRY(wait_for_queue(fixture, QUEUE_IN, fixture, QUEUE_OUT));
  }
  TRY(wait_idle(fixture, QUEUE_OUT));
  TRY(atomic_exchange(&fixture->error, NULL));
  return expect(fixture, NUMBERS, 1);
}

/* Adds to the same memory repeatedly: kernels of a queue must run in order. */
static situ_status test_queue_order(struct fixture *fixture, struct bound_kernel *bound) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  void *handle = fixture->device->handle;
  TRY(fixture->api->rebind(handle, bound, 1, fixture->x.span));
  TRY(fixture->api->write(handle, QUEUE_COMPUTE, fixture->x.span, fixture->from, bytes));
  for (int i = 0; i < ROUNDS; i++) TRY(fixture->api->launch(handle, QUEUE_COMPUTE, bound));
  TRY(fixture->api->read(handle, QUEUE_COMPUTE, fixture->to, fixture->x.span, bytes));
  TRY(wait_idle(fixture, QUEUE_COMPUTE));
  TRY(atomic_exchange(&fixture->error, NULL));
  return expect(fixture, NUMBERS, ROUNDS);
}

/* Binding memory of another device must fail. */
static situ_status test_foreign_memory(struct fixture *fixture, struct device *other) {
  struct memory_block block;
  struct bound_kernel *bound = NULL;
  TRY(memory_alloc(other->memory, 4096, &tag, &block));
  const situ_status status = bind_add(fixture, fixture->x.span, block.span, &bound);
  if (!status && fixture->api->unbind) fixture->api->unbind(fixture->device->handle, bound);
  memory_free(other->memory, &block);
  const bool is_refused = status;
  situ_status_release(status);
  return is_refused ? NULL : INTERNAL("binding memory of %s did not fail", other->full);
}

void selftest_queues(struct selftest *test) {
  struct fixture fixture;
  struct bound_kernel *bound = NULL;
  situ_status status = bench_begin(test->device, &fixture);
  if (status) {
    selftest_report(test, "queues", "memory to begin with", status, NULL);
    return;
  }
  status = bind_add(&fixture, fixture.x.span, fixture.y.span, &bound);
  selftest_report(test, "queues", "a kernel is compiled", status, NULL);
  if (bound) {
    selftest_report(test, "queues", "queues wait for each other", test_queue_sync(&fixture, bound),
                    NULL);
    selftest_report(test, "queues", "a queue keeps its order", test_queue_order(&fixture, bound),
                    NULL);
    if (test->other)
      selftest_report(test, "queues", "other devices' memory is refused",
                      test_foreign_memory(&fixture, test->other), NULL);
    if (fixture.api->unbind) fixture.api->unbind(test->device->handle, bound);
  }
  bench_end(&fixture);
}

/* ---- Memory ---- */

/* Allocates many blocks of odd sizes: each must keep its contents. */
static situ_status test_blocks(struct fixture *fixture, struct memory_block *blocks) {
  void *handle = fixture->device->handle;
  for (int i = 0; i < BLOCKS; i++) {
    const size_t bytes = (size_t)i * 997 + 8;
    TRY(memory_alloc(fixture->device->memory, bytes, &tag, &blocks[i]));
    TRY(fixture->api->write(handle, QUEUE_IN, blocks[i].span, fixture->from + i * 100, bytes));
  }
  TRY(wait_idle(fixture, QUEUE_IN));
  for (int i = 0; i < BLOCKS; i++) {
    TRY(fixture->api->read(handle, QUEUE_OUT, fixture->to, blocks[i].span, blocks[i].bytes));
    TRY(wait_idle(fixture, QUEUE_OUT));
    if (memcmp(fixture->to, fixture->from + i * 100, blocks[i].bytes) != 0)
      return INTERNAL("block %d of %zu bytes was overwritten", i, blocks[i].bytes);
  }
  return NULL;
}

/* Allocating more than the device has must fail, name the sizes, and leave the allocator usable. */
static situ_status test_exhaustion(const struct fixture *fixture) {
  struct memory_block block;
  const uint64_t whole = fixture->device->info.memory;
  const situ_status status = memory_alloc(fixture->device->memory, (size_t)whole + 1, &tag, &block);
  if (!status) memory_free(fixture->device->memory, &block);
  const situ_code code = situ_status_code(status);
  situ_status_release(status);
  if (code != SITU_RESOURCE_EXHAUSTED)
    return INTERNAL("allocating more than the device memory returned %s", situ_code_name(code));
  TRY(memory_alloc(fixture->device->memory, 4096, &tag, &block));
  memory_free(fixture->device->memory, &block);
  return NULL;
}

void selftest_memory(struct selftest *test) {
  struct fixture fixture;
  struct memory_block blocks[BLOCKS] = {0};
  const situ_status status = bench_begin(test->device, &fixture);
  if (status) {
    selftest_report(test, "memory", "memory to begin with", status, NULL);
    return;
  }
  selftest_report(test, "memory", "blocks stay apart", test_blocks(&fixture, blocks), NULL);
  for (int i = 0; i < BLOCKS; i++) memory_free(test->device->memory, &blocks[i]);
  selftest_report(test, "memory", "too much is refused", test_exhaustion(&fixture), NULL);
  bench_end(&fixture);
}

/* ---- Copies ---- */

/* Copies all sizes from one byte on, at unaligned offsets. */
static situ_status test_copy_sizes(struct fixture *fixture) {
  void *handle = fixture->device->handle;
  for (size_t bytes = 1; bytes < NUMBERS * 4; bytes = bytes * 3 + 1) {
    const struct span x = {fixture->x.span.region, fixture->x.span.offset + 3};
    const struct span y = {fixture->y.span.region, fixture->y.span.offset + 5};
    memset(fixture->to, 0, bytes);
    TRY(fixture->api->write(handle, QUEUE_COMPUTE, x, fixture->from, bytes));
    TRY(fixture->api->copy(handle, QUEUE_COMPUTE, y, x, bytes));
    TRY(fixture->api->read(handle, QUEUE_COMPUTE, fixture->to, y, bytes));
    TRY(wait_idle(fixture, QUEUE_COMPUTE));
    if (memcmp(fixture->to, fixture->from, bytes) != 0)
      return INTERNAL("%zu bytes were corrupted by copying", bytes);
  }
  return NULL;
}

/* Copies to another device and back, directly or through the host. */
static situ_status test_peer_copy(const struct fixture *to, const struct fixture *from,
                                  int64_t *way) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  TRY(wait_for_queue(to, QUEUE_IN, from, QUEUE_IN));
  if (to->api->peer)
    return to->api->peer(to->device->handle, QUEUE_IN, to->x.span, from->device->handle,
                         from->x.span, bytes);
  TRY(wait_for_queue(from, QUEUE_OUT, from, QUEUE_IN));
  TRY(from->api->read(from->device->handle, QUEUE_OUT, way, from->x.span, bytes));
  TRY(wait_for_queue(to, QUEUE_IN, from, QUEUE_OUT));
  return to->api->write(to->device->handle, QUEUE_IN, to->x.span, way, bytes);
}

static situ_status round_trip(struct fixture *fixture, struct fixture *other) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  memset(fixture->to, 0, bytes);
  TRY(fixture->api->write(fixture->device->handle, QUEUE_IN, fixture->x.span, fixture->from,
                          bytes));
  TRY(test_peer_copy(other, fixture, other->from));
  TRY(test_peer_copy(fixture, other, other->to));
  TRY(fixture->api->read(fixture->device->handle, QUEUE_IN, fixture->to, fixture->x.span, bytes));
  TRY(wait_idle(fixture, QUEUE_IN));
  return expect(fixture, NUMBERS, 0);
}

void selftest_copies(struct selftest *test) {
  struct fixture fixture, other;
  const situ_status status = bench_begin(test->device, &fixture);
  if (status) {
    selftest_report(test, "copies", "memory to begin with", status, NULL);
    return;
  }
  selftest_report(test, "copies", "of every size", test_copy_sizes(&fixture), NULL);
  if (test->other) {
    situ_status next = bench_begin(test->other, &other);
    const bool has_other = !next;
    if (!next) next = round_trip(&fixture, &other);
    selftest_report(test, "copies", "to another device and back", next, NULL);
    if (has_other) bench_end(&other);
  }
  bench_end(&fixture);
}
