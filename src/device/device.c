/* SPDX-License-Identifier: Apache-2.0
 * device.c: a device of the process: its names, properties, and lazily opened handle and memory. */
#include "device/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/fork.h"

/* A CPU has no description: the "Device mapping" of the placement log omits it. */
static void describe(struct device *device) {
  if (device->backend->is_host) return;
  snprintf(device->description, sizeof device->description, "device: %d, name: %s, pci bus id: %s",
           device->visible, device->info.model, device->info.bus_id);
}

situ_status device_create(const struct backend *backend, int physical, int visible, int index,
                          struct device **out) {
  struct device *device = calloc(1, sizeof *device);
  if (!device) return NO_MEMORY();
  device->backend = backend;
  device->physical = physical;
  device->visible = visible;
  device->index = index;
  pthread_mutex_init(&device->lock, NULL);
  device->name = (struct device_name){.job = "localhost",
                                      .index = index,
                                      .has_job = true,
                                      .has_replica = true,
                                      .has_task = true,
                                      .has_kind = true,
                                      .has_index = true};
  snprintf(device->name.kind, sizeof device->name.kind, "%s", backend->kind);
  name_print(&device->name, device->full, sizeof device->full);
  name_print_legacy(&device->name, device->legacy, sizeof device->legacy);
  const situ_status status = backend->describe(physical, &device->info);
  if (status) {
    device_destroy(device);
    return status;
  }
  describe(device);
  *out = device;
  return NULL;
}

/* Leaves the handle alone in a forked child, where its threads do not exist. */
void device_destroy(struct device *device) {
  if (!device) return;
  const bool is_same_process = device->generation == fork_generation();
  if (is_same_process) memory_destroy(device->memory);
  if (is_same_process && device->handle) device->backend->close(device->handle);
  pthread_mutex_destroy(&device->lock);
  free(device);
}

static situ_status create_memory(struct device *device) {
  char name[64];
  snprintf(name, sizeof name, "%s_%d_bfc", device->backend->kind, device->index);
  return memory_create(&(struct memory_setup){.backend = device->backend,
                                              .device = device->handle,
                                              .device_name = device->full,
                                              .name = name,
                                              .info = device->info},
                       &device->options, &device->memory);
}

/* Fails if the handle was opened before a fork. Must hold the lock. */
static situ_status check_fork(const struct device *device) {
  if (!device->handle || device->backend->is_host) return NULL;
  return fork_check(device->generation, device->full);
}

static situ_status open_locked(struct device *device) {
  if (!device->handle) {
    TRY(device->backend->open(device->physical, &device->handle));
    device->generation = fork_generation();
  }
  TRY(check_fork(device));
  return device->memory || device->backend->is_host ? NULL : create_memory(device);
}

situ_status device_open(struct device *device) {
  pthread_mutex_lock(&device->lock);
  const situ_status status = open_locked(device);
  pthread_mutex_unlock(&device->lock);
  return status;
}

situ_status device_memory(struct device *device, struct memory **out) {
  pthread_mutex_lock(&device->lock);
  const situ_status status = check_fork(device);
  *out = status ? NULL : device->memory;
  pthread_mutex_unlock(&device->lock);
  return status;
}

struct memory_options device_options(struct device *device) {
  pthread_mutex_lock(&device->lock);
  const struct memory_options options = device->options;
  pthread_mutex_unlock(&device->lock);
  return options;
}

static bool holds_memory(const struct device *device) {
  struct memory_stats stats = {0};
  if (device->memory) memory_stats(device->memory, &stats);
  return stats.reserved > 0;
}

bool device_holds_memory(struct device *device) {
  pthread_mutex_lock(&device->lock);
  const bool holds = holds_memory(device);
  pthread_mutex_unlock(&device->lock);
  return holds;
}

situ_status device_configure(struct device *device, const struct memory_options *options) {
  pthread_mutex_lock(&device->lock);
  const situ_status status = device->memory ? memory_configure(device->memory, options) : NULL;
  if (!status) device->options = *options;
  pthread_mutex_unlock(&device->lock);
  return status;
}

double device_clock(struct device *device) {
  pthread_mutex_lock(&device->lock);
  void *handle = device->handle;
  pthread_mutex_unlock(&device->lock);
  return handle && device->backend->clock ? device->backend->clock(handle) : 0;
}

const char *device_log_name(const struct device *device) {
  const char *form = getenv("SITU_DEVICE_NAMES");
  return form && !strcmp(form, "legacy") ? device->legacy : device->full;
}
