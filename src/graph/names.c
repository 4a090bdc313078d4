/* SPDX-License-Identifier: Apache-2.0
 * names.c: see names.h. */
#include "graph/names.h"

#include <stdlib.h>
#include <string.h>

enum { NUMBER_ROOM = 12 }; /* "_2147483647" and the 0 */

static bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.';
}

bool names_legal_inside(const char *name) {
  for (const char *at = name; *at; at++)
    if (!is_plain(*at) && *at != '_' && *at != '-' && *at != '/') return false;
  return *name;
}

bool names_legal(const char *name) { return is_plain(*name) && names_legal_inside(name); }

static char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* The length of the part before "_57", with *number set; 0 where a name does not end so. */
static size_t before_number(const char *name, size_t length, int32_t *number) {
  size_t at = length;
  int64_t value = 0, unit = 1;
  while (at && name[at - 1] >= '0' && name[at - 1] <= '9' && length - at < 9) {
    value += (name[--at] - '0') * unit;
    unit *= 10;
  }
  if (at == length || at < 2 || name[at - 1] != '_' || name[at] == '0') return 0;
  *number = (int32_t)value;
  return at - 1;
}

/* Whether a base counts this name among its numbered ones. */
static bool is_numbered(const struct names *names, const char *key, size_t length) {
  int32_t number = 0;
  const size_t base = before_number(key, length, &number);
  const int32_t place = base ? map_get(&names->bases, key, base) : -1;
  return place >= 0 && number < names->next[place];
}

/* Enters a base whose next number is `next`. */
static bool enter(struct names *names, struct arena *arena, const char *key, size_t length,
                  int32_t next) {
  if (names->count == names->capacity) {
    const int32_t capacity = names->capacity ? names->capacity * 2 : 64;
    int32_t *grown = realloc(names->next, (size_t)capacity * sizeof *grown);
    if (!grown) return false;
    names->next = grown;
    names->capacity = capacity;
  }
  int32_t number = 0;
  if (before_number(key, length, &number)) names->numbered = true;
  const char *copy = arena_text(arena, key, length);
  if (!copy || !map_put(&names->bases, copy, names->count)) return false;
  names->next[names->count++] = next;
  return true;
}

/* Writes "_57" at `to` and returns its length. */
static size_t write_number(char *to, int32_t number) {
  char digits[NUMBER_ROOM];
  size_t count = 0, length = 0;
  for (; number; number /= 10) digits[count++] = (char)('0' + number % 10);
  to[length++] = '_';
  while (count) to[length++] = digits[--count];
  to[length] = 0;
  return length;
}

/* Appends the first free number to `name` and to `key`, its lower case. */
static void number_name(struct names *names, int32_t place, char *name, char *key, size_t length) {
  size_t suffix = 0;
  do {
    suffix = write_number(name + length, names->next[place]++);
    if (!names->numbered) return;
    memcpy(key + length, name + length, suffix);
  } while (map_get(&names->bases, key, length + suffix) >= 0);
}

static bool make_unique(struct names *names, struct arena *arena, char *name, char *key,
                        size_t length) {
  int32_t place = map_get(&names->bases, key, length);
  if (place < 0) {
    const bool taken = is_numbered(names, key, length);
    if (!enter(names, arena, key, length, 1)) return false;
    if (!taken) return true;
    place = names->count - 1;
  }
  number_name(names, place, name, key, length);
  return true;
}

const char *names_unique(struct names *names, struct arena *arena, const char *prefix,
                         const char *name) {
  const size_t front = strlen(prefix), back = strlen(name), length = front + back;
  char small[256];
  char *result = arena_alloc(arena, length + NUMBER_ROOM);
  char *key = length + NUMBER_ROOM <= sizeof small ? small : malloc(length + NUMBER_ROOM);
  bool done = result && key;
  if (done) {
    memcpy(result, prefix, front);
    memcpy(result + front, name, back + 1);
    for (size_t i = 0; i < length; i++) key[i] = lower(result[i]);
    done = make_unique(names, arena, result, key, length);
  }
  if (key != small) free(key);
  return done ? result : NULL;
}

bool names_mark(struct names *names, struct arena *arena, const char *name) {
  const size_t length = strlen(name);
  char *key = arena_text(arena, name, length);
  if (!key) return false;
  for (size_t i = 0; i < length; i++) key[i] = lower(key[i]);
  if (map_get(&names->bases, key, length) >= 0 || is_numbered(names, key, length)) return true;
  return enter(names, arena, key, length, 1);
}

void names_free(struct names *names) {
  map_free(&names->bases);
  free(names->next);
  *names = (struct names){0};
}
