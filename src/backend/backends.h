/* SPDX-License-Identifier: Apache-2.0
 * backends.h: the list of back ends. A new back end is a folder and a line here. */
#ifndef SITU_BACKEND_BACKENDS_H
#define SITU_BACKEND_BACKENDS_H

#include "device/backend.h"

/* In the order of the device list: real GPUs come before simulated ones. */
#define BACKENDS(X) \
  X(cpu)            \
  X(cuda)           \
  X(opencl)         \
  X(sim)            \
  X(null)

#define BACKEND_DECLARE(name) extern const struct backend name##_backend;
BACKENDS(BACKEND_DECLARE)
#undef BACKEND_DECLARE

#endif
