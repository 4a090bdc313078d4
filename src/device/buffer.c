/* SPDX-License-Identifier: Apache-2.0
 * buffer.c: reference-counted memory on a device or on the host; see buffer.h. */
#include "device/buffer.h"

#include <stdlib.h>
#include <string.h>

#include "device/host_memory.h"
#include "device/registry.h"

enum { HOST_ALIGNMENT = 64, MAX_INLINE_BYTES = 512 };

/* Allocates a buffer header with `extra` bytes behind it. */
static situ_status alloc_header(size_t bytes, size_t extra, struct buffer **out) {
  struct buffer *buffer = malloc(sizeof *buffer + extra);
  if (!buffer) return NO_MEMORY();
  *buffer = (struct buffer){.references = 1, .bytes = bytes};
  *out = buffer;
  return NULL;
}

static situ_status create_buffer(size_t bytes, struct buffer **out) {
  return alloc_header(bytes, 0, out);
}

/* Stores small contents behind the header: a single malloc. */
static situ_status create_inline(size_t bytes, struct buffer **out) {
  TRY(alloc_header(bytes, HOST_ALIGNMENT + round_up(bytes, HOST_ALIGNMENT), out));
  struct buffer *buffer = *out;
  buffer->host = (void *)round_up((uintptr_t)(buffer + 1), HOST_ALIGNMENT);
  buffer->span = (struct span){buffer->host, 0};
  return NULL;
}

static situ_status create_host(size_t bytes, const struct memory_tag *tag, struct buffer **out) {
  if (bytes <= MAX_INLINE_BYTES) return create_inline(bytes, out);
  struct buffer *buffer = NULL;
  TRY(create_buffer(bytes, &buffer));
  buffer->host = host_memory_alloc(bytes, HOST_ALIGNMENT);
  if (!buffer->host) {
    free(buffer);
    return host_memory_oom(bytes, tag);
  }
  buffer->owns = true;
  buffer->span = (struct span){buffer->host, 0};
  *out = buffer;
  return NULL;
}

situ_status buffer_host(size_t bytes, struct buffer **out) { return create_host(bytes, NULL, out); }

situ_status buffer_wrap(void *host, size_t bytes, void (*release)(void *), void *context,
                        struct buffer **out) {
  struct buffer *buffer = NULL;
  TRY(create_buffer(bytes, &buffer));
  buffer->host = host;
  buffer->release = release;
  buffer->context = context;
  buffer->span = (struct span){host, 0};
  *out = buffer;
  return NULL;
}

situ_status buffer_lend(struct device *device, struct span span, size_t bytes,
                        struct buffer **out) {
  struct buffer *buffer = NULL;
  TRY(create_buffer(bytes, &buffer));
  const bool is_host = device->backend->is_host;
  buffer->device = is_host ? NULL : device;
  buffer->host = is_host ? (char *)span.region + span.offset : NULL;
  buffer->span = span;
  buffer->lent = true;
  *out = buffer;
  return NULL;
}

situ_status buffer_device(struct device *device, size_t bytes, const struct memory_tag *tag,
                          struct buffer **out) {
  if (device->backend->is_host) return create_host(bytes, tag, out);
  TRY(device_open(device));
  struct buffer *buffer = NULL;
  TRY(create_buffer(bytes, &buffer));
  const situ_status status = memory_alloc(device->memory, bytes, tag, &buffer->block);
  if (status) {
    free(buffer);
    return status;
  }
  buffer->device = device;
  buffer->span = buffer->block.span;
  registry_add_buffer(buffer);
  *out = buffer;
  return NULL;
}

static struct span span_at(const struct buffer *buffer, size_t offset) {
  return (struct span){buffer->span.region, buffer->span.offset + offset};
}

/* Waits until a queue has completed all enqueued work. */
static situ_status drain(struct device *device, int queue) {
  uint64_t mark = 0;
  TRY(device->backend->mark(device->handle, queue, &mark));
  return device->backend->sync(device->handle, queue, mark);
}

/* Waits for all queues, so that a copy sees the results of kernels. */
static situ_status drain_all(struct device *device) {
  situ_status status = NULL;
  for (int queue = 0; queue < N_QUEUES; queue++)
    status = status_first(status, drain(device, queue));
  return status;
}

static situ_status check_range(const struct buffer *buffer, size_t offset, size_t bytes) {
  if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return NULL;
  return INTERNAL("%zu bytes from byte %zu on are not inside a buffer of %zu bytes.", bytes, offset,
                  buffer->bytes);
}

/* Drains the queue also after a failure: a copy in flight must not outlive the host memory. */
static situ_status finish_copy(struct device *device, int queue, situ_status status) {
  return status_first(status, drain(device, queue));
}

situ_status buffer_read(const struct buffer *buffer, size_t offset, void *to, size_t bytes) {
  TRY(check_range(buffer, offset, bytes));
  if (!bytes) return NULL;
  if (buffer->host) {
    memcpy(to, (const char *)buffer->host + offset, bytes);
    return NULL;
  }
  struct device *device = buffer->device;
  TRY(device_open(device)); /* fails in a forked child */
  TRY(drain_all(device));
  return finish_copy(
      device, QUEUE_OUT,
      device->backend->read(device->handle, QUEUE_OUT, to, span_at(buffer, offset), bytes));
}

situ_status buffer_write(struct buffer *buffer, size_t offset, const void *from, size_t bytes) {
  TRY(check_range(buffer, offset, bytes));
  if (!bytes) return NULL;
  if (buffer->host) {
    memcpy((char *)buffer->host + offset, from, bytes);
    return NULL;
  }
  struct device *device = buffer->device;
  TRY(device_open(device));
  TRY(drain_all(device));
  return finish_copy(
      device, QUEUE_IN,
      device->backend->write(device->handle, QUEUE_IN, span_at(buffer, offset), from, bytes));
}

static void release_copy(void *copy) { buffer_release(copy); }

situ_status buffer_evacuate(struct buffer *buffer) {
  struct buffer *copy = NULL;
  TRY(buffer_host(buffer->bytes, &copy));
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference) ; buffer_host sets it */
  const situ_status status = buffer_read(buffer, 0, copy->host, buffer->bytes);
  const bool is_lost = situ_status_code(status) == SITU_UNAVAILABLE;
  if (status && !is_lost) {
    buffer_release(copy);
    return status;
  }
  situ_status_release(status);
  if (is_lost) memset(copy->host, 0xff, buffer->bytes); /* NaN for floats */
  registry_remove_buffer(buffer);
  memory_free(buffer->device->memory, &buffer->block);
  buffer->device = NULL;
  buffer->host = copy->host;
  buffer->span = copy->span;
  buffer->release = release_copy; /* the bytes may be stored inside `copy` */
  buffer->context = copy;
  return NULL;
}

struct buffer *buffer_retain(struct buffer *buffer) {
  if (buffer) __atomic_add_fetch(&buffer->references, 1, __ATOMIC_RELAXED);
  return buffer;
}

void buffer_release(struct buffer *buffer) {
  if (!buffer || __atomic_sub_fetch(&buffer->references, 1, __ATOMIC_ACQ_REL) > 0) return;
  if (buffer->device && !buffer->lent) {
    registry_remove_buffer(buffer);
    memory_free(buffer->device->memory, &buffer->block);
  }
  if (buffer->release) buffer->release(buffer->context);
  if (buffer->owns) host_memory_free(buffer->host, buffer->bytes);
  free(buffer);
}
