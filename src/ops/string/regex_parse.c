/* SPDX-License-Identifier: Apache-2.0
 * regex_parse.c: parser of regular expressions in the syntax of RE2: recursive descent. */
#include <string.h>

#include "ops/string/regex.h"
#include "ops/string/utf8.h"

enum { MOST_REPEATS = 1000, MOST_DEPTH = 500 };

/* Flags of (?imsU). */
struct flags {
  bool fold, multi, dot_all, swap;
};

struct parser {
  situ_string text;
  size_t at;
  struct arena *arena;
  struct flags flags;
  int groups, depth;
  bool quoted;  /* between \Q and \E */
  int repeats;  /* the most copies of a node that repetitions in this group make */
  size_t begin; /* the last repetition operator */
  size_t end;
};

static situ_status parse_or(struct parser *p, struct regex_node **out);

/* The error of the part of the pattern from `begin` to `end`. */
static situ_status wrong(const struct parser *p, const char *what, size_t begin, size_t end) {
  if (begin == end) return INVALID("%s", what);
  return INVALID("%s: %.*s", what, (int)(end - begin), p->text.data + begin);
}

static bool more(const struct parser *p) { return p->at < p->text.length; }

static bool next_is(const struct parser *p, const char *text) {
  const size_t n = strlen(text);
  return p->text.length - p->at >= n && !memcmp(p->text.data + p->at, text, n);
}

static bool take(struct parser *p, const char *text) {
  if (!next_is(p, text)) return false;
  p->at += strlen(text);
  return true;
}

/* Returns a node, or NULL if out of memory. */
static struct regex_node *new_node(struct parser *p, enum regex_kind kind) {
  struct regex_node *made = arena_zero(p->arena, sizeof *made);
  if (!made) return NULL;
  made->kind = kind;
  made->repeats = 1;
  return made;
}

static situ_status node(struct parser *p, enum regex_kind kind, struct regex_node **out) {
  *out = new_node(p, kind);
  return *out ? NULL : NO_MEMORY();
}

static situ_status pair(struct parser *p, enum regex_kind kind, struct regex_node *a,
                        struct regex_node *b, struct regex_node **out) {
  struct regex_node *made = new_node(p, kind);
  if (!made) return NO_MEMORY();
  made->a = a;
  made->b = b;
  *out = made;
  return NULL;
}

static situ_status character(struct parser *p, uint32_t *c) {
  const size_t begin = p->at;
  *c = utf8_decode(p->text, &p->at);
  return *c == UTF8_INVALID ? wrong(p, "invalid UTF-8", begin, begin) : NULL;
}

static situ_status literal(struct parser *p, uint32_t c, struct regex_node **out) {
  TRY(node(p, REGEX_SET, out));
  (*out)->set.folds = p->flags.fold;
  regex_set_add(p->arena, &(*out)->set, c, c);
  return NULL;
}

/* Escapes */

static int digit(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return value < base ? value : -1;
}

/* Reads at most `most` digits; returns how many. */
static int digits(struct parser *p, int base, int most, uint32_t *value) {
  int n = 0;
  *value = 0;
  for (; n < most && more(p) && digit(p->text.data[p->at], base) >= 0; n++)
    *value = *value * (uint32_t)base + (uint32_t)digit(p->text.data[p->at++], base);
  return n;
}

/* \x41 and \x{10FFFF}, after the x. */
static situ_status hexadecimal(struct parser *p, size_t begin, uint32_t *c) {
  const bool braces = take(p, "{");
  const int n = digits(p, 16, braces ? 8 : 2, c);
  if (braces ? n && take(p, "}") && *c <= REGEX_LAST_CODE : n == 2) return NULL;
  return wrong(p, "invalid escape sequence", begin, p->at + more(p));
}

