/* SPDX-License-Identifier: Apache-2.0
 * regex.c: compiles regular expressions to programs and runs them.
 *
 * The machine follows all alternatives at once, in the order of their priority: a list of threads,
 * each at an instruction, is advanced by one character at a time. At most one thread is at an
 * instruction, so a step takes time proportional to the program. */
#include "ops/string/regex.h"

#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "ops/string/utf8.h"
#include "ops/string/utf8_case.h"

enum { MOST_INSTRUCTIONS = 100000, ENDS = 2 * REGEX_GROUPS, STEPS_PER_CHECK = 256 };

enum opcode { MATCH_SET, FORK, JUMP, SAVE, ASSERT, ACCEPT };

struct instruction {
  enum opcode opcode;
  int x, y; /* targets, the preferred one first; SAVE: the index in x; ASSERT: which, in x */
  const struct regex_set *set;
};

/* Threads in the order of priority; by instruction, the step in which a thread was added. */
struct threads {
  int count;
  int *at;
  int64_t (*ends)[ENDS];
  uint32_t *seen; /* the step in which a thread was added */
};

/* A stack entry while jumps are followed: an instruction, or a capture to restore (-1). */
struct frame {
  int at, index;
  int64_t end;
};

struct regex {
  struct arena arena;
  struct instruction *code;
  int count, groups;
  struct threads now, next;
  struct frame *stack;
  uint32_t step;
};

/* Compilation */

struct compiler {
  struct instruction *code; /* NULL: only counts */
  int count;
};

static int emit(struct compiler *c, enum opcode opcode, int x, int y) {
  if (c->code) c->code[c->count] = (struct instruction){.opcode = opcode, .x = x, .y = y};
  return c->count++;
}

static void compile(struct compiler *c, const struct regex_node *node);

/* A choice between the next instruction and one that `other` is set to later. */
static void set_fork(struct compiler *c, int fork, int body, int other, bool lazy) {
  if (!c->code) return;
  c->code[fork].x = lazy ? other : body;
  c->code[fork].y = lazy ? body : other;
}

/* x+: a choice behind x. */
static void compile_plus(struct compiler *c, const struct regex_node *node) {
  const int first = c->count;
  compile(c, node->a);
  const int fork = emit(c, FORK, 0, 0);
  set_fork(c, fork, first, c->count, node->lazy);
}

/* x* is (x+)?: an x that matches nothing ends the repetition with its own priority. */
static void compile_star(struct compiler *c, const struct regex_node *node) {
  const int fork = emit(c, FORK, 0, 0);
  compile_plus(c, node);
  set_fork(c, fork, fork + 1, c->count, node->lazy);
}

/* x{2,} is xx+, x{2,5} is xx(x(x(x)?)?)?. */
static void compile_repeat(struct compiler *c, const struct regex_node *node) {
  int last = -1; /* the forks are linked by y until their target is known */
  const int copies = node->max < 0 ? node->min - 1 : node->min;
  for (int i = 0; i < copies && c->count < MOST_INSTRUCTIONS; i++) compile(c, node->a);
  if (node->max < 0) {
    if (node->min)
      compile_plus(c, node);
    else
      compile_star(c, node);
    return;
  }
  for (int i = node->min; i < node->max && c->count < MOST_INSTRUCTIONS; i++) {
    last = emit(c, FORK, 0, last);
    compile(c, node->a);
  }
  while (c->code && last >= 0) {
    const int before = c->code[last].y;
    set_fork(c, last, last + 1, c->count, node->lazy);
    last = before;
  }
}

static void compile_or(struct compiler *c, const struct regex_node *node) {
  int last = -1; /* the jumps to the end are linked by x until it is known */
  for (; node->kind == REGEX_OR && c->count < MOST_INSTRUCTIONS; node = node->b) {
    const int fork = emit(c, FORK, 0, 0);
    compile(c, node->a);
    last = emit(c, JUMP, last, 0);
    set_fork(c, fork, fork + 1, c->count, false);
  }
  compile(c, node);
  while (c->code && last >= 0) {
    const int before = c->code[last].x;
    c->code[last].x = c->count;
    last = before;
  }
}

