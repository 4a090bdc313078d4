/* SPDX-License-Identifier: Apache-2.0
 * tape.h: what eager calls tell the tapes that are on. */
#ifndef SITU_PYTHON_TAPE_H
#define SITU_PYTHON_TAPE_H

#include <situ/tape.h>

#include "situ_python.h"

/* How many tapes record what this thread does. */
extern _Thread_local int tape_count;

/* Tells them of a call; 0, or -1 with an exception. */
int tape_told(const situ_call *call, situ_tensor *const *outputs, int n_outputs);

#endif
