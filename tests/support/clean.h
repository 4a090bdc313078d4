/* SPDX-License-Identifier: Apache-2.0
 * clean.h: a process without device options. */
#ifndef SITU_TESTS_CLEAN_H
#define SITU_TESTS_CLEAN_H

#include "situ/device.h"
#include "support/expect.h"

/* Forgets the devices and every variable that is about them; for cmocka's setup. */
static inline int clean_devices(void **state) {
  static const char *const variables[] = {
      "SITU_SIM_GPUS", "SITU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES",      "SITU_REQUIRE",
      "SITU_STRICT",   "SITU_GPU_MEMORY",      "TF_FORCE_GPU_ALLOW_GROWTH", "SITU_DEVICE_NAMES"};
  (void)state;
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) unsetenv(variables[i]);
  OK(situ_devices_reset());
  return 0;
}

#endif