static void compile(struct compiler *c, const struct regex_node *node) {
  for (; node->kind == REGEX_CAT && c->count < MOST_INSTRUCTIONS; node = node->b)
    compile(c, node->a);
  const bool saves = node->kind == REGEX_GROUP && node->group > 0 && node->group < REGEX_GROUPS;
  if (c->count >= MOST_INSTRUCTIONS) return;
  switch (node->kind) {
    case REGEX_EMPTY:
      break;
    case REGEX_SET:
      emit(c, MATCH_SET, 0, 0);
      if (c->code) c->code[c->count - 1].set = &node->set;
      break;
    case REGEX_ASSERT:
      emit(c, ASSERT, (int)node->assertion, 0);
      break;
    case REGEX_CAT: /* above */
      break;
    case REGEX_OR:
      compile_or(c, node);
      break;
    case REGEX_REPEAT:
      compile_repeat(c, node);
      break;
    case REGEX_GROUP:
      if (saves) emit(c, SAVE, 2 * node->group, 0);
      compile(c, node->a);
      if (saves) emit(c, SAVE, 2 * node->group + 1, 0);
      break;
  }
}

static bool allocate_threads(struct arena *arena, int count, struct threads *out) {
  out->at = ARENA_ARRAY(arena, int, count);
  out->ends = arena_alloc(arena, (size_t)count * sizeof *out->ends);
  out->seen = ARENA_ARRAY(arena, uint32_t, count);
  return out->at && out->ends && out->seen;
}

static situ_status build(struct regex *regex, situ_string pattern) {
  struct regex_node *tree = NULL;
  struct compiler c = {0};
  TRY(regex_parse(pattern, &regex->arena, &tree, &regex->groups));
  compile(&c, tree);
  if (c.count >= MOST_INSTRUCTIONS) return INVALID("pattern too large - compile failed");
  regex->count = c.count + 1;
  regex->code = ARENA_ARRAY(&regex->arena, struct instruction, regex->count);
  regex->stack = ARENA_ARRAY(&regex->arena, struct frame, 2 * regex->count + 2);
  if (!regex->code || !regex->stack ||
      !allocate_threads(&regex->arena, regex->count, &regex->now) ||
      !allocate_threads(&regex->arena, regex->count, &regex->next))
    return NO_MEMORY();
  c = (struct compiler){.code = regex->code};
  compile(&c, tree);
  emit(&c, ACCEPT, 0, 0);
  return NULL;
}

situ_status regex_compile(situ_string pattern, struct regex **out) {
  struct regex *regex = calloc(1, sizeof *regex);
  if (!regex) return NO_MEMORY();
  situ_status status = build(regex, pattern);
  if (status) {
    situ_status named = INVALID("Invalid pattern: %.*s, error: %s", (int)pattern.length,
                                pattern.data, situ_status_message(status));
    situ_status_release(status);
    regex_free(regex);
    return named;
  }
  *out = regex;
  return NULL;
}

void regex_free(struct regex *regex) {
  if (!regex) return;
  arena_free(&regex->arena);
  free(regex);
}

int regex_groups(const struct regex *regex) { return regex->groups; }

/* Matching */

static bool matches(const struct regex_set *set, uint32_t c) {
  if (c == UTF8_INVALID) return false;
  return set->inverted != (regex_set_contains(set, c) ||
                           (set->folds && (regex_set_contains(set, utf8_case_of(c, false)) ||
                                           regex_set_contains(set, utf8_case_of(c, true)))));
}

static bool is_word(situ_string text, size_t at) {
  const unsigned char c = at < text.length ? (unsigned char)text.data[at] : 0;
  return (c >= '0' && c <= '9') || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_';
}

static bool holds(int assertion, situ_string text, size_t at) {
  const bool begins = at == 0, ends = at == text.length;
  switch (assertion) {
    case REGEX_TEXT_BEGIN:
      return begins;
    case REGEX_TEXT_END:
      return ends;
    case REGEX_LINE_BEGIN:
      return begins || text.data[at - 1] == '\n';
    case REGEX_LINE_END:
      return ends || text.data[at] == '\n';
    default:
      return (assertion == REGEX_WORD) == ((!begins && is_word(text, at - 1)) != is_word(text, at));
  }
}

