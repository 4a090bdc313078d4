/* SPDX-License-Identifier: Apache-2.0
 * random_call.h: eager calls of any op with random types, shapes, values and attributes: most of
 * them one change away from a sample of the op, so that they get past its first checks. */
#ifndef SITU_TESTS_SUPPORT_RANDOM_CALL_H
#define SITU_TESTS_SUPPORT_RANDOM_CALL_H

#include "support/random_values.h"

/* Calls op `id` once on the device (NULL: any) and reads every output. Returns whether it was
 * called, with what the call returned in *status: not where the op touches files, other processes
 * or Python, where a node like that cannot be built, or where the outputs would be too large to
 * wait for. With SITU_TEST_VERBOSE the call is printed. */
bool random_call(situ_eager *eager, int id, const char *device, struct random_bytes *bytes,
                 situ_status *status);

/* Reads every byte of a tensor in host memory, for the sanitizers; NULL is ignored. */
void read_tensor(const situ_tensor *tensor);

#endif
