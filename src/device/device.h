/* SPDX-License-Identifier: Apache-2.0
 * device.h: one device of the process, and the list of all. */
#ifndef SITU_DEVICE_DEVICE_H
#define SITU_DEVICE_DEVICE_H

#include <pthread.h>

#include "device/backend.h"
#include "device/memory.h"
#include "device/name.h"
#include "situ/device.h"

/* Lives as long as the list. What is above the line never changes after the list was made. */
struct device {
  const struct backend *backend;
  int number;   /* in the list */
  int index;    /* 0 of GPU:0 */
  int physical; /* number within its back end */
  int visible;  /* number among the visible ones, as in the description */
  struct device_name name;
  char full[NAME_SIZE], legacy[NAME_SIZE];
  char description[160]; /* "" of a CPU */
  struct device_info info;
  uint64_t virtual_limit; /* of a virtual device, else 0 */
  /* ---- */
  pthread_mutex_t lock; /* of what follows */
  void *handle;         /* NULL until it is opened; stays as it is from then on */
  int generation;       /* of forks, when it was opened */
  struct memory_options options;
  struct memory *memory; /* the same, and always NULL of host devices */
  _Atomic uint64_t idle; /* of its memory, what idle programs keep; guarded by itself */
};

struct device_list {
  struct device **devices;
  int count;
};

/* Opens a device, if that has not been done: its handle and memory are set afterwards, and may be
 * read without the lock. A process that was forked after the device was opened gets
 * FailedPrecondition. */
situ_status device_open(struct device *device) SITU_MUST_USE;

/* The memory of a device; NULL where it was not opened, and of host devices. FailedPrecondition as
 * in device_open. */
situ_status device_memory(struct device *device, struct memory **out) SITU_MUST_USE;

/* The memory options that are in force, or will be when it is opened. */
struct memory_options device_options(struct device *device);

/* Whether memory was taken from the device, so that its options are fixed. */
bool device_holds_memory(struct device *device);

/* Gives a device that holds no memory other options; FailedPrecondition otherwise. */
situ_status device_configure(struct device *device,
                             const struct memory_options *options) SITU_MUST_USE;

/* Seconds on the virtual clock of a device; 0 where there is none, or it was not opened. */
double device_clock(struct device *device);

/* The name in logs: legacy with SITU_DEVICE_NAMES=legacy. */
const char *device_log_name(const struct device *device);

/* A device with its name and description set; for the list. Frees with device_destroy. */
situ_status device_create(const struct backend *backend, int physical, int visible, int index,
                          struct device **out) SITU_MUST_USE;
void device_destroy(struct device *device);

#endif
