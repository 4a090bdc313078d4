/* SPDX-License-Identifier: Apache-2.0
 * cards.h: enumerates the NVIDIA GPUs that the driver reports. */
#ifndef SITU_BACKEND_CUDA_CARDS_H
#define SITU_BACKEND_CUDA_CARDS_H

#include "backend/cuda/driver.h"
#include "device/backend.h"

struct card {
  cuda_device id;
  struct device_info info;
  char label[128]; /* "CUDA GPU 0 (Tesla T4, 0000:05:00.0)" */
};

/* Lists the GPUs; without a driver or GPU the count is 0 and `why` is set to the reason. */
situ_status cards_find(int *count, const char **why) SITU_MUST_USE;

/* Returns a GPU; NULL if the index is out of range. */
struct card *cards_get(int index);

#endif
