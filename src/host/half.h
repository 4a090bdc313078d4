/* SPDX-License-Identifier: Apache-2.0
 * half.h: half precision numbers, as bits, to float and back, many at a time. */
#ifndef SITU_HOST_HALF_H
#define SITU_HOST_HALF_H

#include <stdint.h>

/* Exact. */
void half_to_float(const uint16_t *from, float *to, int64_t count);

/* Rounds to nearest, ties to even; what is too large becomes infinite. */
void half_from_float(const float *from, uint16_t *to, int64_t count);

#endif
