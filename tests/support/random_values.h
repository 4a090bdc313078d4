/* SPDX-License-Identifier: Apache-2.0
 * random_values.h: numbers, strings, types, shapes and tensors from random bytes. */
#ifndef SITU_TESTS_SUPPORT_RANDOM_VALUES_H
#define SITU_TESTS_SUPPORT_RANDOM_VALUES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "situ/situ.h"

/* Where random bytes come from: `data` first (a fuzzer's), then a generator (state 0: zeros). */
struct random_bytes {
  const uint8_t *data, *end;
  uint64_t state;
};

unsigned random_byte(struct random_bytes *bytes);

/* Mostly small; sometimes at the limits of its type. */
int64_t random_integer(struct random_bytes *bytes);
double random_real(struct random_bytes *bytes);
const char *random_string(struct random_bytes *bytes);

/* Of rank 0 to 5, rarely more, with sizes of 0 to 4. */
situ_shape random_shape(struct random_bytes *bytes);

/* One of the allowed types, which are bits; float if none is found. */
situ_type random_type(struct random_bytes *bytes, uint32_t allowed);

/* A tensor with random elements; integers that are `tame` are 0, 1 or 2, so that most of them are
 * indices. NULL for a shape too large, or a type without values. */
situ_tensor *random_tensor(struct random_bytes *bytes, struct arena *arena, situ_type type,
                           situ_shape shape, bool tame);

#endif
