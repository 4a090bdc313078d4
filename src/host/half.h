/* SPDX-License-Identifier: Apache-2.0
 * half.h: converts arrays between IEEE half precision (as uint16_t) and float; uses F16C if
 * available. */
#ifndef SITU_HOST_HALF_H
#define SITU_HOST_HALF_H

#include <stdint.h>

/* Exact. */
void half_to_float(const uint16_t *from, float *to, int64_t count);

/* Rounds to nearest, ties to even; overflows to infinity. */
void half_from_float(const float *from, uint16_t *to, int64_t count);

#endif
