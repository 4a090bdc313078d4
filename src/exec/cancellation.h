/* SPDX-License-Identifier: Apache-2.0
 * cancellation.h: cancellation, deadline and profiling of a run.
 *
 * A run is cancellable if cancellation_current of its thread is set; otherwise the only cost is a
 * test of that pointer. */
#ifndef SITU_EXEC_CANCELLATION_H
#define SITU_EXEC_CANCELLATION_H

#include "base/trace.h"
#include "exec/frame.h"

struct cancellation {
  situ_trace *trace;           /* profile of this run, or NULL */
  situ_trace *global_trace;    /* profile of all runs of the process, or NULL */
  bool (*stop)(void *context); /* returns whether to cancel the run; may be NULL */
  void *context;
  int64_t next_check; /* time of the next check, in ns as cancellation_clock */
  int64_t deadline;   /* in ns; 0: none */
  int64_t timeout_ms; /* as requested, for the error message */
  bool stopped;       /* a check has already failed */
};

/* The cancellation of this thread's runs, or NULL. */
extern _Thread_local struct cancellation *cancellation_current;

/* Starts the timeout of a run. */
void cancellation_begin(struct cancellation *cancellation);

/* CANCELLED or DEADLINE_EXCEEDED if the run must end, else NULL. Fails once per run. */
situ_status cancellation_check(struct cancellation *cancellation) SITU_MUST_USE;

/* The coarse monotonic clock, in nanoseconds: cheap, and a few milliseconds behind trace_now. */
int64_t cancellation_clock(void);

/* Calls cancellation_check every few milliseconds; cheap enough for each command. */
static inline situ_status cancellation_check_if_due(struct cancellation *cancellation) {
  return cancellation_clock() < cancellation->next_check ? NULL : cancellation_check(cancellation);
}

/* DEADLINE_EXCEEDED if a run finished after its deadline, else NULL. */
situ_status cancellation_check_deadline(const struct cancellation *cancellation) SITU_MUST_USE;

/* Allocates frame->times. */
situ_status cancellation_start_timing(struct frame *frame) SITU_MUST_USE;

/* Adds the executed commands to the traces and frees frame->times. */
void cancellation_record_times(struct frame *frame);

#endif
