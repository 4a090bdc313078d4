/* SPDX-License-Identifier: Apache-2.0
 * discovery.h: device discovery: what the back ends have, what is visible of it, and in which
 * pieces. */
#ifndef SITU_DEVICE_DISCOVERY_H
#define SITU_DEVICE_DISCOVERY_H

#include "device/device.h"
#include "device/device_options.h"

/* Finds the devices that a resolved request asks for: CPUs first, then GPUs. Opens none. On success
 * `why` says why there are not more GPUs, a line for each reason. */
situ_status discovery_devices(const struct device_options *request, struct device_list *out,
                              struct strbuf *why) SITU_MUST_USE;

/* FailedPrecondition where a list has fewer GPUs than `require` (NULL: SITU_REQUIRE) asks for. */
situ_status discovery_check_required(const char *require, const struct device_list *list,
                                     const char *why) SITU_MUST_USE;

/* InvalidArgument where a config has memory options for a device that is not in the list. */
situ_status discovery_check_names(const situ_device_config *config,
                                  const struct device_list *list) SITU_MUST_USE;

/* How many devices of a list are GPUs. */
int discovery_count_gpus(const struct device_list *list);

/* Destroys the devices of a list and empties it. */
void discovery_free_list(struct device_list *list);

#endif
