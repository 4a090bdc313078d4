/* SPDX-License-Identifier: Apache-2.0
 * parser.c: parses PTX to a module. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/parse.h"

enum { OPERANDS_MOST = 12 };

/* ---- Declarations ---- */

/* The bytes of one element of a type: ".b32"; 1 for what is no number (a predicate takes a word).
 */
static int32_t type_bytes(const char *type) {
  const size_t length = strlen(type);
  if (length >= 2 && !strcmp(type + length - 2, "64")) return 8;
  if (length >= 2 && !strcmp(type + length - 2, "32")) return 4;
  if (length >= 2 && !strcmp(type + length - 2, "16")) return 2;
  return 1;
}

static int32_t aligned(int32_t offset, int32_t to) { return (offset + to - 1) / to * to; }

struct declared {
  char name[128];
  int32_t align, bytes, count; /* count -1: no [n] or <n> */
};

/* ".align 8 .b8 name[16]", with the words in any order before the name. */
static void parse_declared(struct parser *p, struct declared *out) {
  int32_t one = 1;
  bool is_pointer = false; /* what follows .ptr is about what it points to */
  *out = (struct declared){.align = 1, .count = -1};
  while (p->token.text[0] == '.' && !*p->error) {
    if (tokens_take(p, ".align")) {
      const int32_t align = (int32_t)tokens_number(p);
      if (!is_pointer) out->align = align;
    } else if (is_pointer || tokens_is(p, ".ptr")) {
      is_pointer = true;
      tokens_next(p);
    } else {
      one = type_bytes(p->token.text);
      tokens_next(p);
    }
  }
  if (out->align < one) out->align = one;
  snprintf(out->name, sizeof out->name, "%.127s", p->token.text);
  tokens_next(p);
  out->bytes = one;
  if (tokens_take(p, "[")) {
    out->bytes = tokens_is(p, "]") ? 0 : one * (int32_t)tokens_number(p);
    tokens_need(p, "]");
  } else if (tokens_take(p, "<")) {
    out->count = (int32_t)tokens_number(p);
    tokens_need(p, ">");
  }
}

static void add_name(struct parser *p, const struct declared *declared, int kind, int32_t first) {
  if (p->n_names == 512) {
    tokens_fail(p, "too many names");
    return;
  }
  struct name *name = &p->names[p->n_names++];
  *name = (struct name){
      .kind = kind, .count = declared->count, .first = first, .bytes = declared->bytes};
  memcpy(name->text, declared->name, sizeof name->text);
}

/* Reserves memory at the end of a part of the thread's (or the block's) memory. */
static int32_t reserve(int32_t *total, const struct declared *declared) {
  const int32_t at = aligned(*total, declared->align < 8 ? 8 : declared->align);
  *total = at + declared->bytes;
  return at;
}

static void parse_registers(struct parser *p) {
  struct declared declared;
  bool first = true;
  do {
    if (first) {
      parse_declared(p, &declared);
    } else {
      snprintf(declared.name, sizeof declared.name, "%.127s", p->token.text);
      tokens_next(p);
    }
    first = false;
    add_name(p, &declared, NAME_REGISTER, p->function->n_words);
    p->function->n_words += declared.count < 0 ? 1 : declared.count;
  } while (tokens_take(p, ",") && !*p->error);
  tokens_need(p, ";");
}

static void parse_memory(struct parser *p, int kind) {
  struct function *f = p->function;
  struct declared declared;
  parse_declared(p, &declared);
  int32_t *total = kind == NAME_SHARED  ? &f->shared_bytes
                   : kind == NAME_LOCAL ? &f->local_bytes
                                        : &f->param_bytes;
  add_name(p, &declared, kind, reserve(total, &declared));
  tokens_need(p, ";");
}

/* A variable of the module, perhaps with a list of values. */
static void parse_variable(struct parser *p, bool (*place)(void *, struct variable *),
                           void *context) {
  struct declared declared;
  parse_declared(p, &declared);
  struct variable *variable = calloc(1, sizeof *variable);
  memcpy(variable->name, declared.name, sizeof variable->name);
  variable->bytes = (size_t)declared.bytes;
  variable->data = calloc(1, variable->bytes + 8);
  variable->next = p->module->variables;
  p->module->variables = variable;
  if (tokens_take(p, "=")) {
    const bool listed = tokens_take(p, "{");
    size_t at = 0;
    const size_t one = listed ? 1 : variable->bytes;
    do {
      const int64_t value = tokens_number(p);
      if (at + one <= variable->bytes) memcpy(variable->data + at, &value, one);
      at += one;
    } while (tokens_take(p, ",") && !*p->error);
    if (listed) tokens_need(p, "}");
  }
  tokens_need(p, ";");
  if (!*p->error && !place(context, variable)) tokens_fail(p, "no memory for '%s'", variable->name);
}

