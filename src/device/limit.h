/* SPDX-License-Identifier: Apache-2.0
 * limit.h: how many bytes of a device may be taken: one formula per option. */
#ifndef SITU_DEVICE_LIMIT_H
#define SITU_DEVICE_LIMIT_H

#include "base/base.h"

/* Nobody said anything: all that is free but TensorFlow 1.15's reserve for the system (225 MiB of
 * less than 2 GiB, else 5 % and at least 300 MiB); all of it where it is less than the reserve. */
uint64_t limit_default(uint64_t available);

/* per_process_gpu_memory_fraction: that part of the whole memory. A fraction of 0 or less, or that
 * is no number, is InvalidArgument. Above 1 the device must have unified memory (compute capability
 * 6.0 on), else the failure is Internal. */
situ_status limit_fraction(uint64_t total, double fraction, int capability_major,
                           uint64_t *out) SITU_MUST_USE;

/* "At most N": never more than what is free. N of 0 is InvalidArgument. */
situ_status limit_bytes(uint64_t available, uint64_t bytes, uint64_t *out) SITU_MUST_USE;

/* "Leave N free". Where that leaves nothing to take: ResourceExhausted. */
situ_status limit_reserve(uint64_t available, uint64_t reserve, uint64_t *out) SITU_MUST_USE;

#endif
