/* SPDX-License-Identifier: Apache-2.0
 * if_while_grad.c: gradients of If and While, of any order. A gradient function takes the saved
 * forward values from the tape of the call. It is itself differentiable with respect to the
 * tape: its gradient is a list of gradients of the saved values, passed to the call like the
 * gradients of its other outputs. */
#include <string.h>

#include "ops/control/if_while.h"
#include "schema/function.h"

/* The gradient of a call while it is built. */
struct call_gradient {
  struct arena arena;
  struct gradient_request request;
  bool *has_dy, *requested; /* members of `request` */
  struct term *terms;       /* inputs of the gradient */
  int n_terms;
  int64_t *in, *out; /* types: of the incoming gradients, of the requested ones */
  int n_in, n_out;
};

static bool begin(struct call_gradient *grad, int n_in, int n_out) {
  struct arena *arena = &grad->arena;
  grad->has_dy = ARENA_ARRAY(arena, bool, n_out + 1);
  grad->requested = ARENA_ARRAY(arena, bool, n_in + 1);
  grad->terms = ARENA_ARRAY(arena, struct term, n_out + 3);
  grad->in = ARENA_ARRAY(arena, int64_t, n_out + 1);
  grad->out = ARENA_ARRAY(arena, int64_t, n_in + 1);
  grad->request = (struct gradient_request){.has_dy = grad->has_dy, .requested = grad->requested};
  return !arena->failed;
}

static void add_term(struct call_gradient *grad, struct term term) {
  grad->terms[grad->n_terms++] = term;
}

/* Adds an incoming gradient. */
static void add_incoming(struct gradient *g, struct call_gradient *grad, struct term term) {
  grad->in[grad->n_in++] = gradient_type(g, term);
  add_term(grad, term);
}

/* The gradient of the tape, the last output, is the first input. */
static void add_tape(struct gradient *g, struct call_gradient *grad) {
  const struct term arrived = g->dy[g->n_out - 1];
  grad->request.tape_has_dy = term_exists(arrived);
  if (grad->request.tape_has_dy) add_incoming(g, grad, arrived);
}

/* The gradients of values read from a tape, input `tape` (-1: there is none), are one list, the
 * first output. */
static void request_tape(struct gradient *g, struct call_gradient *grad, int tape) {
  grad->request.tape_requested = tape >= 0 && gradient_wanted(g, tape);
  if (grad->request.tape_requested) grad->out[grad->n_out++] = SITU_VARIANT;
}

static const struct function *differentiate(struct gradient *g, const char *attr,
                                            const struct call_gradient *grad) {
  const struct function *result = NULL;
  if (!g->target->differentiate)
    gradient_missing(g);
  else
    gradient_fail(g, g->target->differentiate(g->to, gradient_attr(g, attr)->function,
                                              &grad->request, &result));
  return g->error ? NULL : result;
}

/* The outputs of the emitted node are the requested gradients: of the tape, input `tape`, and of
 * the inputs from `first` on. */
static void set_results(struct gradient *g, const struct call_gradient *grad, struct term made,
                        int tape, int first) {
  int at = 0;
  if (grad->request.tape_requested) g->dx[tape] = gradient_output(made, at++);
  for (int i = first; i < g->n_in; i++)
    if (grad->requested[i - first]) g->dx[i] = gradient_output(made, at++);
}

/* Of If (without a tape input) and of IfGrad. */
static void if_gradient(struct gradient *g, struct call_gradient *grad, int tape) {
  const int first = tape < 0 ? 1 : tape + 1, n_out = g->n_out - 1;
  add_term(grad, g->in[0]);
  add_term(grad, g->out[n_out]);
  add_tape(g, grad);
  for (int i = 0; i < n_out; i++) {
    grad->has_dy[i] = term_exists(g->dy[i]);
    if (grad->has_dy[i]) add_incoming(g, grad, g->dy[i]);
  }
  request_tape(g, grad, tape);
  for (int i = first; i < g->n_in; i++) {
    grad->requested[i - first] = gradient_wanted(g, i);
    if (gradient_wanted(g, i)) grad->out[grad->n_out++] = gradient_type(g, g->in[i]);
  }
  const struct function *yes = differentiate(g, "then_branch", grad);
  const struct function *no = g->error ? NULL : differentiate(g, "else_branch", grad);
  if (!no) return;
  const struct term made = gradient_emit(g, "IfGrad", grad->terms, grad->n_terms,
                                         ATTRS(situ_attr_types("Tin", grad->in, grad->n_in),
                                               situ_attr_types("Tout", grad->out, grad->n_out),
                                               situ_attr_function("then_branch", yes->name),
                                               situ_attr_function("else_branch", no->name)));
  set_results(g, grad, made, tape, first);
}