/* Adds the threads reachable from an instruction without reading a character. `ends` is unchanged
 * afterwards. */
static void follow(struct regex *regex, struct threads *to, int start, situ_string text, size_t at,
                   int64_t ends[ENDS]) {
  int depth = 0;
  regex->stack[depth++] = (struct frame){start, -1, 0};
  while (depth) {
    const struct frame frame = regex->stack[--depth];
    if (frame.index >= 0) {
      ends[frame.index] = frame.end;
      continue;
    }
    for (int pc = frame.at; to->seen[pc] != regex->step;) {
      const struct instruction *i = &regex->code[pc];
      to->seen[pc] = regex->step;
      if (i->opcode == FORK) {
        regex->stack[depth++] = (struct frame){i->y, -1, 0};
        pc = i->x;
      } else if (i->opcode == JUMP) {
        pc = i->x;
      } else if (i->opcode == SAVE) {
        regex->stack[depth++] = (struct frame){0, i->x, ends[i->x]};
        ends[i->x] = (int64_t)at;
        pc++;
      } else if (i->opcode == ASSERT) {
        if (!holds(i->x, text, at)) break;
        pc++;
      } else {
        to->at[to->count] = pc;
        memcpy(to->ends[to->count++], ends, sizeof to->ends[0]);
      }
    }
  }
}

/* Advances all threads over the character from `at` to `next`. Threads after one that accepts have
 * a lower priority and are dropped. */
static void advance(struct regex *regex, situ_string text, size_t at, size_t next, uint32_t c,
                    bool whole, int64_t ends[ENDS], bool *found) {
  regex->next.count = 0;
  regex->step++;
  for (int i = 0; i < regex->now.count; i++) {
    const struct instruction *instruction = &regex->code[regex->now.at[i]];
    int64_t *own = regex->now.ends[i];
    if (instruction->opcode == ACCEPT) {
      if (whole && at != text.length) continue;
      memcpy(ends, own, ENDS * sizeof *ends);
      ends[1] = (int64_t)at;
      *found = true;
      break;
    }
    if (next > at && matches(instruction->set, c))
      follow(regex, &regex->next, regex->now.at[i] + 1, text, next, own);
  }
  const struct threads now = regex->now;
  regex->now = regex->next;
  regex->next = now;
}

/* Makes sure that the numbers of steps suffice for a text: up to two per character. */
static situ_status renew_steps(struct regex *regex, situ_string text) {
  if (text.length > UINT32_MAX / 2 - 4) return INVALID("Text too long");
  if (regex->step <= UINT32_MAX - 2 * (uint32_t)text.length - 4) return NULL;
  regex->step = 0;
  memset(regex->now.seen, 0, (size_t)regex->count * sizeof *regex->now.seen);
  memset(regex->next.seen, 0, (size_t)regex->count * sizeof *regex->next.seen);
  return NULL;
}

situ_status regex_find(struct regex *regex, situ_string text, size_t begin, bool whole,
                       int64_t ends[2 * REGEX_GROUPS], bool *found) {
  int64_t fresh[ENDS];
  size_t at = begin, steps = 0;
  *found = false;
  regex->now.count = 0;
  TRY(renew_steps(regex, text));
  for (;;) {
    if (++steps % STEPS_PER_CHECK == 0) TRY(interrupt_check());
    size_t next = at;
    uint32_t c = UTF8_INVALID;
    if (!*found && (!whole || at == begin)) { /* a match may begin here, with the lowest priority */
      for (int k = 0; k < ENDS; k++) fresh[k] = -1;
      fresh[0] = (int64_t)at;
      if (!regex->now.count) regex->step++;
      follow(regex, &regex->now, 0, text, at, fresh);
    }
    if (!regex->now.count && (*found || whole)) return NULL;
    if (at < text.length) c = utf8_decode(text, &next);
    advance(regex, text, at, next, c, whole, ends, found);
    if (next == at) return NULL;
    at = next;
  }
}
