/* SPDX-License-Identifier: Apache-2.0
 * registry.h: the devices of the process: discovered once and shared by all sessions. */
#ifndef SITU_DEVICE_REGISTRY_H
#define SITU_DEVICE_REGISTRY_H

#include "device/device.h"

struct buffer;

/* Returns the devices; the first call discovers them. `config` (may be NULL) stays in effect unless
 * the call fails. If devices were discovered before with other options, warns once, or returns
 * FailedPrecondition if `strict`. The number of CPUs may differ between calls: further ones are
 * numbered after the GPUs, so that a device has the same number in all lists. Each successful call
 * needs a registry_release; devices can be reset only after all are released. */
situ_status registry_acquire(const situ_device_config *config, bool strict,
                             const struct device_list **out) SITU_MUST_USE;
void registry_release(void);

/* Copies why there are not more GPUs: a line per reason, each after a newline; cut if it does not
 * fit. */
situ_status registry_missing_gpus(char *out, size_t size) SITU_MUST_USE;

/* Tracks the buffers on devices, so that a reset is refused while there are any. */
void registry_add_buffer(struct buffer *buffer);
void registry_remove_buffer(struct buffer *buffer);

/* Moves all these buffers to host memory; nothing may be running. */
situ_status registry_evacuate(void) SITU_MUST_USE;

/* Merges a config before or after discovery; see situ_devices_configure. */
situ_status registry_configure(const situ_device_config *config) SITU_MUST_USE;

/* Closes all devices; FailedPrecondition while sessions or buffers exist. */
situ_status registry_reset(void) SITU_MUST_USE;

#endif
