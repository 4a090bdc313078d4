/* SPDX-License-Identifier: Apache-2.0
 * analyzer.h: facts about statuses for clang's static analyzer, which sees one file at a time: a
 * created status is never NULL, and adding a note or node keeps NULL or not NULL. */
#ifndef SITU_BASE_ANALYZER_H
#define SITU_BASE_ANALYZER_H

static inline situ_status status_made(situ_status status) {
  if (!status) __builtin_unreachable();
  return status;
}

static inline situ_status status_kept(situ_status before, situ_status after) {
  if (!before != !after) __builtin_unreachable();
  return after;
}

#define situ_status_create(...) status_made(situ_status_create(__VA_ARGS__))
#define status_no_memory() status_made(status_no_memory())
#define status_note(status, ...) status_kept(status, status_note(status, __VA_ARGS__))
#define status_at_node(status, node) status_kept(status, status_at_node(status, node))

#endif
