/* SPDX-License-Identifier: Apache-2.0
 * host_memory.h: counts and bounds the host memory of buffers (SITU_HOST_MEMORY). Contents of at
 * most some hundred bytes, strings and memory of the caller are not counted. */
#ifndef SITU_DEVICE_HOST_MEMORY_H
#define SITU_DEVICE_HOST_MEMORY_H

#include "device/memory.h"

/* Allocates memory as huge_pages_alloc. If it does not fit, idle memory is reclaimed first. NULL if
 * the limit or the memory of the host is exceeded. Free it with host_memory_free. */
void *host_memory_alloc(size_t bytes, size_t alignment);
void host_memory_free(void *memory, size_t bytes);

/* ResourceExhausted for an allocation that returned NULL; `tag` may be NULL. */
situ_status host_memory_oom(size_t bytes, const struct memory_tag *tag) SITU_MUST_USE;

/* Returns the bytes in use. */
uint64_t host_memory_in_use(void);

/* Sets the limit, instead of SITU_HOST_MEMORY; 0: none. */
void host_memory_set_limit(uint64_t bytes);

/* Sets the function that frees idle memory; it must not wait for locks. */
void host_memory_set_reclaimer(uint64_t (*reclaim)(void));

#endif
