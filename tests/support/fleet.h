/* SPDX-License-Identifier: Apache-2.0
 * fleet.h: devices that are only names, for tests that place and never run. */
#ifndef SITU_TESTS_FLEET_H
#define SITU_TESTS_FLEET_H

#include "device/device.h"

enum { FLEET_MAX = 16 };

struct fleet {
  struct device devices[FLEET_MAX];
  struct device *pointers[FLEET_MAX];
  struct device_list list;
};

/* CPU:0 and that many GPUs, each a Tesla K20m on its own bus. */
void fleet_create(struct fleet *fleet, int gpus);

#endif
