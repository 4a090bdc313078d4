/* SPDX-License-Identifier: Apache-2.0
 * nontemporal.h: non-temporal stores, for results larger than the cache: nothing is read before
 * it is written over, and what others will read again stays. STREAM_END orders them before what
 * follows. */
#ifndef SITU_HOST_NONTEMPORAL_H
#define SITU_HOST_NONTEMPORAL_H

#include <stddef.h>
#include <string.h>

enum { NONTEMPORAL_MIN_BYTES = 16 << 20 }; /* results from here on */

#if defined(__x86_64__)
#include <emmintrin.h>
enum { CAN_STREAM = 1 };
#define STREAM(to, vector) _mm_stream_si128((__m128i *)(void *)(to), (__m128i)(vector))
#define STREAM_END() _mm_sfence()
#else
enum { CAN_STREAM = 0 };
#define STREAM(to, vector) memcpy(to, &(vector), sizeof(vector))
#define STREAM_END() ((void)0)
#endif

/* Copies whole lines of the cache, 64 bytes each, to a place that begins with one. */
static inline __attribute__((always_inline)) void stream_copy(void *to, const void *from,
                                                              size_t bytes) {
#if defined(__x86_64__)
  for (size_t i = 0; i < bytes; i += 16)
    STREAM((char *)to + i,
           _mm_loadu_si128((const __m128i *)(const void *)((const char *)from + i)));
#else
  memcpy(to, from, bytes);
#endif
}

#endif
