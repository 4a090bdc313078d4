/* SPDX-License-Identifier: Apache-2.0
 * oom.h: formats the out-of-memory error of a device: request, usage, largest owners and which
 * option to change. */
#ifndef SITU_DEVICE_OOM_H
#define SITU_DEVICE_OOM_H

#include "device/bfc.h"
#include "device/allocation_log.h"

/* Input of the message; everything is borrowed. */
struct oom {
  const char *device_name, *allocator_name;
  uint64_t bytes; /* requested */
  const struct memory_tag *tag;
  const struct memory_options *options;
  enum memory_bound bound;
  uint64_t total,
      available; /* total memory of the device; memory that was available when the limit was set */
  uint64_t refused; /* smallest region that the device refused in this call; 0: none */
  const struct bfc *bfc;
  const struct allocation_log *allocation_log;
};

/* Returns ResourceExhausted with a message of at most a dozen lines. */
situ_status oom_status(const struct oom *oom) SITU_MUST_USE;

#endif