/* An escaped character, after the backslash. */
static situ_status escape(struct parser *p, size_t begin, uint32_t *c) {
  static const char letters[] = "afnrtv", values[] = "\a\f\n\r\t\v";
  const char letter = p->text.data[p->at];
  const char *known = letter ? strchr(letters, letter) : NULL;
  if (letter >= '0' && letter <= '7') {
    const bool octal =
        letter == '0' || (p->at + 1 < p->text.length && digit(p->text.data[p->at + 1], 8) >= 0);
    if (octal && digits(p, 8, 3, c)) return NULL;
    return wrong(p, "invalid escape sequence", begin, p->at + 1);
  }
  if (letter == 'x') {
    p->at++;
    return hexadecimal(p, begin, c);
  }
  TRY(character(p, c));
  if (known) *c = (unsigned char)values[known - letters];
  const bool word = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
                    (*c >= '0' && *c <= '9') || *c == '_' || *c >= 0x80;
  return known || !word || *c == '_' ? NULL : wrong(p, "invalid escape sequence", begin, p->at);
}

/* \p{Lu}, \pL, \d and similar at the backslash; *taken is set if there is one. */
static situ_status class_escape(struct parser *p, struct regex_set *set, bool *taken) {
  const size_t begin = p->at;
  *taken = false;
  if (p->text.length - p->at < 2 || p->text.data[p->at] != '\\') return NULL;
  const char letter = p->text.data[p->at + 1];
  struct regex_set own = {0};
  situ_string name = {p->text.data + p->at + 1, 1};
  bool invert = letter < 'a';
  if (!letter || !strchr("dDsSwWpP", letter)) return NULL;
  *taken = true;
  p->at += 2;
  const bool unicode = letter == 'p' || letter == 'P';
  if (unicode && more(p)) {
    const bool braces = take(p, "{");
    const char *end = braces ? memchr(p->text.data + p->at, '}', p->text.length - p->at) : NULL;
    if (braces && !end) return wrong(p, "invalid character class range", begin, p->text.length);
    if (braces && take(p, "^")) invert = !invert;
    const size_t first = p->at;
    uint32_t c;
    if (braces)
      p->at = (size_t)(end - p->text.data);
    else
      TRY(character(p, &c));
    name = (situ_string){p->text.data + first, p->at - first};
    p->at += braces;
  }
  const char lower = (char)(letter | 0x20);
  if (!unicode) name = (situ_string){&lower, 1};
  if (!regex_class_add(p->arena, name, unicode, &own))
    return wrong(p, "invalid character class range", begin, p->at);
  regex_set_sort(&own);
  if (invert) regex_set_invert(p->arena, &own);
  for (int i = 0; i < own.count; i++)
    regex_set_add(p->arena, set, own.ranges[i].first, own.ranges[i].last);
  return NULL;
}

/* Bracket expressions */

/* [:alpha:] or [:^alpha:]. */
static situ_status posix_class(struct parser *p, struct regex_set *set, bool *taken) {
  const size_t begin = p->at;
  *taken = false;
  if (!next_is(p, "[:")) return NULL;
  const char *end = memmem(p->text.data + p->at + 2, p->text.length - p->at - 2, ":]", 2);
  if (!end) return NULL;
  *taken = true;
  p->at += 2;
  const bool invert = take(p, "^");
  struct regex_set own = {0};
  const situ_string name = {p->text.data + p->at, (size_t)(end - p->text.data) - p->at};
  p->at += name.length + 2;
  if (name.length < 2 || !regex_class_add(p->arena, name, false, &own))
    return wrong(p, "invalid character class range", begin, p->at);
  regex_set_sort(&own);
  if (invert) regex_set_invert(p->arena, &own);
  for (int i = 0; i < own.count; i++)
    regex_set_add(p->arena, set, own.ranges[i].first, own.ranges[i].last);
  return NULL;
}

static situ_status class_character(struct parser *p, uint32_t *c) {
  const size_t begin = p->at;
  if (!take(p, "\\")) return character(p, c);
  return more(p) ? escape(p, begin, c) : wrong(p, "trailing \\", 0, 0);
}

