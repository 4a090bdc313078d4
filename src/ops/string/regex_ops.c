/* SPDX-License-Identifier: Apache-2.0
 * regex_ops.c: RegexReplace, RegexFullMatch and their forms with constant patterns. */
#include <stdlib.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/strbuf.h"
#include "ops/ops.h"
#include "ops/string/regex.h"
#include "ops/string/utf8.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Reads a pattern or a rewrite string, an attribute or scalar input `index`. */
static situ_status read_string(const struct compute *compute, int index, const char *attr,
                               const char *what, situ_string *out) {
  char shape[SHAPE_STRING_SIZE];
  if (compute->call->n_in <= index) {
    const char *text = call_text(compute->call, attr);
    *out = (situ_string){text, strlen(text)};
    return NULL;
  }
  if (compute->in[index]->shape.rank)
    return INVALID("%s must be scalar, but received %s", what,
                   shape_print(&compute->in[index]->shape, shape));
  *out = situ_tensor_string(compute->in[index], 0);
  return NULL;
}

struct replacement {
  struct regex *regex;
  situ_string rewrite;
  bool all;
};

/* Whether the rewrite string refers only to existing groups. */
static bool can_rewrite(const struct replacement *r) {
  for (size_t i = 0; i + 1 < r->rewrite.length; i++) {
    if (r->rewrite.data[i] != '\\') continue;
    const int group = r->rewrite.data[++i] - '0';
    if (group >= 0 && group <= 9 && group > regex_groups(r->regex)) return false;
  }
  return true;
}

/* Whether each backslash of the rewrite string is followed by a digit or another one. If not, it
 * ends there if all matches are replaced; a single match is not replaced. */
static bool is_rewrite_valid(const struct replacement *r) {
  for (size_t i = 0; i < r->rewrite.length; i++) {
    if (r->rewrite.data[i] != '\\') continue;
    if (++i == r->rewrite.length) return false;
    const char c = r->rewrite.data[i];
    if (c != '\\' && (c < '0' || c > '9')) return false;
  }
  return true;
}

/* Appends the rewrite string with the groups of a match. */
static void rewrite(const struct replacement *r, situ_string text, const int64_t *ends,
                    struct strbuf *out) {
  for (size_t i = 0; i < r->rewrite.length; i++) {
    const char *at = r->rewrite.data + i;
    if (*at != '\\') {
      strbuf_append_n(out, at, 1);
      continue;
    }
    if (++i == r->rewrite.length) return;
    const int group = at[1] - '0';
    if (at[1] == '\\')
      strbuf_append_n(out, at, 1);
    else if (group < 0 || group > 9)
      return;
    else if (ends[2 * group] >= 0)
      strbuf_append_n(out, text.data + ends[2 * group],
                      (size_t)(ends[2 * group + 1] - ends[2 * group]));
  }
}

/* Replaces matches; an empty match adjacent to the previous match is skipped. */
static situ_status replace(const struct replacement *r, situ_string text, struct strbuf *out) {
  int64_t ends[2 * REGEX_GROUPS];
  size_t at = 0;
  bool found;
  for (int64_t last = -1; at <= text.length;) {
    TRY(interrupt_check());
    TRY(regex_find(r->regex, text, at, false, ends, &found));
    if (!found) break;
    const size_t begin = (size_t)ends[0], end = (size_t)ends[1];
    strbuf_append_n(out, text.data + at, begin - at);
    at = begin;
    if (begin == end && ends[0] == last) {
      if (begin == text.length) break;
      utf8_decode(text, &at);
      strbuf_append_n(out, text.data + begin, at - begin);
      continue;
    }
    rewrite(r, text, ends, out);
    at = end;
    last = ends[1];
    if (!r->all) break;
  }
  if (at < text.length) strbuf_append_n(out, text.data + at, text.length - at);
  return out->failed ? NO_MEMORY() : NULL;
}

