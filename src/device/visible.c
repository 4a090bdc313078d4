/* SPDX-License-Identifier: Apache-2.0
 * visible.c: selects and orders the GPUs that a program sees: CUDA_VISIBLE_DEVICES,
 * visible_device_list, device_count. */
#include "device/visible.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "device/bus_id.h"

struct substring {
  const char *start;
  size_t length;
};

static bool is_blank(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

static struct substring trim(struct substring substring) {
  while (substring.length && is_blank(substring.start[0])) substring.start++, substring.length--;
  while (substring.length && is_blank(substring.start[substring.length - 1])) substring.length--;
  return substring;
}

/* Splits the next entry off a comma list; false at the end. */
static bool next_entry(struct substring *list, struct substring *entry) {
  if (!list->start) return false;
  const char *comma = memchr(list->start, ',', list->length);
  const size_t length = comma ? (size_t)(comma - list->start) : list->length;
  *entry = (struct substring){list->start, length};
  *list = comma ? (struct substring){comma + 1, list->length - length - 1}
                : (struct substring){NULL, 0};
  return true;
}

/* Parses a substring as a decimal number, with optional blanks around it. */
static bool parse_index(struct substring substring, int32_t *out) {
  const struct substring digits = trim(substring);
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

/* Removes quotes that a shell has left in place. */
static struct substring unquote(const char *value) {
  struct substring substring = trim((struct substring){value, strlen(value)});
  if (substring.length >= 2 && (*substring.start == '"' || *substring.start == '\'') &&
      substring.start[substring.length - 1] == *substring.start)
    substring = trim((struct substring){substring.start + 1, substring.length - 2});
  return substring;
}

static bool matches_uuid(struct substring entry, const char *uuid) {
  const bool has_prefix =
      entry.length >= 4 && (!strncmp(entry.start, "GPU-", 4) || !strncmp(entry.start, "MIG-", 4));
  return uuid && has_prefix && strlen(uuid) >= entry.length &&
         !strncasecmp(uuid, entry.start, entry.length);
}

static bool matches_bus_id(struct substring entry, const char *bus_id) {
  uint64_t requested, actual;
  return bus_id && bus_id_parse(entry.start, entry.length, &requested) &&
         bus_id_parse(bus_id, strlen(bus_id), &actual) && requested == actual;
}

/* Returns the index of the one device that an entry names, -1 if none, -2 for a negative index. */
static int find_device(struct substring entry, const struct visible_device *devices, int count) {
  int32_t index;
  if (parse_index(entry, &index)) return index < 0 ? -2 : index < count ? index : -1;
  int found = -1;
  for (int i = 0; i < count; i++) {
    if (!matches_uuid(entry, devices[i].uuid) && !matches_bus_id(entry, devices[i].bus_id))
      continue;
    if (found >= 0) return -1;
    found = i;
  }
  return found;
}

/* Writes the warning that the list was truncated at an entry. */
static void write_note(const char *variable, const char *value, struct substring entry,
                       const char *what, char note[VISIBLE_NOTE_SIZE]) {
  snprintf(note, VISIBLE_NOTE_SIZE, "%s=%.80s: '%.*s' %s.", variable ? variable : "visible devices",
           value, entry.length > 48 ? 48 : (int)entry.length, entry.start, what);
}

int visible_mask(const char *variable, const char *value, const struct visible_device *devices,
                 int count, int *out, char note[VISIBLE_NOTE_SIZE]) {
  int n = 0;
  note[0] = 0;
  for (; !value && n < count; n++) out[n] = n;
  if (!value) return n;
  struct substring list = unquote(value), entry;
  if (!list.length) return 0;
  while (next_entry(&list, &entry)) {
    entry = trim(entry);
    const int device = find_device(entry, devices, count);
    if (device == -2 && !list.start) return n;
    if (device < 0) {
      write_note(variable, value, entry, "names no GPU, so the list ends before it", note);
      return n;
    }
    for (int i = 0; i < n; i++) {
      if (out[i] != device) continue;
      write_note(variable, value, entry, "names a GPU a second time, so none is visible", note);
      return 0;
    }
    out[n++] = device;
  }
  return n;
}

/* ---- Options of a session ---- */

static situ_status parse_entry(const char *list, struct substring entry, int count, int32_t *out) {
  if (!parse_index(entry, out))
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
  bool has_duplicate = false;
  struct substring rest = {list, list ? strlen(list) : 0}, entry;
  if (!rest.length)
    for (rest.start = NULL; n < count; n++) out[n] = n;
  while (next_entry(&rest, &entry)) {
    int32_t index;
    TRY(parse_entry(list, entry, count, &index));
    bool is_new = true;
    for (int i = 0; i < n; i++) is_new = is_new && out[i] != index;
    if (is_new) out[n++] = index;
    has_duplicate = has_duplicate || !is_new;
  }
  if (has_duplicate) return INVALID("visible_device_list contained a duplicate entry: %s", list);
  *n_out = n;
  return NULL;
}

int visible_keep(int count, int wanted) { return wanted < 0 || wanted > count ? count : wanted; }
