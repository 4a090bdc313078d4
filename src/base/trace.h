/* SPDX-License-Identifier: Apache-2.0
 * trace.h: profiling records of kernels and copies. */
#ifndef SITU_BASE_TRACE_H
#define SITU_BASE_TRACE_H

#include <stdatomic.h>

#include "base/base.h"
#include "situ/trace.h"

/* The trace that records all runs, or NULL. */
extern _Atomic(situ_trace *) global_trace;

/* Returns nanoseconds of the monotonic clock, used by records. */
int64_t trace_now(void);

/* Adds a record; copies its strings and converts its times from the monotonic to the real-time
 * clock. Drops the record if out of memory. */
void trace_add(situ_trace *trace, const situ_trace_record *record);

#endif
