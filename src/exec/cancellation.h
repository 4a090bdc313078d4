/* SPDX-License-Identifier: Apache-2.0
 * cancellation.h: cancellation, deadline and profiling of a run.
 *
 * A run has a watch where the thread that calls it has one; without one it pays for a look at a
 * variable. */
#ifndef SITU_EXEC_CANCELLATION_H
#define SITU_EXEC_CANCELLATION_H

#include "base/trace.h"
#include "exec/frame.h"

struct cancellation {
  situ_trace *trace, *also;    /* get records; NULL: nobody wants them */
  bool (*stop)(void *context); /* NULL, or whether the run shall end */
  void *context;
  int64_t next;       /* when to ask again, as trace_now */
  int64_t deadline;   /* when the run must be over; 0: never */
  int64_t timeout_ms; /* as it was asked for, to be said */
  bool ended;         /* it was told to: not to be asked again */
};

/* The watch of this thread's runs, or NULL. */
extern _Thread_local struct cancellation *cancellation_current;

/* Sets it up for a run that begins now. */
void cancellation_begin(struct cancellation *cancellation);

/* NULL, or why the run has to end. */
situ_status cancellation_check(struct cancellation *cancellation) SITU_MUST_USE;

/* Nanoseconds on the cheapest clock there is, a few milliseconds behind trace_now's. */
int64_t cancellation_clock(void);

/* The same as cancellation_check, but only when it is time to. */
static inline situ_status cancellation_check_if_due(struct cancellation *cancellation) {
  return cancellation_clock() < cancellation->next ? NULL : cancellation_check(cancellation);
}

/* Why a run that is done came too late, or NULL. */
situ_status cancellation_check_deadline(const struct cancellation *cancellation) SITU_MUST_USE;

/* Room for the times of a frame's commands, in frame->times. */
situ_status cancellation_start_timing(struct frame *frame) SITU_MUST_USE;

/* Adds the commands that ran to the trace and gives the room back. */
void cancellation_record_times(struct frame *frame);

#endif
