/* SPDX-License-Identifier: Apache-2.0
 * isa.h: target attributes of the instruction sets that inner loops are compiled for, and their
 * detection. */
#ifndef SITU_HOST_ISA_H
#define SITU_HOST_ISA_H

#define PLAIN

#if defined(__x86_64__)
#include <immintrin.h>

#define AVX2 __attribute__((target("avx2,fma")))
#define AVX512 __attribute__((target("avx512f,avx512dq,avx512bw,avx512vl,fma")))

#define HAS_AVX2 (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
#define HAS_AVX512                                                            \
  (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && \
   __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
#endif

#endif
