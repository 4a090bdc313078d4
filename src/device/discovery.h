/* SPDX-License-Identifier: Apache-2.0
 * discovery.h: device discovery: enumerates the devices of all back ends, applies the visibility
 * masks, and creates whole or virtual devices. */
#ifndef SITU_DEVICE_DISCOVERY_H
#define SITU_DEVICE_DISCOVERY_H

#include "device/device.h"
#include "device/device_options.h"

/* Creates the devices for resolved options: CPUs first, then GPUs. Opens none. On success `why`
 * explains why there are not more GPUs, one line per reason. */
situ_status discovery_devices(const struct device_options *request, struct device_list *out,
                              struct strbuf *why) SITU_MUST_USE;

/* FailedPrecondition if the list has fewer GPUs than `require` (NULL: SITU_REQUIRE) demands. */
situ_status discovery_check_required(const char *require, const struct device_list *list,
                                     const char *why) SITU_MUST_USE;

/* InvalidArgument if a config has memory options for a device that is not in the list. */
situ_status discovery_check_names(const situ_device_config *config,
                                  const struct device_list *list) SITU_MUST_USE;

/* Appends the CPU of that index to a list. Its number is `number`. */
situ_status discovery_add_cpu(struct device_list *list, int index, int number) SITU_MUST_USE;

/* Returns the number of GPUs in a list. */
int discovery_count_gpus(const struct device_list *list);

/* Destroys the devices of a list and empties it. */
void discovery_free_list(struct device_list *list);

#endif