/* ---- Instructions ---- */

static void parse_call_list(struct parser *p, int32_t *out, int *count) {
  while (!tokens_is(p, ")") && !*p->error) {
    const struct name *name = operand_name(p, p->token.text);
    if (!name || name->kind != NAME_PARAM || *count == CALL_ARGS) {
      tokens_fail(p, "'%s' is no parameter of a call", p->token.text);
      return;
    }
    out[(*count)++] = name->first;
    tokens_next(p);
    tokens_take(p, ",");
  }
  tokens_need(p, ")");
}

/* call.uni (result), name, (a, b); */
static void parse_call(struct parser *p, struct insn *insn) {
  struct call *call = insn->call = calloc(1, sizeof *call);
  int32_t result[CALL_ARGS] = {0};
  if (tokens_take(p, "(")) {
    parse_call_list(p, result, &call->has_result);
    call->result = result[0];
    tokens_need(p, ",");
  }
  snprintf(call->name, sizeof call->name, "%.127s", p->token.text);
  tokens_next(p);
  if (tokens_take(p, ",")) {
    tokens_need(p, "(");
    parse_call_list(p, call->args, &call->n_args);
  }
  tokens_need(p, ";");
  insn->run = forms_find("call");
}

static void parse_operands(struct parser *p, const char *opcode, struct insn *insn) {
  struct operand operands[OPERANDS_MOST];
  int count = 0;
  while (!tokens_is(p, ";") && !*p->error && count < OPERANDS_MOST) {
    operand_parse(p, &operands[count++]);
    if (!tokens_take(p, ",")) break;
  }
  tokens_need(p, ";");
  if (!*p->error) decode(p, opcode, operands, count, insn);
}

static void grow(struct parser *p) {
  struct function *f = p->function;
  if (f->n_insns % 256) return;
  const size_t room = (size_t)f->n_insns + 256;
  f->insns = realloc(f->insns, room * sizeof *f->insns);
  p->targets = realloc(p->targets, room * sizeof *p->targets);
}

static void parse_instruction(struct parser *p) {
  struct function *f = p->function;
  struct operand guard = {.word = NO_WORD};
  char opcode[WORD_MOST];
  grow(p);
  if (tokens_take(p, "@")) operand_parse(p, &guard);
  memcpy(opcode, p->token.text, sizeof opcode);
  struct insn *insn = &f->insns[f->n_insns];
  *insn = (struct insn){.d = NO_WORD,
                        .a = NO_WORD,
                        .b = NO_WORD,
                        .c = NO_WORD,
                        .v = {NO_WORD, NO_WORD, NO_WORD, NO_WORD},
                        .guard = guard.word,
                        .unless = guard.negated,
                        .line = p->token.line,
                        .number = f->n_insns};
  p->targets[f->n_insns][0] = 0;
  tokens_next(p);
  if (!strncmp(opcode, "call", 4))
    parse_call(p, insn);
  else
    parse_operands(p, opcode, insn);
  f->n_insns++;
}

static void add_label(struct parser *p, const char *text) {
  if (p->n_labels % 256 == 0)
    p->labels = realloc(p->labels, ((size_t)p->n_labels + 256) * sizeof *p->labels);
  struct label *label = &p->labels[p->n_labels++];
  snprintf(label->text, sizeof label->text, "%.127s", text);
  label->target = p->function->n_insns;
}

static void skip_directive(struct parser *p) {
  const int line = p->line;
  const bool to_semicolon = tokens_is(p, ".pragma");
  while (*p->token.text && !*p->error && (to_semicolon ? !tokens_is(p, ";") : p->line == line))
    tokens_next(p);
  tokens_take(p, ";");
}

