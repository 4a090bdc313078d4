/* SPDX-License-Identifier: Apache-2.0
 * glibc_symbols.h: included before every C file of a wheel: functions that glibc 2.29 has in a new
 * version are taken in the version of glibc 2.28, which computes the same. */
#if defined __x86_64__
#define FIRST_VERSION "GLIBC_2.2.5"
#elif defined __aarch64__
#define FIRST_VERSION "GLIBC_2.17"
#endif
#ifdef FIRST_VERSION
__asm__(".symver exp, exp@" FIRST_VERSION);
__asm__(".symver exp2, exp2@" FIRST_VERSION);
__asm__(".symver log, log@" FIRST_VERSION);
__asm__(".symver log2, log2@" FIRST_VERSION);
__asm__(".symver pow, pow@" FIRST_VERSION);
#endif
