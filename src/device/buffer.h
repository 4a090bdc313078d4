/* SPDX-License-Identifier: Apache-2.0
 * buffer.h: reference-counted memory on a device or on the host. */
#ifndef SITU_DEVICE_BUFFER_H
#define SITU_DEVICE_BUFFER_H

#include <stdatomic.h>

#include "device/device.h"

struct buffer {
  int references;              /* atomic */
  struct device *device;       /* NULL: host memory */
  struct buffer *next, **link; /* list of buffers on devices, maintained by registry.c */
  void *host;                  /* host address if accessible from the host, else NULL */
  size_t bytes;
  struct span span;
  struct memory_block block;
  void (*release)(void *context); /* releases external memory */
  void *context;
  bool owns;        /* host memory from huge_pages_alloc */
  bool lent;        /* memory of a program that the next run overwrites; must not be retained */
  bool is_variable; /* lent to a function: memory of a variable */
  _Atomic bool is_assigned; /* such a variable has a value; the function changes it */
};

/* Allocates host memory, aligned to 64 bytes, uninitialized. */
situ_status buffer_host(size_t bytes, struct buffer **out) SITU_MUST_USE;

/* Wraps external host memory; `release(context)` is called with the last reference. */
situ_status buffer_wrap(void *host, size_t bytes, void (*release)(void *), void *context,
                        struct buffer **out) SITU_MUST_USE;

/* Returns a view of memory that a program owns; releasing it frees nothing. */
situ_status buffer_lend(struct device *device, struct span span, size_t bytes,
                        struct buffer **out) SITU_MUST_USE;

/* Allocates device memory, opening the device if necessary; `tag` describes the allocation. */
situ_status buffer_device(struct device *device, size_t bytes, const struct memory_tag *tag,
                          struct buffer **out) SITU_MUST_USE;

/* Copies bytes to the host after all enqueued work of the device, and waits for completion.
 * Internal if the range is out of bounds. */
situ_status buffer_read(const struct buffer *buffer, size_t offset, void *to,
                        size_t bytes) SITU_MUST_USE;

/* Copies bytes from the host to the buffer; otherwise as buffer_read. */
situ_status buffer_write(struct buffer *buffer, size_t offset, const void *from,
                         size_t bytes) SITU_MUST_USE;

/* Moves a buffer from its device to host memory. If the device is lost, the bytes become 0xff.
 * Called by registry_evacuate. */
situ_status buffer_evacuate(struct buffer *buffer) SITU_MUST_USE;

/* Adds or drops a reference; NULL is allowed. */
struct buffer *buffer_retain(struct buffer *buffer);
void buffer_release(struct buffer *buffer);

#endif
