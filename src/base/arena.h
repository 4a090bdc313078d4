/* SPDX-License-Identifier: Apache-2.0
 * arena.h: memory that dies together: a graph's nodes, a program's commands, the scratch of a call.
 */
#ifndef SITU_BASE_ARENA_H
#define SITU_BASE_ARENA_H

#include "base/base.h"

struct arena_block;

/* Zero is an empty arena. `failed` stays set once the host had no memory to give, so that a builder
 * may ask once. */
struct arena {
  struct arena_block *blocks;
  char *next, *end;
  size_t total;
  bool failed;
};

/* Bytes aligned to 16, not cleared; NULL (and `failed`) without memory. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* The same, cleared. */
void *arena_zero(struct arena *arena, size_t bytes);

/* A copy of `length` characters, with a 0 behind them. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);

/* A printf text. */
char *arena_format(struct arena *arena, const char *format, ...) SITU_FORMAT(2, 3);

/* Gives everything back; the arena is empty and may be used again. */
void arena_free(struct arena *arena);

/* An array of `count` cleared elements of a type. */
#define ARENA_ARRAY(arena, type, count) \
  ((type *)arena_zero((arena), sizeof(type) * (size_t)(count)))

#endif
