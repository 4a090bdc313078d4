/* SPDX-License-Identifier: Apache-2.0
 * pick.h: sums of floats that bytes beside them choose: what compilers make poor vectors of. */
#ifndef SITU_HOST_PICK_H
#define SITU_HOST_PICK_H

#include <stdbool.h>
#include <stdint.h>

enum { PICK_MOST = 4 };

/* Terms: element i of `from` counts where byte i of `which` is `number`. */
struct pick {
  const uint8_t *which[PICK_MOST];
  const float *from[PICK_MOST];
  uint8_t number[PICK_MOST];
};

/* Sums up the first `count` terms into n elements of `to`, or adds them to what is there. */
void pick_sum(const struct pick *pick, int count, bool add, float *to, int64_t n);

#endif
