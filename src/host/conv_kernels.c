/* SPDX-License-Identifier: Apache-2.0
 * conv_kernels.c: register-tiled inner kernels of the convolution for each element type, selected
 * by instruction set at run time. */
#include "host/conv_kernels.h"

#include "host/isa.h"

#define T float
#define WIDTH 16
#define ROWS 6
#define ISA PLAIN
#define FMA(x, y, z) (x) * (y) + (z)
#define KIND "portable"
#define NAMED(name) portable_float_##name
#include "host/conv_kernel.h"

#define T double
#define WIDTH 16
#define ROWS 6
#define ISA PLAIN
#define FMA(x, y, z) (x) * (y) + (z)
#define KIND "portable"
#define NAMED(name) portable_double_##name
#include "host/conv_kernel.h"

#if defined(__x86_64__)
#define T float
#define WIDTH 32
#define ROWS 6
#define ISA AVX2
#define FMA(x, y, z) (VECTOR) _mm256_fmadd_ps((__m256)(x), (__m256)(y), (__m256)(z))
#define KIND "avx2"
#define NAMED(name) avx2_float_##name
#include "host/conv_kernel.h"

#define T double
#define WIDTH 32
#define ROWS 6
#define ISA AVX2
#define FMA(x, y, z) (VECTOR) _mm256_fmadd_pd((__m256d)(x), (__m256d)(y), (__m256d)(z))
#define KIND "avx2"
#define NAMED(name) avx2_double_##name
#include "host/conv_kernel.h"

#define T float
#define WIDTH 64
#define ROWS 12
#define ISA AVX512
#define FMA(x, y, z) (VECTOR) _mm512_fmadd_ps((__m512)(x), (__m512)(y), (__m512)(z))
#define KIND "avx512"
#define NAMED(name) avx512_float_##name
#include "host/conv_kernel.h"

#define T double
#define WIDTH 64
#define ROWS 12
#define ISA AVX512
#define FMA(x, y, z) (VECTOR) _mm512_fmadd_pd((__m512d)(x), (__m512d)(y), (__m512d)(z))
#define KIND "avx512"
#define NAMED(name) avx512_double_##name
#include "host/conv_kernel.h"
#endif

/* All kernels, slowest first per type. */
#define PORTABLE(X) X(FLOAT, portable_float, true) X(DOUBLE, portable_double, true)
#if defined(__x86_64__)
#define KERNELS(X)                   \
  PORTABLE(X)                        \
  X(FLOAT, avx2_float, HAS_AVX2)     \
  X(DOUBLE, avx2_double, HAS_AVX2)   \
  X(FLOAT, avx512_float, HAS_AVX512) \
  X(DOUBLE, avx512_double, HAS_AVX512)
#else
#define KERNELS(X) PORTABLE(X)
#endif

int conv_all_kernels(situ_type type, const struct conv_kernels **out, int capacity) {
  int count = 0;
#define ADD(TYPE, name, supported) \
  if (type == SITU_##TYPE && count < capacity && (supported)) out[count++] = &name##_kernels;
  KERNELS(ADD)
#undef ADD
  return count;
}

const struct conv_kernels *conv_kernels(situ_type type) {
  const struct conv_kernels *best = NULL;
#define ADD(TYPE, name, supported) \
  if (type == SITU_##TYPE && (supported)) best = &name##_kernels;
  KERNELS(ADD)
#undef ADD
  return best;
}
