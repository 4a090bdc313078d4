/* SPDX-License-Identifier: Apache-2.0
 * cost_log.h: logs the cost of programs (FLOPs, bytes, number of runs) for `situ simulate`. */
#ifndef SITU_EXEC_COST_LOG_H
#define SITU_EXEC_COST_LOG_H

#include "exec/frame.h"

/* Counts a run of the frame's program. The file SITU_COSTS receives the cost of each program at its
 * first run, and its number of runs at every power of two and at exit. A call is one session run:
 * one program, or several if the step is split or calls functions; its id is that of its first
 * program. Eager ops are call 0. Lines:
 *   P program device block_bytes    a device of a program and its memory block
 *   K program device flops bytes    a kernel call, in order
 *   G program bytes variable        the gradient of a variable that it computes
 *   R call program runs             number of runs in such calls; the last line is valid */
void cost_log_add_run(const struct frame *frame);

/* Begins and ends a call of this thread. cost_log_begin returns false inside another call. */
bool cost_log_begin(uint64_t program);
void cost_log_end(void);

/* Whether SITU_COSTS is set. */
bool cost_log_is_enabled(void);

#endif
