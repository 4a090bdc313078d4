/* SPDX-License-Identifier: Apache-2.0
 * copy.c: memory copies for collectives. The memcpy of the C library is slow on some processors for
 * sizes between a cache line and the cache. */
#include "cluster/copy.h"

#include <stdint.h>
#include <string.h>

#include "host/isa.h"

enum { BLOCK = 64 };

struct block {
  char bytes[BLOCK];
};

/* Copies whole blocks and returns their size in bytes. The barrier keeps the compiler from emitting
 * a call of memcpy. */
static inline size_t copy_blocks(char *to, const char *from, size_t bytes) {
  size_t at = 0;
  for (; at + BLOCK <= bytes; at += BLOCK) {
    struct block block;
    memcpy(&block, from + at, BLOCK);
    memcpy(to + at, &block, BLOCK);
    __asm__ volatile("" ::: "memory");
  }
  return at;
}

#if defined(__x86_64__)
AVX2 static size_t copy_avx2(char *to, const char *from, size_t bytes) {
  size_t at = 0;
  for (; at + BLOCK <= bytes; at += BLOCK) {
    const __m256i a = _mm256_loadu_si256((const void *)(from + at));
    const __m256i b = _mm256_loadu_si256((const void *)(from + at + BLOCK / 2));
    _mm256_storeu_si256((void *)(to + at), a);
    _mm256_storeu_si256((void *)(to + at + BLOCK / 2), b);
  }
  return at;
}

/* `to` must be aligned to a cache line. */
AVX2 static size_t stream_avx2(char *to, const char *from, size_t bytes) {
  size_t at = 0;
  for (; at + BLOCK <= bytes; at += BLOCK) {
    const __m256i a = _mm256_loadu_si256((const void *)(from + at));
    const __m256i b = _mm256_loadu_si256((const void *)(from + at + BLOCK / 2));
    _mm256_stream_si256((void *)(to + at), a);
    _mm256_stream_si256((void *)(to + at + BLOCK / 2), b);
  }
  _mm_sfence();
  return at;
}
#endif

void copy(void *to, const void *from, size_t bytes) {
  size_t done = 0;
#if defined(__x86_64__)
  if (HAS_AVX2) done = copy_avx2(to, from, bytes);
#endif
  done += copy_blocks((char *)to + done, (const char *)from + done, bytes - done);
  if (done < bytes) memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

void copy_nontemporal(void *to, const void *from, size_t bytes) {
  size_t done = 0;
#if defined(__x86_64__)
  const size_t misaligned = (size_t)(-(uintptr_t)to % BLOCK);
  if (HAS_AVX2 && bytes > misaligned + BLOCK) {
    copy(to, from, misaligned);
    done = misaligned + stream_avx2((char *)to + misaligned, (const char *)from + misaligned,
                                    bytes - misaligned);
  }
#endif
  copy((char *)to + done, (const char *)from + done, bytes - done);
}
