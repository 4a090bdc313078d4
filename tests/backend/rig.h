/* SPDX-License-Identifier: Apache-2.0
 * rig.h: two opened devices of a back end, and short words to drive them. */
#ifndef SITU_TESTS_BACKEND_RIG_H
#define SITU_TESTS_BACKEND_RIG_H

#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "device/backend.h"
#include "host/call.h"
#include "support/expect.h"

enum { KIB = 1024, MIB = 1024 * 1024 };

/* Whether tests may use an OpenCL driver: sanitizers would report errors inside it and its
 * compiler. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { MAY_RUN = 0 };
#else
enum { MAY_RUN = 1 };
#endif

struct rig {
  const struct backend *api;
  void *device[2];
  struct arena arena;
  _Atomic(situ_status) error; /* of all bound calls */
};

/* Options for probe: simulated GPUs, two CPUs, and the environment. */
static inline struct backend_request rig_request(const char *sim_gpus) {
  return (struct backend_request){
      .sim_gpus = sim_gpus, .opencl_devices = getenv("SITU_OPENCL_DEVICES"), .cpu_devices = 2};
}

/* Opens the first two devices, or the only one. */
static inline void rig_open(struct rig *rig, const struct backend *api, const char *sim_gpus) {
  const struct backend_request request = rig_request(sim_gpus);
  int count = 0;
  const char *why = NULL;
  *rig = (struct rig){.api = api};
  OK(api->probe(&request, &count, &why));
  for (int i = 0; i < count && i < 2; i++) OK(api->open(i, &rig->device[i]));
}

static inline void rig_close(struct rig *rig) {
  for (int i = 0; i < 2; i++)
    if (rig->device[i]) rig->api->close(rig->device[i]);
  arena_free(&rig->arena);
  situ_status_release(rig->error);
}

static inline struct span rig_alloc(struct rig *rig, int device, size_t bytes) {
  struct span span = {0};
  OK(rig->api->alloc(rig->device[device], bytes, &span.region));
  assert_non_null(span.region);
  return span;
}

static inline void rig_free(struct rig *rig, int device, struct span span) {
  rig->api->free(rig->device[device], span.region);
}

static inline uint64_t rig_mark(struct rig *rig, int device, int queue) {
  uint64_t mark = 0;
  OK(rig->api->mark(rig->device[device], queue, &mark));
  return mark;
}

static inline situ_status rig_try_drain(struct rig *rig, int device) {
  situ_status status = NULL;
  for (int queue = 0; queue < N_QUEUES; queue++) {
    const uint64_t mark = rig_mark(rig, device, queue);
    status = status_first(status, rig->api->sync(rig->device[device], queue, mark));
  }
  return status;
}

static inline void rig_drain(struct rig *rig, int device) { OK(rig_try_drain(rig, device)); }

/* Makes a queue wait for all current work of another one. */
static inline void rig_wait(struct rig *rig, int device, int queue, int on, int on_queue) {
  OK(rig->api->wait(rig->device[device], queue, rig->device[on], on_queue,
                    rig_mark(rig, on, on_queue)));
}

static inline void rig_put(struct rig *rig, int device, struct span to, const void *from,
                           size_t bytes) {
  OK(rig->api->write(rig->device[device], QUEUE_IN, to, from, bytes));
  OK(rig->api->sync(rig->device[device], QUEUE_IN, rig_mark(rig, device, QUEUE_IN)));
}

static inline void rig_get(struct rig *rig, int device, void *to, struct span from, size_t bytes) {
  OK(rig->api->read(rig->device[device], QUEUE_OUT, to, from, bytes));
  OK(rig->api->sync(rig->device[device], QUEUE_OUT, rig_mark(rig, device, QUEUE_OUT)));
}

static inline int64_t rig_get_number(struct rig *rig, int device, struct span from) {
  int64_t number = -1;
  rig_get(rig, device, &number, from, sizeof number);
  return number;
}

