/* SPDX-License-Identifier: Apache-2.0
 * macros.h: macros of code that is compiled several times: for several element types, whose names
 * are appended to those of functions, and for several instruction sets. */
#ifndef SITU_BASE_MACROS_H
#define SITU_BASE_MACROS_H

#define JOIN_(a, b) a##_##b
#define JOIN(a, b) JOIN_(a, b)

#define INLINE static inline __attribute__((always_inline))

/* A second version of a function for AVX2, selected by the dynamic loader through ifunc. Sanitizers
 * are not yet initialized at that point. */
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define CLONES __attribute__((target_clones("default", "arch=x86-64-v3")))
#define WIDE_CLONES __attribute__((target_clones("default", "arch=x86-64-v3", "arch=x86-64-v4")))
#else
#define CLONES
#endif

#endif
