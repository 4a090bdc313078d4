/* SPDX-License-Identifier: Apache-2.0
 * regex_class.c: sets of characters and named classes of regular expressions. */
#include <stdlib.h>
#include <string.h>

#include "ops/string/regex.h"
#include "ops/string/unicode_category.h"

void regex_set_add(struct arena *arena, struct regex_set *set, uint32_t first, uint32_t last) {
  if ((set->count & (set->count - 1)) == 0) { /* full: the capacity is a power of 2 */
    struct regex_range *ranges = ARENA_ARRAY(arena, struct regex_range, 2 * set->count + 1);
    if (!ranges) return;
    if (set->count) memcpy(ranges, set->ranges, (size_t)set->count * sizeof *ranges);
    set->ranges = ranges;
  }
  set->ranges[set->count++] = (struct regex_range){first, last};
}

static int by_first(const void *a, const void *b) {
  const struct regex_range *x = a, *y = b;
  return (x->first > y->first) - (x->first < y->first);
}

void regex_set_sort(struct regex_set *set) {
  int n = 0;
  if (!set->count) return;
  qsort(set->ranges, (size_t)set->count, sizeof *set->ranges, by_first);
  for (int i = 1; i < set->count; i++) {
    struct regex_range *end = &set->ranges[n];
    if (set->ranges[i].first <= end->last + 1)
      end->last = end->last > set->ranges[i].last ? end->last : set->ranges[i].last;
    else
      set->ranges[++n] = set->ranges[i];
  }
  set->count = n + 1;
}

void regex_set_invert(struct arena *arena, struct regex_set *set) {
  struct regex_set out = {.folds = set->folds};
  uint32_t next = 0;
  for (int i = 0; i < set->count; i++) {
    if (set->ranges[i].first > next) regex_set_add(arena, &out, next, set->ranges[i].first - 1);
    next = set->ranges[i].last + 1;
  }
  if (next <= REGEX_LAST_CODE) regex_set_add(arena, &out, next, REGEX_LAST_CODE);
  *set = out;
}

bool regex_set_contains(const struct regex_set *set, uint32_t c) {
  int low = 0, high = set->count;
  while (low < high) {
    const int middle = (low + high) / 2;
    if (set->ranges[middle].last < c)
      low = middle + 1;
    else
      high = middle;
  }
  return low < set->count && set->ranges[low].first <= c;
}

/* The classes of ASCII: pairs of first and last characters. */
static const struct {
  const char *name, *ranges;
} classes[] = {
    {"d", "09"},       {"s", "\t\n\f\r  "},  {"w", "09AZ__az"},     {"alnum", "09AZaz"},
    {"alpha", "AZaz"}, {"blank", "\t\t  "},  {"digit", "09"},       {"graph", "!~"},
    {"lower", "az"},   {"print", " ~"},      {"punct", "!/:@[`{~"}, {"space", "\t\r  "},
    {"upper", "AZ"},   {"word", "09AZ__az"}, {"xdigit", "09AFaf"},
};

static bool same(situ_string name, const char *text) {
  return strlen(text) == name.length && !memcmp(name.data, text, name.length);
}

bool regex_class_add(struct arena *arena, situ_string name, bool unicode, struct regex_set *set) {
  uint32_t first, last;
  if (unicode) {
    const bool any = same(name, "Any");
    if (any) regex_set_add(arena, set, 0, REGEX_LAST_CODE);
    if (any || !unicode_category_exists(name)) return any;
    for (size_t at = 0; unicode_category_next(name, &at, &first, &last);)
      regex_set_add(arena, set, first, last);
    return true;
  }
  if (same(name, "ascii")) regex_set_add(arena, set, 0, 0x7F);
  if (same(name, "cntrl")) {
    regex_set_add(arena, set, 0, 0x1F);
    regex_set_add(arena, set, 0x7F, 0x7F);
  }
  for (size_t i = 0; i < COUNT_OF(classes); i++) {
    if (!same(name, classes[i].name)) continue;
    for (const char *at = classes[i].ranges; *at; at += 2)
      regex_set_add(arena, set, (unsigned char)at[0], (unsigned char)at[1]);
  }
  return set->count > 0;
}
