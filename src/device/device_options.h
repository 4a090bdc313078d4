/* SPDX-License-Identifier: Apache-2.0
 * device_options.h: the requested device options of the process, and the options that follow for
 * each. */
#ifndef SITU_DEVICE_DEVICE_OPTIONS_H
#define SITU_DEVICE_DEVICE_OPTIONS_H

#include "base/strbuf.h"
#include "device/memory.h"
#include "device/name.h"
#include "situ/device.h"

/* A situ_device_config that owns its texts and arrays; zero asks for nothing. */
struct device_options {
  situ_device_config config;
  const char *mask_variable; /* who gave visible_devices, once resolved; static */
};

/* InvalidArgument where a config cannot be meant whatever devices there are: a count below 0, an
 * array that is NULL, a device name or `require` that cannot be read, a fraction that is none. */
situ_status device_options_check(const situ_device_config *config) SITU_MUST_USE;

/* Takes over what `from` (may be NULL) sets; what it leaves at zero stays as it was. On failure all
 * stays as it was. */
situ_status device_options_add(struct device_options *request,
                               const situ_device_config *from) SITU_MUST_USE;

/* Fills in what the environment says where nobody said anything: SITU_SIM_GPUS,
 * SITU_VISIBLE_DEVICES, CUDA_VISIBLE_DEVICES. */
situ_status device_options_resolve(struct device_options *request) SITU_MUST_USE;

/* Adds an item for each thing that `from` sets and `request` (for which n_gpus GPUs were found) has
 * otherwise, memory aside. */
void device_options_differs(const struct device_options *request, int n_gpus,
                            const situ_device_config *from, struct strbuf *items);

/* The number of GPUs in a `require` ("gpu", "gpu:2"), or in SITU_REQUIRE where it is NULL; 0 where
 * none are required. `*shown` gets the text. */
situ_status device_options_required(const char *require, const char **shown,
                                    int *count) SITU_MUST_USE;

/* The memory options of a GPU: SITU_GPU_MEMORY, over it what was asked for all, over that what was
 * asked for this one. TF_FORCE_GPU_ALLOW_GROWTH is above them all. */
situ_status device_options_memory(const struct device_options *request,
                                  const struct device_name *name,
                                  struct memory_options *out) SITU_MUST_USE;

/* What `over` sets, and where it leaves something open what `under` sets. A bound (limit, reserve
 * or fraction) replaces another one. */
situ_memory_config device_options_join_memory(const situ_memory_config *over,
                                              const situ_memory_config *under);

/* Lays what a checked config asks of a GPU over the options that it has. */
void device_options_overlay(const situ_device_config *config, const struct device_name *name,
                            struct memory_options *options);

/* Whether both say the same. */
bool device_options_same_memory(const struct memory_options *a, const struct memory_options *b);

/* "limit_bytes=2.00GiB growth", or "the default". Writes at most 160 characters, returns `out`. */
const char *device_options_print_memory(const struct memory_options *options, char out[160]);

/* Warns of options of SITU_GPU_MEMORY for GPUs that are not there. */
void device_options_warn_memory(const char *text, int n_gpus);

/* The text of SITU_GPU_MEMORY: comma list of [INDEX:]OPTION[;OPTION]..., OPTION one of fraction=0.4
 * limit=2GiB reserve=1GiB growth reference. Gives what it says for GPU `index`: entries without an
 * index, and over them those with it. NULL says nothing. */
situ_status device_options_parse_memory(const char *text, int index,
                                        situ_memory_config *out) SITU_MUST_USE;

/* Gives everything back; the request asks for nothing afterwards. */
void device_options_free(struct device_options *request);

#endif
