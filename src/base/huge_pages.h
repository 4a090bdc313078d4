/* SPDX-License-Identifier: Apache-2.0
 * huge_pages.h: memory for much data, in huge pages where the system has them: a processor keeps
 * few addresses of pages at hand, drops prefetches for others, and a fault for each 4 KiB takes
 * longer than filling them. What is freed is kept for the next one that asks for as much, up to a
 * limit: the system would clear it first, which takes longer than most kernels. */
#ifndef SITU_BASE_HUGE_PAGES_H
#define SITU_BASE_HUGE_PAGES_H

#include "base/base.h"

/* Whether an allocation fits into a host with `total` bytes of memory, of which `available` can be
 * had now (0: unknown). A small part of the total always fits. */
bool huge_pages_fit(uint64_t bytes, uint64_t total, uint64_t available);

/* Whether the host can allocate that many bytes now, if need be after huge_pages_trim. The kernel
 * may grant a larger allocation and end the process when it is touched. */
bool huge_pages_available(size_t bytes);

/* Memory that begins at a multiple of `alignment`, a power of two; not cleared. huge_pages_free or
 * free() frees it. NULL if the host cannot allocate it: huge_pages_available. */
void *huge_pages_alloc(size_t bytes, size_t alignment);

/* Frees memory of huge_pages_alloc, as many bytes as were asked for, or keeps it. */
void huge_pages_free(void *memory, size_t bytes);

/* Frees all that is kept. */
void huge_pages_trim(void);

/* Asks for huge pages in memory that was mapped; only whole ones, so that nothing is wasted. */
void huge_pages_advise(void *memory, size_t bytes);

#endif
