/* SPDX-License-Identifier: Apache-2.0
 * huge_pages.c: allocates large blocks in huge pages and caches freed ones. */
#include "base/huge_pages.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  HUGE_PAGE = 2 << 20,
  MAX_BLOCKS = 16,
  MAX_CACHE_BYTES = 256 << 20,
  MEMORY_FRACTION = 32,
  SMALL_BYTES = 1 << 20
};

struct block {
  void *memory;
  size_t bytes;
};

/* Cached blocks, oldest first. The lock is only tried: on contention, or in a child forked while it
 * was held, the cache is bypassed. */
static struct {
  atomic_flag lock;
  int count;
  size_t bytes;
  struct block blocks[MAX_BLOCKS];
} cache = {.lock = ATOMIC_FLAG_INIT};

static bool try_lock(void) {
  return !atomic_flag_test_and_set_explicit(&cache.lock, memory_order_acquire);
}
static void unlock(void) { atomic_flag_clear_explicit(&cache.lock, memory_order_release); }

/* Returns the capacity of the cache, a small fraction of the memory; 0 under sanitizers, which must
 * see memory freed. */
static size_t cache_limit(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  static _Atomic size_t cached_limit;
  size_t bytes = atomic_load_explicit(&cached_limit, memory_order_relaxed);
  if (bytes) return bytes;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  bytes = pages > 0 && page > 0 ? (size_t)pages / MEMORY_FRACTION * (size_t)page : MAX_CACHE_BYTES;
  if (bytes > MAX_CACHE_BYTES) bytes = MAX_CACHE_BYTES;
  atomic_store_explicit(&cached_limit, bytes, memory_order_relaxed);
  return bytes;
#endif
}

/* Removes a block. Must hold the lock. */
static void *remove_block(int i) {
  void *memory = cache.blocks[i].memory;
  cache.bytes -= cache.blocks[i].bytes;
  cache.count--;
  memmove(&cache.blocks[i], &cache.blocks[i + 1], (size_t)(cache.count - i) * sizeof *cache.blocks);
  return memory;
}

/* Returns the most recently freed block of exactly that size, or NULL. */
static void *find_block(size_t bytes) {
  if (!try_lock()) return NULL;
  int i = cache.count - 1;
  while (i >= 0 && cache.blocks[i].bytes != bytes) i--;
  void *memory = i < 0 ? NULL : remove_block(i);
  unlock();
  return memory;
}

/* Returns a value of /proc/meminfo in bytes; 0 if absent. */
static uint64_t meminfo_bytes(const char *text, const char *key) {
  const char *at = strstr(text, key);
  return at ? strtoull(at + strlen(key), NULL, 10) << 10 : 0;
}

/* Returns the available memory and swap; 0 if unknown. */
static uint64_t free_bytes(void) {
  char text[4096] = "";
  const int file = open("/proc/meminfo", O_RDONLY | O_CLOEXEC);
  if (file < 0) return 0;
  const ssize_t n = read(file, text, sizeof text - 1);
  close(file);
  if (n <= 0) return 0;
  const uint64_t memory = meminfo_bytes(text, "MemAvailable:");
  return memory ? memory + meminfo_bytes(text, "SwapFree:") : 0;
}

bool huge_pages_fit(uint64_t bytes, uint64_t total, uint64_t available) {
  if (bytes <= total / MEMORY_FRACTION) return true;
  return bytes <= total && (!available || bytes <= available);
}

bool huge_pages_available(size_t bytes) {
  if (bytes <= SMALL_BYTES)
    return true; /* skips /proc, which is slow compared to a small allocation */
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return true;
  const uint64_t total = (uint64_t)pages * (uint64_t)page;
  if (bytes <= total / MEMORY_FRACTION) return true; /* skips /proc */
  if (huge_pages_fit(bytes, total, free_bytes())) return true;
  huge_pages_trim();
  return huge_pages_fit(bytes, total, free_bytes());
}

void *huge_pages_alloc(size_t bytes, size_t alignment) {
  const size_t unit = bytes < HUGE_PAGE ? alignment : HUGE_PAGE;
  const size_t rounded = round_up(bytes ? bytes : 1, unit);
  if (rounded < bytes || rounded > PTRDIFF_MAX) return NULL;
  void *memory = unit == HUGE_PAGE ? find_block(rounded) : NULL;
  if (memory) return memory;
  if (!huge_pages_available(rounded)) return NULL;
  memory = aligned_alloc(unit, rounded);
  if (!memory) {
    huge_pages_trim();
    memory = aligned_alloc(unit, rounded);
  }
  if (memory && unit == HUGE_PAGE) huge_pages_advise(memory, bytes);
  return memory;
}

void huge_pages_free(void *memory, size_t bytes) {
  const size_t rounded = round_up(bytes, HUGE_PAGE), max_bytes = cache_limit();
  if (!memory || bytes < HUGE_PAGE || rounded > max_bytes / 2 || !try_lock()) {
    free(memory);
    return;
  }
  while (cache.count == MAX_BLOCKS || cache.bytes + rounded > max_bytes) free(remove_block(0));
  cache.blocks[cache.count++] = (struct block){memory, rounded};
  cache.bytes += rounded;
  unlock();
}

void huge_pages_trim(void) {
  if (!try_lock()) return;
  while (cache.count) free(remove_block(0));
  unlock();
}

void huge_pages_advise(void *memory, size_t bytes) {
#ifdef MADV_HUGEPAGE
  const uintptr_t first = round_up((uintptr_t)memory, HUGE_PAGE);
  const uintptr_t end = ((uintptr_t)memory + bytes) & ~(uintptr_t)(HUGE_PAGE - 1);
  if (first < end) madvise((void *)first, end - first, MADV_HUGEPAGE); /* a hint: may fail */
#else
  (void)memory;
  (void)bytes;
#endif
}
