/* SPDX-License-Identifier: Apache-2.0
 * huge_pages.h: allocates large blocks in huge pages if available, to avoid TLB misses and page
 * faults. Freed blocks are cached for allocations of the same size, up to a limit, because the
 * system zeroes fresh pages, which takes longer than most kernels. */
#ifndef SITU_BASE_HUGE_PAGES_H
#define SITU_BASE_HUGE_PAGES_H

#include "base/base.h"

/* Returns whether an allocation fits into a host with `total` bytes of memory, of which `available`
 * are free (0: unknown). A small fraction of the total always fits. */
bool huge_pages_fit(uint64_t bytes, uint64_t total, uint64_t available);

/* Returns whether the host can allocate that many bytes now, if necessary after huge_pages_trim.
 * Linux may grant a larger allocation and kill the process when it is touched. */
bool huge_pages_available(size_t bytes);

/* Allocates uninitialized memory aligned to a power of two. Free it with huge_pages_free or free().
 * NULL if huge_pages_available is false. */
void *huge_pages_alloc(size_t bytes, size_t alignment);

/* Frees memory from huge_pages_alloc of that size, or caches it. */
void huge_pages_free(void *memory, size_t bytes);

/* Frees all cached blocks. */
void huge_pages_trim(void);

/* Requests huge pages (madvise) for the whole huge pages in mapped memory. */
void huge_pages_advise(void *memory, size_t bytes);

#endif
