/* SPDX-License-Identifier: Apache-2.0
 * control.c: ops that run functions of the graph: If one of two, While one again and again.
 *
 * The last output of both is a tape: a list of what the gradients of the functions need of the run,
 * made only where somebody reads it. The tape of a While has a tape for each time round. */
#include <stdlib.h>
#include <string.h>

#include "ops/gradient.h"
#include "ops/ops.h"
#include "schema/function.h"
#include "schema/series.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* What is true of both shapes. */
static situ_shape common(const situ_shape *a, const situ_shape *b) {
  situ_shape shape = *a;
  if (a->rank != b->rank) return SITU_ANY_SHAPE;
  for (int d = 0; d < shape.rank; d++)
    if (a->dim[d] != b->dim[d]) shape.dim[d] = SITU_ANY;
  return shape;
}

static const struct function *function_of(const struct call *call, const char *attr) {
  return call_attr(call, attr)->function;
}

static const situ_shape *output_shape(const struct function *function, int index) {
  return &function->shapes[function->n_inputs + index];
}

/* A function must take and give what the call says; a gradient takes its first inputs from a tape.
 */
static situ_status check_function(const struct function *function, const struct operand *in,
                                  int n_in, int n_out) {
  const int first = function->n_taped;
  if (function->n_inputs != first + n_in || function->n_outputs != n_out)
    return INVALID("Function '%s' has %d inputs and %d outputs; %d and %d are wanted",
                   function->name, function->n_inputs - first, function->n_outputs, n_in, n_out);
  for (int i = 0; i < n_in; i++)
    if (function->types[first + i] != in[i].type)
      return INVALID("Input %d of function '%s' is of type %s, not %s", i, function->name,
                     situ_type_name(function->types[first + i]), situ_type_name(in[i].type));
  return NULL;
}

static situ_status run(const struct compute *compute, const struct function *function,
                       situ_tensor *const *in, situ_tensor **out, situ_tensor **tape) {
  const struct services *services = compute->services;
  if (!services->run)
    return situ_status_create(SITU_UNIMPLEMENTED, "Functions of a graph run in sessions only.");
  return services->run(services->context, function, in, out, tape);
}

/* Runs the gradient of a function: `given` are the inputs behind those of the tape. */
static situ_status run_gradient(const struct compute *compute, const struct function *function,
                                const situ_tensor *tape, situ_tensor *const *given,
                                situ_tensor **out) {
  struct series *list = NULL;
  struct arena arena = {0};
  TRY(series_of(tape, &list));
  const int taped = function->n_taped;
  situ_tensor **in = ARENA_ARRAY(&arena, situ_tensor *, function->n_inputs + 1);
  situ_status status = in ? NULL : NO_MEMORY();
  for (int i = 0; !status && i < taped; i++)
    if (function->taped[i] < list->count)
      in[i] = list->items[function->taped[i]];
    else
      status = INTERNAL("The tape of function '%s' is too short.", function->name);
  if (!status && function->n_inputs > taped)
    memcpy(in + taped, given, sizeof *in * (size_t)(function->n_inputs - taped));
  if (!status) status = run(compute, function, in, out, NULL);
  arena_free(&arena);
  return status;
}

/* Whether somebody reads the tape, the last output. */
static bool is_taped(const struct compute *compute) {
  return !compute->unused || !compute->unused[compute->call->n_out - 1];
}

/* If */

static situ_status if_shape_of(struct call *call, int first, int n_out) {
  const struct function *branches[] = {function_of(call, "then_branch"),
                                       function_of(call, "else_branch")};
  for (int b = 0; b < 2; b++)
    TRY(check_function(branches[b], call->in + first, call->n_in - first, n_out));
  for (int i = 0; i < n_out; i++)
    call->out[i].shape = common(output_shape(branches[0], i), output_shape(branches[1], i));
  return NULL;
}

static situ_status if_shape(struct call *call) {
  call->out[call->n_out - 1].shape = SITU_SCALAR;
  return if_shape_of(call, 1, call->n_out - 1);
}

static situ_status if_grad_shape(struct call *call) { return if_shape_of(call, 2, call->n_out); }

/* A number that is not 0, a text that is not empty, a tensor that has elements. */
static situ_status is_true(situ_tensor *tensor, bool *out) {
  situ_tensor *host = NULL;
  if (tensor->shape.rank) {
    *out = situ_shape_count(tensor->shape) > 0;
    return NULL;
  }
  TRY(tensor_host(tensor, &host));
  const char *data = situ_tensor_data(host);
  *out = false;
  if (host->type == SITU_STRING)
    *out = situ_tensor_text(host, 0).length;
  else
    for (size_t i = 0; i < host->bytes; i++) *out = *out || data[i];
  situ_tensor_release(host);
  return NULL;
}

