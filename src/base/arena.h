/* SPDX-License-Identifier: Apache-2.0
 * arena.h: arena allocator: memory that is freed together, such as the nodes of a graph, the
 * commands of a program or the scratch of a call.
 */
#ifndef SITU_BASE_ARENA_H
#define SITU_BASE_ARENA_H

#include "base/base.h"

struct arena_block;

/* Zero-initialized is empty. `failed` is sticky once an allocation has failed, so that a builder
 * can check it once. */
struct arena {
  struct arena_block *blocks;
  char *next, *end;
  size_t total;
  bool failed;
};

/* Allocates bytes aligned to 16, uninitialized; returns NULL and sets `failed` if out of memory. */
void *arena_alloc(struct arena *arena, size_t bytes);

/* Allocates zeroed bytes. */
void *arena_zero(struct arena *arena, size_t bytes);

/* Copies `length` characters and terminates them. */
char *arena_strndup(struct arena *arena, const char *text, size_t length);

/* Formats as printf. */
char *arena_format(struct arena *arena, const char *format, ...) SITU_FORMAT(2, 3);

/* Frees everything; the arena is empty and can be used again. */
void arena_free(struct arena *arena);

/* Allocates an array of `count` zeroed elements. */
#define ARENA_ARRAY(arena, type, count) \
  ((type *)arena_zero((arena), sizeof(type) * (size_t)(count)))

#endif
