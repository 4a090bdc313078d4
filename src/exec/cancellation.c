/* SPDX-License-Identifier: Apache-2.0
 * cancellation.c: cancels runs on request or at their deadline, and records profiles. */
#include "exec/cancellation.h"

#include <stdlib.h>
#include <time.h>

#include "device/device.h"

enum { CHECK_INTERVAL_NS = 20 * 1000 * 1000 };

_Thread_local struct cancellation *cancellation_current;

int64_t cancellation_clock(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void cancellation_begin(struct cancellation *cancellation) {
  const int64_t now = cancellation_clock();
  cancellation->next_check = now + CHECK_INTERVAL_NS;
  cancellation->deadline =
      cancellation->timeout_ms > 0 ? now + cancellation->timeout_ms * 1000000 : 0;
  if (cancellation->deadline && cancellation->deadline < cancellation->next_check)
    cancellation->next_check = cancellation->deadline;
}

situ_status cancellation_check_deadline(const struct cancellation *cancellation) {
  if (!cancellation->deadline || cancellation->stopped ||
      cancellation_clock() < cancellation->deadline)
    return NULL;
  return situ_status_create(SITU_DEADLINE_EXCEEDED,
                            "Timed out waiting for notification\nThe run took longer than its "
                            "timeout of %lld ms.",
                            (long long)cancellation->timeout_ms);
}

situ_status cancellation_check(struct cancellation *cancellation) {
  if (cancellation->stopped) return NULL;
  situ_status status = cancellation_check_deadline(cancellation);
  if (!status && cancellation->stop && cancellation->stop(cancellation->context))
    status = situ_status_create(SITU_CANCELLED, "The run was cancelled.");
  cancellation->stopped = status != NULL;
  cancellation->next_check = cancellation_clock() + CHECK_INTERVAL_NS;
  if (cancellation->deadline && cancellation->deadline < cancellation->next_check)
    cancellation->next_check = cancellation->deadline;
  return status;
}

situ_status cancellation_start_timing(struct frame *frame) {
  frame->times = calloc((size_t)frame->program->n_commands + 1, 2 * sizeof *frame->times);
  return frame->times ? NULL : NO_MEMORY();
}

static void add_record(const struct frame *frame, int32_t index) {
  const struct program *program = frame->program;
  const struct plan_command *command = &program->commands[index];
  struct device *const *devices = program->devices->devices;
  const struct node *node = program->graph->nodes[command->node];
  situ_trace_record record = {.node = node->name,
                              .op = node->schema->op->name,
                              .device = devices[command->device]->full,
                              .queue = command->queue,
                              .start_ns = frame->times[2 * index],
                              .end_ns = frame->times[2 * index + 1]};
  if (command->kind == COMMAND_COPY) {
    record.op = "Copy";
    record.from = devices[program->slots[command->from].device]->full;
    record.bytes = command->bytes;
  }
  if (frame->cancellation->trace) trace_add(frame->cancellation->trace, &record);
  if (frame->cancellation->global_trace) trace_add(frame->cancellation->global_trace, &record);
}

void cancellation_record_times(struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_commands; i++)
    if (frame->times[2 * i + 1]) add_record(frame, i);
  free(frame->times);
  frame->times = NULL;
}
