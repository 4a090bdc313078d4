/* SPDX-License-Identifier: Apache-2.0
 * cpu.c: the host as a device. Regions are host addresses and kernels run synchronously in the
 * calling thread, so that queues are always complete. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/huge_pages.h"
#include "device/backend.h"
#include "host/call.h"

static int cpu_handle; /* shared by all CPU devices; only its address matters */

static situ_status cpu_probe(const struct backend_request *request, int *count, const char **why) {
  *why = NULL;
  *count = request->cpu_devices > 0 ? request->cpu_devices : 1;
  return NULL;
}

/* Reads "model name" from /proc/cpuinfo. */
static void read_model(char *out, size_t size) {
  snprintf(out, size, "CPU");
  FILE *file = fopen("/proc/cpuinfo", "r");
  if (!file) return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !value) continue;
    value += 1 + strspn(value + 1, " ");
    value[strcspn(value, "\n")] = 0;
    snprintf(out, size, "%.63s", value);
    break;
  }
  fclose(file);
}

static situ_status cpu_describe(int index, struct device_info *out) {
  (void)index;
  *out = (struct device_info){.has_half = true, .has_double = true};
  read_model(out->model, sizeof out->model);
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  out->memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
  return NULL;
}

static situ_status cpu_open(int index, void **device) {
  (void)index;
  *device = &cpu_handle;
  return NULL;
}

static void cpu_close(void *device) { (void)device; }

static situ_status cpu_alloc(void *device, size_t bytes, void **region) {
  (void)device;
  *region = huge_pages_alloc(bytes, 256);
  return *region ? NULL : NO_MEMORY();
}

static void cpu_free(void *device, void *region) {
  (void)device;
  free(region);
}

static situ_status cpu_available(void *device, uint64_t *free_bytes) {
  (void)device;
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  *free_bytes = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : 0;
  return NULL;
}

static void *translate(void *device, struct span span) {
  (void)device;
  return (char *)span.region + span.offset;
}

static situ_status cpu_write(void *device, int queue, struct span to, const void *from,
                             size_t bytes) {
  (void)queue;
  if (bytes) memcpy(translate(device, to), from, bytes);
  return NULL;
}

static situ_status cpu_read(void *device, int queue, void *to, struct span from, size_t bytes) {
  (void)queue;
  if (bytes) memcpy(to, translate(device, from), bytes);
  return NULL;
}

static situ_status cpu_copy(void *device, int queue, struct span to, struct span from,
                            size_t bytes) {
  (void)queue;
  if (bytes) memmove(translate(device, to), translate(device, from), bytes);
  return NULL;
}

static situ_status cpu_peer(void *device, int queue, struct span to, void *from_device,
                            struct span from, size_t bytes) {
  (void)from_device;
  return cpu_copy(device, queue, to, from, bytes);
}

static situ_status cpu_bind(void *device, const struct launch *launch, const struct span *slots,
                            struct arena *arena, struct bound_kernel **out) {
  return host_bind(device, translate, launch, slots, arena, out);
}

static situ_status cpu_rebind(void *device, struct bound_kernel *bound, int arg, struct span span) {
  return host_rebind(device, translate, bound, arg, span);
}

static situ_status cpu_launch(void *device, int queue, struct bound_kernel *bound) {
  (void)device;
  (void)queue;
  return host_run((struct host_call *)bound);
}

static situ_status cpu_mark(void *device, int queue, uint64_t *mark) {
  (void)device;
  (void)queue;
  *mark = 0;
  return NULL;
}

static situ_status cpu_wait(void *device, int queue, void *on_device, int on_queue, uint64_t mark) {
  (void)device;
  (void)queue;
  (void)on_device;
  (void)on_queue;
  (void)mark;
  return NULL;
}

static situ_status cpu_sync(void *device, int queue, uint64_t mark) {
  (void)device;
  (void)queue;
  (void)mark;
  return NULL;
}

const struct backend cpu_backend = {
    .name = "cpu",
    .kind = "CPU",
    .tested = "every op, in every test run",
    .is_host = true,
    .probe = cpu_probe,
    .describe = cpu_describe,
    .open = cpu_open,
    .close = cpu_close,
    .alloc = cpu_alloc,
    .free = cpu_free,
    .available = cpu_available,
    .write = cpu_write,
    .read = cpu_read,
    .copy = cpu_copy,
    .peer = cpu_peer,
    .bind = cpu_bind,
    .rebind = cpu_rebind,
    .launch = cpu_launch,
    .mark = cpu_mark,
    .wait = cpu_wait,
    .sync = cpu_sync,
};
