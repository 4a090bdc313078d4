/* SPDX-License-Identifier: Apache-2.0
 * heap_trim.h: returns freed memory to the system. Caches that evict many small allocations leave
 * holes between those that stay, which malloc would keep for the life of the process. */
#ifndef SITU_BASE_HEAP_TRIM_H
#define SITU_BASE_HEAP_TRIM_H

#include "base/base.h"

/* Counts an allocation that a cache has freed; trims the heap each time some megabytes have come
 * together. Large allocations do not count: malloc maps them, and unmaps them when they are freed.
 */
void heap_trim_count(uint64_t bytes);

/* Returns how often the heap was trimmed. */
uint64_t heap_trim_runs(void);

#endif
