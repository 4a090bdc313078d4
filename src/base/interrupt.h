/* SPDX-License-Identifier: Apache-2.0
 * interrupt.h: ends long computations when the program is interrupted.
 *
 * What a thread computes between interrupt_enter and interrupt_leave (a run, a chunk of a kernel in
 * a helper thread) is a scope. Code that may compute for longer than 20 ms calls interrupt_check or
 * interrupt_pending at least that often, in the thread of the scope. Once a scope is interrupted,
 * both say so until it ends: a function without a status just returns early, because the owner of
 * the scope discards its results. Outside of a scope nothing is interrupted. */
#ifndef SITU_BASE_INTERRUPT_H
#define SITU_BASE_INTERRUPT_H

#include <stdatomic.h>

#include "base/base.h"

struct interrupt_scope {
  const _Atomic(situ_status) *failure; /* a cancellation ends the scope; NULL: the hook decides */
  int64_t next_check;                  /* when to ask the hook, in ns; 0: not yet known */
  bool interrupted;
  struct interrupt_scope *before; /* of this thread */
};

/* Begins a scope of this thread. With a NULL failure, an outer scope remains the current one.
 * Returns the current scope. */
struct interrupt_scope *interrupt_enter(struct interrupt_scope *scope,
                                        const _Atomic(situ_status) *failure);
void interrupt_leave(const struct interrupt_scope *scope);

/* Returns whether the computation of this thread has to end. Takes a few nanoseconds; asks the
 * hook at most every 20 ms. */
bool interrupt_pending(void);

/* The same as a status: Cancelled, or NULL. */
situ_status interrupt_check(void) SITU_MUST_USE;

/* Asks the hook of situ_interrupt_set now. */
bool interrupt_ask(void);

#endif
