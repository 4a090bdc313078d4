/* SPDX-License-Identifier: Apache-2.0
 * cards.h: NVIDIA's GPUs that the driver shows. */
#ifndef SITU_BACKEND_CUDA_CARDS_H
#define SITU_BACKEND_CUDA_CARDS_H

#include "backend/cuda/driver.h"
#include "device/backend.h"

struct card {
  cuda_device id;
  struct device_info info;
  char label[128]; /* "CUDA GPU 0 (Tesla T4, 0000:05:00.0)" */
};

/* Lists the GPUs; without a driver, or a GPU, there are none, and `why` says so. */
situ_status cards_find(int *count, const char **why) SITU_MUST_USE;

/* One of them; NULL where there is none. */
struct card *cards_get(int index);

#endif