static situ_status class_range(struct parser *p, struct regex_set *set) {
  const size_t begin = p->at;
  uint32_t first = 0;
  TRY(class_character(p, &first));
  uint32_t last = first;
  const bool range =
      next_is(p, "-") && p->at + 1 < p->text.length && p->text.data[p->at + 1] != ']';
  if (range) {
    p->at++;
    TRY(class_character(p, &last));
  }
  if (last < first) return wrong(p, "invalid character class range", begin, p->at);
  regex_set_add(p->arena, set, first, last);
  return NULL;
}

static situ_status bracket(struct parser *p, struct regex_node **out) {
  const size_t begin = p->at++;
  TRY(node(p, REGEX_SET, out));
  struct regex_set *set = &(*out)->set;
  const bool invert = take(p, "^");
  for (bool first = true; first || !next_is(p, "]"); first = false) {
    bool taken;
    if (!more(p)) return wrong(p, "missing ]", begin, p->text.length);
    TRY(posix_class(p, set, &taken));
    if (!taken) TRY(class_escape(p, set, &taken));
    if (!taken) TRY(class_range(p, set));
  }
  p->at++;
  regex_set_sort(set);
  set->folds = p->flags.fold;
  set->inverted = invert;
  return NULL;
}

/* Groups */

/* The flags after "(?", up to ":" or ")". */
static situ_status parse_flags(struct parser *p, size_t begin, bool *opens) {
  bool value = true, is_open = false; /* a minus must be followed by a flag */
  while (more(p)) {
    uint32_t c;
    TRY(character(p, &c));
    bool *flag = c == 'i'   ? &p->flags.fold
                 : c == 'm' ? &p->flags.multi
                 : c == 's' ? &p->flags.dot_all
                 : c == 'U' ? &p->flags.swap
                            : NULL;
    *opens = c == ':';
    if ((c == ':' || c == ')') && !is_open) return NULL;
    is_open = c == '-' && value;
    if (!flag && !is_open) break;
    if (flag) *flag = value;
    if (is_open) value = false;
  }
  return wrong(p, "invalid perl operator", begin, p->at);
}

/* Whether a name consists of letters, marks, decimal digits and connectors such as _. */
static bool is_name(struct arena *arena, situ_string name) {
  static const char *const categories[] = {"L", "M", "Nd", "Nl", "Pc"};
  struct regex_set allowed = {0};
  for (size_t i = 0; i < COUNT_OF(categories); i++)
    regex_class_add(arena, (situ_string){categories[i], strlen(categories[i])}, true, &allowed);
  regex_set_sort(&allowed);
  for (size_t at = 0; at < name.length;)
    if (!regex_set_contains(&allowed, utf8_decode(name, &at))) return false;
  return name.length > 0;
}

static situ_status group_name(struct parser *p, size_t begin) {
  const size_t first = p->at;
  const char *end = memchr(p->text.data + first, '>', p->text.length - first);
  if (!end) return wrong(p, "invalid named capture group", begin, p->text.length);
  p->at = (size_t)(end - p->text.data) + 1;
  if (is_name(p->arena, (situ_string){p->text.data + first, p->at - 1 - first})) return NULL;
  return wrong(p, "invalid named capture group", begin, p->at);
}

static situ_status close_group(struct parser *p, int number, struct regex_node **out) {
  struct regex_node *inner = NULL;
  const int outer = p->repeats;
  if (++p->depth > MOST_DEPTH) return wrong(p, "nesting depth exceeded", 0, 0);
  p->repeats = 1;
  TRY(parse_or(p, &inner));
  p->depth--;
  if (!take(p, ")")) return wrong(p, "missing )", 0, p->text.length);
  TRY(node(p, REGEX_GROUP, out));
  (*out)->a = inner;
  (*out)->group = number;
  (*out)->repeats = p->repeats;
  p->repeats = outer;
  return NULL;
}

