/* SPDX-License-Identifier: Apache-2.0
 * spec.c: see spec.h. */
#include "backend/sim/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/parse_size.h"
#include "device/bus_id.h"

static const uint64_t DEFAULT_MEMORY = UINT64_C(8) << 30;

/* A piece of the text. */
struct piece {
  const char *start, *end;
};

struct reader {
  const char *text, *at;
};

/* ---- Errors ---- */

enum { SHOWN = 60 }; /* characters to either side of the place */

/* Bytes inside a character of UTF-8, which do not take a column. */
static bool is_inside(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* How many bytes to go back from `at` to the start of its character; a text may be no UTF-8. */
static size_t bytes_back(const char *text, const char *at) {
  size_t n = 0;
  while (n < 3 && at - n > text && is_inside(*(at - n))) n++;
  return n;
}

/* The message, the text around the place, and a mark under it. */
static situ_status wrong(const struct reader *reader, const char *where, const char *what) {
  const char *start = where - reader->text > SHOWN ? where - SHOWN : reader->text;
  start -= bytes_back(reader->text, start);
  const char *before = start > reader->text ? "..." : "";
  char line[2 * SHOWN + 8];
  size_t length = strlen(start);
  const bool is_cut = length >= sizeof line;
  if (is_cut) length = sizeof line - 4 - bytes_back(start, start + sizeof line - 4);
  snprintf(line, sizeof line, "%.*s%s", (int)length, start, is_cut ? "..." : "");
  size_t column = strlen(before);
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F) line[i] = ' ';
    if (start + i < where && !is_inside(line[i])) column++;
  }
  return INVALID("Malformed list of simulated GPUs: %s\n  %s%s\n  %*s^", what, before, line,
                 (int)column, "");
}

/* ---- Pieces ---- */

/* Takes what stands before any of the marks, without the blanks around it. */
static struct piece take(struct reader *reader, const char *marks) {
  struct piece piece = {reader->at, reader->at + strcspn(reader->at, marks)};
  reader->at = piece.end;
  while (piece.start < piece.end && *piece.start == ' ') piece.start++;
  while (piece.end > piece.start && piece.end[-1] == ' ') piece.end--;
  return piece;
}

static size_t length_of(struct piece piece) { return (size_t)(piece.end - piece.start); }

static bool is(struct piece piece, const char *word) {
  return length_of(piece) == strlen(word) && !memcmp(piece.start, word, length_of(piece));
}

/* Also each byte of a letter outside ASCII. */
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ((unsigned char)c & 0x80);
}

static bool is_all_digits(struct piece piece) {
  return strspn(piece.start, "0123456789") >= length_of(piece);
}

/* A whole number from 0 to `limit`. */
static situ_status read_count(const struct reader *reader, struct piece piece, int64_t limit,
                              int64_t *out) {
  int64_t value = 0;
  for (const char *c = piece.start; c < piece.end; c++) {
    if (*c < '0' || *c > '9') return wrong(reader, c, "expected a whole number");
    if (value > (limit - (*c - '0')) / 10) return wrong(reader, piece.start, "too large a number");
    value = value * 10 + (*c - '0');
  }
  if (piece.start == piece.end) return wrong(reader, piece.start, "expected a whole number");
  *out = value;
  return NULL;
}

/* ---- An entry ---- */

static situ_status read_model(struct reader *reader, struct sim_spec *spec) {
  const struct piece piece = take(reader, ",@=;");
  if (piece.start == piece.end) return wrong(reader, piece.start, "expected a name");
  if (is_all_digits(piece))
    return wrong(reader, piece.start, "a name of digits only (a count stands alone)");
  if (!is_letter(*piece.start))
    return wrong(reader, piece.start,
                 "expected a count from 0 to 64, or a name that begins with a letter");
  if (length_of(piece) >= sizeof spec->model)
    return wrong(reader, piece.start, "a name of more than 63 characters");
  memcpy(spec->model, piece.start, length_of(piece));
  return NULL;
}

static situ_status read_bus_id(struct reader *reader, struct sim_spec *spec) {
  const struct piece piece = take(reader, ",@=;");
  uint64_t id;
  if (!bus_id_parse(piece.start, length_of(piece), &id))
    return wrong(reader, piece.start, "expected a PCI bus id such as 0000:05:00.0");
  bus_id_print(id, spec->bus_id);
  return NULL;
}

static situ_status read_memory(struct reader *reader, struct sim_spec *spec) {
  const struct piece piece = take(reader, ",@=;");
  size_t place = 0;
  const situ_status s = parse_size_n(piece.start, length_of(piece), &spec->memory, &place);
  if (s) {
    situ_status_release(s);
    return wrong(reader, piece.start + place, "expected a size such as 12GiB or 500MB");
  }
  return spec->memory ? NULL : wrong(reader, piece.start, "the memory must be above 0");
}

