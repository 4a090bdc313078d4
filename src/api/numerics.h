/* SPDX-License-Identifier: Apache-2.0
 * numerics.h: whether the process checks what it computes for NaN and infinities. */
#ifndef SITU_API_NUMERICS_H
#define SITU_API_NUMERICS_H

#include <stdatomic.h>

#include "base/base.h"

/* 1: yes; 0: no; -1: nobody has said: the environment is asked. */
extern atomic_int numerics_state;

/* Asks the environment, once. */
bool numerics_ask(void);

/* Whether whatever is run next is checked; little more than a look at a number. */
static inline bool numerics_wanted(void) {
  const int state = atomic_load_explicit(&numerics_state, memory_order_relaxed);
  return state < 0 ? numerics_ask() : state;
}

#endif
