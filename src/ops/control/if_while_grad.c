/* SPDX-License-Identifier: Apache-2.0
 * if_while_grad.c: gradients of If and While, of any order. A gradient function takes the saved
 * forward values from the tape of the call. It is itself differentiable with respect to the
 * tape: its gradient is a list of gradients of the saved values, passed to the call like the
 * gradients of its other outputs. */
#include <string.h>

#include "ops/control/if_while.h"
#include "schema/function.h"

/* What a gradient of a call is made of. */
struct passage {
  struct arena arena;
  struct function_wish wish;
  bool *arrives, *wanted; /* of the wish */
  struct term *terms;     /* inputs of the gradient */
  int n_terms;
  int64_t *in, *out; /* types: of what arrives, of what is wanted */
  int n_in, n_out;
};

static bool passage_begin(struct passage *passage, int n_in, int n_out) {
  struct arena *arena = &passage->arena;
  passage->arrives = ARENA_ARRAY(arena, bool, n_out + 1);
  passage->wanted = ARENA_ARRAY(arena, bool, n_in + 1);
  passage->terms = ARENA_ARRAY(arena, struct term, n_out + 3);
  passage->in = ARENA_ARRAY(arena, int64_t, n_out + 1);
  passage->out = ARENA_ARRAY(arena, int64_t, n_in + 1);
  passage->wish = (struct function_wish){.arrives = passage->arrives, .wanted = passage->wanted};
  return !arena->failed;
}

static void put_term(struct passage *passage, struct term term) {
  passage->terms[passage->n_terms++] = term;
}

/* Something that arrives. */
static void put_arrival(struct gradient *g, struct passage *passage, struct term term) {
  passage->in[passage->n_in++] = gradient_type(g, term);
  put_term(passage, term);
}

/* What arrives at the tape, the last output, comes first. */
static void put_tape(struct gradient *g, struct passage *passage) {
  const struct term arrived = g->dy[g->n_out - 1];
  passage->wish.tape_arrives = term_exists(arrived);
  if (passage->wish.tape_arrives) put_arrival(g, passage, arrived);
}

/* Gradients of what came from a tape, input `tape` (-1: there is none), are one list, and come
 * first. */
static void want_tape(struct gradient *g, struct passage *passage, int tape) {
  passage->wish.tape_wanted = tape >= 0 && gradient_wanted(g, tape);
  if (passage->wish.tape_wanted) passage->out[passage->n_out++] = SITU_VARIANT;
}

static const struct function *differentiate(struct gradient *g, const char *attr,
                                            const struct passage *passage) {
  const struct function *result = NULL;
  if (!g->target->differentiate)
    gradient_missing(g);
  else
    gradient_fail(g, g->target->differentiate(g->to, gradient_attr(g, attr)->function,
                                              &passage->wish, &result));
  return g->error ? NULL : result;
}

/* The outputs of the emitted node are the gradients of what is wanted: of the tape, input `tape`,
 * and of the inputs from `first` on. */
static void pass_on(struct gradient *g, const struct passage *passage, struct term made, int tape,
                    int first) {
  int at = 0;
  if (passage->wish.tape_wanted) g->dx[tape] = gradient_output(made, at++);
  for (int i = first; i < g->n_in; i++)
    if (passage->wanted[i - first]) g->dx[i] = gradient_output(made, at++);
}

/* Of If (no tape comes in) and of IfGrad. */
static void if_gradient(struct gradient *g, struct passage *passage, int tape) {
  const int first = tape < 0 ? 1 : tape + 1, n_out = g->n_out - 1;
  put_term(passage, g->in[0]);
  put_term(passage, g->out[n_out]);
  put_tape(g, passage);
  for (int i = 0; i < n_out; i++) {
    passage->arrives[i] = term_exists(g->dy[i]);
    if (passage->arrives[i]) put_arrival(g, passage, g->dy[i]);
  }
  want_tape(g, passage, tape);
  for (int i = first; i < g->n_in; i++) {
    passage->wanted[i - first] = gradient_wanted(g, i);
    if (gradient_wanted(g, i)) passage->out[passage->n_out++] = gradient_type(g, g->in[i]);
  }
  const struct function *yes = differentiate(g, "then_branch", passage);
  const struct function *no = g->error ? NULL : differentiate(g, "else_branch", passage);
  if (!no) return;
  const struct term made =
      gradient_emit(g, "IfGrad", passage->terms, passage->n_terms,
                    ATTRS(situ_attr_types("Tin", passage->in, passage->n_in),
                          situ_attr_types("Tout", passage->out, passage->n_out),
                          situ_attr_function("then_branch", yes->name),
                          situ_attr_function("else_branch", no->name)));
  pass_on(g, passage, made, tape, first);
}

