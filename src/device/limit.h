/* SPDX-License-Identifier: Apache-2.0
 * limit.h: computes the memory limit of a device: one formula per option. */
#ifndef SITU_DEVICE_LIMIT_H
#define SITU_DEVICE_LIMIT_H

#include "base/base.h"

/* No option set: the available memory minus TensorFlow 1.15's system reserve (225 MiB below 2 GiB,
 * otherwise 5 % and at least 300 MiB); everything if that is less than the reserve. */
uint64_t limit_default(uint64_t available);

/* per_process_gpu_memory_fraction: a fraction of the total memory. InvalidArgument if it is not
 * positive or NaN. Above 1 it needs unified memory: Internal before compute capability 6.0,
 * otherwise Unimplemented. */
situ_status limit_fraction(uint64_t total, double fraction, int capability_major,
                           uint64_t *out) SITU_MUST_USE;

/* limit_bytes: at most what is available. InvalidArgument for 0. */
situ_status limit_bytes(uint64_t available, uint64_t bytes, uint64_t *out) SITU_MUST_USE;

/* reserve_bytes: the available memory minus `reserve`. ResourceExhausted if nothing is left. */
situ_status limit_reserve(uint64_t available, uint64_t reserve, uint64_t *out) SITU_MUST_USE;

#endif
