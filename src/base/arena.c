/* SPDX-License-Identifier: Apache-2.0
 * arena.c: arena allocator: blocks double in size up to 4 MiB. Large ones use huge pages, because
 * building a graph of 100,000 nodes otherwise spends most of its time in page faults. */
#include "base/arena.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/huge_pages.h"

enum { FIRST_BLOCK = 1024, MAX_BLOCK = 4 << 20, ALIGNMENT = 16 };

struct arena_block {
  struct arena_block *prev;
  size_t bytes;
};

static bool add_block(struct arena *arena, size_t bytes) {
  const size_t header = round_up(sizeof(struct arena_block), ALIGNMENT);
  size_t size = arena->blocks ? arena->blocks->bytes * 2 : FIRST_BLOCK;
  if (size > MAX_BLOCK) size = MAX_BLOCK;
  if (size < bytes + header) size = bytes + header;
  struct arena_block *block = size < bytes ? NULL : huge_pages_alloc(size, ALIGNMENT);
  if (!block) return false;
  block->prev = arena->blocks;
  block->bytes = size;
  arena->blocks = block;
  arena->next = (char *)block + header;
  arena->end = (char *)block + size;
  arena->total += size;
  return true;
}

void *arena_alloc(struct arena *arena, size_t bytes) {
  const size_t size = round_up(bytes, ALIGNMENT);
  const bool is_full = !arena->next || size > (size_t)(arena->end - arena->next);
  if (size < bytes || (is_full && !add_block(arena, size))) {
    arena->failed = true;
    return NULL;
  }
  void *result = arena->next;
  arena->next += size;
  return result;
}

void *arena_zero(struct arena *arena, size_t bytes) {
  void *result = arena_alloc(arena, bytes);
  if (result) memset(result, 0, bytes);
  return result;
}

char *arena_strndup(struct arena *arena, const char *text, size_t length) {
  char *copy = arena_alloc(arena, length + 1);
  if (!copy) return NULL;
  memcpy(copy, text, length);
  copy[length] = 0;
  return copy;
}

char *arena_format(struct arena *arena, const char *format, ...) {
  va_list list;
  va_start(list, format);
  va_list list_copy;
  va_copy(list_copy, list);
  const int length = vsnprintf(NULL, 0, format, list_copy);
  va_end(list_copy);
  char *text = length < 0 ? NULL : arena_alloc(arena, (size_t)length + 1);
  if (text) vsnprintf(text, (size_t)length + 1, format, list);
  va_end(list);
  return text;
}

void arena_free(struct arena *arena) {
  while (arena->blocks) {
    struct arena_block *prev = arena->blocks->prev;
    free(arena->blocks);
    arena->blocks = prev;
  }
  *arena = (struct arena){0};
}
