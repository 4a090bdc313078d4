/* SPDX-License-Identifier: Apache-2.0
 * devices.c: `situ devices`: what devices there are, and what is known of them. Opens none. */
#include <string.h>

#include "command.h"
#include "json.h"
#include "table.h"

/* All that is shown of a device. */
struct shown {
  situ_device device;
  situ_memory_info memory;
};

static situ_status look(int number, struct shown *out) {
  const situ_status s = situ_devices_get(number, &out->device);
  return s ? s : situ_device_memory_info(number, &out->memory);
}

static void add_row(struct table *table, const struct shown *shown) {
  const situ_device *device = &shown->device;
  table_add(table, table_device(device->name));
  table_add(table, device->kind);
  table_add(table, device->model);
  table_add(table, device->bus_id);
  table_number(table, device->physical);
  table_bytes(table, device->memory);
  table_bytes(table, shown->memory.limit);
  table_bytes(table, shown->memory.reserved);
  table_bytes(table, shown->memory.current);
  table_add(table, device->backend);
}

/* The compute capability of GPUs that really have one. */
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

/* How far each back end is tested, once. */
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

static situ_status print_table(int count) {
  struct table table = {.heads = {"name", "kind", "model", "bus id", ">physical", ">memory",
                                  ">limit", ">reserved", ">in use", "back end"}};
  situ_status s = NULL;
  int gpus = 0;
  for (int i = 0; !s && i < count; i++) {
    struct shown shown;
    s = look(i, &shown);
    if (s) break;
    gpus += strcmp(shown.device.kind, "CPU") != 0;
    add_row(&table, &shown);
  }
  if (!table_print(&table) && !s) s = situ_status_create(SITU_RESOURCE_EXHAUSTED, "No memory.");
  if (s) return s;
  print_tested(count);
  if (!gpus) printf("\nNo GPU is visible. To simulate some: situ devices --gpus 4\n");
  return NULL;
}

static void print_object(const struct shown *shown) {
  const situ_device *device = &shown->device;
  json_open(NULL, '{');
  json_string("name", device->name);
  json_string("kind", device->kind);
  json_number("index", device->index);
  json_number("physical", device->physical);
  json_string("model", device->model);
  json_string("bus_id", device->bus_id);
  json_string("description", device->description);
  json_size("memory", device->memory);
  json_size("limit", shown->memory.limit);
  json_size("reserved", shown->memory.reserved);
  json_size("in_use", shown->memory.current);
  json_size("peak", shown->memory.peak);
  json_string("backend", device->backend);
  json_string("tested", device->tested);
  json_close();
}

static situ_status print_json(int count) {
  situ_status s = NULL;
  json_open(NULL, '[');
  for (int i = 0; !s && i < count; i++) {
    struct shown shown;
    s = look(i, &shown);
    if (!s) print_object(&shown);
  }
  json_close();
  return s;
}

static int run(const struct args *args) {
  int count = 0;
  situ_status s = situ_devices_count(&count);
  if (!s) s = args_has(args, "json") ? print_json(count) : print_table(count);
  return s ? command_fail(args, s) : DONE;
}

static const struct option options[] = {{"json", NULL, "a list of objects, sizes in bytes"}, {0}};

const struct command devices_command = {
    .name = "devices",
    .words = "",
    .help = "which devices there are, and their memory",
    .more =
        "The name is what /gpu:0 and the like mean in a program; physical is the number before\n"
        "CUDA_VISIBLE_DEVICES (or SITU_VISIBLE_DEVICES) masked and reordered the GPUs. limit is\n"
        "what a program may take, reserved what this process has taken, in use what is filled.\n"
        "Nothing is opened and no memory is taken.\n\n"
        "  situ devices --gpus 'Tesla K40c@0000:05:00.0=12GiB'\n"
        "  CUDA_VISIBLE_DEVICES=2,0 situ devices --gpus 4 --json\n",
    .options = options,
    .run = run};
