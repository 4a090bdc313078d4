/* SPDX-License-Identifier: Apache-2.0
 * visible.c: see visible.h. */
#include "device/visible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/bus_id.h"

/* A piece of a text. */
struct piece {
  const char *start;
  size_t length;
};

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static struct piece trim(struct piece piece) {
  while (piece.length && is_blank(piece.start[0])) piece.start++, piece.length--;
  while (piece.length && is_blank(piece.start[piece.length - 1])) piece.length--;
  return piece;
}

/* Cuts the next entry off a comma list; false when none is left. */
static bool next_entry(struct piece *list, struct piece *entry) {
  if (!list->start) return false;
  const char *comma = memchr(list->start, ',', list->length);
  const size_t length = comma ? (size_t)(comma - list->start) : list->length;
  *entry = (struct piece){list->start, length};
  *list = comma ? (struct piece){comma + 1, list->length - length - 1} : (struct piece){NULL, 0};
  return true;
}

/* Reads a whole piece as a decimal number, blanks around it allowed. */
static bool read_index(struct piece piece, int32_t *out) {
  const struct piece digits = trim(piece);
  char copy[16], *end;
  if (!digits.length || digits.length >= sizeof copy) return false;
  memcpy(copy, digits.start, digits.length);
  copy[digits.length] = 0;
  errno = 0;
  const long value = strtol(copy, &end, 10);
  if (*end || errno || value < INT32_MIN || value > INT32_MAX) return false;
  *out = (int32_t)value;
  return true;
}

/* ---- The environment ---- */

const char *visible_environment(const char **variable) {
  static const char *const names[] = {"SITU_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"};
  for (size_t i = 0; i < COUNT_OF(names); i++) {
    const char *value = getenv(names[i]);
    if (!value) continue;
    *variable = names[i];
    return value;
  }
  *variable = NULL;
  return NULL;
}

/* Shells that do not know quotes leave them in. */
static struct piece unquote(const char *value) {
  struct piece piece = trim((struct piece){value, strlen(value)});
  if (piece.length >= 2 && (*piece.start == '"' || *piece.start == '\'') &&
      piece.start[piece.length - 1] == *piece.start)
    piece = trim((struct piece){piece.start + 1, piece.length - 2});
  return piece;
}

static bool is_unit(struct piece entry, const char *unit) {
  const bool is_one =
      entry.length >= 4 && (!strncmp(entry.start, "GPU-", 4) || !strncmp(entry.start, "MIG-", 4));
  return unit && is_one && strlen(unit) >= entry.length &&
         !strncasecmp(unit, entry.start, entry.length);
}

static bool is_bus_id(struct piece entry, const char *bus_id) {
  uint64_t wanted, there;
  return bus_id && bus_id_parse(entry.start, entry.length, &wanted) &&
         bus_id_parse(bus_id, strlen(bus_id), &there) && wanted == there;
}

/* The one device that an entry names, or -1; -2 where it is a negative index. */
static int find_device(struct piece entry, const struct visible_device *devices, int count) {
  int32_t index;
  if (read_index(entry, &index)) return index < 0 ? -2 : index < count ? index : -1;
  int found = -1;
  for (int i = 0; i < count; i++) {
    if (!is_unit(entry, devices[i].unit) && !is_bus_id(entry, devices[i].bus_id)) continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* Says that the list was cut at an entry. */
static void explain(const char *variable, const char *value, struct piece entry, const char *what,
                    char note[VISIBLE_NOTE_SIZE]) {
  snprintf(note, VISIBLE_NOTE_SIZE, "%s=%.80s: '%.*s' %s.", variable ? variable : "visible devices",
           value, entry.length > 48 ? 48 : (int)entry.length, entry.start, what);
}

int visible_mask(const char *variable, const char *value, const struct visible_device *devices,
                 int count, int *out, char note[VISIBLE_NOTE_SIZE]) {
  int n = 0;
  note[0] = 0;
  for (; !value && n < count; n++) out[n] = n;
  if (!value) return n;
  struct piece list = unquote(value), entry;
  if (!list.length) return 0;
  while (next_entry(&list, &entry)) {
    entry = trim(entry);
    const int device = find_device(entry, devices, count);
    if (device == -2 && !list.start) return n;
    if (device < 0) {
      explain(variable, value, entry, "names no GPU, so the list ends before it", note);
      return n;
    }
    for (int i = 0; i < n; i++) {
      if (out[i] != device) continue;
      explain(variable, value, entry, "names a GPU a second time, so none is visible", note);
      return 0;
    }
    out[n++] = device;
  }
  return n;
}

/* ---- Options of a session ---- */

static situ_status read_entry(const char *list, struct piece entry, int count, int32_t *out) {
  if (!read_index(entry, out))
    return INVALID(
        "Could not parse entry in 'visible_device_list': '%.*s'. visible_device_list = %s",
        (int)entry.length, entry.start, list);
  if (*out < 0 || *out >= count)
    return INVALID(
        "'visible_device_list' listed an invalid GPU id '%d' but visible device count is %d",
        (int)*out, count);
  return NULL;
}

situ_status visible_list(const char *list, int count, int *out, int *n_out) {
  int n = 0;
  bool is_twice = false;
  struct piece rest = {list, list ? strlen(list) : 0}, entry;
  if (!rest.length)
    for (rest.start = NULL; n < count; n++) out[n] = n;
  while (next_entry(&rest, &entry)) {
    int32_t index;
    TRY(read_entry(list, entry, count, &index));
    bool is_new = true;
    for (int i = 0; i < n; i++) is_new = is_new && out[i] != index;
    if (is_new) out[n++] = index;
    is_twice = is_twice || !is_new;
  }
  if (is_twice) return INVALID("visible_device_list contained a duplicate entry: %s", list);
  *n_out = n;
  return NULL;
}

int visible_keep(int count, int wanted) { return wanted < 0 || wanted > count ? count : wanted; }
