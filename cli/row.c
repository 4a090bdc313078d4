/* SPDX-License-Identifier: Apache-2.0
 * row.c: see row.h. */
#include "row.h"

#include <stdio.h>
#include <string.h>

bool row_word(const char **text, char out[ROW_TEXT]) {
  const char *start = *text + strspn(*text, " \n"), *end = start;
  int depth = 0;
  for (bool quoted = false; *end && (quoted || depth || !strchr(" \n", *end)); end++) {
    quoted ^= *end == '\'';
    if (!quoted) depth += (strchr("{[(", *end) != NULL) - (strchr("}])", *end) != NULL);
  }
  snprintf(out, ROW_TEXT, "%.*s", (int)(end - start), start);
  *text = end;
  return end > start;
}

/* Cuts a word at its first colon. */
static bool next_pair(const char **text, char name[ROW_TEXT], char rest[ROW_TEXT]) {
  if (!row_word(text, name)) return false;
  char *colon = strchr(name, ':');
  snprintf(rest, ROW_TEXT, "%s", colon ? colon + 1 : "");
  if (colon) *colon = 0;
  return true;
}

bool row_port(const char **text, struct row_port *out) {
  char rest[ROW_TEXT];
  if (!next_pair(text, out->name, rest)) return false;
  char *star = strchr(rest, '*'), *type = star ? star + 1 : rest;
  if (star) *star = 0;
  out->is_handle = *type == '@';
  out->is_ref = *type == '&';
  snprintf(out->type, sizeof out->type, "%s", type + (out->is_ref || out->is_handle));
  snprintf(out->number, sizeof out->number, "%s", star ? rest : "");
  return true;
}

bool row_attr(const char **text, struct row_attr *out) {
  if (!next_pair(text, out->name, out->kind)) return false;
  char *equals = strchr(out->kind, '=');
  if (equals && equals > out->kind && equals[-1] == '>') equals = strchr(equals + 1, '=');
  out->has_preset = equals;
  snprintf(out->preset, sizeof out->preset, "%s", equals ? equals + 1 : "");
  if (equals) *equals = 0;
  return true;
}

void row_append(char list[ROW_TEXT], const char *separator, const char *prefix, const char *word) {
  const size_t length = strlen(list);
  const int n =
      snprintf(list + length, ROW_TEXT - length, "%s%s%s", length ? separator : "", prefix, word);
  if (n < 0) list[length] = 0;
}

bool row_holds(const char *words, const char *word) {
  char one[ROW_TEXT];
  while (row_word(&words, one))
    if (!strcmp(one, word)) return true;
  return false;
}

bool row_infers(const char *inputs, const char *attr) {
  struct row_port port;
  while (row_port(&inputs, &port))
    if (!strcmp(port.type, attr) || !strcmp(port.number, attr)) return true;
  return false;
}

const char *row_kinds(const char *devices, char out[ROW_TEXT]) {
  char word[ROW_TEXT];
  out[0] = 0;
  while (row_word(&devices, word)) {
    word[strcspn(word, "(")] = 0;
    row_append(out, " ", "", word);
  }
  return out;
}

const char *row_sentence(const char *doc, char out[ROW_TEXT]) {
  const char *end = doc;
  while (*end && !(end > doc && end[-1] == '.' && (*end == ' ' || *end == '\n'))) end++;
  snprintf(out, ROW_TEXT, "%.*s", (int)(end - doc), doc);
  return out;
}
