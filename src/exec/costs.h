/* SPDX-License-Identifier: Apache-2.0
 * costs.h: writes down what programs cost, for predictions (`situ simulate`). */
#ifndef SITU_EXEC_COSTS_H
#define SITU_EXEC_COSTS_H

#include "exec/frame.h"

/* Where SITU_COSTS names a file: appends what the program of a frame costs when it runs first, and
 * now and then how often it ran. Lines:
 *   P program device block_bytes    a device of a program, and the memory of a step there
 *   K program device flops bytes    a call of a kernel, in order
 *   R program runs                  the last one counts */
void costs_note(struct frame *frame);

/* Whether anybody wants to know. */
bool costs_wanted(void);

#endif