static void parse_directive(struct parser *p) {
  if (tokens_take(p, ".reg"))
    parse_registers(p);
  else if (tokens_take(p, ".shared"))
    parse_memory(p, NAME_SHARED);
  else if (tokens_take(p, ".local"))
    parse_memory(p, NAME_LOCAL);
  else if (tokens_take(p, ".param"))
    parse_memory(p, NAME_PARAM);
  else
    skip_directive(p);
}

static void parse_statement(struct parser *p) {
  if (tokens_take(p, "{")) {
    if (p->depth == 15) tokens_fail(p, "too many braces");
    p->scopes[p->depth++] = p->n_names;
  } else if (tokens_is(p, "}")) {
    p->n_names = p->scopes[--p->depth];
    tokens_next(p);
  } else if (p->token.text[0] == '.') {
    parse_directive(p);
  } else if (p->token.is_word && *p->at == ':') {
    add_label(p, p->token.text);
    tokens_next(p);
    tokens_next(p);
  } else {
    parse_instruction(p);
  }
}

/* Falls off the end of a function: returns. Branches get the numbers of their labels. */
static void end_function(struct parser *p) {
  struct function *f = p->function;
  grow(p);
  f->insns[f->n_insns] = (struct insn){
      .guard = NO_WORD, .run = forms_find("ret"), .line = p->line, .number = f->n_insns};
  p->targets[f->n_insns++][0] = 0;
  for (int i = 0; i < f->n_insns && !*p->error; i++) {
    int k = 0;
    if (!p->targets[i][0]) continue;
    while (k < p->n_labels && strcmp(p->labels[k].text, p->targets[i]) != 0) k++;
    if (k == p->n_labels)
      tokens_fail(p, "there is no label '%s'", p->targets[i]);
    else
      f->insns[i].target = p->labels[k].target;
  }
}

static void parse_body(struct parser *p) {
  p->depth = 0;
  p->n_labels = 0;
  p->function->has_body = true;
  do parse_statement(p);
  while (p->depth && *p->token.text && !*p->error);
  end_function(p);
}

/* ---- Functions ---- */

static void add_param(struct parser *p, struct param *out) {
  struct declared declared;
  tokens_need(p, ".param");
  parse_declared(p, &declared);
  /* Parameters of a kernel lie as the driver puts them: each at its own alignment. */
  out->offset = aligned(p->function->param_bytes, declared.align);
  out->bytes = declared.bytes;
  p->function->param_bytes = out->offset + declared.bytes;
  memcpy(out->name, declared.name, sizeof out->name);
  add_name(p, &declared, NAME_PARAM, out->offset);
}

static struct function *function_of(struct module *module, const char *name) {
  struct function *f = ptx_function(module, name);
  if (f) return f;
  f = calloc(1, sizeof *f);
  snprintf(f->name, sizeof f->name, "%.127s", name);
  f->next = module->functions;
  module->functions = f;
  return f;
}

/* A second parse of the head, of a function that was declared before, starts anew. */
static void begin_function(struct parser *p, const char *name, bool is_entry) {
  struct function *f = p->function = function_of(p->module, name);
  free(f->params);
  struct function *next = f->next;
  *f = (struct function){.next = next, .is_entry = is_entry, .n_words = N_SPECIALS};
  snprintf(f->name, sizeof f->name, "%.127s", name);
}

static void parse_function(struct parser *p, bool is_entry) {
  static struct function head; /* takes the result, which stands before the name */
  struct param result = {.bytes = 0};
  struct name result_name = {.count = -1};
  head = (struct function){0};
  p->n_names = 0;
  p->function = &head;
  if (tokens_take(p, "(")) {
    add_param(p, &result);
    result_name = p->names[0];
    tokens_need(p, ")");
  }
  begin_function(p, p->token.text, is_entry);
  struct function *f = p->function;
  f->result = result;
  f->has_result = result.bytes > 0;
  f->param_bytes = result.bytes;
  p->n_names = 0;
  if (f->has_result) p->names[p->n_names++] = result_name;
  tokens_next(p);
  if (tokens_take(p, "(")) {
    while (tokens_is(p, ".param") && !*p->error) {
      f->params = realloc(f->params, ((size_t)f->n_params + 1) * sizeof *f->params);
      add_param(p, &f->params[f->n_params++]);
      tokens_take(p, ",");
    }
    tokens_need(p, ")");
  }
  while (p->token.text[0] == '.') skip_directive(p);
  if (!tokens_take(p, ";")) parse_body(p);
}

