/* SPDX-License-Identifier: Apache-2.0
 * tape.h: records eager calls on the active tapes. */
#ifndef SITU_PYTHON_TAPE_H
#define SITU_PYTHON_TAPE_H

#include <situ/tape.h>

#include "situ_python.h"

/* The number of active tapes of this thread. */
extern _Thread_local int tape_count;

/* Records a call; returns 0, or -1 with an exception. */
int tape_record(const situ_call *call, situ_tensor *const *outputs, int n_outputs);

#endif
