/* SPDX-License-Identifier: Apache-2.0
 * tokens.c: the tokenizer of PTX. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/parse.h"

void tokens_fail(struct parser *p, const char *format, ...) {
  if (*p->error) return;
  va_list args;
  const int used = snprintf(p->error, 512, "line %d: ", p->line);
  va_start(args, format);
  vsnprintf(p->error + used, 512 - (size_t)used, format, args);
  va_end(args);
}

static void skip_blanks(struct parser *p) {
  for (;;) {
    if (*p->at == '\n') p->line++;
    if (isspace((unsigned char)*p->at)) {
      p->at++;
    } else if (p->at[0] == '/' && p->at[1] == '/') {
      while (*p->at && *p->at != '\n') p->at++;
    } else if (p->at[0] == '/' && p->at[1] == '*') {
      for (p->at += 2; *p->at && !(p->at[0] == '*' && p->at[1] == '/'); p->at++)
        if (*p->at == '\n') p->line++;
      if (*p->at) p->at += 2;
    } else {
      return;
    }
  }
}

static bool is_word_character(char c) {
  return isalnum((unsigned char)c) || (c && strchr("_$%.", c));
}

void tokens_next(struct parser *p) {
  skip_blanks(p);
  const char *begin = p->at;
  p->token.is_word = is_word_character(*begin);
  if (*begin == '"') {
    for (p->at++; *p->at && *p->at != '"'; p->at++) {
    }
  }
  if (p->token.is_word)
    while (is_word_character(*p->at)) p->at++;
  else if (*p->at)
    p->at++;
  size_t length = (size_t)(p->at - begin);
  if (length >= WORD_MOST) length = WORD_MOST - 1;
  memcpy(p->token.text, begin, length);
  p->token.text[length] = 0;
  p->token.line = p->line;
}

bool tokens_is(const struct parser *p, const char *text) { return !strcmp(p->token.text, text); }

bool tokens_take(struct parser *p, const char *text) {
  if (!tokens_is(p, text)) return false;
  tokens_next(p);
  return true;
}

void tokens_need(struct parser *p, const char *text) {
  if (!tokens_take(p, text)) tokens_fail(p, "'%s' where '%s' is expected", p->token.text, text);
}

int64_t tokens_number(struct parser *p) {
  const bool negative = tokens_take(p, "-");
  char *end = NULL;
  const uint64_t value = strtoull(p->token.text, &end, 0);
  if (end == p->token.text) tokens_fail(p, "'%s' where a number is expected", p->token.text);
  tokens_next(p);
  return (int64_t)(negative ? 0 - value : value);
}