static situ_status choose(const struct compute *compute, const struct function **out) {
  bool truth = false;
  TRY(is_true(compute->in[0], &truth));
  *out = function_of(compute->call, truth ? "then_branch" : "else_branch");
  return NULL;
}

static situ_status compute_if(struct compute *compute) {
  const struct function *branch = NULL;
  TRY(choose(compute, &branch));
  situ_tensor **tape = &compute->out[compute->call->n_out - 1];
  return run(compute, branch, compute->in + 1, compute->out, is_taped(compute) ? tape : NULL);
}

static situ_status compute_if_grad(struct compute *compute) {
  const struct function *branch = NULL;
  TRY(choose(compute, &branch));
  return run_gradient(compute, branch, compute->in[1], compute->in + 2, compute->out);
}

/* While */

static situ_status while_shape(struct call *call) {
  const struct function *cond = function_of(call, "cond"), *body = function_of(call, "body");
  const int n = call->n_out - 1;
  TRY(check_function(cond, call->in, call->n_in, 1));
  TRY(check_function(body, call->in, call->n_in, n));
  for (int i = 0; i < n; i++) {
    call->out[i].shape = common(&call->in[i].shape, output_shape(body, i));
    call->out[i].shape = common(&call->out[i].shape, &body->shapes[i]);
  }
  call->out[n].shape = SITU_SCALAR;
  return NULL;
}

static situ_status while_grad_shape(struct call *call) {
  const struct function *body = function_of(call, "body");
  TRY(check_function(body, call->in + 1, call->n_in - 1, call->n_out));
  for (int i = 0; i < call->n_out; i++)
    call->out[i].shape = common(&call->in[1 + i].shape, output_shape(body, i));
  return NULL;
}