static void parse_top(struct parser *p, bool (*place)(void *, struct variable *), void *context) {
  while (tokens_take(p, ".visible") || tokens_take(p, ".weak") || tokens_take(p, ".extern")) {
  }
  if (tokens_take(p, ".entry"))
    parse_function(p, true);
  else if (tokens_take(p, ".func"))
    parse_function(p, false);
  else if (tokens_take(p, ".global") || tokens_take(p, ".const"))
    parse_variable(p, place, context);
  else if (p->token.text[0] == '.')
    skip_directive(p);
  else
    tokens_fail(p, "'%s' is not understood", p->token.text);
}

/* ---- Linking ---- */

static void shift(struct insn *insn, int32_t by) {
  int32_t *const words[] = {&insn->d,    &insn->a,    &insn->b,    &insn->c,   &insn->guard,
                            &insn->v[0], &insn->v[1], &insn->v[2], &insn->v[3]};
  for (size_t k = 0; k < sizeof words / sizeof *words; k++)
    if (*words[k] >= N_SPECIALS) *words[k] += by;
}

static void most(int32_t *total, int32_t value) {
  if (*total < value) *total = value;
}

/* Entries share the first words and bytes of a thread; other functions have their own behind. */
static void lay_out(struct module *m) {
  for (struct function *f = m->functions; f; f = f->next) {
    if (!f->is_entry) continue;
    most(&m->n_words, f->n_words);
    most(&m->local_bytes, aligned(f->local_bytes, 16));
    most(&m->param_bytes, aligned(f->param_bytes, 16));
    most(&m->shared_bytes, f->shared_bytes);
  }
  for (struct function *f = m->functions; f; f = f->next) {
    if (f->is_entry) continue;
    const int32_t by = m->n_words - N_SPECIALS;
    f->first_local = m->local_bytes;
    f->first_param = m->param_bytes;
    for (int i = 0; i < f->n_insns; i++) shift(&f->insns[i], by);
    for (int k = 0; k < f->n_constants; k++) {
      struct constant *constant = &f->constants[k];
      constant->word += by;
      if (constant->value.u64 - PTX_LOCAL_BASE < (uint64_t)f->local_bytes)
        constant->value.u64 += (uint64_t)f->first_local;
    }
    m->n_words += f->n_words - N_SPECIALS;
    m->local_bytes += aligned(f->local_bytes, 16);
    m->param_bytes += aligned(f->param_bytes, 16);
  }
}

static void resolve_calls(struct parser *p) {
  for (struct function *f = p->module->functions; f; f = f->next) {
    for (int i = 0; i < f->n_insns; i++) {
      struct call *call = f->insns[i].call;
      if (!call) continue;
      call->callee = ptx_function(p->module, call->name);
      if (!call->callee || !call->callee->has_body || call->callee->n_params != call->n_args)
        tokens_fail(p, "the call of '%s' does not fit", call->name);
    }
  }
}

struct function *ptx_function(const struct module *module, const char *name) {
  struct function *f = module->functions;
  while (f && strcmp(f->name, name) != 0) f = f->next;
  return f;
}

void ptx_free(struct module *module) {
  while (module->functions) {
    struct function *f = module->functions;
    module->functions = f->next;
    for (int i = 0; i < f->n_insns; i++) free(f->insns[i].call);
    free(f->insns);
    free(f->constants);
    free(f->params);
    free(f);
  }
  while (module->variables) {
    struct variable *variable = module->variables;
    module->variables = variable->next;
    free(variable->data);
    free(variable);
  }
  free(module);
}

struct module *ptx_parse(const char *text, bool (*place)(void *context, struct variable *),
                         void *context, char *error) {
  struct parser *p = calloc(1, sizeof *p);
  struct module *module = p->module = calloc(1, sizeof *module);
  *error = 0;
  p->at = text;
  p->line = 1;
  p->error = error;
  tokens_next(p);
  while (*p->token.text && !*error) parse_top(p, place, context);
  if (!*error) resolve_calls(p);
  if (!*error) lay_out(module);
  free(p->labels);
  free(p->targets);
  free(p);
  if (!*error) return module;
  ptx_free(module);
  return NULL;
}
