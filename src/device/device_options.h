/* SPDX-License-Identifier: Apache-2.0
 * device_options.h: the device options requested for the process (API and environment), and the
 * memory options that follow for each GPU. */
#ifndef SITU_DEVICE_DEVICE_OPTIONS_H
#define SITU_DEVICE_DEVICE_OPTIONS_H

#include "base/strbuf.h"
#include "device/memory.h"
#include "device/name.h"
#include "situ/device.h"

/* A situ_device_config that owns its strings and arrays; zero-initialized requests nothing. */
struct device_options {
  situ_device_config config;
  const char *mask_variable; /* the source of visible_devices, once resolved; static */
};

/* InvalidArgument if a config is invalid on every machine: a negative count, a NULL array, a
 * malformed device name or `require`, a fraction out of range. */
situ_status device_options_check(const situ_device_config *config) SITU_MUST_USE;

/* Merges what `from` (may be NULL) sets into `request`. No effect on failure. */
situ_status device_options_add(struct device_options *request,
                               const situ_device_config *from) SITU_MUST_USE;

/* Fills unset options from SITU_SIM_GPUS, SITU_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES. */
situ_status device_options_resolve(struct device_options *request) SITU_MUST_USE;

/* Appends an item for each option except memory that `from` sets and that differs from `request`,
 * for which n_gpus GPUs were found. */
void device_options_diff(const struct device_options *request, int n_gpus,
                         const situ_device_config *from, struct strbuf *items);

/* Parses the number of GPUs in `require` ("gpu", "gpu:2"), or in SITU_REQUIRE if it is NULL; 0 if
 * none are required. `*shown` is set to the string. */
situ_status device_options_required(const char *require, const char **shown,
                                    int *count) SITU_MUST_USE;

/* Returns the memory options of a GPU. In ascending precedence: SITU_GPU_MEMORY, options for all
 * GPUs, options for this GPU, TF_FORCE_GPU_ALLOW_GROWTH. */
situ_status device_options_memory(const struct device_options *request,
                                  const struct device_name *name,
                                  struct memory_options *out) SITU_MUST_USE;

/* Merges two configs; `over` takes precedence. A bound (limit, reserve or fraction) replaces
 * another one. */
situ_memory_config device_options_merge_memory(const situ_memory_config *over,
                                               const situ_memory_config *under);

/* Applies what a valid config requests for a GPU to its options. */
void device_options_overlay(const situ_device_config *config, const struct device_name *name,
                            struct memory_options *options);

/* Returns whether both are equal. */
bool device_options_same_memory(const struct memory_options *a, const struct memory_options *b);

/* "limit_bytes=2.00GiB growth", or "the default". Writes at most 160 characters, returns `out`. */
const char *device_options_print_memory(const struct memory_options *options, char out[160]);

/* Warns about options of SITU_GPU_MEMORY for GPUs that do not exist. */
void device_options_warn_memory(const char *value, int n_gpus);

/* Parses SITU_GPU_MEMORY, a comma list of [INDEX:]OPTION[;OPTION]..., with OPTION one of
 * fraction=0.4, limit=2GiB, reserve=1GiB, growth, reference. Returns the options of GPU `index`;
 * entries with an index take precedence. NULL sets nothing. */
situ_status device_options_parse_memory(const char *value, int index,
                                        situ_memory_config *out) SITU_MUST_USE;

/* Frees the strings and arrays; the request is empty afterwards. */
void device_options_free(struct device_options *request);

#endif
