/* SPDX-License-Identifier: Apache-2.0
 * buffer.h: counted memory on a device or in the host. */
#ifndef SITU_DEVICE_BUFFER_H
#define SITU_DEVICE_BUFFER_H

#include "device/device.h"

struct buffer {
  int references;              /* atomic */
  struct device *device;       /* NULL: host memory */
  struct buffer *next, **link; /* among those on devices; registry.c links them */
  void *host;                  /* its address where the host may read it, else NULL */
  size_t bytes;
  struct span span; /* on the device */
  struct memory_block block;
  void (*release)(void *context); /* of memory that belongs to somebody else */
  void *context;
  bool owns; /* host memory of huge_pages_alloc */
  bool lent; /* belongs to a program and changes with the next run: not to be kept */
};

/* Host memory, aligned to 64 bytes, not cleared. */
situ_status buffer_host(size_t bytes, struct buffer **out) SITU_MUST_USE;

/* Memory of somebody else; `release(context)` is called with the last reference. */
situ_status buffer_wrap(void *host, size_t bytes, void (*release)(void *), void *context,
                        struct buffer **out) SITU_MUST_USE;

/* A view of memory that a program owns: nothing is freed with it. */
situ_status buffer_lend(struct device *device, struct span span, size_t bytes,
                        struct buffer **out) SITU_MUST_USE;

/* Memory of a device (which is opened if need be); the tag says who asks. */
situ_status buffer_device(struct device *device, size_t bytes, const struct memory_tag *tag,
                          struct buffer **out) SITU_MUST_USE;

/* Copies bytes from the device to the host, after all that is queued there, and waits until it is
 * done. Internal where they are not all inside the buffer. */
situ_status buffer_read(const struct buffer *buffer, size_t offset, void *to,
                        size_t bytes) SITU_MUST_USE;

/* The same from the host to the buffer. */
situ_status buffer_write(struct buffer *buffer, size_t offset, const void *from,
                         size_t bytes) SITU_MUST_USE;

/* Makes a buffer on a device one in host memory with the same bytes; those that went with
 * their device become 0xff. Called by registry_evacuate. */
situ_status buffer_evacuate(struct buffer *buffer) SITU_MUST_USE;

/* Takes or gives back a reference; NULL may be released. */
struct buffer *buffer_retain(struct buffer *buffer);
void buffer_release(struct buffer *buffer);

#endif
