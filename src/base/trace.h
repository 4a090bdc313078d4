/* SPDX-License-Identifier: Apache-2.0
 * trace.h: profiling records of kernels and copies. */
#ifndef SITU_BASE_TRACE_H
#define SITU_BASE_TRACE_H

#include <stdatomic.h>

#include "base/base.h"
#include "situ/trace.h"

/* The trace that all runs fill, or NULL. */
extern _Atomic(situ_trace *) global_trace;

/* Nanoseconds on a clock that never jumps: what records are made with. */
int64_t trace_now(void);

/* Adds a record; its texts are copied, its times are turned from trace_now's clock to the
 * calendar's. Without memory the record is dropped. */
void trace_add(situ_trace *trace, const situ_trace_record *record);

#endif
