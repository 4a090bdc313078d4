/* SPDX-License-Identifier: Apache-2.0
 * numerics.h: the process-wide setting for numeric checks. */
#ifndef SITU_API_NUMERICS_H
#define SITU_API_NUMERICS_H

#include <stdatomic.h>

#include "base/base.h"

/* 1: enabled; 0: disabled; -1: not set, the environment decides. */
extern atomic_int numerics_state;

/* Reads the environment once. */
bool numerics_read_environment(void);

/* Returns whether checks are enabled; one atomic load in the common case. */
static inline bool numerics_enabled(void) {
  const int state = atomic_load_explicit(&numerics_state, memory_order_relaxed);
  return state < 0 ? numerics_read_environment() : state;
}

#endif