/* ---- Kernels: memory x, memory y, an integer, the number of items ---- */

static inline struct launch *rig_launch_of(struct rig *rig, const struct kernel *kernel,
                                           int64_t items, int64_t n) {
  struct launch *launch = arena_zero(&rig->arena, sizeof *launch);
  launch->args = arena_zero(&rig->arena, 4 * sizeof *launch->args);
  launch->args[0] = (struct launch_arg){.kind = ARG_SLOT, .slot = 0};
  launch->args[1] = (struct launch_arg){.kind = ARG_SLOT, .slot = 1};
  launch->args[2] = (struct launch_arg){.kind = ARG_INTEGER, .integer = n};
  launch->args[3] = (struct launch_arg){.kind = ARG_INTEGER, .integer = items};
  launch->n_args = 4;
  launch->kernel = kernel;
  launch->type = SITU_INT64;
  launch->items = items;
  launch->node = kernel->name;
  return launch;
}

static inline struct bound_kernel *rig_bind(struct rig *rig, int device,
                                            const struct launch *launch, struct span x,
                                            struct span y) {
  struct bound_kernel *bound = NULL;
  OK(rig->api->bind(rig->device[device], launch, (struct span[]){x, y}, &rig->arena, &bound));
  bound->error = &rig->error;
  return bound;
}

/* Launches; a status that `launch` returns is stored like asynchronous ones. */
static inline void rig_call(struct rig *rig, int device, int queue, struct bound_kernel *bound) {
  const situ_status status = rig->api->launch(rig->device[device], queue, bound);
  situ_status none = NULL;
  if (status && !atomic_compare_exchange_strong(&rig->error, &none, status))
    situ_status_release(status);
}

static inline void rig_run(struct rig *rig, int device, const struct kernel *kernel, struct span x,
                           struct span y, int64_t items, int64_t n) {
  rig_call(rig, device, QUEUE_COMPUTE,
           rig_bind(rig, device, rig_launch_of(rig, kernel, items, n), x, y));
}

/* y[i] = x[i] + n */
static inline situ_status rig_add(const union arg *args, int64_t begin, int64_t end) {
  const int64_t *x = args[0].pointer;
  int64_t *y = args[1].pointer;
  for (int64_t i = begin; i < end; i++) y[i] = x[i] + args[2].integer;
  return NULL;
}

/* y[i] = x[i] + 1 after n milliseconds. */
static inline situ_status rig_add_late(const union arg *args, int64_t begin, int64_t end) {
  usleep((useconds_t)args[2].integer * 1000);
  const union arg one[] = {args[0], args[1], {.integer = 1}};
  return rig_add(one, begin, end);
}

static inline situ_status rig_refuse(const union arg *args, int64_t begin, int64_t end) {
  (void)begin;
  (void)end;
  return situ_status_create(SITU_INVALID_ARGUMENT, "Refused %lld.", (long long)args[2].integer);
}

static const char rig_text[] =
    "KERNEL(add, IN(T, x), OUT(T, y), SIZE(by), SIZE(n)) {\n"
    "  EACH(i, n);\n"
    "  y[i] = x[i] + by;\n"
    "}\n"
    "KERNEL(late, IN(T, x), OUT(T, y), SIZE(wait), SIZE(n)) {\n"
    "  EACH(i, n);\n"
    "  T value = x[i];\n"
    "  for (i64 k = 0; k < wait * 100000; k++) value = (value ^ k) ^ k;\n"
    "  y[i] = value + 1;\n"
    "}\n";

static const struct kernel add_kernel = {
    .name = "add", .text = rig_text, .host = {[SITU_INT64] = rig_add}};
static const struct kernel late_kernel = {
    .name = "late", .text = rig_text, .host = {[SITU_INT64] = rig_add_late}};
static const struct kernel refuse_kernel = {.name = "refuse", .host = {[SITU_INT64] = rig_refuse}};

#endif
