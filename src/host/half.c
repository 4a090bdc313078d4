/* SPDX-License-Identifier: Apache-2.0
 * half.c: converts arrays between IEEE half precision (as uint16_t) and float; uses F16C if
 * available. */
#include "host/half.h"

#include <stdbool.h>
#include <string.h>

static uint32_t float_to_bits(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float bits_to_float(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float widen(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
  if (magnitude >= 0x7c00) return bits_to_float(sign | 0x7f800000 | (magnitude & 0x3ff) << 13);
  if (magnitude >= 0x400)
    return bits_to_float(sign | ((magnitude << 13) + ((uint32_t)(127 - 15) << 23)));
  const float tiny = (float)magnitude * 0x1p-24f; /* subnormal or zero */
  return bits_to_float(sign | float_to_bits(tiny));
}

static uint16_t narrow(float x) {
  const uint32_t bits = float_to_bits(x), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (magnitude >> 13 & 0x3ff));
  if (magnitude >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds to infinity */
  if (magnitude < 0x38800000) { /* subnormal: adding 0.5 makes the processor round at bit 2^-24 */
    const float shifted = bits_to_float(magnitude) + 0.5f;
    return (uint16_t)(sign | (float_to_bits(shifted) - float_to_bits(0.5f)));
  }
  const uint32_t odd = magnitude >> 13 & 1;
  return (uint16_t)(sign | ((magnitude - ((uint32_t)(127 - 15) << 23) + 0xfff + odd) >> 13));
}

#if defined(__x86_64__)
#include <immintrin.h>
#define F16C __attribute__((target("avx,f16c")))

F16C static int64_t widen_vectors(const uint16_t *from, float *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
  return i;
}

F16C static int64_t narrow_vectors(const float *from, uint16_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((void *)(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

static bool has_f16c(void) { return __builtin_cpu_supports("avx2"); /* implies F16C */ }
#else
static int64_t widen_vectors(const uint16_t *from, float *to, int64_t count) { return 0; }
static int64_t narrow_vectors(const float *from, uint16_t *to, int64_t count) { return 0; }
static bool has_f16c(void) { return false; }
#endif

void half_to_float(const uint16_t *from, float *to, int64_t count) {
  int64_t i = has_f16c() ? widen_vectors(from, to, count) : 0;
  for (; i < count; i++) to[i] = widen(from[i]);
}

void half_from_float(const float *from, uint16_t *to, int64_t count) {
  int64_t i = has_f16c() ? narrow_vectors(from, to, count) : 0;
  for (; i < count; i++) to[i] = narrow(from[i]);
}
