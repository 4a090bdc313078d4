/* SPDX-License-Identifier: Apache-2.0
 * devices.c: `situ devices`: lists the devices and their properties, without opening them. */
#include <string.h>

#include "command.h"
#include "json.h"
#include "table.h"

/* What is printed of a device. */
struct device_info {
  situ_device device;
  situ_memory_info memory;
};

static situ_status read_device(int index, struct device_info *out) {
  const situ_status s = situ_devices_get(index, &out->device);
  return s ? s : situ_device_memory_info(index, &out->memory);
}

static void add_row(struct table *table, const struct device_info *device_info) {
  const situ_device *device = &device_info->device;
  table_add(table, table_device(device->name));
  table_add(table, device->kind);
  table_add(table, device->model);
  table_add(table, device->bus_id);
  table_number(table, device->physical);
  table_bytes(table, device->memory);
  table_bytes(table, device_info->memory.limit);
  table_bytes(table, device_info->memory.reserved);
  table_bytes(table, device_info->memory.current);
  table_add(table, device->backend);
}

/* Prints the compute capabilities of real GPUs. */
static void print_capabilities(int count) {
  situ_device device = {0};
  for (int i = 0; i < count; i++) {
    const situ_status s = situ_devices_get(i, &device);
    if (!s && device.capability_major && strcmp(device.backend, "sim"))
      printf("  %s: compute capability %d.%d\n", table_device(device.name), device.capability_major,
             device.capability_minor);
    situ_status_release(s);
  }
}

/* Prints once per back end how far it is tested. */
static void print_tested(int count) {
  situ_device device = {0};
  const char *last = "";
  print_capabilities(count);
  printf("\nBack ends\n");
  for (int i = 0; i < count; i++) {
    const situ_status s = situ_devices_get(i, &device);
    if (!s && strcmp(device.backend, last))
      printf("  %-8s tested: %s\n", device.backend, device.tested);
    if (!s) last = device.backend;
    situ_status_release(s);
  }
}

/* Prints why there is no GPU. */
static situ_status print_missing(void) {
  char reasons[4096];
  const situ_status s = situ_devices_missing_gpus(reasons, sizeof reasons);
  if (s) return s;
  printf("\nNo GPU is visible.%s\nTo simulate four: situ devices --gpus 4\n", reasons);
  return NULL;
}

static situ_status print_table(int count) {
  struct table table = {.heads = {"name", "kind", "model", "bus id", ">physical", ">memory",
                                  ">limit", ">reserved", ">in use", "back end"}};
  situ_status s = NULL;
  int gpus = 0;
  for (int i = 0; !s && i < count; i++) {
    struct device_info device_info;
    s = read_device(i, &device_info);
    if (s) break;
    gpus += strcmp(device_info.device.kind, "CPU") != 0;
    add_row(&table, &device_info);
  }
  if (!table_print(&table) && !s) s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "Out of memory.");
  if (s) return s;
  print_tested(count);
  return gpus ? NULL : print_missing();
}

static void print_object(const struct device_info *device_info) {
  const situ_device *device = &device_info->device;
  json_open(NULL, '{');
  json_string("name", device->name);
  json_string("kind", device->kind);
  json_number("index", device->index);
  json_number("physical", device->physical);
  json_string("model", device->model);
  json_string("bus_id", device->bus_id);
  json_string("description", device->description);
  json_size("memory", device->memory);
  json_size("limit", device_info->memory.limit);
  json_size("reserved", device_info->memory.reserved);
  json_size("in_use", device_info->memory.current);
  json_size("peak", device_info->memory.peak);
  json_string("backend", device->backend);
  json_string("tested", device->tested);
  json_close();
}

static situ_status print_json(int count) {
  situ_status s = NULL;
  json_open(NULL, '[');
  for (int i = 0; !s && i < count; i++) {
    struct device_info device_info;
    s = read_device(i, &device_info);
    if (!s) print_object(&device_info);
  }
  json_close();
  return s;
}

static int run(const struct args *args) {
  int count = 0;
  situ_status s = situ_devices_count(&count);
  if (!s) s = args_has(args, "json") ? print_json(count) : print_table(count);
  return s ? command_fail(args, s) : SUCCESS;
}

static const struct option options[] = {{"json", NULL, "print JSON, sizes in bytes"}, {0}};

const struct command devices_command = {
    .name = "devices",
    .positional = "",
    .help = "list the devices and their memory",
    .details =
        "physical is the index of a GPU before CUDA_VISIBLE_DEVICES or SITU_VISIBLE_DEVICES\n"
        "selects and reorders. limit is the memory that a program may allocate, reserved what\n"
        "this process has allocated, in use what tensors occupy. Devices are not opened, and no\n"
        "memory is allocated.\n\n"
        "  situ devices --gpus 'Tesla K40c@0000:05:00.0=12GiB'\n"
        "  CUDA_VISIBLE_DEVICES=2,0 situ devices --gpus 4 --json\n",
    .options = options,
    .run = run};