/* A loop: its function takes `taped` inputs of a tape, then `given` lists' elements, then what goes
 * round, and gives what is `collected`, then what goes round. */
struct rounds {
  const struct function *body;
  int taped, given, collected, n;
};

/* Which variables of the loop depend on something whose gradient is wanted, in any number of
 * rounds: their gradients are wanted, too. */
static void spread(struct gradient *g, const struct rounds *rounds, struct passage *passage) {
  const int n_in = rounds->taped + rounds->given + rounds->n;
  bool *in = ARENA_ARRAY(&passage->arena, bool, n_in + 1);
  if (!in) {
    gradient_fail(g, NO_MEMORY());
    return;
  }
  for (int i = 0; i < rounds->taped; i++) in[i] = passage->wish.tape_wanted;
  for (bool changed = true; changed && !g->error;) {
    changed = false;
    memcpy(in + rounds->taped, passage->wanted, sizeof *in * (size_t)(rounds->given + rounds->n));
    gradient_fail(g, g->target->reaches(g->to, rounds->body, in, passage->arrives));
    for (int i = 0; i < rounds->n; i++) {
      const bool reached = passage->arrives[rounds->collected + i];
      changed = changed || (reached && !passage->wanted[rounds->given + i]);
      passage->wanted[rounds->given + i] = passage->wanted[rounds->given + i] || reached;
    }
  }
}

/* What arrives at lists that are collected goes along with the tape; what arrives at variables goes
 * round, zeros where nothing does. */
static void put_rounds(struct gradient *g, const struct rounds *rounds, struct passage *passage) {
  put_term(passage, g->out[g->n_out - 1]);
  put_tape(g, passage);
  for (int i = 0; i < rounds->collected; i++) {
    passage->arrives[i] = term_exists(g->dy[i]);
    if (passage->arrives[i]) put_arrival(g, passage, g->dy[i]);
  }
  for (int i = 0; i < rounds->n; i++) {
    const int at = rounds->collected + i;
    passage->arrives[at] = passage->wanted[rounds->given + i];
    if (!passage->arrives[at]) continue;
    const bool handle = gradient_type(g, g->out[at]) == SITU_RESOURCE; /* of the variable `in` */
    const struct term like = handle ? g->in[g->n_in - rounds->n + i] : g->out[at];
    put_arrival(g, passage, gradient_or_zeros(g, g->dy[at], like));
  }
}

/* Of While (no tape comes in) and of WhileGrad. */
static void while_gradient(struct gradient *g, struct passage *passage, int tape) {
  const int first = tape + 1;
  struct rounds rounds = {.body = gradient_attr(g, "body")->function};
  if (!g->target->reaches) {
    gradient_missing(g);
    return;
  }
  rounds.taped = rounds.body->n_taped;
  rounds.given = tape < 0 ? 0 : (int)gradient_integer(g, "n_given");
  rounds.n = g->n_in - first - rounds.given;
  rounds.collected = g->n_out - 1 - rounds.n;
  want_tape(g, passage, tape);
  for (int i = first; i < g->n_in; i++) passage->wanted[i - first] = gradient_wanted(g, i);
  spread(g, &rounds, passage);
  put_rounds(g, &rounds, passage);
  int lists = passage->n_in;
  for (int i = 0; i < rounds.given + rounds.n; i++) {
    if (!passage->wanted[i]) continue;
    passage->out[passage->n_out++] = gradient_type(g, g->in[first + i]);
    lists -= i >= rounds.given;
  }
  const struct function *back = g->error ? NULL : differentiate(g, "body", passage);
  if (!back) return;
  const struct term made =
      gradient_emit(g, "WhileGrad", passage->terms, passage->n_terms,
                    ATTRS(situ_attr_types("Tin", passage->in, passage->n_in),
                          situ_attr_types("Tout", passage->out, passage->n_out),
                          situ_attr_int("n_given", lists), situ_attr_function("body", back->name)));
  pass_on(g, passage, made, tape, first);
}

static void with_passage(struct gradient *g, int tape,
                         void (*function)(struct gradient *g, struct passage *passage, int tape)) {
  struct passage passage = {0};
  if (passage_begin(&passage, g->n_in, g->n_out))
    function(g, &passage, tape);
  else
    gradient_fail(g, NO_MEMORY());
  arena_free(&passage.arena);
}

void if_while_if_grad(struct gradient *g) { with_passage(g, -1, if_gradient); }

void if_while_if_grad_grad(struct gradient *g) { with_passage(g, 1, if_gradient); }

void if_while_while_grad(struct gradient *g) { with_passage(g, -1, while_gradient); }

void if_while_while_grad_grad(struct gradient *g) { with_passage(g, 0, while_gradient); }
