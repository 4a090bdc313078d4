/* SPDX-License-Identifier: Apache-2.0
 * device_options_memory.c: parses SITU_GPU_MEMORY; see device_options.h. */
#include <string.h>

#include "base/log.h"
#include "base/parse_size.h"
#include "device/device_options.h"

/* A substring without surrounding blanks. */
struct substring {
  const char *start;
  size_t length;
};

static struct substring trim(const char *start, size_t length) {
  while (length && *start == ' ') start++, length--;
  while (length && start[length - 1] == ' ') length--;
  return (struct substring){start, length};
}

/* Splits `rest` at the next delimiter; false at the end. */
static bool next_token(struct substring *rest, char delimiter, struct substring *out) {
  if (!rest->start) return false;
  const char *end = memchr(rest->start, delimiter, rest->length);
  const size_t length = end ? (size_t)(end - rest->start) : rest->length;
  *out = trim(rest->start, length);
  *rest =
      end ? (struct substring){end + 1, rest->length - length - 1} : (struct substring){NULL, 0};
  return true;
}

static bool equals(struct substring substring, const char *string) {
  return substring.length == strlen(string) && !memcmp(substring.start, string, substring.length);
}

static situ_status unknown_option(struct substring substring) {
  return INVALID(
      "SITU_GPU_MEMORY: '%.*s' is not an option; the options are fraction=0.4, limit=2GiB, "
      "reserve=1GiB, "
      "growth and reference, as in \"growth;limit=4GiB\" or \"0:limit=2GiB,1:fraction=0.5\".",
      substring.length > 80 ? 80 : (int)substring.length, substring.start);
}

static situ_status invalid_value(struct substring name, struct substring value, const char *what) {
  return INVALID("SITU_GPU_MEMORY: '%.*s' of %.*s is not a %s above 0.",
                 value.length > 80 ? 80 : (int)value.length, value.start, (int)name.length,
                 name.start, what);
}

static situ_status read_bytes(struct substring name, struct substring value, uint64_t *out) {
  size_t position;
  const situ_status status = parse_size_n(value.start, value.length, out, &position);
  const bool ok = !status && *out;
  situ_status_release(status);
  return ok ? NULL : invalid_value(name, value, "size (2GiB, 500MB)");
}

static situ_status read_fraction(struct substring name, struct substring value, double *out) {
  size_t position;
  const situ_status status = parse_rate_n(value.start, value.length, out, &position);
  const bool ok = !status && *out <= 1;
  situ_status_release(status);
  if (ok) return NULL;
  return INVALID("SITU_GPU_MEMORY: '%.*s' of %.*s is not a number above 0 and at most 1.",
                 value.length > 80 ? 80 : (int)value.length, value.start, (int)name.length,
                 name.start);
}

static situ_status read_option(struct substring option, situ_memory_config *out) {
  struct substring name = option, value = option;
  next_token(&value, '=', &name);
  if (!value.start && equals(name, "growth")) {
    out->growth = true;
  } else if (!value.start && equals(name, "reference")) {
    out->reference = true;
  } else if (!value.start) {
    return unknown_option(option);
  } else {
    value = trim(value.start, value.length);
    if (equals(name, "limit")) return read_bytes(name, value, &out->limit_bytes);
    if (equals(name, "reserve")) return read_bytes(name, value, &out->reserve_bytes);
    if (equals(name, "fraction")) return read_fraction(name, value, &out->fraction);
    return unknown_option(option);
  }
  return NULL;
}

/* Removes a leading "INDEX:" and returns the index, -1 if there is none. */
static int take_index(struct substring *entry) {
  const size_t digits = strspn(entry->start, "0123456789");
  if (!digits || digits > 6 || digits >= entry->length || entry->start[digits] != ':') return -1;
  int index = 0;
  for (size_t i = 0; i < digits; i++) index = index * 10 + (entry->start[i] - '0');
  *entry = trim(entry->start + digits + 1, entry->length - digits - 1);
  return index;
}

/* Merges the entries with that index; -1 selects those without one. */
static situ_status read_entries(const char *value, int index, situ_memory_config *out) {
  struct substring rest = {value, strlen(value)}, entry, option;
  while (next_token(&rest, ',', &entry)) {
    const bool is_selected = take_index(&entry) == index;
    situ_memory_config parsed = {0};
    while (next_token(&entry, ';', &option)) TRY(read_option(option, &parsed));
    if (is_selected) *out = device_options_merge_memory(&parsed, out);
  }
  return NULL;
}

void device_options_warn_memory(const char *value, int n_gpus) {
  struct substring rest = {value, value ? strlen(value) : 0}, entry;
  while (n_gpus && next_token(&rest, ',', &entry)) {
    const int index = take_index(&entry);
    if (index >= n_gpus)
      log_warn_once("SITU_GPU_MEMORY has options for GPU %d, but the last GPU is %d: ignored",
                    index, n_gpus - 1);
  }
}

situ_status device_options_parse_memory(const char *value, int index, situ_memory_config *out) {
  *out = (situ_memory_config){0};
  if (!value || !*trim(value, strlen(value)).start) return NULL;
  TRY(read_entries(value, -1, out));
  return read_entries(value, index, out);
}
