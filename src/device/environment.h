/* SPDX-License-Identifier: Apache-2.0
 * environment.h: checks the environment variables whose values are switches, words or numbers.
 *
 * The folder that uses a variable reads it; here it is only checked, before anything runs, so that
 * a value that means nothing is an error and not silently another setting. Variables with a grammar
 * of their own (SITU_SIM_GPUS, SITU_GPU_MEMORY, SITU_REQUIRE, SITU_CLUSTER) are checked by their
 * parsers. docs/reference/environment.md lists all of them.
 */
#ifndef SITU_DEVICE_ENVIRONMENT_H
#define SITU_DEVICE_ENVIRONMENT_H

#include "base/base.h"

/* InvalidArgument with the variable, its value and what it takes, for the first that is wrong. An
 * empty value is as good as none. */
situ_status environment_check(void) SITU_MUST_USE;

#endif
