/* SPDX-License-Identifier: Apache-2.0
 * backends.c: defines the table of back ends that device/ reads. */
#include "backend/backends.h"

#define BACKEND_ENTRY(name) &name##_backend,
const struct backend *const backends[] = {BACKENDS(BACKEND_ENTRY) NULL};
#undef BACKEND_ENTRY
