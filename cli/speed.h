/* SPDX-License-Identifier: Apache-2.0
 * speed.h: measures the speed of a device. */
#ifndef SITU_CLI_SPEED_H
#define SITU_CLI_SPEED_H

#include <situ/situ.h>

typedef void speed_callback(void *context, const situ_selftest_check *check);

/* Reports the measurements as checks of the part "speed". */
situ_status speed_measure(const char *device, speed_callback *report, void *context);

/* Returns monotonic time in seconds. */
double speed_now(void);

#endif
