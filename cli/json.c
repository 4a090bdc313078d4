/* SPDX-License-Identifier: Apache-2.0
 * json.c: see json.h. */
#include "json.h"

#include <inttypes.h>
#include <stdio.h>

enum { MAX_DEPTH = 16 };

static char closers[MAX_DEPTH];
static int depth;
static bool has_members[MAX_DEPTH + 1];

/* Returns the length of a multi-byte UTF-8 sequence; 0 if it is invalid. */
static int utf8_length(const unsigned char *c) {
  const int n = c[0] >= 0xF0 ? 4 : c[0] >= 0xE0 ? 3 : c[0] >= 0xC2 ? 2 : 0;
  if (c[0] > 0xF4) return 0;
  for (int i = 1; i < n; i++)
    if ((c[i] & 0xC0) != 0x80) return 0;
  const bool overlong = (c[0] == 0xE0 && c[1] < 0xA0) || (c[0] == 0xF0 && c[1] < 0x90);
  const bool outside = (c[0] == 0xED && c[1] > 0x9F) || (c[0] == 0xF4 && c[1] > 0x8F);
  return overlong || outside ? 0 : n;
}

static void print_string(const char *text) {
  putchar('"');
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    const int n = *c < 0x80 ? 1 : utf8_length(c);
    if (*c == '"' || *c == '\\') {
      printf("\\%c", *c);
    } else if (*c < 0x20 || *c == 0x7F) {
      printf("\\u%04x", *c);
    } else if (!n) {
      fputs("\\ufffd", stdout);
    } else {
      fwrite(c, 1, (size_t)n, stdout);
      c += n - 1;
    }
  }
  putchar('"');
}

/* Prints the separator, newline, indentation and key before a member. */
static void begin_member(const char *key) {
  if (has_members[depth]) putchar(',');
  if (depth) printf("\n%*s", 2 * depth, "");
  has_members[depth] = true;
  if (!key) return;
  print_string(key);
  fputs(": ", stdout);
}

void json_open(const char *key, char bracket) {
  begin_member(key);
  putchar(bracket);
  if (depth < MAX_DEPTH) closers[depth++] = bracket == '{' ? '}' : ']';
  has_members[depth] = false;
}

void json_close(void) {
  if (!depth) return;
  depth--;
  if (has_members[depth + 1]) printf("\n%*s", 2 * depth, "");
  putchar(closers[depth]);
  if (depth) return;
  putchar('\n');
  has_members[0] = false;
}

void json_string(const char *key, const char *value) {
  begin_member(key);
  print_string(value);
}

void json_number(const char *key, int64_t value) {
  begin_member(key);
  printf("%" PRId64, value);
}

void json_size(const char *key, uint64_t value) {
  begin_member(key);
  printf("%" PRIu64, value);
}

void json_bool(const char *key, bool value) {
  begin_member(key);
  fputs(value ? "true" : "false", stdout);
}
