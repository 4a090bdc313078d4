/* SPDX-License-Identifier: Apache-2.0
 * random_call.h: eager calls of any op with random types, shapes, values and attributes: most of
 * them one change away from a sample of the op, so that they get past its first checks. */
#ifndef SITU_TESTS_SUPPORT_RANDOM_CALL_H
#define SITU_TESTS_SUPPORT_RANDOM_CALL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "situ/eager.h"

/* Where random bytes come from: `data` first (a fuzzer's), then a generator (state 0: zeros). */
struct random_bytes {
  const uint8_t *data, *end;
  uint64_t state;
};

/* Calls op `id` once on the device (NULL: any) and reads every output. Returns whether it was
 * called, with what the call returned in *status: not where the op touches files, other processes
 * or Python, where a node like that cannot be built, or where the outputs would be too large to
 * wait for. With SITU_TEST_VERBOSE the call is printed. */
bool random_call(situ_eager *eager, int id, const char *device, struct random_bytes *bytes,
                 situ_status *status);

#endif
