/* SPDX-License-Identifier: Apache-2.0
 * costs.h: the file of costs that a program writes (SITU_COSTS), and its training step. */
#ifndef SITU_CLI_COSTS_H
#define SITU_CLI_COSTS_H

#include "measure.h"

/* Finds an iteration of training: the call that computes gradients of variables and on which most
 * time goes, and those that run in turns with it. Without `trains` any call will do. NotFound, with
 * what was looked for, where there is none; or what went wrong when the program ended. */
situ_status costs_read(const char *path, const struct scaling_gpu *gpu, double reached, bool trains,
                       struct measured *out);

#endif