/* *out stays NULL if there are only flags. */
static situ_status group(struct parser *p, struct regex_node **out) {
  const size_t begin = p->at++;
  const struct flags outer = p->flags;
  int number = -1;
  bool opens = true;
  if (next_is(p, "?P<") && p->text.length - p->at > 3) {
    p->at += 3;
    TRY(group_name(p, begin));
    number = ++p->groups;
  } else if (take(p, "?")) {
    TRY(parse_flags(p, begin, &opens));
  } else {
    number = ++p->groups;
  }
  if (!opens) return NULL; /* the flags apply up to the end of the group */
  TRY(close_group(p, number, out));
  p->flags = outer;
  return NULL;
}

/* Atoms, repetitions, sequences, alternatives */

static situ_status assertion(struct parser *p, enum regex_assertion what, struct regex_node **out) {
  TRY(node(p, REGEX_ASSERT, out));
  (*out)->assertion = what;
  return NULL;
}

static situ_status escaped_atom(struct parser *p, struct regex_node **out) {
  const size_t begin = p->at;
  uint32_t c;
  bool taken;
  if (take(p, "\\A")) return assertion(p, REGEX_TEXT_BEGIN, out);
  if (take(p, "\\z")) return assertion(p, REGEX_TEXT_END, out);
  if (take(p, "\\b")) return assertion(p, REGEX_WORD, out);
  if (take(p, "\\B")) return assertion(p, REGEX_NOT_WORD, out);
  TRY(node(p, REGEX_SET, out));
  TRY(class_escape(p, &(*out)->set, &taken));
  (*out)->set.folds = p->flags.fold;
  if (taken) {
    regex_set_sort(&(*out)->set);
    return NULL;
  }
  p->at++;
  if (!more(p)) return wrong(p, "trailing \\", 0, 0);
  TRY(escape(p, begin, &c));
  return literal(p, c, out);
}

static situ_status dot(struct parser *p, struct regex_node **out) {
  TRY(node(p, REGEX_SET, out));
  if (!p->flags.dot_all) regex_set_add(p->arena, &(*out)->set, '\n', '\n');
  regex_set_invert(p->arena, &(*out)->set);
  return NULL;
}

static situ_status atom(struct parser *p, struct regex_node **out) {
  const bool multi = p->flags.multi;
  uint32_t c;
  if (p->quoted) {
    TRY(character(p, &c));
    return literal(p, c, out);
  }
  switch (p->text.data[p->at]) {
    case '(':
      return group(p, out);
    case '[':
      return bracket(p, out);
    case '\\':
      return escaped_atom(p, out);
    case '.':
      p->at++;
      return dot(p, out);
    case '^':
      p->at++;
      return assertion(p, multi ? REGEX_LINE_BEGIN : REGEX_TEXT_BEGIN, out);
    case '$':
      p->at++;
      return assertion(p, multi ? REGEX_LINE_END : REGEX_TEXT_END, out);
    default:
      TRY(character(p, &c));
      return literal(p, c, out);
  }
}

/* A number of at most 9 digits, without leading zeros. */
static bool count(struct parser *p, uint32_t *value) {
  const size_t begin = p->at;
  const int n = digits(p, 10, 10, value);
  return n && n < 10 && (n == 1 || p->text.data[begin] != '0');
}

/* {n}, {n,} or {n,m}; anything else in braces is literal. */
static bool counts(struct parser *p, int *min, int *max) {
  const size_t begin = p->at;
  uint32_t low, high = 0;
  p->at++;
  bool good = count(p, &low);
  const bool comma = good && take(p, ",");
  const bool bounded = comma && !next_is(p, "}");
  good = good && (!bounded || count(p, &high)) && take(p, "}");
  if (!good) p->at = begin;
  *min = (int)low;
  *max = !comma ? (int)low : bounded ? (int)high : -1;
  return good;
}

