/* SPDX-License-Identifier: Apache-2.0
 * oom.h: the out-of-memory error of a device, with suggestions. */
#ifndef SITU_DEVICE_OOM_H
#define SITU_DEVICE_OOM_H

#include "device/bfc.h"
#include "device/allocation_log.h"

/* What the text is made from; everything borrowed. */
struct oom {
  const char *device_name, *allocator_name;
  uint64_t bytes; /* asked for */
  const struct memory_tag *tag;
  const struct memory_options *options;
  enum memory_bound bound;
  uint64_t total, available; /* of the device; free when the limit was set */
  uint64_t refused;          /* smallest region that the device refused just now; 0: none */
  const struct bfc *bfc;
  const struct allocation_log *allocation_log;
};

/* The status: ResourceExhausted, at most a dozen lines. */
situ_status oom_status(const struct oom *oom) SITU_MUST_USE;

#endif
