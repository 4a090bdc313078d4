/* SPDX-License-Identifier: Apache-2.0
 * trace.h: profiling: which kernels and copies ran where and when.
 *
 * A trace collects one record per kernel and copy of the runs that are told to fill it. Without one
 * nothing is measured and nothing is slower.
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

/* A piece of work. Texts belong to the trace. */
typedef struct situ_trace_record {
  const char *node, *op;    /* the node it was done for */
  const char *device;       /* the full name of the device that did it */
  const char *from;         /* of a copy: the device that it was read from; NULL of a kernel */
  int queue;                /* of the device: 0 computes, 1 copies in, 2 copies out */
  uint64_t bytes;           /* of a copy */
  int64_t start_ns, end_ns; /* nanoseconds since 1970 */
} situ_trace_record;

/* Makes an empty trace. Several threads may fill it. */
SITU_API situ_status situ_trace_create(situ_trace **out) SITU_MUST_USE;

/* Frees it; no run may be filling it. NULL is ignored. */
SITU_API void situ_trace_release(situ_trace *trace);

/* The records so far, as many as *count: borrowed until the next run that fills the trace. */
SITU_API const situ_trace_record *situ_trace_records(const situ_trace *trace, int *count);

/* Writes the trace as chrome://tracing and ui.perfetto.dev read it: JSON, a process per device, a
 * thread per queue. */
SITU_API situ_status situ_trace_write(const situ_trace *trace, FILE *stream) SITU_MUST_USE;

/* From now on all runs and eager calls of the process fill this trace, whatever other trace they
 * fill; NULL ends that. */
SITU_API void situ_trace_set_global(situ_trace *trace);

#ifdef __cplusplus
}
#endif
#endif