static void release_all(situ_tensor **tensors, int n) {
  for (int i = 0; i < n; i++) {
    situ_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

/* What goes round: `values`, with room in `next` for what comes; and the tapes so far. */
struct loop {
  const struct compute *compute;
  const struct function *cond, *body;
  int n;
  situ_tensor **values, **next;
  bool taped;
  situ_tensor **tapes;
  int n_tapes, room;
};

static situ_status ask_condition(const struct loop *loop, bool *go_on) {
  situ_tensor *result = NULL;
  TRY(run(loop->compute, loop->cond, loop->values, &result, NULL));
  const situ_status status = is_true(result, go_on);
  situ_tensor_release(result);
  return status;
}

static void step(struct loop *loop) {
  release_all(loop->values, loop->n);
  memcpy(loop->values, loop->next, sizeof *loop->values * (size_t)loop->n);
  memset(loop->next, 0, sizeof *loop->next * (size_t)loop->n);
}

/* Why a loop has to end, or NULL. */
static situ_status look(const struct compute *compute) {
  const struct services *services = compute->services;
  if (services->cancelled && *services->cancelled)
    return situ_status_create(SITU_CANCELLED, "While loop was cancelled");
  return services->ask ? services->ask() : NULL;
}

static situ_status go_round(struct loop *loop) {
  for (;;) {
    bool go_on = false;
    situ_tensor *tape = NULL;
    TRY(ask_condition(loop, &go_on));
    if (!go_on) return NULL;
    TRY(run(loop->compute, loop->body, loop->values, loop->next, loop->taped ? &tape : NULL));
    step(loop);
    if (tape) TRY(series_grow(&loop->tapes, &loop->n_tapes, &loop->room, tape));
    TRY(look(loop->compute));
  }
}

/* The tapes become a list. */
static situ_status give_tape(const struct loop *loop, situ_tensor **out) {
  struct series *list = NULL;
  TRY(series_create(loop->n_tapes, &list));
  for (int i = 0; i < loop->n_tapes; i++) list->items[i] = situ_tensor_retain(loop->tapes[i]);
  return series_tensor(list, out);
}

static situ_status compute_while(struct compute *compute) {
  const int n = compute->call->n_in;
  struct arena arena = {0};
  struct loop loop = {.compute = compute,
                      .cond = function_of(compute->call, "cond"),
                      .body = function_of(compute->call, "body"),
                      .n = n,
                      .values = compute->out,
                      .next = ARENA_ARRAY(&arena, situ_tensor *, n + 1),
                      .taped = is_taped(compute)};
  situ_status status = loop.next ? NULL : NO_MEMORY();
  for (int i = 0; i < n && !status; i++)
    if (loop.taped)
      status = compute_keep(compute, i, &compute->out[i]);
    else
      compute->out[i] = situ_tensor_retain(compute->in[i]);
  if (!status) status = go_round(&loop);
  if (!status && loop.taped) status = give_tape(&loop, &compute->out[n]);
  if (loop.next) release_all(loop.next, n);
  release_all(loop.tapes, loop.n_tapes);
  free(loop.tapes);
  arena_free(&arena);
  return status;
}

/* Runs the gradient of the body for each time round, the last one first. */
static situ_status compute_while_grad(struct compute *compute) {
  const int n = compute->call->n_out;
  struct arena arena = {0};
  struct series *tapes = NULL;
  TRY(series_of(compute->in[0], &tapes));
  struct loop loop = {
      .n = n, .values = compute->out, .next = ARENA_ARRAY(&arena, situ_tensor *, n + 1)};
  situ_status status = loop.next ? NULL : NO_MEMORY();
  for (int i = 0; i < n && !status; i++) compute->out[i] = situ_tensor_retain(compute->in[1 + i]);
  for (int k = tapes->count - 1; k >= 0 && !status; k--) {
    status = run_gradient(compute, function_of(compute->call, "body"), tapes->items[k], loop.values,
                          loop.next);
    if (!status) step(&loop);
    if (!status) status = look(compute);
  }
  if (loop.next) release_all(loop.next, n);
  arena_free(&arena);
  return status;
}

/* Gradients */

/* What a gradient of a call is made of. */
struct passage {
  struct arena arena;
  bool *arrives, *wanted; /* by output, by input of the functions */
  struct term *terms;     /* inputs of the gradient */
  int64_t *in, *out;      /* types: of what arrives, of what is wanted */
  int n_in, n_out;
};

static bool passage_begin(struct passage *passage, int n_in, int n_out) {
  struct arena *arena = &passage->arena;
  passage->arrives = ARENA_ARRAY(arena, bool, n_out + 1);
  passage->wanted = ARENA_ARRAY(arena, bool, n_in + 1);
  passage->terms = ARENA_ARRAY(arena, struct term, n_out + 3);
  passage->in = ARENA_ARRAY(arena, int64_t, n_out + 1);
  passage->out = ARENA_ARRAY(arena, int64_t, n_in + 1);
  return !arena->failed;
}

static const struct function *differentiate(struct gradient *g, const char *attr,
                                            const struct passage *passage) {
  const struct function *result = NULL;
  if (!g->target->differentiate)
    gradient_missing(g);
  else
    gradient_fail(g, g->target->differentiate(g->to, gradient_attr(g, attr)->function,
                                              passage->arrives, passage->wanted, &result));
  return g->error ? NULL : result;
}

/* The outputs of the emitted node are the gradients of what is wanted. */
static void pass_on(struct gradient *g, const struct passage *passage, struct term made, int first,
                    int n) {
  int at = 0;
  for (int i = 0; i < n; i++)
    if (passage->wanted[i]) g->dx[first + i] = gradient_output(made, at++);
}

static void if_gradient(struct gradient *g, struct passage *passage) {
  const int n_in = g->n_in - 1, n_out = g->n_out - 1;
  passage->terms[0] = g->in[0];
  passage->terms[1] = g->out[n_out];
  for (int i = 0; i < n_out; i++) {
    passage->arrives[i] = term_exists(g->dy[i]);
    if (!passage->arrives[i]) continue;
    passage->in[passage->n_in] = gradient_type(g, g->dy[i]);
    passage->terms[2 + passage->n_in++] = g->dy[i];
  }
  for (int i = 0; i < n_in; i++) {
    passage->wanted[i] = gradient_wanted(g, 1 + i);
    if (passage->wanted[i]) passage->out[passage->n_out++] = gradient_type(g, g->in[1 + i]);
  }
  const struct function *yes = differentiate(g, "then_branch", passage);
  const struct function *no = g->error ? NULL : differentiate(g, "else_branch", passage);
  if (!no) return;
  const struct term made =
      gradient_emit(g, "IfGrad", passage->terms, 2 + passage->n_in,
                    ATTRS(situ_attr_types("Tin", passage->in, passage->n_in),
                          situ_attr_types("Tout", passage->out, passage->n_out),
                          situ_attr_function("then_branch", yes->name),
                          situ_attr_function("else_branch", no->name)));
  pass_on(g, passage, made, 1, n_in);
}

/* Which variables of the loop depend on one whose gradient is wanted, in any number of rounds. */
static void spread(struct gradient *g, const struct function *body, struct passage *passage) {
  const int n = g->n_in;
  for (bool changed = true; changed && !g->error;) {
    changed = false;
    gradient_fail(g, g->target->reaches(g->to, body, passage->wanted, passage->arrives));
    for (int i = 0; i < n; i++) {
      changed = changed || (passage->arrives[i] && !passage->wanted[i]);
      passage->wanted[i] = passage->wanted[i] || passage->arrives[i];
    }
  }
}

static void while_gradient(struct gradient *g, struct passage *passage) {
  const int n = g->n_in;
  const struct function *body = gradient_attr(g, "body")->function;
  if (!g->target->reaches) {
    gradient_missing(g);
    return;
  }
  for (int i = 0; i < n; i++) passage->wanted[i] = gradient_wanted(g, i);
  spread(g, body, passage);
  passage->terms[0] = g->out[n];
  for (int i = 0; i < n; i++) {
    passage->arrives[i] = passage->wanted[i];
    if (!passage->wanted[i]) continue;
    passage->in[passage->n_in] = gradient_type(g, g->in[i]);
    passage->terms[1 + passage->n_in++] = gradient_or_zeros(g, g->dy[i], g->out[i]);
  }
  const struct function *back = g->error ? NULL : differentiate(g, "body", passage);
  if (!back) return;
  const struct term made = gradient_emit(g, "WhileGrad", passage->terms, 1 + passage->n_in,
                                         ATTRS(situ_attr_types("T", passage->in, passage->n_in),
                                               situ_attr_function("body", back->name)));
  pass_on(g, passage, made, 0, n);
}

static void with_passage(struct gradient *g,
                         void (*function)(struct gradient *g, struct passage *passage)) {
  struct passage passage = {0};
  if (passage_begin(&passage, g->n_in, g->n_out))
    function(g, &passage);
  else
    gradient_fail(g, NO_MEMORY());
  arena_free(&passage.arena);
}

static void if_grad(struct gradient *g) { with_passage(g, if_gradient); }

static void while_grad(struct gradient *g) { with_passage(g, while_gradient); }

/* Rows */

#define LAZY (OP_ANYWHERE | OP_LAZY)
#define IF(op, kinds)                                                                             \
  {                                                                                               \
    .name = op, .inputs = "cond:Tcond input:Tin", .outputs = "output:Tout tape:variant",          \
    .attrs =                                                                                      \
        "Tcond:type Tin:list(type) Tout:list(type) then_branch:func else_branch:func "            \
        "output_shapes:list(shape)=[]",                                                           \
    .python = "", .doc = "Runs one of two functions: `then_branch` where the condition is true.", \
    .devices = EVERYWHERE, .flags = LAZY | (kinds), .shape = if_shape, .grad = if_grad,           \
    .compute = compute_if                                                                         \
  }
#define WHILE(op, kinds)                                                                      \
  {                                                                                           \
    .name = op, .inputs = "input:T", .outputs = "output:T tape:variant",                      \
    .attrs =                                                                                  \
        "T:list(type) cond:func body:func output_shapes:list(shape)=[] "                      \
        "parallel_iterations:int=10",                                                         \
    .python = "", .doc = "Runs `body` on its own results as long as `cond` of them is true.", \
    .devices = EVERYWHERE, .flags = LAZY | (kinds), .shape = while_shape, .grad = while_grad, \
    .compute = compute_while                                                                  \
  }

static const struct op rows[] = {
    IF("If", OP_STATEFUL),
    IF("StatelessIf", 0),
    WHILE("While", OP_STATEFUL),
    WHILE("StatelessWhile", 0),
    {.name = "IfGrad",
     .inputs = "cond:Tcond tape:variant input:Tin",
     .outputs = "output:Tout",
     .attrs = "Tcond:type Tin:list(type) Tout:list(type) then_branch:func else_branch:func",
     .python = "",
     .doc = "The gradient of If: runs the gradient of the branch that was taken.",
     .devices = EVERYWHERE,
     .flags = OP_ANYWHERE | OP_STATEFUL,
     .shape = if_grad_shape,
     .grad = gradient_missing,
     .compute = compute_if_grad},
    {.name = "WhileGrad",
     .inputs = "tape:variant input:T",
     .outputs = "output:T",
     .attrs = "T:list(type) body:func",
     .python = "",
     .doc = "The gradient of While: runs the gradient of the body, the last time round first.",
     .devices = EVERYWHERE,
     .flags = OP_ANYWHERE | OP_STATEFUL,
     .shape = while_grad_shape,
     .grad = gradient_missing,
     .compute = compute_while_grad},
};

OP_FAMILY(control, rows);
