/* SPDX-License-Identifier: Apache-2.0
 * copy.c: see copy.h. */
#include "cluster/copy.h"

#include <stdint.h>
#include <string.h>

#include "host/isa.h"

enum { BLOCK = 64 };

struct block {
  char bytes[BLOCK];
};

/* Copies whole blocks and returns how many bytes that were. The barrier keeps the compiler from
 * calling memcpy all the same. */
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
AVX2 static size_t copy_wide(char *to, const char *from, size_t bytes) {
  size_t at = 0;
  for (; at + BLOCK <= bytes; at += BLOCK) {
    const __m256i a = _mm256_loadu_si256((const void *)(from + at));
    const __m256i b = _mm256_loadu_si256((const void *)(from + at + BLOCK / 2));
    _mm256_storeu_si256((void *)(to + at), a);
    _mm256_storeu_si256((void *)(to + at + BLOCK / 2), b);
  }
  return at;
}

/* `to` begins on a line. */
AVX2 static size_t copy_lines(char *to, const char *from, size_t bytes) {
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
  if (HAS_AVX2) done = copy_wide(to, from, bytes);
#endif
  done += copy_blocks((char *)to + done, (const char *)from + done, bytes - done);
  if (done < bytes) memcpy((char *)to + done, (const char *)from + done, bytes - done);
}

void copy_nontemporal(void *to, const void *from, size_t bytes) {
  size_t done = 0;
#if defined(__x86_64__)
  const size_t before = (size_t)(-(uintptr_t)to % BLOCK);
  if (HAS_AVX2 && bytes > before + BLOCK) {
    copy(to, from, before);
    done = before + copy_lines((char *)to + before, (const char *)from + before, bytes - before);
  }
#endif
  copy((char *)to + done, (const char *)from + done, bytes - done);
}