/* Reads a repetition operator if there is one. */
static bool repetition(struct parser *p, int *min, int *max) {
  *min = next_is(p, "+") ? 1 : 0;
  *max = next_is(p, "?") ? 1 : -1;
  if (next_is(p, "{")) return counts(p, min, max);
  return take(p, "*") || take(p, "+") || take(p, "?");
}

/* Starts and ends literal text (\Q, \E). */
static void skip_quotes(struct parser *p) {
  while (take(p, p->quoted ? "\\E" : "\\Q")) p->quoted = !p->quoted;
}

/* Repeats a node. Nested repetitions make at most MOST_REPEATS copies of a node. */
static situ_status repeat(struct parser *p, int min, int max, bool lazy, bool braces,
                          struct regex_node **operand) {
  struct regex_node *inner = *operand;
  const int copies = !braces ? 1 : max > 0 ? max : min > 0 ? min : 1;
  TRY(pair(p, REGEX_REPEAT, inner, NULL, operand));
  (*operand)->min = min;
  (*operand)->max = max;
  (*operand)->lazy = lazy != p->flags.swap;
  (*operand)->repeats = inner->repeats * copies;
  if ((min > 1 || max > 1) && (*operand)->repeats > MOST_REPEATS)
    return wrong(p, "invalid repetition size", p->begin, p->end);
  p->repeats = p->repeats > (*operand)->repeats ? p->repeats : (*operand)->repeats;
  return NULL;
}

/* Applies a repetition operator, if there is one, to the last atom, which is NULL at the start of a
 * sequence. */
static situ_status repeated(struct parser *p, struct regex_node **operand, bool *taken) {
  const size_t begin = p->at, first = p->begin, last = p->end;
  const bool braces = next_is(p, "{");
  int min, max;
  *taken = !p->quoted && repetition(p, &min, &max);
  if (!*taken) return NULL;
  const bool lazy = take(p, "?");
  p->begin = begin;
  p->end = p->at;
  if (last == begin && last > first) return wrong(p, "bad repetition operator", first, p->end);
  if (min > MOST_REPEATS || max > MOST_REPEATS || (max >= 0 && max < min))
    return wrong(p, "invalid repetition size", begin, p->end);
  if (!operand) return wrong(p, "no argument for repetition operator", begin, p->end);
  return repeat(p, min, max, lazy, braces, operand);
}

/* Lists are nested to the right, without a limit. */
static situ_status sequence(struct parser *p, struct regex_node **out) {
  struct regex_node **tail = out, **last = NULL;
  for (;;) {
    struct regex_node *next = NULL;
    bool taken;
    skip_quotes(p);
    if (!more(p) || (!p->quoted && (next_is(p, "|") || next_is(p, ")")))) break;
    TRY(repeated(p, last, &taken));
    if (taken) continue;
    TRY(atom(p, &next));
    if (!next) continue;
    p->repeats = p->repeats > next->repeats ? p->repeats : next->repeats;
    TRY(pair(p, REGEX_CAT, next, NULL, tail));
    last = &(*tail)->a;
    tail = &(*tail)->b;
  }
  return node(p, REGEX_EMPTY, tail);
}

static situ_status parse_or(struct parser *p, struct regex_node **out) {
  struct regex_node **tail = out;
  TRY(sequence(p, tail));
  while (take(p, "|")) {
    TRY(pair(p, REGEX_OR, *tail, NULL, tail));
    tail = &(*tail)->b;
    TRY(sequence(p, tail));
  }
  return NULL;
}

situ_status regex_parse(situ_string pattern, struct arena *arena, struct regex_node **out,
                        int *groups) {
  struct parser p = {.text = pattern, .arena = arena, .repeats = 1};
  TRY(parse_or(&p, out));
  if (more(&p)) return wrong(&p, "unexpected )", 0, pattern.length);
  *groups = p.groups;
  return arena->failed ? NO_MEMORY() : NULL;
}
