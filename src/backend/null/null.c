/* SPDX-License-Identifier: Apache-2.0
 * null.c: a back end without devices: the skeleton to copy when you add one.
 *
 * Copy this folder, rename null_ throughout, add a line to BACKENDS in backends.h, and make probe
 * find something; the conformance tests in tests/backend then run every function. What each
 * function must do is documented in device/backend.h.
 */
#include "device/backend.h"

static situ_status unimplemented(const char *what) {
  return situ_status_create(SITU_UNIMPLEMENTED, "The null back end does not support %s.", what);
}

static situ_status null_probe(const struct backend_request *request, int *count, const char **why) {
  (void)request;
  *count = 0;
  *why = NULL; /* a real one reports what is missing: "libcuda.so.1 was not found" */
  return NULL;
}

static situ_status null_describe(int index, struct device_info *out) {
  (void)index;
  (void)out;
  return unimplemented("devices to describe");
}

static situ_status null_open(int index, void **device) {
  (void)index;
  (void)device;
  return unimplemented("devices to open");
}

static void null_close(void *device) { (void)device; }

static situ_status null_alloc(void *device, size_t bytes, void **region) {
  (void)device;
  (void)bytes;
  (void)region;
  return unimplemented("memory");
}

static void null_free(void *device, void *region) {
  (void)device;
  (void)region;
}

static situ_status null_available(void *device, uint64_t *free_bytes) {
  (void)device;
  (void)free_bytes;
  return unimplemented("memory");
}

static situ_status null_write(void *device, int queue, struct span to, const void *from,
                              size_t bytes) {
  (void)device;
  (void)queue;
  (void)to;
  (void)from;
  (void)bytes;
  return unimplemented("copies");
}

static situ_status null_read(void *device, int queue, void *to, struct span from, size_t bytes) {
  (void)device;
  (void)queue;
  (void)to;
  (void)from;
  (void)bytes;
  return unimplemented("copies");
}

static situ_status null_copy(void *device, int queue, struct span to, struct span from,
                             size_t bytes) {
  (void)device;
  (void)queue;
  (void)to;
  (void)from;
  (void)bytes;
  return unimplemented("copies");
}

static situ_status null_bind(void *device, const struct launch *launch, const struct span *slots,
                             struct arena *arena, struct bound_kernel **out) {
  (void)device;
  (void)launch;
  (void)slots;
  (void)arena;
  (void)out;
  return unimplemented("kernels");
}

static situ_status null_rebind(void *device, struct bound_kernel *bound, int arg,
                               struct span span) {
  (void)device;
  (void)bound;
  (void)arg;
  (void)span;
  return unimplemented("kernels");
}

static situ_status null_launch(void *device, int queue, struct bound_kernel *bound) {
  (void)device;
  (void)queue;
  (void)bound;
  return unimplemented("kernels");
}

static situ_status null_mark(void *device, int queue, uint64_t *mark) {
  (void)device;
  (void)queue;
  (void)mark;
  return unimplemented("queues");
}

static situ_status null_wait(void *device, int queue, void *on_device, int on_queue,
                             uint64_t mark) {
  (void)device;
  (void)queue;
  (void)on_device;
  (void)on_queue;
  (void)mark;
  return unimplemented("queues");
}

static situ_status null_sync(void *device, int queue, uint64_t mark) {
  (void)device;
  (void)queue;
  (void)mark;
  return unimplemented("queues");
}

const struct backend null_backend = {
    .name = "null",
    .kind = "NULL",
    .tested = "has no devices",
    .probe = null_probe,
    .describe = null_describe,
    .open = null_open,
    .close = null_close,
    .alloc = null_alloc,
    .free = null_free,
    .available = null_available,
    .write = null_write,
    .read = null_read,
    .copy = null_copy,
    .peer = NULL, /* copies between devices are staged through the host */
    .bind = null_bind,
    .rebind = null_rebind,
    .unbind = NULL, /* nothing to release */
    .launch = null_launch,
    .mark = null_mark,
    .wait = null_wait,
    .sync = null_sync,
};
