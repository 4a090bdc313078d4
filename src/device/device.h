/* SPDX-License-Identifier: Apache-2.0
 * device.h: a device of the process: its names, properties, and lazily opened handle and memory. */
#ifndef SITU_DEVICE_DEVICE_H
#define SITU_DEVICE_DEVICE_H

#include <pthread.h>

#include "device/backend.h"
#include "device/memory.h"
#include "device/name.h"
#include "situ/device.h"

/* Lives as long as the device list. The members before `lock` are immutable. */
struct device {
  const struct backend *backend;
  int number;   /* index in the device list */
  int index;    /* within its type: 0 for GPU:0 */
  int physical; /* index within its back end */
  int visible;  /* index after CUDA_VISIBLE_DEVICES, as in the description */
  struct device_name name;
  char full[NAME_SIZE], legacy[NAME_SIZE];
  char description[160]; /* "" for a CPU */
  struct device_info info;
  uint64_t virtual_limit; /* memory limit of a virtual device, else 0 */
  pthread_mutex_t lock;   /* guards what follows */
  void *handle;           /* NULL until opened, then constant */
  int generation;         /* fork_generation() when it was opened */
  struct memory_options options;
  struct memory *memory; /* NULL until opened, then constant; always NULL for host devices */
  _Atomic uint64_t idle; /* bytes held by idle programs; atomic, not guarded */
};

struct device_list {
  struct device **devices;
  int count;
  int n_cpus; /* nodes may be placed on CPUs with a lower index; 0: on all */
};

/* Returns whether nodes may be placed on a device of a list. */
static inline bool device_is_usable(const struct device_list *list, const struct device *device) {
  return !list->n_cpus || !device->backend->is_host || device->index < list->n_cpus;
}

/* Opens a device if it is not open. Afterwards `handle` and `memory` are set and may be read
 * without the lock. FailedPrecondition in a process forked after the device was opened. */
situ_status device_open(struct device *device) SITU_MUST_USE;

/* Returns the memory of a device; NULL if it is not open or a host device. FailedPrecondition as in
 * device_open. */
situ_status device_memory(struct device *device, struct memory **out) SITU_MUST_USE;

/* Returns the memory options in effect, or to be used when it is opened. */
struct memory_options device_options(struct device *device);

/* Returns whether memory is reserved from the device, so that its options are fixed. */
bool device_holds_memory(struct device *device);

/* Changes the memory options of a device; FailedPrecondition if it holds memory. */
situ_status device_configure(struct device *device,
                             const struct memory_options *options) SITU_MUST_USE;

/* Returns the virtual clock of a device in seconds; 0 if it has none or is not open. */
double device_clock(struct device *device);

/* Returns the name for logs: the legacy form if SITU_DEVICE_NAMES=legacy. */
const char *device_log_name(const struct device *device);

/* Creates a device with its names and description; free it with device_destroy. */
situ_status device_create(const struct backend *backend, int physical, int visible, int index,
                          struct device **out) SITU_MUST_USE;
void device_destroy(struct device *device);

#endif
