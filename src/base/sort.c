/* SPDX-License-Identifier: Apache-2.0
 * sort.c: a merge sort. Runs are sorted by insertion, then merged in pairs between two arrays. */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"

enum { RUN = 8, MERGES_PER_CHECK = 1 << 14 };

struct sorting {
  size_t count, size;
  int (*compare)(const void *, const void *, void *);
  void *context;
};

static void insert_all(const struct sorting *s, char *items, size_t count, char *room) {
  const size_t size = s->size;
  for (size_t i = 1; i < count; i++) {
    size_t at = i;
    while (at && s->compare(items + (at - 1) * size, items + i * size, s->context) > 0) at--;
    if (at == i) continue;
    memcpy(room, items + i * size, size);
    memmove(items + (at + 1) * size, items + at * size, (i - at) * size);
    memcpy(items + at * size, room, size);
  }
}

/* Merges two sorted runs of `from`, begin <= a < middle <= b < end, into `to`. */
static situ_status merge(const struct sorting *s, const char *from, size_t begin, size_t middle,
                         size_t end, char *to) {
  const size_t size = s->size;
  size_t a = begin, b = middle;
  for (size_t k = begin; k < end; k++) {
    if (k % MERGES_PER_CHECK == 0) TRY(interrupt_check());
    const bool first =
        b == end || (a < middle && s->compare(from + a * size, from + b * size, s->context) <= 0);
    memcpy(to + k * size, from + (first ? a++ : b++) * size, size);
  }
  return NULL;
}

/* Sorts with a second array; the result is in one of the two. */
static situ_status sort_between(const struct sorting *s, char **items, char **other) {
  for (size_t at = 0; at < s->count; at += RUN) {
    if (at % MERGES_PER_CHECK == 0) TRY(interrupt_check());
    insert_all(s, *items + at * s->size, s->count - at < RUN ? s->count - at : RUN, *other);
  }
  for (size_t run = RUN; run < s->count; run *= 2) {
    for (size_t at = 0; at < s->count; at += 2 * run) {
      const size_t middle = s->count - at < run ? s->count : at + run;
      const size_t end = s->count - middle < run ? s->count : middle + run;
      TRY(merge(s, *items, at, middle, end, *other));
    }
    char *const merged = *other;
    *other = *items;
    *items = merged;
  }
  return NULL;
}

situ_status sort_array(void *items, size_t count, size_t size,
                       int (*compare)(const void *, const void *, void *), void *context) {
  const struct sorting s = {count, size, compare, context};
  if (count < 2) return NULL;
  char *const room = malloc(count * size);
  if (!room) return NO_MEMORY();
  char *sorted = items, *other = room;
  const situ_status status = sort_between(&s, &sorted, &other);
  if (!status && sorted != items) memcpy(items, sorted, count * size);
  free(room);
  return status;
}