static situ_status read_rate(const struct reader *reader, struct piece piece, double *out) {
  size_t place = 0;
  const situ_status s = parse_rate_n(piece.start, length_of(piece), out, &place);
  if (!s) return NULL;
  situ_status_release(s);
  return wrong(reader, piece.start + place, "expected a number above 0 such as 4.3T");
}

static situ_status read_number(const struct reader *reader, struct piece piece, int64_t *out) {
  TRY(read_count(reader, piece, INT64_MAX, out));
  return *out ? NULL : wrong(reader, piece.start, "expected a number above 0");
}

/* Every key: where its value goes, as one of the two kinds. */
static const struct key {
  const char *name;
  size_t offset;
  bool is_rate;
} keys[] = {{"flops", offsetof(struct sim_spec, flops), true},
            {"bandwidth", offsetof(struct sim_spec, bandwidth), true},
            {"link", offsetof(struct sim_spec, link), true},
            {"fail_alloc", offsetof(struct sim_spec, fail_alloc), false},
            {"lost_after", offsetof(struct sim_spec, lost_after), false}};

static const struct key *find_key(struct piece piece) {
  for (size_t i = 0; i < COUNT_OF(keys); i++)
    if (is(piece, keys[i].name)) return &keys[i];
  return NULL;
}

static situ_status read_option(struct reader *reader, struct sim_spec *spec) {
  const struct piece name = take(reader, ",=;");
  const struct key *key = find_key(name);
  if (!key)
    return wrong(reader, name.start, "expected flops, bandwidth, link, fail_alloc or lost_after");
  if (*reader->at != '=') return wrong(reader, reader->at, "expected '='");
  reader->at++;
  const struct piece value = take(reader, ",=;");
  char *field = (char *)spec + key->offset;
  return key->is_rate ? read_rate(reader, value, (double *)(void *)field)
                      : read_number(reader, value, (int64_t *)(void *)field);
}

/* One GPU, up to the comma or the end. */
static situ_status read_entry(struct reader *reader, struct sim_spec *spec) {
  *spec = (struct sim_spec){.memory = DEFAULT_MEMORY};
  TRY(read_model(reader, spec));
  if (*reader->at == '@') {
    reader->at++;
    TRY(read_bus_id(reader, spec));
  }
  if (*reader->at == '=') {
    reader->at++;
    TRY(read_memory(reader, spec));
  }
  while (*reader->at == ';') {
    reader->at++;
    TRY(read_option(reader, spec));
  }
  return *reader->at && *reader->at != ',' ? wrong(reader, reader->at, "expected ',' or ';'")
                                           : NULL;
}

/* ---- The whole ---- */

static bool has_bus_id(const struct sim_spec *specs, int count, const char *bus_id) {
  for (int i = 0; i < count; i++)
    if (!strcmp(specs[i].bus_id, bus_id)) return true;
  return false;
}

/* Gives the rest of the GPUs a place on the bus; 255 places are more than GPUs. */
static void fill_bus_ids(struct sim_spec *specs, int count) {
  for (int i = 0; i < count; i++) {
    char bus_id[BUS_ID_SIZE];
    unsigned bus = (unsigned)i + 1;
    if (specs[i].bus_id[0]) continue;
    while (has_bus_id(specs, count, bus_id_print((uint64_t)bus << 16, bus_id))) bus++;
    memcpy(specs[i].bus_id, bus_id, sizeof specs[i].bus_id);
  }
}

static situ_status read_list(struct reader *reader, struct sim_spec *out, int *count) {
  int n = 0;
  for (bool more = true; more; n++) {
    const char *start = reader->at;
    if (n == SIM_MAX) return wrong(reader, start, "at most 64 GPUs can be simulated");
    TRY(read_entry(reader, &out[n]));
    const char *place = memchr(start, '@', (size_t)(reader->at - start));
    if (place && has_bus_id(out, n, out[n].bus_id))
      return wrong(reader, place + 1, "a PCI bus id that another GPU has");
    more = *reader->at == ',';
    if (more) reader->at++;
  }
  fill_bus_ids(out, n);
  *count = n;
  return NULL;
}

static situ_status read_simple(const struct reader *reader, struct piece piece,
                               struct sim_spec *out, int *count) {
  int64_t n = 0;
  TRY(read_count(reader, piece, INT32_MAX, &n));
  if (n > SIM_MAX) return wrong(reader, piece.start, "at most 64 GPUs can be simulated");
  for (int64_t i = 0; i < n; i++)
    out[i] = (struct sim_spec){.model = "Simulated GPU", .memory = DEFAULT_MEMORY};
  fill_bus_ids(out, (int)n);
  *count = (int)n;
  return NULL;
}

situ_status sim_spec_parse(const char *text, struct sim_spec *out, int *count) {
  *count = 0;
  if (!text) return NULL;
  struct reader reader = {text, text};
  const struct piece whole = take(&reader, "");
  if (whole.start == whole.end) return NULL;
  if (is_all_digits(whole)) return read_simple(&reader, whole, out, count);
  reader.at = text;
  return read_list(&reader, out, count);
}
