/* SPDX-License-Identifier: Apache-2.0
 * operands.c: registers, constants, addresses, vectors. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/parse.h"

int32_t operand_constant(struct parser *p, union word value) {
  struct function *f = p->function;
  for (int k = 0; k < f->n_constants; k++)
    if (f->constants[k].value.u64 == value.u64) return f->constants[k].word;
  if (f->n_constants % 64 == 0)
    f->constants = realloc(f->constants, ((size_t)f->n_constants + 64) * sizeof *f->constants);
  f->constants[f->n_constants++] = (struct constant){f->n_words, value};
  return f->n_words++;
}

/* Where the digits at the end of a name begin. */
static size_t digits_at(const char *text) {
  size_t end = strlen(text);
  while (end && isdigit((unsigned char)text[end - 1])) end--;
  return end;
}

const struct name *operand_name(const struct parser *p, const char *text) {
  const size_t stem = digits_at(text);
  const long number = strtol(text + stem, NULL, 10);
  for (int k = p->n_names - 1; k >= 0; k--) {
    const struct name *name = &p->names[k];
    if (name->count < 0 ? !strcmp(name->text, text)
                        : strlen(name->text) == stem && !memcmp(name->text, text, stem) &&
                              text[stem] && number < name->count)
      return name;
  }
  return NULL;
}

static int32_t special(const char *text) {
  static const char *const names[] = {
#define SPECIAL_NAME(name, word) word,
      PTX_SPECIALS(SPECIAL_NAME)
#undef SPECIAL_NAME
  };
  for (int32_t k = 0; k < N_SPECIALS; k++)
    if (!strcmp(names[k], text)) return k;
  return NO_WORD;
}

/* A number: decimal, hexadecimal, or the bits of a float (0f) or a double (0d). */
static int32_t number(struct parser *p, const char *text, bool negative) {
  union word value = {0};
  char *end = NULL;
  if (text[0] == '0' && (text[1] == 'f' || text[1] == 'F'))
    value.u32 = (uint32_t)strtoul(text + 2, &end, 16);
  else if (text[0] == '0' && (text[1] == 'd' || text[1] == 'D'))
    value.u64 = strtoull(text + 2, &end, 16);
  else
    value.u64 = strtoull(text, &end, 0);
  if (!end || (*end && strcmp(end, "U") != 0)) tokens_fail(p, "'%s' is no number", text);
  if (negative) value.u64 = 0 - value.u64;
  return operand_constant(p, value);
}

static const struct variable *variable(const struct parser *p, const char *text) {
  const struct variable *at = p->module->variables;
  while (at && strcmp(at->name, text) != 0) at = at->next;
  return at;
}

/* The word of a register, of a constant or of an address; NO_WORD where a name is unknown. */
static int32_t word_of(struct parser *p, const char *text, bool *is_param, int64_t *offset) {
  const struct name *name = operand_name(p, text);
  const struct variable *global = variable(p, text);
  if (isdigit((unsigned char)text[0])) return number(p, text, false);
  if (!name && special(text) != NO_WORD) return special(text);
  if (!name && global) return operand_constant(p, (union word){.u64 = global->address});
  if (!name) return NO_WORD;
  if (name->kind == NAME_REGISTER)
    return name->first + (name->count < 0 ? 0 : (int32_t)strtol(text + digits_at(text), NULL, 10));
  if (name->kind == NAME_SHARED)
    return operand_constant(p, (union word){.u64 = PTX_SHARED_BASE + (uint64_t)name->first});
  if (name->kind == NAME_LOCAL)
    return operand_constant(p, (union word){.u64 = PTX_LOCAL_BASE + (uint64_t)name->first});
  *is_param = true;
  *offset = name->first;
  return NO_WORD;
}

static void parse_address(struct parser *p, struct operand *out) {
  out->kind = OPERAND_ADDRESS;
  char text[WORD_MOST];
  memcpy(text, p->token.text, sizeof text);
  tokens_next(p);
  out->word = word_of(p, text, &out->is_param, &out->offset);
  if (out->word == NO_WORD && !out->is_param) tokens_fail(p, "unknown address '%s'", text);
  if (tokens_take(p, "+"))
    out->offset += tokens_number(p);
  else if (tokens_is(p, "-"))
    out->offset += tokens_number(p);
  tokens_need(p, "]");
}

static void parse_vector(struct parser *p, struct operand *out) {
  bool is_param = false;
  int64_t offset = 0;
  out->kind = OPERAND_VECTOR;
  do {
    if (out->count == VECTOR_MOST) {
      tokens_fail(p, "the vector is too long");
      return;
    }
    out->v[out->count++] =
        tokens_is(p, "_") ? NO_WORD : word_of(p, p->token.text, &is_param, &offset);
    tokens_next(p);
  } while (tokens_take(p, ","));
  tokens_need(p, "}");
}

void operand_parse(struct parser *p, struct operand *out) {
  *out = (struct operand){.word = NO_WORD, .second = NO_WORD};
  if (tokens_take(p, "[")) {
    parse_address(p, out);
    return;
  }
  if (tokens_take(p, "{")) {
    parse_vector(p, out);
    return;
  }
  if (tokens_take(p, "-")) {
    out->word = number(p, p->token.text, true);
    tokens_next(p);
    return;
  }
  out->negated = tokens_take(p, "!");
  snprintf(out->label, sizeof out->label, "%.127s", p->token.text);
  out->word = word_of(p, p->token.text, &out->is_param, &out->offset);
  if (out->word == NO_WORD && !tokens_is(p, "_")) out->kind = OPERAND_LABEL;
  tokens_next(p);
  if (tokens_take(p, "|")) {
    out->second = word_of(p, p->token.text, &out->is_param, &out->offset);
    tokens_next(p);
  }
}
