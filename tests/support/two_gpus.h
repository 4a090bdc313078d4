/* SPDX-License-Identifier: Apache-2.0
 * two_gpus.h: devices for tests that look at single ones: a CPU and two simulated GPUs of 64 MiB,
 * of which the second keeps a virtual clock. */
#ifndef SITU_TESTS_TWO_GPUS_H
#define SITU_TESTS_TWO_GPUS_H

#include "device/registry.h"
#include "support/clean.h"

static const struct device_list *list;

/* For cmocka's setup and teardown. */
static int begin(void **state) {
  clean_devices(state);
  setenv("SITU_SIM_GPUS", "G0=64MiB,G1=64MiB;flops=1000", 1);
  OK(registry_acquire(NULL, false, &list));
  return 0;
}

static int end(void **state) {
  (void)state;
  registry_release();
  return 0;
}

#endif
