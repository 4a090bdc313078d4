/* SPDX-License-Identifier: Apache-2.0
 * trace.h: profiling: device, queue and time of each kernel and copy.
 *
 * A trace collects one record per kernel and copy of the runs that it is passed to
 * (situ_run_options.trace), or of all runs (situ_trace_set_global). Runs without a trace have no
 * overhead.
 */
#ifndef SITU_TRACE_H
#define SITU_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "situ/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct situ_trace situ_trace;

/* A kernel or copy. The trace owns the strings. */
typedef struct situ_trace_record {
  const char *node, *op;    /* the node that it belongs to */
  const char *device;       /* the full name of the device that ran it */
  const char *from;         /* copy: the source device; kernel: NULL */
  int queue;                /* 0: compute, 1: copies to the device, 2: copies from it */
  uint64_t bytes;           /* copy: its size */
  int64_t start_ns, end_ns; /* nanoseconds since 1970 */
} situ_trace_record;

/* Creates an empty trace. Concurrent runs may add to it. */
SITU_API situ_status situ_trace_create(situ_trace **out) SITU_MUST_USE;

/* Frees a trace, which no run may be using. NULL is ignored. */
SITU_API void situ_trace_release(situ_trace *trace);

/* Returns the *count records collected so far; borrowed until the next run that adds to them. */
SITU_API const situ_trace_record *situ_trace_records(const situ_trace *trace, int *count);

/* Writes the trace as JSON for chrome://tracing and ui.perfetto.dev, with a process per device and
 * a thread per queue. */
SITU_API situ_status situ_trace_write(const situ_trace *trace, FILE *stream) SITU_MUST_USE;

/* Makes all runs and eager calls of the process add to this trace, in addition to their own; NULL
 * ends it. */
SITU_API void situ_trace_set_global(situ_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
