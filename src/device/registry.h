/* SPDX-License-Identifier: Apache-2.0
 * registry.h: the devices of the process: found once, shared by all users. */
#ifndef SITU_DEVICE_REGISTRY_H
#define SITU_DEVICE_REGISTRY_H

#include "device/device.h"

struct buffer;

/* The devices; the first call finds them. `config` (may be NULL) is what the caller asks for; it
 * counts from then on, unless the call fails. Where devices were found before and the config asks
 * for something else, that is said once in a warning, or is FailedPrecondition when `strict`. Every
 * successful call is matched by registry_release; devices can be reset only when all are released.
 */
situ_status registry_acquire(const situ_device_config *config, bool strict,
                             const struct device_list **out) SITU_MUST_USE;
void registry_release(void);

/* Knows what lives on devices besides sessions (tensors), so that a reset is refused while it does:
 * a buffer comes, and goes. */
void registry_add_buffer(struct buffer *buffer);
void registry_remove_buffer(struct buffer *buffer);

/* Moves all of it to host memory; nothing may be running. */
situ_status registry_evacuate(void) SITU_MUST_USE;

/* What registry_acquire does when nobody runs yet: keeps the config for later; see
 * situ_devices_configure. */
situ_status registry_configure(const situ_device_config *config) SITU_MUST_USE;

/* Closes everything; FailedPrecondition while somebody holds. */
situ_status registry_reset(void) SITU_MUST_USE;

#endif
