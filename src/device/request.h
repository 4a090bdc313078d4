/* SPDX-License-Identifier: Apache-2.0
 * request.h: what was asked of the devices of the process, kept; and the options that follow for each. */
#ifndef SITU_DEVICE_REQUEST_H
#define SITU_DEVICE_REQUEST_H

#include "base/text.h"
#include "device/memory.h"
#include "device/name.h"
#include "situ/device.h"

/* A situ_device_config that owns its texts and arrays; zero asks for nothing. */
struct request {
  situ_device_config config;
};

/* Takes over what `from` sets; what it leaves at zero stays as it was. Fails on a device name that cannot be read. */
situ_status request_add(struct request *request, const situ_device_config *from) SITU_MUST_USE;

/* Appends a line for each thing that `from` sets and `request` has otherwise, memory aside; false if there is none. */
bool request_differs(const struct request *request, const situ_device_config *from,
                     struct text *lines);

/* The memory options of GPU `index`: what was asked for it, then for all, then SITU_GPU_MEMORY; with
 * TF_FORCE_GPU_ALLOW_GROWTH above them. */
situ_status request_memory(const struct request *request, const struct device_name *name,
                           struct memory_options *out) SITU_MUST_USE;

/* "limit_bytes=2.00GiB growth", or "the default". Writes at most 160 characters, returns `out`. */
const char *request_print_memory(const struct memory_options *options, char out[160]);

/* The text of SITU_GPU_MEMORY: comma list of [INDEX:]OPTION[;OPTION]..., OPTION one of fraction=0.4 limit=2GiB
 * reserve=1GiB growth. Gives what it says for GPU `index`; NULL says nothing. */
situ_status request_parse_memory(const char *text, int index, situ_memory_config *out) SITU_MUST_USE;

void request_free(struct request *request);

#endif
