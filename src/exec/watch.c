/* SPDX-License-Identifier: Apache-2.0
 * watch.c: ends runs that were told to end or take too long, and records what runs did. */
#include "exec/watch.h"

#include <stdlib.h>
#include <time.h>

#include "device/device.h"

enum { PATIENCE_NS = 20 * 1000 * 1000 }; /* between two questions whether to go on */

_Thread_local struct watch *watch_here;

int64_t watch_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void watch_begin(struct watch *watch) {
  const int64_t now = watch_clock();
  watch->next = now + PATIENCE_NS;
  watch->deadline = watch->timeout_ms > 0 ? now + watch->timeout_ms * 1000000 : 0;
  if (watch->deadline && watch->deadline < watch->next) watch->next = watch->deadline;
}

situ_status watch_late(const struct watch *watch) {
  if (!watch->deadline || watch->ended || watch_clock() < watch->deadline) return NULL;
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "Timed out waiting for notification\nThe run took longer than the "
                            "%lld ms that it was given.",
                            (long long)watch->timeout_ms);
}

situ_status watch_ask(struct watch *watch) {
  if (watch->ended) return NULL;
  situ_status status = watch_late(watch);
  if (!status && watch->stop && watch->stop(watch->context))
    status = situ_status_create(SITU_CANCELLED, "The run was told to stop.");
  watch->ended = status != NULL;
  watch->next = watch_clock() + PATIENCE_NS;
  if (watch->deadline && watch->deadline < watch->next) watch->next = watch->deadline;
  return status;
}

situ_status watch_measure(struct frame *frame) {
  frame->times = calloc((size_t)frame->program->n_commands + 1, 2 * sizeof *frame->times);
  return frame->times ? NULL : NO_MEMORY();
}

static void record(const struct frame *frame, int32_t index) {
  const struct program *program = frame->program;
  const struct plan_command *command = &program->commands[index];
  struct device *const *devices = program->devices->devices;
  const struct node *node = program->graph->nodes[command->node];
  situ_trace_record row = {.node = node->name,
                           .op = node->schema->op->name,
                           .device = devices[command->device]->full,
                           .queue = command->queue,
                           .start_ns = frame->times[2 * index],
                           .end_ns = frame->times[2 * index + 1]};
  if (command->kind == COMMAND_COPY) {
    row.op = "Copy";
    row.from = devices[program->slots[command->from].device]->full;
    row.bytes = command->bytes;
  }
  if (frame->watch->trace) trace_add(frame->watch->trace, &row);
  if (frame->watch->also) trace_add(frame->watch->also, &row);
}

void watch_record(struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_commands; i++)
    if (frame->times[2 * i + 1]) record(frame, i);
  free(frame->times);
  frame->times = NULL;
}
