/* SPDX-License-Identifier: Apache-2.0
 * base.h: statuses, error macros and integer helpers that every file may use. */
#ifndef SITU_BASE_BASE_H
#define SITU_BASE_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "situ/status.h"

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Returns an error to the caller; for functions without resources to free. Others use `if (!s) s =
 * next();` chains with one clean-up at the end. */
#define TRY(call)                           \
  do {                                      \
    const situ_status try_status_ = (call); \
    if (try_status_) return try_status_;    \
  } while (0)

/* Shorthands of situ_status_create for common codes. */
#define INVALID(...) situ_status_create(SITU_INVALID_ARGUMENT, __VA_ARGS__)
#define INTERNAL(...) situ_status_create(SITU_INTERNAL, __VA_ARGS__)
#define NO_MEMORY() status_no_memory()

/* Returns a static status that needs no memory. */
situ_status status_no_memory(void) SITU_MUST_USE;

/* Appends a line of context to the message; NULL stays NULL. */
situ_status status_note(situ_status status, const char *format, ...) SITU_MUST_USE
    SITU_FORMAT(2, 3);

/* Sets the node that failed unless one is set; NULL stays NULL. */
situ_status status_at_node(situ_status status, const char *node) SITU_MUST_USE;

/* Returns the first error and releases the other. */
situ_status status_first(situ_status first, situ_status next) SITU_MUST_USE;

/* Copies a status for a second owner. */
situ_status status_copy(situ_status status) SITU_MUST_USE;

#if defined(__clang_analyzer__) && !defined(STATUS_BODY)
#include "base/analyzer.h"
#endif

static inline int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }
static inline int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }

/* Rounds up to a multiple of `unit`, a power of two. */
static inline size_t round_up(size_t n, size_t unit) { return (n + unit - 1) & ~(unit - 1); }

#endif
