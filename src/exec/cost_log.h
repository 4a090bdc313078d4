/* SPDX-License-Identifier: Apache-2.0
 * cost_log.h: logs the costs of programs, for `situ simulate`. */
#ifndef SITU_EXEC_COST_LOG_H
#define SITU_EXEC_COST_LOG_H

#include "exec/frame.h"

/* Where SITU_COSTS names a file: appends what the program of a frame costs when it runs first, now
 * and then and at the end of the process how often it ran. A call is what a caller asks of a
 * session: one program, or several where a step has parts or runs functions; it has the number of
 * its first program. What is run eagerly, op by op, is call 0. Lines:
 *   P program device block_bytes    a device of a program, and the memory of a step there
 *   K program device flops bytes    a call of a kernel, in order
 *   G program bytes variable        the gradient of a variable that it computes
 *   R call program runs             how often it ran in such a call; the last line counts */
void cost_log_note(const struct frame *frame);

/* A call begins in this thread with that program, and ends; false where one is under way. */
bool cost_log_begin(uint64_t program);
void cost_log_end(void);

/* Whether anybody wants to know. */
bool cost_log_wanted(void);

#endif
