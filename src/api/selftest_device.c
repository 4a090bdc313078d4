/* SPDX-License-Identifier: Apache-2.0
 * selftest_device.c: queues, memory and copies of a device, straight on its back end. */
#include <stdlib.h>
#include <string.h>

#include "api/selftest.h"
#include "base/arena.h"

enum { NUMBERS = 1 << 18, ROUNDS = 20, BLOCKS = 64 };

/* y[i] = x[i] + by, which tells whether things happen in order. */
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

/* Memory of a device that the test works with, and numbers of the host. */
struct bench {
  struct device *device;
  const struct backend *api;
  struct memory_block x, y;
  int64_t *from, *to;
  struct arena arena;
  _Atomic(situ_status) error;
};

static const struct memory_tag tag = {.op = "selftest"};

static void bench_end(struct bench *bench) {
  memory_free(bench->device->memory, &bench->x);
  memory_free(bench->device->memory, &bench->y);
  free(bench->from);
  free(bench->to);
  arena_free(&bench->arena);
}

static situ_status bench_begin(struct device *device, struct bench *bench) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  *bench = (struct bench){.device = device, .api = device->backend};
  bench->from = malloc(bytes);
  bench->to = calloc(1, bytes);
  situ_status status = bench->from && bench->to ? NULL : NO_MEMORY();
  if (!status) status = memory_alloc(device->memory, bytes, &tag, &bench->x);
  if (!status) status = memory_alloc(device->memory, bytes, &tag, &bench->y);
  for (int64_t i = 0; !status && i < NUMBERS; i++) bench->from[i] = i * 7 + 3;
  if (status) bench_end(bench);
  return status;
}

/* Waits for all that was queued. */
static situ_status settle(const struct bench *bench, int queue) {
  uint64_t mark = 0;
  TRY(bench->api->mark(bench->device->handle, queue, &mark));
  return bench->api->sync(bench->device->handle, queue, mark);
}

/* Lets a queue wait for what another one, perhaps of another device, was told. */
static situ_status follow(const struct bench *bench, int queue, const struct bench *on,
                          int on_queue) {
  uint64_t mark = 0;
  TRY(on->api->mark(on->device->handle, on_queue, &mark));
  return bench->api->wait(bench->device->handle, queue, on->device->handle, on_queue, mark);
}

static situ_status expect(const struct bench *bench, int64_t count, int64_t more) {
  for (int64_t i = 0; i < count; i++)
    if (bench->to[i] != bench->from[i] + more)
      return INTERNAL("number %lld is %lld, not %lld", (long long)i, (long long)bench->to[i],
                      (long long)(bench->from[i] + more));
  return NULL;
}

/* ---- Queues ---- */

static situ_status bind_add(struct bench *bench, struct span x, struct span y,
                            struct bound_kernel **out) {
  struct launch *launch = arena_zero(&bench->arena, sizeof *launch);
  struct launch_arg *args = arena_zero(&bench->arena, 4 * sizeof *args);
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
  TRY(bench->api->bind(bench->device->handle, launch, (const struct span[]){x, y}, &bench->arena,
                       out));
  (*out)->error = &bench->error;
  return NULL;
}

/* In, add, out, on three queues that wait for each other, again and again. */
static situ_status go_round(struct bench *bench, struct bound_kernel *bound) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  void *handle = bench->device->handle;
  for (int i = 0; i < ROUNDS; i++) {
    TRY(bench->api->write(handle, QUEUE_IN, bench->x.span, bench->from, bytes));
    TRY(follow(bench, QUEUE_COMPUTE, bench, QUEUE_IN));
    TRY(bench->api->launch(handle, QUEUE_COMPUTE, bound));
    TRY(follow(bench, QUEUE_OUT, bench, QUEUE_COMPUTE));
    TRY(bench->api->read(handle, QUEUE_OUT, bench->to, bench->y.span, bytes));
    TRY(follow(bench, QUEUE_IN, bench, QUEUE_OUT));
  }
  TRY(settle(bench, QUEUE_OUT));
  TRY(atomic_exchange(&bench->error, NULL));
  return expect(bench, NUMBERS, 1);
}

