/* SPDX-License-Identifier: Apache-2.0
 * complex_number.h: <complex.h> with CMPLX, which glibc defines for GCC only. */
#ifndef SITU_BASE_COMPLEX_NUMBER_H
#define SITU_BASE_COMPLEX_NUMBER_H

#include <complex.h>

#ifndef CMPLX
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#endif
