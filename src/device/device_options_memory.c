/* SPDX-License-Identifier: Apache-2.0
 * device_options_memory.c: reads SITU_GPU_MEMORY; see device_options.h. */
#include <string.h>

#include "base/log.h"
#include "base/parse_size.h"
#include "device/device_options.h"

/* A piece of the text, without the blanks around it. */
struct piece {
  const char *start;
  size_t length;
};

static struct piece trim(const char *start, size_t length) {
  while (length && *start == ' ') start++, length--;
  while (length && start[length - 1] == ' ') length--;
  return (struct piece){start, length};
}

/* Cuts the piece up to the next mark off `rest`; false when nothing is left. */
static bool cut(struct piece *rest, char mark, struct piece *out) {
  if (!rest->start) return false;
  const char *end = memchr(rest->start, mark, rest->length);
  const size_t length = end ? (size_t)(end - rest->start) : rest->length;
  *out = trim(rest->start, length);
  *rest = end ? (struct piece){end + 1, rest->length - length - 1} : (struct piece){NULL, 0};
  return true;
}

static bool is(struct piece piece, const char *word) {
  return piece.length == strlen(word) && !memcmp(piece.start, word, piece.length);
}

static situ_status no_option(struct piece piece) {
  return INVALID(
      "SITU_GPU_MEMORY: '%.*s' is no option; there are fraction=0.4, limit=2GiB, reserve=1GiB, "
      "growth and reference, as in \"growth;limit=4GiB\" or \"0:limit=2GiB,1:fraction=0.5\".",
      piece.length > 80 ? 80 : (int)piece.length, piece.start);
}

static situ_status no_value(struct piece name, struct piece value, const char *what) {
  return INVALID("SITU_GPU_MEMORY: '%.*s' of %.*s is no %s above 0.",
                 value.length > 80 ? 80 : (int)value.length, value.start, (int)name.length,
                 name.start, what);
}

static situ_status read_bytes(struct piece name, struct piece value, uint64_t *out) {
  size_t place;
  const situ_status status = parse_size_n(value.start, value.length, out, &place);
  const bool ok = !status && *out;
  situ_status_release(status);
  return ok ? NULL : no_value(name, value, "size (2GiB, 500MB)");
}

static situ_status read_fraction(struct piece name, struct piece value, double *out) {
  size_t place;
  const situ_status status = parse_rate_n(value.start, value.length, out, &place);
  const bool ok = !status && *out <= 1;
  situ_status_release(status);
  if (ok) return NULL;
  return INVALID("SITU_GPU_MEMORY: '%.*s' of %.*s is no number above 0 and at most 1.",
                 value.length > 80 ? 80 : (int)value.length, value.start, (int)name.length,
                 name.start);
}

static situ_status read_option(struct piece option, situ_memory_config *out) {
  struct piece name = option, value = option;
  cut(&value, '=', &name);
  if (!value.start && is(name, "growth")) {
    out->growth = true;
  } else if (!value.start && is(name, "reference")) {
    out->reference = true;
  } else if (!value.start) {
    return no_option(option);
  } else {
    value = trim(value.start, value.length);
    if (is(name, "limit")) return read_bytes(name, value, &out->limit_bytes);
    if (is(name, "reserve")) return read_bytes(name, value, &out->reserve_bytes);
    if (is(name, "fraction")) return read_fraction(name, value, &out->fraction);
    return no_option(option);
  }
  return NULL;
}

/* Cuts "INDEX:" off an entry; -1 where there is none. */
static int take_index(struct piece *entry) {
  const size_t digits = strspn(entry->start, "0123456789");
  if (!digits || digits > 6 || digits >= entry->length || entry->start[digits] != ':') return -1;
  int index = 0;
  for (size_t i = 0; i < digits; i++) index = index * 10 + (entry->start[i] - '0');
  *entry = trim(entry->start + digits + 1, entry->length - digits - 1);
  return index;
}

/* Adds what the entries with that index say; -1 stands for those without one. */
static situ_status read_entries(const char *text, int index, situ_memory_config *out) {
  struct piece rest = {text, strlen(text)}, entry, option;
  while (cut(&rest, ',', &entry)) {
    const bool is_meant = take_index(&entry) == index;
    situ_memory_config read = {0};
    while (cut(&entry, ';', &option)) TRY(read_option(option, &read));
    if (is_meant) *out = device_options_join_memory(&read, out);
  }
  return NULL;
}

void device_options_warn_memory(const char *text, int n_gpus) {
  struct piece rest = {text, text ? strlen(text) : 0}, entry;
  while (n_gpus && cut(&rest, ',', &entry)) {
    const int index = take_index(&entry);
    if (index >= n_gpus)
      log_warn_once("SITU_GPU_MEMORY has options for GPU %d, but the last GPU is %d: ignored",
                    index, n_gpus - 1);
  }
}

situ_status device_options_parse_memory(const char *text, int index, situ_memory_config *out) {
  *out = (situ_memory_config){0};
  if (!text || !*trim(text, strlen(text)).start) return NULL;
  TRY(read_entries(text, -1, out));
  return read_entries(text, index, out);
}
