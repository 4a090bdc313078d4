/* SPDX-License-Identifier: Apache-2.0
 * derivative.c: a recursive-descent parser that emits the ops of an expression; see derivative.h.
 */
#include "ops/derivative.h"
#include "tensor/type.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGS = 4, NAME = 40 };

struct reader {
  struct gradient *g;
  const char *text, *at;
};

static struct term read_sum(struct reader *r);

static struct term wrong(struct reader *r, const char *what) {
  gradient_fail(r->g, INTERNAL("The derivative \"%s\" of %s: %s at \"%s\".", r->text,
                               r->g->schema->op->name, what, r->at));
  return NO_TERM;
}

static void skip(struct reader *r) { r->at += strspn(r->at, " "); }

/* Skips a punctuation character if it is next. */
static bool take(struct reader *r, const char *word) {
  skip(r);
  const size_t length = strlen(word);
  if (strncmp(r->at, word, length)) return false;
  r->at += length;
  return true;
}

static size_t name_length(const char *text) {
  size_t length = 0;
  while (isalnum((unsigned char)text[length])) length++;
  return length;
}

static bool is_complex(const struct gradient *g) {
  return type_is_complex(gradient_type(g, g->in[0]));
}

/* The gradient of a holomorphic function f is dy * conj(f'(x)), which is dy * f'(conj(x)) for these
 * functions, as in TensorFlow. A text with ~ in front is evaluated without conjugates. */
static struct term conjugate(struct reader *r, struct term term) {
  const bool plain = *r->text == '~';
  return is_complex(r->g) && !plain ? OP(r->g, "Conj", term) : term;
}

/* x, y, w, z, dy, dz */
static struct term read_variable(struct reader *r, const char *name) {
  const struct gradient *g = r->g;
  const bool one = g->n_in == 1;
  if (!strcmp(name, "x")) return conjugate(r, g->in[0]);
  if (!strcmp(name, "y")) return conjugate(r, one ? g->out[0] : g->in[1]);
  if (!strcmp(name, "w") && g->n_in > 2) return conjugate(r, g->in[2]);
  if (!strcmp(name, "z") && !one) return conjugate(r, g->out[0]);
  if (!strcmp(name, one ? "dy" : "dz")) return g->dy[0];
  return wrong(r, "no such variable");
}

static struct term read_call(struct reader *r, char *name) {
  struct term args[MOST_ARGS];
  int count = 0;
  do {
    if (count == MOST_ARGS) return wrong(r, "too many arguments");
    args[count++] = read_sum(r);
  } while (take(r, ","));
  if (!take(r, ")")) return wrong(r, "no ')'");
  name[0] = (char)toupper((unsigned char)name[0]);
  return gradient_emit(r->g, name, args, count, NO_ATTRS);
}

static struct term read_name(struct reader *r) {
  char name[NAME];
  const size_t length = name_length(r->at);
  if (!length || length >= NAME) return wrong(r, "no name");
  memcpy(name, r->at, length);
  name[length] = 0;
  r->at += length;
  return take(r, "(") ? read_call(r, name) : read_variable(r, name);
}

static struct term read_factor(struct reader *r) {
  if (r->g->error) return NO_TERM;
  if (take(r, "(")) {
    const struct term inner = read_sum(r);
    return take(r, ")") ? inner : wrong(r, "no ')'");
  }
  if (take(r, "-")) return OP(r->g, "Neg", read_factor(r));
  skip(r);
  if (!isdigit((unsigned char)*r->at)) return read_name(r);
  char *end = NULL;
  const double number = strtod(r->at, &end);
  r->at = end;
  return gradient_number(r->g, gradient_type(r->g, r->g->in[0]), number);
}

static struct term read_product(struct reader *r) {
  struct term left = read_factor(r);
  for (;;) {
    if (take(r, "*"))
      left = OP(r->g, "Mul", left, read_factor(r));
    else if (take(r, "/"))
      left = OP(r->g, "RealDiv", left, read_factor(r));
    else
      return left;
  }
}

static struct term read_terms(struct reader *r) {
  struct term left = read_product(r);
  for (;;) {
    if (take(r, "+"))
      left = OP(r->g, "AddV2", left, read_product(r));
    else if (take(r, "-"))
      left = OP(r->g, "Sub", left, read_product(r));
    else
      return left;
  }
}

/* A sum, or a comparison of two sums. */
static struct term read_sum(struct reader *r) {
  static const char *const words[][2] = {{"<=", "LessEqual"},
                                         {">=", "GreaterEqual"},
                                         {"==", "Equal"},
                                         {"<", "Less"},
                                         {">", "Greater"}};
  const struct term left = read_terms(r);
  for (size_t i = 0; i < COUNT_OF(words); i++)
    if (take(r, words[i][0])) {
      /* Complex numbers have no order: x > 0 means x != 0. */
      const char *op = is_complex(r->g) && words[i][0][0] == '>' ? "NotEqual" : words[i][1];
      return OP(r->g, op, left, read_terms(r));
    }
  return left;
}

struct term derivative_eval(struct gradient *g, const char *text) {
  struct reader reader = {g, text, text + (*text == '~')};
  if (!strcmp(text, "none")) return NO_TERM;
  if (!strcmp(text, "0")) return ZERO_TERM;
  const struct term term = read_sum(&reader);
  skip(&reader);
  return *reader.at && !g->error ? wrong(&reader, "no end") : term;
}

void derivative_unary(struct gradient *g, const char *dx) { g->dx[0] = derivative_eval(g, dx); }

void derivative_binary(struct gradient *g, const char *dx, const char *dy) {
  const struct term x = gradient_wanted(g, 0) ? derivative_eval(g, dx) : NO_TERM;
  const struct term y = gradient_wanted(g, 1) ? derivative_eval(g, dy) : NO_TERM;
  gradient_broadcast(g, x, y);
}
