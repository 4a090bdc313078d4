/* SPDX-License-Identifier: Apache-2.0
 * decode.c: decodes an instruction from its opcode and operands. */
#include <stdio.h>
#include <string.h>

#include "cuda/ptx/parse.h"

enum { PARTS_MOST = 12 };

/* An opcode in its parts, between the dots. */
struct opcode {
  char text[WORD_MOST];
  const char *parts[PARTS_MOST];
  int count;
};

static void split(const char *text, struct opcode *out) {
  snprintf(out->text, sizeof out->text, "%s", text);
  out->count = 0;
  for (char *at = out->text; at && out->count < PARTS_MOST; out->count++) {
    out->parts[out->count] = at;
    at = strchr(at, '.');
    if (at) *at++ = 0;
  }
}

static bool is_one_of(const char *word, const char *const *list) {
  while (*list && strcmp(*list, word) != 0) list++;
  return *list;
}

/* Words that change nothing here: threads run one after another, results are exact. */
static const char *const idle[] = {"rn",  "ftz",      "approx",  "full",    "uni",     "nc",
                                   "to",  "volatile", "relaxed", "acquire", "release", "acq_rel",
                                   "gpu", "cta",      "sys",     "aligned", "weak",    NULL};
static const char *const spaces[] = {"generic", "global", "shared", "local", "param", NULL};

static int space_of(const char *word) {
  for (int k = 1; spaces[k]; k++)
    if (!strcmp(spaces[k], word)) return k;
  return !strcmp(word, "const") ? SPACE_GLOBAL : SPACE_GENERIC;
}

/* The opcode without idle words, spaces and sizes of vectors; they go to the instruction. */
static void shorten(const struct opcode *opcode, struct insn *insn, char out[WORD_MOST]) {
  size_t used = (size_t)snprintf(out, WORD_MOST, "%s", opcode->parts[0]);
  const bool is_setp = !strcmp(opcode->parts[0], "setp");
  const bool is_memory = !strcmp(out, "ld") || !strcmp(out, "st") || !strcmp(out, "atom") ||
                         !strcmp(out, "red") || !strcmp(out, "cvta");
  if (!strcmp(out, "red")) used = (size_t)snprintf(out, WORD_MOST, "atom");
  for (int k = 1; k < opcode->count; k++) {
    const char *part = opcode->parts[k];
    if (is_one_of(part, idle)) continue;
    if (is_memory && space_of(part) != SPACE_GENERIC) {
      insn->space = (int8_t)space_of(part);
      continue;
    }
    if (is_memory && (!strcmp(part, "v2") || !strcmp(part, "v4"))) continue;
    if (is_setp && (!strcmp(part, "and") || !strcmp(part, "or") || !strcmp(part, "xor"))) {
      insn->mode = (int8_t)part[0];
      continue;
    }
    used += (size_t)snprintf(out + used, WORD_MOST - used, ".%s", part);
  }
}

/* ---- Operands ---- */

static int32_t word_at(struct parser *p, const struct operand *operands, int count, int k) {
  if (k >= count) return NO_WORD;
  if (operands[k].kind == OPERAND_LABEL) tokens_fail(p, "unknown operand '%s'", operands[k].label);
  return operands[k].word;
}

/* d, a, b, c and a fourth one; of setp also p|q. */
static void set_words(struct parser *p, const struct operand *operands, int count,
                      struct insn *out) {
  out->d = word_at(p, operands, count, 0);
  out->a = word_at(p, operands, count, 1);
  out->b = word_at(p, operands, count, 2);
  out->c = word_at(p, operands, count, 3);
  out->v[0] = count > 4 ? word_at(p, operands, count, 4) : operands[0].second;
  if (count > 3 && operands[3].negated) tokens_fail(p, "a negated operand");
}

static void set_address(const struct operand *address, struct insn *out) {
  out->a = address->is_param ? NO_WORD : address->word;
  out->offset = address->offset;
  if (address->is_param) out->space = SPACE_PARAM;
}

static void set_value(const struct operand *value, struct insn *out, int32_t *word) {
  if (value->kind != OPERAND_VECTOR) {
    *word = value->word;
    return;
  }
  out->count = (int8_t)value->count;
  memcpy(out->v, value->v, sizeof out->v);
}

static bool decode_memory(const char *base, const struct operand *operands, int count,
                          struct insn *out) {
  if (!strcmp(base, "ld") && count == 2) {
    set_address(&operands[1], out);
    set_value(&operands[0], out, &out->d);
  } else if (!strcmp(base, "st") && count == 2) {
    set_address(&operands[0], out);
    set_value(&operands[1], out, &out->b);
  } else if (!strcmp(base, "atom") && count >= 3) {
    set_address(&operands[1], out);
    out->d = operands[0].word;
    out->b = operands[2].word;
    out->c = count > 3 ? operands[3].word : NO_WORD;
  } else if (!strcmp(base, "red") && count == 2) {
    set_address(&operands[0], out);
    out->b = operands[1].word;
  } else {
    return false;
  }
  return true;
}

/* mov.b64 with a vector on either side. */
static void decode_packing(const struct operand *operands, struct insn *out, char *name) {
  const bool packs = operands[1].kind == OPERAND_VECTOR;
  const char *bits = strrchr(name, '.');
  char whole[WORD_MOST];
  snprintf(whole, sizeof whole, "%s%s", packs ? "pack" : "unpack", bits);
  memcpy(name, whole, sizeof whole);
  set_value(&operands[packs], out, &out->a);
  if (packs)
    out->d = operands[0].word;
  else
    out->a = operands[1].word;
}

void decode(struct parser *p, const char *opcode, struct operand *operands, int count,
            struct insn *out) {
  static const char *const bare[] = {"bar", "barrier", "membar", "fence",
                                     "ret", "exit",    "trap",   NULL};
  struct opcode parts;
  char name[WORD_MOST];
  split(opcode, &parts);
  const char *base = parts.parts[0];
  shorten(&parts, out, name);
  if (!strcmp(base, "membar") || !strcmp(base, "fence")) snprintf(name, sizeof name, "%s", base);
  if (!strcmp(base, "bra") && count == 1) {
    snprintf(p->targets[p->function->n_insns], 128, "%s", operands[0].label);
  } else if (!strcmp(base, "mov") && count == 2 &&
             (operands[0].kind == OPERAND_VECTOR || operands[1].kind == OPERAND_VECTOR)) {
    decode_packing(operands, out, name);
  } else if (!decode_memory(base, operands, count, out) && count && !is_one_of(base, bare)) {
    set_words(p, operands, count, out);
  }
  if (!strncmp(base, "bar", 3)) p->function->has_barrier = true;
  out->run = strstr(name, "pack") ? NULL : forms_find(opcode);
  if (!out->run) out->run = forms_find(name);
  if (!out->run) tokens_fail(p, "the instruction '%s' is not known", opcode);
}
