/* SPDX-License-Identifier: Apache-2.0
 * heap_trim.c: see heap_trim.h. */
#include "base/heap_trim.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <stdatomic.h>

enum { TRIM_BYTES = 8 << 20, LARGE_BYTES = 2 << 20 };

static _Atomic uint64_t freed_bytes, runs;

void heap_trim_count(uint64_t bytes) {
  if (bytes >= LARGE_BYTES) return;
  if (atomic_fetch_add_explicit(&freed_bytes, bytes, memory_order_relaxed) + bytes < TRIM_BYTES)
    return;
  if (atomic_exchange_explicit(&freed_bytes, 0, memory_order_relaxed) < TRIM_BYTES) return;
  atomic_fetch_add_explicit(&runs, 1, memory_order_relaxed);
#ifdef __GLIBC__
  malloc_trim(0);
#endif
}

uint64_t heap_trim_runs(void) { return atomic_load_explicit(&runs, memory_order_relaxed); }
