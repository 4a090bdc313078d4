/* SPDX-License-Identifier: Apache-2.0
 * interrupt.c: see interrupt.h. */
#include "base/interrupt.h"

#include <time.h>

#include "situ/session.h"

enum { CHECK_INTERVAL_NS = 20 * 1000 * 1000 };

static _Atomic(situ_interrupt) hook;
static _Thread_local struct interrupt_scope *current;

void situ_interrupt_set(situ_interrupt interrupt) { atomic_store(&hook, interrupt); }

bool interrupt_ask(void) {
  const situ_interrupt ask = atomic_load(&hook);
  return ask && ask();
}

struct interrupt_scope *interrupt_enter(struct interrupt_scope *scope,
                                        const _Atomic(situ_status) *failure) {
  *scope = (struct interrupt_scope){.failure = failure, .before = current};
  if (failure || !current) current = scope;
  return current;
}

void interrupt_leave(const struct interrupt_scope *scope) { current = scope->before; }

/* Only after an interval of computing: most runs end before that and ask nobody. */
static bool ask_if_due(struct interrupt_scope *scope) {
  struct timespec time;
  if (!atomic_load_explicit(&hook, memory_order_relaxed)) return false;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &time);
  const int64_t now = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
  if (now < scope->next_check) return false;
  const bool is_first = !scope->next_check;
  scope->next_check = now + CHECK_INTERVAL_NS;
  return !is_first && interrupt_ask();
}

static bool is_cancelled(const _Atomic(situ_status) *failure) {
  const situ_code code = situ_status_code(atomic_load_explicit(failure, memory_order_acquire));
  return code == SITU_CANCELLED || code == SITU_DEADLINE_EXCEEDED;
}

bool interrupt_pending(void) {
  struct interrupt_scope *scope = current;
  if (!scope) return false;
  if (scope->interrupted) return true;
  scope->interrupted = scope->failure ? is_cancelled(scope->failure) : ask_if_due(scope);
  return scope->interrupted;
}

situ_status interrupt_check(void) {
  return interrupt_pending() ? situ_status_create(SITU_CANCELLED, "The run was cancelled") : NULL;
}