static situ_status replace_each(struct compute *compute, const struct replacement *r) {
  const situ_tensor *in = compute->in[0];
  const int64_t n = situ_shape_count(in->shape);
  struct strbuf bytes = {0};
  situ_string *all = calloc((size_t)n + 1, sizeof *all);
  situ_status status = all ? NULL : NO_MEMORY();
  for (int64_t i = 0; i < n && !status; i++) {
    const size_t begin = bytes.length;
    status = replace(r, situ_tensor_string(in, i), &bytes);
    all[i].length = bytes.length - begin;
  }
  const char *at = strbuf_get(&bytes);
  for (int64_t i = 0; i < n && !status; at += all[i++].length) all[i].data = at;
  if (!status) status = situ_tensor_create_strings(in->shape, all, &compute->out[0]);
  strbuf_free(&bytes);
  free(all);
  return status;
}

static situ_status compute_replace(struct compute *compute) {
  struct replacement r = {.all = call_bool(compute->call, "replace_global")};
  situ_string pattern;
  TRY(read_string(compute, 1, "pattern", "Pattern", &pattern));
  TRY(read_string(compute, 2, "rewrite", "Rewrite", &r.rewrite));
  TRY(regex_compile(pattern, &r.regex));
  situ_status status = NULL;
  if (can_rewrite(&r) && (r.all || is_rewrite_valid(&r)))
    status = replace_each(compute, &r);
  else
    status = compute_keep(compute, 0, &compute->out[0]);
  regex_free(r.regex);
  return status;
}

static situ_status compute_match(struct compute *compute) {
  const situ_tensor *in = compute->in[0];
  int64_t ends[2 * REGEX_GROUPS];
  situ_string pattern;
  struct regex *regex = NULL;
  void *data = NULL;
  TRY(read_string(compute, 1, "pattern", "Pattern", &pattern));
  TRY(regex_compile(pattern, &regex));
  situ_status status = compute_output(compute, 0, in->shape, &data);
  for (int64_t i = 0; i < situ_shape_count(in->shape) && !status; i++)
    status = status_first(interrupt_check(), regex_find(regex, situ_tensor_string(in, i), 0, true,
                                                        ends, (bool *)data + i));
  regex_free(regex);
  return status;
}

#define PATTERN_DOC "pattern: Regular expression in the syntax of RE2"
#define REWRITE_DOC                                                                        \
  "\nrewrite: Replacement; \\0 is the match, \\1 to \\9 are its groups.\nreplace_global: " \
  "Replace all matches, not only the first."

static const struct op_def op_defs[] = {
    {.name = "RegexReplace",
     .inputs = "input:string pattern:string rewrite:string",
     .outputs = "output:string",
     .attrs = "replace_global:bool=true",
     .doc = "Replaces the matches of a regular expression in each string.",
     .args = "input: Strings.\n" PATTERN_DOC ", a scalar." REWRITE_DOC,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_replace},
    {.name = "StaticRegexReplace",
     .inputs = "input:string",
     .outputs = "output:string",
     .attrs = "pattern:string rewrite:string replace_global:bool=true",
     .doc = "Replaces the matches of a constant regular expression in each string.",
     .args = "input: Strings.\n" PATTERN_DOC "." REWRITE_DOC,
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_same_shape,
     .compute = compute_replace},
    {.name = "RegexFullMatch",
     .inputs = "input:string pattern:string",
     .outputs = "output:bool",
     .attrs = "",
     .doc = "Whether a regular expression matches each string as a whole.",
     .args = "input: Strings.\n" PATTERN_DOC ", a scalar.",
     .devices = "CPU",
     .shape = op_same_shape,
     .compute = compute_match},
    {.name = "StaticRegexFullMatch",
     .inputs = "input:string",
     .outputs = "output:bool",
     .attrs = "pattern:string",
     .doc = "Whether a constant regular expression matches each string as a whole.",
     .args = "input: Strings.\n" PATTERN_DOC ".",
     .devices = "CPU",
     .shape = op_same_shape,
     .compute = compute_match},
};

OP_FAMILY(regex_ops, op_defs);
