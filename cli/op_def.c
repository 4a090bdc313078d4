/* SPDX-License-Identifier: Apache-2.0
 * op_def.c: see op_def.h. */
#include "op_def.h"

#include <stdio.h>
#include <string.h>

bool op_def_word(const char **text, char out[OP_DEF_STRING]) {
  const char *start = *text + strspn(*text, " \n"), *end = start;
  int depth = 0;
  for (bool quoted = false; *end && (quoted || depth || !strchr(" \n", *end)); end++) {
    quoted ^= *end == '\'';
    if (!quoted) depth += (strchr("{[(", *end) != NULL) - (strchr("}])", *end) != NULL);
  }
  snprintf(out, OP_DEF_STRING, "%.*s", (int)(end - start), start);
  *text = end;
  return end > start;
}

/* Splits the next word at its first colon. */
static bool next_pair(const char **text, char name[OP_DEF_STRING], char rest[OP_DEF_STRING]) {
  if (!op_def_word(text, name)) return false;
  char *colon = strchr(name, ':');
  snprintf(rest, OP_DEF_STRING, "%s", colon ? colon + 1 : "");
  if (colon) *colon = 0;
  return true;
}

bool op_def_port(const char **text, struct op_def_port *out) {
  char rest[OP_DEF_STRING];
  if (!next_pair(text, out->name, rest)) return false;
  char *star = strchr(rest, '*'), *type = star ? star + 1 : rest;
  if (star) *star = 0;
  out->is_handle = *type == '@';
  out->is_ref = *type == '&';
  snprintf(out->type, sizeof out->type, "%s", type + (out->is_ref || out->is_handle));
  snprintf(out->number, sizeof out->number, "%s", star ? rest : "");
  return true;
}

bool op_def_attr(const char **text, struct op_def_attr *out) {
  if (!next_pair(text, out->name, out->kind)) return false;
  char *equals = strchr(out->kind, '=');
  if (equals && equals > out->kind && equals[-1] == '>') equals = strchr(equals + 1, '=');
  out->has_default = equals;
  snprintf(out->default_value, sizeof out->default_value, "%s", equals ? equals + 1 : "");
  if (equals) *equals = 0;
  return true;
}

void append_word(char list[OP_DEF_STRING], const char *separator, const char *prefix,
                 const char *word) {
  const size_t length = strlen(list);
  const int n = snprintf(list + length, OP_DEF_STRING - length, "%s%s%s", length ? separator : "",
                         prefix, word);
  if (n < 0) list[length] = 0;
}

bool contains_word(const char *words, const char *word) {
  char one[OP_DEF_STRING];
  while (op_def_word(&words, one))
    if (!strcmp(one, word)) return true;
  return false;
}

bool op_def_infers(const char *inputs, const char *attr) {
  struct op_def_port port;
  while (op_def_port(&inputs, &port))
    if (!strcmp(port.type, attr) || !strcmp(port.number, attr)) return true;
  return false;
}

const char *op_def_devices(const char *devices, char out[OP_DEF_STRING]) {
  char word[OP_DEF_STRING];
  out[0] = 0;
  while (op_def_word(&devices, word)) {
    word[strcspn(word, "(")] = 0;
    append_word(out, " ", "", word);
  }
  return out;
}

const char *first_sentence(const char *doc, char out[OP_DEF_STRING]) {
  const char *end = doc;
  while (*end && !(end > doc && end[-1] == '.' && (*end == ' ' || *end == '\n'))) end++;
  snprintf(out, OP_DEF_STRING, "%.*s", (int)(end - doc), doc);
  return out;
}
