/* SPDX-License-Identifier: Apache-2.0
 * regex.h: regular expressions in the syntax of RE2, matched in time linear in the string.
 *
 * A pattern is parsed to a tree (regex_parse.c) and compiled to a program, which runs on all
 * alternatives at once (regex.c, Pike's virtual machine). Strings are UTF-8; bytes that are not
 * match nothing. \C (any byte) and classes of scripts such as \p{Greek} are not supported. */
#ifndef SITU_OPS_STRING_REGEX_H
#define SITU_OPS_STRING_REGEX_H

#include <situ/tensor.h>

#include "base/arena.h"
#include "base/base.h"

enum { REGEX_GROUPS = 10, REGEX_LAST_CODE = 0x10FFFF };

/* A set of characters: sorted, disjoint ranges. */
struct regex_range {
  uint32_t first, last;
};
struct regex_set {
  struct regex_range *ranges;
  int count;
  bool folds;    /* ignores case */
  bool inverted; /* all other characters */
};

enum regex_assertion {
  REGEX_TEXT_BEGIN,
  REGEX_TEXT_END,
  REGEX_LINE_BEGIN,
  REGEX_LINE_END,
  REGEX_WORD,
  REGEX_NOT_WORD
};

enum regex_kind {
  REGEX_EMPTY,
  REGEX_SET,
  REGEX_ASSERT,
  REGEX_CAT,
  REGEX_OR,
  REGEX_REPEAT,
  REGEX_GROUP
};

/* A node of a parsed pattern. */
struct regex_node {
  enum regex_kind kind;
  struct regex_set set;
  enum regex_assertion assertion;
  struct regex_node *a, *b;
  int min, max; /* of a repetition; max -1: unlimited */
  bool lazy;
  int group;   /* number of a capturing group */
  int repeats; /* the most copies of a node in it that nested repetitions with counts make */
};

/* Parses a pattern into `arena`. The error text is RE2's: "missing ]: [". */
situ_status regex_parse(situ_string pattern, struct arena *arena, struct regex_node **out,
                        int *groups) SITU_MUST_USE;

/* Inserts the characters of a class: \p{name} (`unicode`), [:name:], or one of d, s, w. Returns
 * whether the class exists. */
bool regex_class_add(struct arena *arena, situ_string name, bool unicode, struct regex_set *set);

/* Adds a range to a set, which need not stay sorted; sorts and merges; complements a sorted set. */
void regex_set_add(struct arena *arena, struct regex_set *set, uint32_t first, uint32_t last);
void regex_set_sort(struct regex_set *set);
void regex_set_invert(struct arena *arena, struct regex_set *set);

/* Whether a sorted set contains a character. */
bool regex_set_contains(const struct regex_set *set, uint32_t c);

struct regex;

/* Compiles a pattern. The error is TensorFlow's: "Invalid pattern: A[, error: missing ]: [". */
situ_status regex_compile(situ_string pattern, struct regex **out) SITU_MUST_USE;
void regex_free(struct regex *regex);

/* The number of capturing groups. */
int regex_groups(const struct regex *regex);

/* Finds the first match at or after `begin`; `whole`: of the whole string. ends[2 * k] and
 * ends[2 * k + 1] are the begin and end of group k, -1 if it did not take part. */
situ_status regex_find(struct regex *regex, situ_string text, size_t begin, bool whole,
                       int64_t ends[2 * REGEX_GROUPS], bool *found) SITU_MUST_USE;

#endif
