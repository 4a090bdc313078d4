/* SPDX-License-Identifier: Apache-2.0
 * speed.h: how fast programs run on a device. */
#ifndef SITU_CLI_SPEED_H
#define SITU_CLI_SPEED_H

#include <situ/situ.h>

typedef void speed_seen(void *context, const situ_selftest_check *check);

/* Tells `seen` figures as checks of the part "speed". */
situ_status speed_measure(const char *device, speed_seen *seen, void *context);

/* Seconds, from whenever on. */
double speed_now(void);

#endif