/* A loop: its function takes `taped` inputs from a tape, `given` list elements and the loop
 * variables; it returns `collected` values and the loop variables. */
struct loop_function {
  const struct function *body;
  int taped, given, collected, n;
};

/* If the gradient of a loop variable is requested, so are those of all variables that depend on it,
 * in any number of iterations. */
static void propagate_requests(struct gradient *g, const struct loop_function *loop,
                               struct call_gradient *grad) {
  const int n_in = loop->taped + loop->given + loop->n;
  bool *in = ARENA_ARRAY(&grad->arena, bool, n_in + 1);
  if (!in) {
    gradient_fail(g, NO_MEMORY());
    return;
  }
  for (int i = 0; i < loop->taped; i++) in[i] = grad->request.tape_requested;
  for (bool changed = true; changed && !g->error;) {
    changed = false;
    memcpy(in + loop->taped, grad->requested, sizeof *in * (size_t)(loop->given + loop->n));
    gradient_fail(g, g->target->reaches(g->to, loop->body, in, grad->has_dy));
    for (int i = 0; i < loop->n; i++) {
      const bool reached = grad->has_dy[loop->collected + i];
      changed = changed || (reached && !grad->requested[loop->given + i]);
      grad->requested[loop->given + i] = grad->requested[loop->given + i] || reached;
    }
  }
}

/* Incoming gradients of collected lists are list inputs; those of loop variables are the initial
 * values of the backward loop, zeros by default. */
static void add_loop(struct gradient *g, const struct loop_function *loop,
                     struct call_gradient *grad) {
  add_term(grad, g->out[g->n_out - 1]);
  add_tape(g, grad);
  for (int i = 0; i < loop->collected; i++) {
    grad->has_dy[i] = term_exists(g->dy[i]);
    if (grad->has_dy[i]) add_incoming(g, grad, g->dy[i]);
  }
  for (int i = 0; i < loop->n; i++) {
    const int at = loop->collected + i;
    grad->has_dy[at] = grad->requested[loop->given + i];
    if (!grad->has_dy[at]) continue;
    const bool handle = gradient_type(g, g->out[at]) == SITU_RESOURCE; /* of the variable `in` */
    const struct term like = handle ? g->in[g->n_in - loop->n + i] : g->out[at];
    add_incoming(g, grad, gradient_or_zeros(g, g->dy[at], like));
  }
}

/* Of While (without a tape input) and of WhileGrad. */
static void while_gradient(struct gradient *g, struct call_gradient *grad, int tape) {
  const int first = tape + 1;
  struct loop_function loop = {.body = gradient_attr(g, "body")->function};
  if (!g->target->reaches) {
    gradient_missing(g);
    return;
  }
  loop.taped = loop.body->n_taped;
  loop.given = tape < 0 ? 0 : (int)gradient_integer(g, "n_given");
  loop.n = g->n_in - first - loop.given;
  loop.collected = g->n_out - 1 - loop.n;
  request_tape(g, grad, tape);
  for (int i = first; i < g->n_in; i++) grad->requested[i - first] = gradient_wanted(g, i);
  propagate_requests(g, &loop, grad);
  add_loop(g, &loop, grad);
  int lists = grad->n_in;
  for (int i = 0; i < loop.given + loop.n; i++) {
    if (!grad->requested[i]) continue;
    grad->out[grad->n_out++] = gradient_type(g, g->in[first + i]);
    lists -= i >= loop.given;
  }
  const struct function *back = g->error ? NULL : differentiate(g, "body", grad);
  if (!back) return;
  const struct term made =
      gradient_emit(g, "WhileGrad", grad->terms, grad->n_terms,
                    ATTRS(situ_attr_types("Tin", grad->in, grad->n_in),
                          situ_attr_types("Tout", grad->out, grad->n_out),
                          situ_attr_int("n_given", lists), situ_attr_function("body", back->name)));
  set_results(g, grad, made, tape, first);
}

static void build(struct gradient *g, int tape,
                  void (*function)(struct gradient *g, struct call_gradient *grad, int tape)) {
  struct call_gradient call_gradient = {0};
  if (begin(&call_gradient, g->n_in, g->n_out))
    function(g, &call_gradient, tape);
  else
    gradient_fail(g, NO_MEMORY());
  arena_free(&call_gradient.arena);
}

void if_while_if_grad(struct gradient *g) { build(g, -1, if_gradient); }

void if_while_if_grad_grad(struct gradient *g) { build(g, 1, if_gradient); }

void if_while_while_grad(struct gradient *g) { build(g, -1, while_gradient); }

void if_while_while_grad_grad(struct gradient *g) { build(g, 0, while_gradient); }
