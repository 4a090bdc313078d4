/* SPDX-License-Identifier: Apache-2.0
 * spec.c: parses the specification of simulated GPUs; see spec.h. */
#include "backend/sim/spec.h"

#include <stdio.h>
#include <string.h>

#include "base/parse_size.h"
#include "device/bus_id.h"

static const uint64_t DEFAULT_MEMORY = UINT64_C(8) << 30;

struct token {
  const char *start, *end;
};

struct parser {
  const char *text, *at;
};

/* ---- Errors ---- */

enum { CONTEXT = 60 }; /* context characters on either side of the position */

/* Returns whether a byte continues a UTF-8 character, and so takes no column. */
static bool is_continuation(char c) { return ((unsigned char)c & 0xC0) == 0x80; }

/* Returns the bytes from the start of a character to `at`; the text may be invalid UTF-8. */
static size_t continuation_bytes(const char *text, const char *at) {
  size_t n = 0;
  while (n < 3 && at - n > text && is_continuation(*(at - n))) n++;
  return n;
}

/* Builds the error: message, text around the position, and a caret below it. */
static situ_status malformed(const struct parser *parser, const char *where, const char *what) {
  const char *start = where - parser->text > CONTEXT ? where - CONTEXT : parser->text;
  start -= continuation_bytes(parser->text, start);
  const char *before = start > parser->text ? "..." : "";
  char line[2 * CONTEXT + 8];
  size_t length = strlen(start);
  const bool is_truncated = length >= sizeof line;
  if (is_truncated) length = sizeof line - 4 - continuation_bytes(start, start + sizeof line - 4);
  snprintf(line, sizeof line, "%.*s%s", (int)length, start, is_truncated ? "..." : "");
  size_t column = strlen(before);
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)line[i] < 0x20 || line[i] == 0x7F) line[i] = ' ';
    if (start + i < where && !is_continuation(line[i])) column++;
  }
  return INVALID("Malformed list of simulated GPUs: %s\n  %s%s\n  %*s^", what, before, line,
                 (int)column, "");
}

/* ---- Tokens ---- */

/* Returns the text before any of the delimiters, without surrounding blanks. */
static struct token next_token(struct parser *parser, const char *delimiters) {
  struct token token = {parser->at, parser->at + strcspn(parser->at, delimiters)};
  parser->at = token.end;
  while (token.start < token.end && *token.start == ' ') token.start++;
  while (token.end > token.start && token.end[-1] == ' ') token.end--;
  return token;
}

static size_t token_length(struct token token) { return (size_t)(token.end - token.start); }

static bool equals(struct token token, const char *string) {
  return token_length(token) == strlen(string) && !memcmp(token.start, string, token_length(token));
}

/* Bytes of non-ASCII characters count as letters. */
static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || ((unsigned char)c & 0x80);
}

static bool is_all_digits(struct token token) {
  return strspn(token.start, "0123456789") >= token_length(token);
}

/* Parses an integer from 0 to `limit`. */
static situ_status parse_count(const struct parser *parser, struct token token, int64_t limit,
                               int64_t *out) {
  int64_t value = 0;
  for (const char *c = token.start; c < token.end; c++) {
    if (*c < '0' || *c > '9') return malformed(parser, c, "expected an integer");
    if (value > (limit - (*c - '0')) / 10)
      return malformed(parser, token.start, "too large a number");
    value = value * 10 + (*c - '0');
  }
  if (token.start == token.end) return malformed(parser, token.start, "expected an integer");
  *out = value;
  return NULL;
}

/* ---- An entry ---- */

static situ_status parse_model(struct parser *parser, struct sim_spec *spec) {
  const struct token token = next_token(parser, ",@=;");
  if (token.start == token.end) return malformed(parser, token.start, "expected a name");
  if (is_all_digits(token))
    return malformed(parser, token.start,
                     "a name of digits only (a count must be the whole specification)");
  if (!is_letter(*token.start))
    return malformed(parser, token.start,
                     "expected a count from 0 to 64, or a name that begins with a letter");
  if (token_length(token) >= sizeof spec->model)
    return malformed(parser, token.start, "a name of more than 63 characters");
  memcpy(spec->model, token.start, token_length(token));
  return NULL;
}

static situ_status parse_bus_id(struct parser *parser, struct sim_spec *spec) {
  const struct token token = next_token(parser, ",@=;");
  uint64_t id;
  if (!bus_id_parse(token.start, token_length(token), &id))
    return malformed(parser, token.start, "expected a PCI bus id such as 0000:05:00.0");
  bus_id_print(id, spec->bus_id);
  return NULL;
}

static situ_status parse_memory(struct parser *parser, struct sim_spec *spec) {
  const struct token token = next_token(parser, ",@=;");
  size_t position = 0;
  const situ_status s = parse_size_n(token.start, token_length(token), &spec->memory, &position);
  if (s) {
    situ_status_release(s);
    return malformed(parser, token.start + position, "expected a size such as 12GiB or 500MB");
  }
  return spec->memory ? NULL : malformed(parser, token.start, "the memory must be above 0");
}