/* The same memory, added to again and again: one kernel after the other. */
static situ_status stay_in_order(struct bench *bench, struct bound_kernel *bound) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  void *handle = bench->device->handle;
  TRY(bench->api->rebind(handle, bound, 1, bench->x.span));
  TRY(bench->api->write(handle, QUEUE_COMPUTE, bench->x.span, bench->from, bytes));
  for (int i = 0; i < ROUNDS; i++) TRY(bench->api->launch(handle, QUEUE_COMPUTE, bound));
  TRY(bench->api->read(handle, QUEUE_COMPUTE, bench->to, bench->x.span, bytes));
  TRY(settle(bench, QUEUE_COMPUTE));
  TRY(atomic_exchange(&bench->error, NULL));
  return expect(bench, NUMBERS, ROUNDS);
}

/* Memory of another device must be refused. */
static situ_status refuse(struct bench *bench, struct device *other) {
  struct memory_block block;
  struct bound_kernel *bound = NULL;
  TRY(memory_alloc(other->memory, 4096, &tag, &block));
  const situ_status status = bind_add(bench, bench->x.span, block.span, &bound);
  if (!status && bench->api->unbind) bench->api->unbind(bench->device->handle, bound);
  memory_free(other->memory, &block);
  const bool is_refused = status;
  situ_status_release(status);
  return is_refused ? NULL : INTERNAL("a kernel may use memory of %s", other->full);
}

void selftest_queues(struct selftest *test) {
  struct bench bench;
  struct bound_kernel *bound = NULL;
  situ_status status = bench_begin(test->device, &bench);
  if (status) {
    selftest_note(test, "queues", "memory to begin with", status, NULL);
    return;
  }
  status = bind_add(&bench, bench.x.span, bench.y.span, &bound);
  selftest_note(test, "queues", "a kernel is compiled", status, NULL);
  if (bound) {
    selftest_note(test, "queues", "queues wait for each other", go_round(&bench, bound), NULL);
    selftest_note(test, "queues", "a queue keeps its order", stay_in_order(&bench, bound), NULL);
    if (test->other)
      selftest_note(test, "queues", "other devices' memory is refused", refuse(&bench, test->other),
                    NULL);
    if (bench.api->unbind) bench.api->unbind(test->device->handle, bound);
  }
  bench_end(&bench);
}

/* ---- Memory ---- */

/* Many blocks of odd sizes: each keeps what was written to it. */
static situ_status keep_apart(struct bench *bench, struct memory_block *blocks) {
  void *handle = bench->device->handle;
  for (int i = 0; i < BLOCKS; i++) {
    const size_t bytes = (size_t)i * 997 + 8;
    TRY(memory_alloc(bench->device->memory, bytes, &tag, &blocks[i]));
    TRY(bench->api->write(handle, QUEUE_IN, blocks[i].span, bench->from + i * 100, bytes));
  }
  TRY(settle(bench, QUEUE_IN));
  for (int i = 0; i < BLOCKS; i++) {
    TRY(bench->api->read(handle, QUEUE_OUT, bench->to, blocks[i].span, blocks[i].bytes));
    TRY(settle(bench, QUEUE_OUT));
    if (memcmp(bench->to, bench->from + i * 100, blocks[i].bytes) != 0)
      return INTERNAL("block %d of %zu bytes was overwritten", i, blocks[i].bytes);
  }
  return NULL;
}

/* More than there is is refused with a word of what there is, and does no harm. */
static situ_status run_out(const struct bench *bench) {
  struct memory_block block;
  const uint64_t whole = bench->device->info.memory;
  const situ_status status = memory_alloc(bench->device->memory, (size_t)whole + 1, &tag, &block);
  if (!status) memory_free(bench->device->memory, &block);
  const situ_code code = situ_status_code(status);
  situ_status_release(status);
  if (code != SITU_RESOURCE_EXHAUSTED)
    return INTERNAL("one byte more than the device has gives %s", situ_code_name(code));
  TRY(memory_alloc(bench->device->memory, 4096, &tag, &block));
  memory_free(bench->device->memory, &block);
  return NULL;
}

