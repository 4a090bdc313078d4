/* SPDX-License-Identifier: Apache-2.0
 * devices.c: implements the public functions of situ/device.h. */
#include "api/session.h"
#include "device/registry.h"
#include "situ/device.h"

/* Calls `what` with the device of that number. */
static situ_status with_device(int number, situ_status (*what)(struct device *device, void *out),
                               void *out) {
  const struct device_list *list = NULL;
  TRY(registry_acquire(NULL, false, &list));
  const situ_status status =
      number >= 0 && number < list->count
          ? what(list->devices[number], out)
          : INVALID("Device %d does not exist; there are %d devices.", number, list->count);
  registry_release();
  return status;
}

situ_status situ_devices_configure(const situ_device_config *config) {
  if (!config) return INVALID("situ_devices_configure: the config is NULL.");
  return registry_configure(config);
}

situ_status situ_devices_count(int *count) {
  if (!count) return INVALID("situ_devices_count: `count` is NULL.");
  const struct device_list *list = NULL;
  TRY(registry_acquire(NULL, false, &list));
  *count = list->count;
  registry_release();
  return NULL;
}

static situ_status describe(struct device *device, void *out) {
  *(situ_device *)out = (situ_device){.name = device->full,
                                      .kind = device->backend->kind,
                                      .model = device->info.model,
                                      .bus_id = device->info.bus_id,
                                      .description = device->description,
                                      .backend = device->backend->name,
                                      .tested = device->backend->tested,
                                      .index = device->index,
                                      .physical = device->physical,
                                      .memory = device->info.memory,
                                      .has_half = device->info.has_half,
                                      .has_double = device->info.has_double,
                                      .capability_major = device->info.capability_major,
                                      .capability_minor = device->info.capability_minor};
  return NULL;
}

situ_status situ_devices_get(int number, situ_device *out) {
  if (!out) return INVALID("situ_devices_get: `out` is NULL.");
  return with_device(number, describe, out);
}

situ_status situ_devices_missing_gpus(char *out, size_t size) {
  if (!out || !size) return INVALID("situ_devices_missing_gpus: there is no buffer.");
  return registry_missing_gpus(out, size);
}

static situ_status not_found(const struct device_list *list, const char *name) {
  struct strbuf names = {0};
  for (int i = 0; i < list->count; i++)
    strbuf_appendf(&names, "%s%s", i ? ", " : "", list->devices[i]->full);
  const situ_status status = situ_status_create(
      SITU_NOT_FOUND, "There is no device '%s'. Devices: %s.", name, strbuf_get(&names));
  strbuf_free(&names);
  return status;
}

static situ_status find(const struct device_list *list, const char *name, int *number) {
  struct device_name wanted;
  TRY(name_parse_any(name, &wanted));
  for (int i = 0; i < list->count; i++) {
    if (!name_is_spec(&wanted, &list->devices[i]->name)) continue;
    *number = i;
    return NULL;
  }
  return not_found(list, name);
}

situ_status situ_devices_find(const char *name, int *number) {
  if (!name || !number) return INVALID("situ_devices_find: an argument is NULL.");
  const struct device_list *list = NULL;
  TRY(registry_acquire(NULL, false, &list));
  const situ_status status = find(list, name, number);
  registry_release();
  return status;
}

/* Computes the limit that the device will have when it is opened, as far as it is known; fails if
 * the options cannot be satisfied. */
static situ_status expected_limit(struct device *device, uint64_t *out) {
  const struct memory_options options = device_options(device);
  const struct device_info *info = &device->info;
  enum memory_bound bound;
  return memory_limit(&options, info->memory, info->memory, info->capability_major, out, &bound);
}

static situ_status memory_info(struct device *device, void *out) {
  situ_memory_info *info = out;
  struct memory *memory = NULL;
  TRY(device_memory(device, &memory));
  *info = (situ_memory_info){.clock = device_clock(device)};
  if (!memory) {
    info->limit = device->info.memory;
    return device->backend->is_host ? NULL : expected_limit(device, &info->limit);
  }
  const uint64_t idle = device->idle;
  struct memory_stats stats;
  memory_stats(memory, &stats);
  info->current = stats.current > idle ? stats.current - idle : 0;
  info->peak = stats.peak;
  info->reserved = stats.reserved;
  info->limit = stats.limit;
  info->largest_free = stats.largest_free;
  return NULL;
}

situ_status situ_device_memory_info(int number, situ_memory_info *out) {
  if (!out) return INVALID("situ_device_memory_info: `out` is NULL.");
  return with_device(number, memory_info, out);
}

static situ_status reset_peak(struct device *device, void *out) {
  (void)out;
  struct memory *memory = NULL;
  TRY(device_memory(device, &memory));
  if (memory) memory_reset_peak(memory);
  return NULL;
}

situ_status situ_device_reset_peak(int number) { return with_device(number, reset_peak, NULL); }

static situ_status trim(struct device *device, void *out) {
  uint64_t *bytes = out;
  struct memory *memory = NULL;
  TRY(device_memory(device, &memory));
  const uint64_t given = memory ? memory_trim(memory) : 0; /* also frees idle frames */
  if (bytes) *bytes = given;
  return NULL;
}

situ_status situ_device_trim(int number, uint64_t *bytes) {
  if (bytes) *bytes = 0;
  return with_device(number, trim, bytes);
}

static situ_status report(struct device *device, void *out) {
  struct strbuf text = {0};
  struct memory *memory = NULL;
  TRY(device_memory(device, &memory));
  if (memory)
    memory_report(memory, &text);
  else
    strbuf_append(&text, "{}");
  const bool failed = text.failed;
  if (!failed) fprintf(out, "%s\n", strbuf_get(&text));
  strbuf_free(&text);
  return failed ? NO_MEMORY() : NULL;
}

situ_status situ_device_memory_report(int number, FILE *stream) {
  if (!stream) return INVALID("situ_device_memory_report: the stream is NULL.");
  return with_device(number, report, stream);
}

situ_status situ_devices_evacuate(void) {
  TRY(session_close_all());
  return registry_evacuate();
}

situ_status situ_devices_reset(void) { return registry_reset(); }
