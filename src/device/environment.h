/* SPDX-License-Identifier: Apache-2.0
 * environment.h: validates the environment variables whose values are switches, keywords or
 * numbers.
 *
 * Variables are read where they are used; this check runs first, so that an invalid value is an
 * error and not silently ignored. Variables with a grammar (SITU_SIM_GPUS, SITU_GPU_MEMORY,
 * SITU_REQUIRE, SITU_CLUSTER) are checked by their parsers. docs/reference/environment.md lists all
 * of them.
 */
#ifndef SITU_DEVICE_ENVIRONMENT_H
#define SITU_DEVICE_ENVIRONMENT_H

#include "base/base.h"

/* InvalidArgument for the first invalid variable, with its value and the valid ones. An empty value
 * counts as unset. */
situ_status environment_check(void) SITU_MUST_USE;

#endif
