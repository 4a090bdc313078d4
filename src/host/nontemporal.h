/* SPDX-License-Identifier: Apache-2.0
 * nontemporal.h: non-temporal stores, for results larger than the cache: they avoid reading the
 * destination and evicting other data. STREAM_END orders them before later stores. */
#ifndef SITU_HOST_NONTEMPORAL_H
#define SITU_HOST_NONTEMPORAL_H

#include <string.h>

enum { NONTEMPORAL_MIN_BYTES = 16 << 20 }; /* minimum size of a result */

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

#endif