void selftest_memory(struct selftest *test) {
  struct bench bench;
  struct memory_block blocks[BLOCKS] = {0};
  const situ_status status = bench_begin(test->device, &bench);
  if (status) {
    selftest_note(test, "memory", "memory to begin with", status, NULL);
    return;
  }
  selftest_note(test, "memory", "blocks stay apart", keep_apart(&bench, blocks), NULL);
  for (int i = 0; i < BLOCKS; i++) memory_free(test->device->memory, &blocks[i]);
  selftest_note(test, "memory", "too much is refused", run_out(&bench), NULL);
  bench_end(&bench);
}

/* ---- Copies ---- */

/* Sizes from a byte on, at places that are not even. */
static situ_status copy_sizes(struct bench *bench) {
  void *handle = bench->device->handle;
  for (size_t bytes = 1; bytes < NUMBERS * 4; bytes = bytes * 3 + 1) {
    const struct span x = {bench->x.span.region, bench->x.span.offset + 3};
    const struct span y = {bench->y.span.region, bench->y.span.offset + 5};
    memset(bench->to, 0, bytes);
    TRY(bench->api->write(handle, QUEUE_COMPUTE, x, bench->from, bytes));
    TRY(bench->api->copy(handle, QUEUE_COMPUTE, y, x, bytes));
    TRY(bench->api->read(handle, QUEUE_COMPUTE, bench->to, y, bytes));
    TRY(settle(bench, QUEUE_COMPUTE));
    if (memcmp(bench->to, bench->from, bytes) != 0)
      return INTERNAL("%zu bytes come back as others", bytes);
  }
  return NULL;
}

/* To the other device and back, by its own way or through the host. */
static situ_status carry(const struct bench *to, const struct bench *from, int64_t *way) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  TRY(follow(to, QUEUE_IN, from, QUEUE_IN));
  if (to->api->peer)
    return to->api->peer(to->device->handle, QUEUE_IN, to->x.span, from->device->handle,
                         from->x.span, bytes);
  TRY(follow(from, QUEUE_OUT, from, QUEUE_IN));
  TRY(from->api->read(from->device->handle, QUEUE_OUT, way, from->x.span, bytes));
  TRY(follow(to, QUEUE_IN, from, QUEUE_OUT));
  return to->api->write(to->device->handle, QUEUE_IN, to->x.span, way, bytes);
}

static situ_status there_and_back(struct bench *bench, struct bench *other) {
  const size_t bytes = NUMBERS * sizeof(int64_t);
  memset(bench->to, 0, bytes);
  TRY(bench->api->write(bench->device->handle, QUEUE_IN, bench->x.span, bench->from, bytes));
  TRY(carry(other, bench, other->from));
  TRY(carry(bench, other, other->to));
  TRY(bench->api->read(bench->device->handle, QUEUE_IN, bench->to, bench->x.span, bytes));
  TRY(settle(bench, QUEUE_IN));
  return expect(bench, NUMBERS, 0);
}

void selftest_copies(struct selftest *test) {
  struct bench bench, other;
  const situ_status status = bench_begin(test->device, &bench);
  if (status) {
    selftest_note(test, "copies", "memory to begin with", status, NULL);
    return;
  }
  selftest_note(test, "copies", "of every size", copy_sizes(&bench), NULL);
  if (test->other) {
    situ_status next = bench_begin(test->other, &other);
    const bool has_other = !next;
    if (!next) next = there_and_back(&bench, &other);
    selftest_note(test, "copies", "to another device and back", next, NULL);
    if (has_other) bench_end(&other);
  }
  bench_end(&bench);
}
