/* SPDX-License-Identifier: Apache-2.0
 * selftest_speed.c: measures the speed of copies. */
#include <stdio.h>
#include <stdlib.h>

#include "api/selftest.h"

enum { COPY_BYTES = 16 << 20, TRIES = 5 };

/* Reports a measurement. */
static void figure(const struct selftest *test, const char *name, double value, const char *unit) {
  char text[64];
  snprintf(text, sizeof text, "%.3g %s", value, unit);
  selftest_report(test, "speed", name, NULL, text);
}

/* Returns the best time of several runs in seconds, after one warm-up run. */
static situ_status measure(situ_status (*run)(void *context), void *context, double *best) {
  TRY(run(context));
  *best = 1e30;
  for (int i = 0; i < TRIES; i++) {
    const double start = selftest_now();
    TRY(run(context));
    const double seconds = selftest_now() - start;
    if (seconds < *best) *best = seconds;
  }
  return NULL;
}

struct transfer {
  struct device *device;
  struct memory_block block;
  void *host;
  bool in;
};

static situ_status transfer(void *context) {
  const struct transfer *t = context;
  const struct backend *api = t->device->backend;
  const int queue = t->in ? QUEUE_IN : QUEUE_OUT;
  uint64_t mark = 0;
  if (t->in)
    TRY(api->write(t->device->handle, queue, t->block.span, t->host, COPY_BYTES));
  else
    TRY(api->read(t->device->handle, queue, t->host, t->block.span, COPY_BYTES));
  TRY(api->mark(t->device->handle, queue, &mark));
  return api->sync(t->device->handle, queue, mark);
}

static situ_status measure_copies(const struct selftest *test) {
  struct transfer t = {.device = test->device, .host = calloc(1, COPY_BYTES), .in = true};
  double in = 0, out = 0;
  situ_status status = t.host ? NULL : NO_MEMORY();
  if (!status) status = memory_alloc(t.device->memory, COPY_BYTES, NULL, &t.block);
  if (!status) status = measure(transfer, &t, &in);
  t.in = false;
  if (!status) status = measure(transfer, &t, &out);
  if (!status) {
    figure(test, "copies from the host", COPY_BYTES / in * 1e-9, "GB/s");
    figure(test, "copies to the host", COPY_BYTES / out * 1e-9, "GB/s");
  }
  memory_free(t.device->memory, &t.block);
  free(t.host);
  return status;
}

void selftest_speed(struct selftest *test) {
  const situ_status status = measure_copies(test);
  if (status) selftest_report(test, "speed", "copies", status, NULL);
}