static situ_status parse_rate(const struct parser *parser, struct token token, double *out) {
  size_t position = 0;
  const situ_status s = parse_rate_n(token.start, token_length(token), out, &position);
  if (!s) return NULL;
  situ_status_release(s);
  return malformed(parser, token.start + position, "expected a number above 0 such as 4.3T");
}

static situ_status parse_number(const struct parser *parser, struct token token, int64_t *out) {
  TRY(parse_count(parser, token, INT64_MAX, out));
  return *out ? NULL : malformed(parser, token.start, "expected a number above 0");
}

/* Keys: offset and type of their values. */
static const struct key {
  const char *name;
  size_t offset;
  bool is_rate;
} keys[] = {{"flops", offsetof(struct sim_spec, flops), true},
            {"bandwidth", offsetof(struct sim_spec, bandwidth), true},
            {"link", offsetof(struct sim_spec, link), true},
            {"fail_alloc", offsetof(struct sim_spec, fail_alloc), false},
            {"lost_after", offsetof(struct sim_spec, lost_after), false}};

static const struct key *find_key(struct token token) {
  for (size_t i = 0; i < COUNT_OF(keys); i++)
    if (equals(token, keys[i].name)) return &keys[i];
  return NULL;
}

static situ_status parse_option(struct parser *parser, struct sim_spec *spec) {
  const struct token name = next_token(parser, ",=;");
  const struct key *key = find_key(name);
  if (!key)
    return malformed(parser, name.start,
                     "expected flops, bandwidth, link, fail_alloc or lost_after");
  if (*parser->at != '=') return malformed(parser, parser->at, "expected '='");
  parser->at++;
  const struct token value = next_token(parser, ",=;");
  char *field = (char *)spec + key->offset;
  return key->is_rate ? parse_rate(parser, value, (double *)(void *)field)
                      : parse_number(parser, value, (int64_t *)(void *)field);
}

/* Parses one GPU up to the comma or the end. */
static situ_status parse_entry(struct parser *parser, struct sim_spec *spec) {
  *spec = (struct sim_spec){.memory = DEFAULT_MEMORY};
  TRY(parse_model(parser, spec));
  if (*parser->at == '@') {
    parser->at++;
    TRY(parse_bus_id(parser, spec));
  }
  if (*parser->at == '=') {
    parser->at++;
    TRY(parse_memory(parser, spec));
  }
  while (*parser->at == ';') {
    parser->at++;
    TRY(parse_option(parser, spec));
  }
  return *parser->at && *parser->at != ',' ? malformed(parser, parser->at, "expected ',' or ';'")
                                           : NULL;
}

/* ---- List ---- */

static bool has_bus_id(const struct sim_spec *specs, int count, const char *bus_id) {
  for (int i = 0; i < count; i++)
    if (!strcmp(specs[i].bus_id, bus_id)) return true;
  return false;
}

/* Assigns bus ids to the remaining GPUs; there are more ids (255) than GPUs. */
static void fill_bus_ids(struct sim_spec *specs, int count) {
  for (int i = 0; i < count; i++) {
    char bus_id[BUS_ID_SIZE];
    unsigned bus = (unsigned)i + 1;
    if (specs[i].bus_id[0]) continue;
    while (has_bus_id(specs, count, bus_id_print((uint64_t)bus << 16, bus_id))) bus++;
    memcpy(specs[i].bus_id, bus_id, sizeof specs[i].bus_id);
  }
}

static situ_status parse_list(struct parser *parser, struct sim_spec *out, int *count) {
  int n = 0;
  for (bool more = true; more; n++) {
    const char *start = parser->at;
    if (n == SIM_MAX) return malformed(parser, start, "at most 64 GPUs can be simulated");
    TRY(parse_entry(parser, &out[n]));
    const char *position = memchr(start, '@', (size_t)(parser->at - start));
    if (position && has_bus_id(out, n, out[n].bus_id))
      return malformed(parser, position + 1, "the PCI bus id of another GPU");
    more = *parser->at == ',';
    if (more) parser->at++;
  }
  fill_bus_ids(out, n);
  *count = n;
  return NULL;
}

static situ_status parse_gpu_count(const struct parser *parser, struct token token,
                                   struct sim_spec *out, int *count) {
  int64_t n = 0;
  TRY(parse_count(parser, token, INT32_MAX, &n));
  if (n > SIM_MAX) return malformed(parser, token.start, "at most 64 GPUs can be simulated");
  for (int64_t i = 0; i < n; i++)
    out[i] = (struct sim_spec){.model = "Simulated GPU", .memory = DEFAULT_MEMORY};
  fill_bus_ids(out, (int)n);
  *count = (int)n;
  return NULL;
}

situ_status sim_spec_parse(const char *text, struct sim_spec *out, int *count) {
  *count = 0;
  if (!text) return NULL;
  struct parser parser = {text, text};
  const struct token whole = next_token(&parser, "");
  if (whole.start == whole.end) return NULL;
  if (is_all_digits(whole)) return parse_gpu_count(&parser, whole, out, count);
  parser.at = text;
  return parse_list(&parser, out, count);
}
