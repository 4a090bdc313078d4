/* SPDX-License-Identifier: Apache-2.0
 * huge_pages.c: see huge_pages.h. */
#include "base/huge_pages.h"

#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
  HUGE_PAGE = 2 << 20,
  MOST_PIECES = 16,
  MOST_BYTES = 256 << 20,
  SHARE = 32,
  LITTLE = 1 << 20
};

struct piece {
  void *memory;
  size_t bytes;
};

/* What is kept, the oldest first. Who finds the lock taken does without: nobody ever waits, not
 * even in a child that was forked while it was taken. */
static struct {
  atomic_flag lock;
  int count;
  size_t bytes;
  struct piece pieces[MOST_PIECES];
} kept = {.lock = ATOMIC_FLAG_INIT};

static bool enter(void) {
  return !atomic_flag_test_and_set_explicit(&kept.lock, memory_order_acquire);
}
static void leave(void) { atomic_flag_clear_explicit(&kept.lock, memory_order_release); }

/* At most a small part of the machine's memory. Tools that watch memory must see it freed. */
static size_t limit(void) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return 0;
#else
  static _Atomic size_t known;
  size_t bytes = atomic_load_explicit(&known, memory_order_relaxed);
  if (bytes) return bytes;
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  bytes = pages > 0 && page > 0 ? (size_t)pages / SHARE * (size_t)page : MOST_BYTES;
  if (bytes > MOST_BYTES) bytes = MOST_BYTES;
  atomic_store_explicit(&known, bytes, memory_order_relaxed);
  return bytes;
#endif
}

/* Takes a piece out; called with the lock. */
static void *take(int i) {
  void *memory = kept.pieces[i].memory;
  kept.bytes -= kept.pieces[i].bytes;
  kept.count--;
  memmove(&kept.pieces[i], &kept.pieces[i + 1], (size_t)(kept.count - i) * sizeof *kept.pieces);
  return memory;
}

/* A piece of just that size: the one that was freed last, which a cache may hold. */
static void *find(size_t bytes) {
  if (!enter()) return NULL;
  int i = kept.count - 1;
  while (i >= 0 && kept.pieces[i].bytes != bytes) i--;
  void *memory = i < 0 ? NULL : take(i);
  leave();
  return memory;
}

/* The bytes behind a word of /proc/meminfo; 0 where it is not there. */
static uint64_t meminfo_bytes(const char *text, const char *word) {
  const char *at = strstr(text, word);
  return at ? strtoull(at + strlen(word), NULL, 10) << 10 : 0;
}

/* Free memory, with what the system can take back from its caches, and swap; 0: not known. */
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
  if (bytes <= total / SHARE) return true;
  return bytes <= total && (!available || bytes <= available);
}

bool huge_pages_available(size_t bytes) {
  if (bytes <= LITTLE) return true; /* reading /proc takes longer than a small allocation */
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  if (pages <= 0 || page <= 0) return true;
  const uint64_t total = (uint64_t)pages * (uint64_t)page;
  if (bytes <= total / SHARE) return true; /* without reading /proc */
  if (huge_pages_fit(bytes, total, free_bytes())) return true;
  huge_pages_trim();
  return huge_pages_fit(bytes, total, free_bytes());
}

void *huge_pages_alloc(size_t bytes, size_t alignment) {
  const size_t unit = bytes < HUGE_PAGE ? alignment : HUGE_PAGE;
  const size_t rounded = round_up(bytes ? bytes : 1, unit);
  if (rounded < bytes || rounded > PTRDIFF_MAX) return NULL;
  void *memory = unit == HUGE_PAGE ? find(rounded) : NULL;
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
  const size_t rounded = round_up(bytes, HUGE_PAGE), most = limit();
  if (!memory || bytes < HUGE_PAGE || rounded > most / 2 || !enter()) {
    free(memory);
    return;
  }
  while (kept.count == MOST_PIECES || kept.bytes + rounded > most) free(take(0));
  kept.pieces[kept.count++] = (struct piece){memory, rounded};
  kept.bytes += rounded;
  leave();
}

void huge_pages_trim(void) {
  if (!enter()) return;
  while (kept.count) free(take(0));
  leave();
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
