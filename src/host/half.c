/* SPDX-License-Identifier: Apache-2.0
 * half.c: half precision numbers to float and back. */
#include "host/half.h"

#include <stdbool.h>
#include <string.h>

static uint32_t bits_of(float x) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static float float_of(uint32_t bits) {
  float x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static float widen(uint16_t h) {
  const uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = h & 0x7fff;
  if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
  if (rest >= 0x400) return float_of(sign | ((rest << 13) + ((uint32_t)(127 - 15) << 23)));
  const float tiny = (float)rest * 0x1p-24f; /* a subnormal number or zero */
  return float_of(sign | bits_of(tiny));
}

static uint16_t narrow(float x) {
  const uint32_t bits = bits_of(x), sign = bits >> 16 & 0x8000, rest = bits & 0x7fffffff;
  if (rest > 0x7f800000) return (uint16_t)(sign | 0x7e00 | (rest >> 13 & 0x3ff));
  if (rest >= 0x477ff000) return (uint16_t)(sign | 0x7c00); /* rounds past the largest */
  if (rest < 0x38800000) { /* subnormal: the adder of the processor rounds at bit 2^-24 */
    const float shifted = float_of(rest) + 0.5f;
    return (uint16_t)(sign | (bits_of(shifted) - bits_of(0.5f)));
  }
  const uint32_t odd = rest >> 13 & 1;
  return (uint16_t)(sign | ((rest - ((uint32_t)(127 - 15) << 23) + 0xfff + odd) >> 13));
}

#if defined(__x86_64__)
#include <immintrin.h>
#define F16C __attribute__((target("avx,f16c")))

F16C static int64_t widen_many(const uint16_t *from, float *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128((const void *)(from + i))));
  return i;
}

F16C static int64_t narrow_many(const float *from, uint16_t *to, int64_t count) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128((void *)(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
  return i;
}

static bool has_f16c(void) { return __builtin_cpu_supports("avx2"); /* which came later */ }
#else
static int64_t widen_many(const uint16_t *from, float *to, int64_t count) { return 0; }
static int64_t narrow_many(const float *from, uint16_t *to, int64_t count) { return 0; }
static bool has_f16c(void) { return false; }
#endif

void half_to_float(const uint16_t *from, float *to, int64_t count) {
  int64_t i = has_f16c() ? widen_many(from, to, count) : 0;
  for (; i < count; i++) to[i] = widen(from[i]);
}

void half_from_float(const float *from, uint16_t *to, int64_t count) {
  int64_t i = has_f16c() ? narrow_many(from, to, count) : 0;
  for (; i < count; i++) to[i] = narrow(from[i]);
}
