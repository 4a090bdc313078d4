/* SPDX-License-Identifier: Apache-2.0
 * costs.h: reads the cost log of a script (SITU_COSTS) and finds its training step. */
#ifndef SITU_CLI_COSTS_H
#define SITU_CLI_COSTS_H

#include "measure.h"

/* Finds a training iteration: the step that computes gradients of variables and takes the most
 * time, and those that alternate with it. Without `trains`, any call counts. NotFound if there is
 * none; Internal if the script reported an error. */
situ_status costs_read(const char *path, const struct scaling_gpu *gpu, double reached, bool trains,
                       struct measured *out);

#endif
