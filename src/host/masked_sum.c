/* SPDX-License-Identifier: Apache-2.0
 * masked_sum.c: sums of floats selected by byte masks (backward max pooling), with AVX2 and AVX-512
 * versions that add the terms in the same order. */
#include "host/masked_sum.h"

#include "host/isa.h"

static void sum_scalar(const struct masked_sum *terms, int count, bool add, float *to, int64_t n) {
  for (int64_t i = 0; i < n; i++) {
    float sum = add ? to[i] : 0;
    for (int j = 0; j < count; j++)
      sum += terms->which[j][i] == terms->number[j] ? terms->from[j][i] : 0;
    to[i] = sum;
  }
}

#if defined(__x86_64__)

/* Compares 64 bytes at a time and uses the result as load masks. `valid` has a bit per existing
 * element. */
AVX512 static inline __attribute__((always_inline)) void sum_line(const struct masked_sum *terms,
                                                                  const int count, const bool add,
                                                                  float *to, int64_t at,
                                                                  uint64_t valid) {
  uint64_t selected[MASKED_SUM_TERMS];
  for (int j = 0; j < count; j++)
    selected[j] =
        _mm512_mask_cmpeq_epi8_mask(valid, _mm512_maskz_loadu_epi8(valid, terms->which[j] + at),
                                    _mm512_set1_epi8((char)terms->number[j]));
  for (int q = 0; q < 4; q++) {
    const int64_t i = at + 16 * q;
    const __mmask16 valid_lanes = (__mmask16)(valid >> (16 * q));
    __m512 sum = add ? _mm512_maskz_loadu_ps(valid_lanes, to + i) : _mm512_setzero_ps();
    for (int j = 0; j < count; j++)
      sum = _mm512_add_ps(
          sum, _mm512_maskz_loadu_ps((__mmask16)(selected[j] >> (16 * q)), terms->from[j] + i));
    _mm512_mask_storeu_ps(to + i, valid_lanes, sum);
  }
}

AVX512 static inline __attribute__((always_inline)) void sum_lines(const struct masked_sum *terms,
                                                                   const int count, const bool add,
                                                                   float *to, int64_t n) {
  int64_t i = 0;
  for (; i + 64 <= n; i += 64) sum_line(terms, count, add, to, i, UINT64_MAX);
  if (i < n) sum_line(terms, count, add, to, i, (UINT64_C(1) << (n - i)) - 1);
}

AVX512 static void sum_avx512(const struct masked_sum *terms, int count, bool add, float *to,
                              int64_t n) {
  if (add) {
    for (int j = 0; j < count; j++) {
      const struct masked_sum single_term = {
          {terms->which[j]}, {terms->from[j]}, {terms->number[j]}};
      sum_lines(&single_term, 1, true, to, n);
    }
    return;
  }
  switch (count) {
    case 0:
      sum_lines(terms, 0, false, to, n);
      break;
    case 1:
      sum_lines(terms, 1, false, to, n);
      break;
    case 2:
      sum_lines(terms, 2, false, to, n);
      break;
    case 3:
      sum_lines(terms, 3, false, to, n);
      break;
    default:
      sum_lines(terms, 4, false, to, n);
      break;
  }
}

AVX2 static void sum_avx2(const struct masked_sum *terms, int count, bool add, float *to,
                          int64_t n) {
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    __m256 sum = add ? _mm256_loadu_ps(to + i) : _mm256_setzero_ps();
    for (int j = 0; j < count; j++) {
      const __m128i bytes = _mm_loadl_epi64((const __m128i *)(const void *)(terms->which[j] + i));
      const __m256i selected =
          _mm256_cmpeq_epi32(_mm256_cvtepu8_epi32(bytes), _mm256_set1_epi32(terms->number[j]));
      sum = _mm256_add_ps(sum, _mm256_maskload_ps(terms->from[j] + i, selected));
    }
    _mm256_storeu_ps(to + i, sum);
  }
  struct masked_sum tail = *terms;
  for (int j = 0; j < count; j++) {
    tail.which[j] += i;
    tail.from[j] += i;
  }
  sum_scalar(&tail, count, add, to + i, n - i);
}

void masked_sum_run(const struct masked_sum *terms, int count, bool add, float *to, int64_t n) {
  if (HAS_AVX512)
    sum_avx512(terms, count, add, to, n);
  else if (HAS_AVX2)
    sum_avx2(terms, count, add, to, n);
  else
    sum_scalar(terms, count, add, to, n);
}

#else

void masked_sum_run(const struct masked_sum *terms, int count, bool add, float *to, int64_t n) {
  sum_scalar(terms, count, add, to, n);
}

#endif
