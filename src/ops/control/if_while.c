/* SPDX-License-Identifier: Apache-2.0
 * if_while.c: If and While: ops that run functions of the graph. The last output of both is a
 * tape, a list of the forward values that gradients need, computed only if something reads it;
 * the tape of a While holds a tape per iteration. */
#include <stdlib.h>
#include <string.h>

#include "ops/control/if_while.h"
#include "ops/ops.h"
#include "schema/function.h"
#include "schema/tensor_list.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* The shape that fits both shapes. */
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

/* Checks that a function has the input and output types of the call. The first inputs of a gradient
 * function are read from a tape. */
static situ_status check_function(const struct function *function, const struct operand *in,
                                  int n_in, int n_out) {
  const int first = function->n_taped;
  if (function->n_inputs != first + n_in || function->n_outputs != n_out)
    return INVALID("Function '%s' has %d inputs and %d outputs; %d and %d are wanted",
                   function->name, function->n_inputs - first, function->n_outputs, n_in, n_out);
  for (int i = 0; i < n_in; i++) /* a handle that is passed as its variable: plan/host_ops.c */
    if (function->types[first + i] != in[i].type && function->types[first + i] != SITU_RESOURCE)
      return INVALID("Input %d of function '%s' is of type %s, not %s", i, function->name,
                     situ_type_name(function->types[first + i]), situ_type_name(in[i].type));
  return NULL;
}

/* The results of a function must have the types of outputs `first` ... `n` - 1 of the call. */
static situ_status check_results(const struct function *function, const struct operand *out,
                                 int first, int n) {
  const situ_type *types = function->types + function->n_inputs;
  for (int i = first; i < n; i++)
    if (types[i] != out[i].type)
      return INVALID("Output %d of function '%s' is of type %s, not %s", i, function->name,
                     situ_type_name(types[i]), situ_type_name(out[i].type));
  return NULL;
}

static situ_status run(const struct compute *compute, const struct function *function,
                       situ_tensor *const *in, situ_tensor **out, situ_tensor **tape) {
  const struct services *services = compute->services;
  if (!services->run)
    return situ_status_create(SITU_UNIMPLEMENTED, "Functions of a graph run in sessions only.");
  return services->run(services->context, function, in, out, tape);
}

/* Runs the gradient of a function: `given` are the inputs after those of the tape; `own` receives a
 * tape of the gradient itself, or is NULL. */
static situ_status run_gradient(const struct compute *compute, const struct function *function,
                                const situ_tensor *tape, situ_tensor *const *given,
                                situ_tensor **out, situ_tensor **own) {
  struct tensor_list *list = NULL;
  struct arena arena = {0};
  TRY(tensor_list_of(tape, &list));
  const int taped = function->n_taped;
  situ_tensor **in = ARENA_ARRAY(&arena, situ_tensor *, function->n_inputs + 1);
  situ_status status = in ? NULL : NO_MEMORY();
  for (int i = 0; !status && i < taped; i++)
    if (function->taped[i] < list->count && list->items[function->taped[i]])
      in[i] = list->items[function->taped[i]];
    else
      status = INVALID("The tape lacks value %d of function '%s'.", i, function->name);
  if (!status && function->n_inputs > taped)
    memcpy(in + taped, given, sizeof *in * (size_t)(function->n_inputs - taped));
  if (!status) status = run(compute, function, in, out, own);
  arena_free(&arena);
  return status;
}

/* Whether a consumer reads the tape, the last output. */
static bool is_taped(const struct compute *compute) {
  return !compute->unused || !compute->unused[compute->call->n_out - 1];
}

/* If */

static situ_status if_shape_of(struct call *call, int first, int n_out) {
  const struct function *branches[] = {function_of(call, "then_branch"),
                                       function_of(call, "else_branch")};
  for (int b = 0; b < 2; b++) {
    TRY(check_function(branches[b], call->in + first, call->n_in - first, n_out));
    TRY(check_results(branches[b], call->out, 0, n_out));
  }
  for (int i = 0; i < n_out; i++)
    call->out[i].shape = common(output_shape(branches[0], i), output_shape(branches[1], i));
  return NULL;
}

static situ_status if_shape(struct call *call) {
  call->out[call->n_out - 1].shape = SITU_SCALAR;
  return if_shape_of(call, 1, call->n_out - 1);
}

static situ_status if_grad_shape(struct call *call) {
  call->out[call->n_out - 1].shape = SITU_SCALAR;
  return if_shape_of(call, 2, call->n_out - 1);
}

/* Whether an element is not 0: -0.0 is, NaN is not. */
static bool is_nonzero(const char *data, situ_type type, size_t bytes) {
  if (type == SITU_FLOAT) return *(const float *)(const void *)data != 0;
  if (type == SITU_DOUBLE) return *(const double *)(const void *)data != 0;
  if (type == SITU_HALF || type == SITU_BFLOAT16)
    return *(const uint16_t *)(const void *)data & 0x7fff;
  bool any = false;
  for (size_t i = 0; i < bytes; i++) any = any || data[i];
  return any;
}

/* Whether a value is true: a number other than 0, a non-empty string, a tensor with elements. */
static situ_status is_true(situ_tensor *tensor, bool *out) {
  situ_tensor *host = NULL;
  if (tensor->shape.rank) {
    *out = situ_shape_count(tensor->shape) > 0;
    return NULL;
  }
  TRY(tensor_host(tensor, &host));
  if (host->type == SITU_STRING)
    *out = situ_tensor_string(host, 0).length;
  else
    *out = is_nonzero(situ_tensor_data(host), host->type, host->bytes);
  situ_tensor_release(host);
  return NULL;
}

static situ_status compute_to_bool(struct compute *compute) {
  bool truth = false;
  TRY(is_true(compute->in[0], &truth));
  return situ_tensor_create(SITU_BOOL, SITU_SCALAR, &truth, &compute->out[0]);
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
  situ_tensor **tape = &compute->out[compute->call->n_out - 1];
  return run_gradient(compute, branch, compute->in[1], compute->in + 2, compute->out,
                      is_taped(compute) ? tape : NULL);
}

/* While */

static situ_status while_shape(struct call *call) {
  const struct function *cond = function_of(call, "cond"), *body = function_of(call, "body");
  const int n = call->n_out - 1;
  TRY(check_function(cond, call->in, call->n_in, 1));
  TRY(check_function(body, call->in, call->n_in, n));
  TRY(check_results(body, call->out, 0, n));
  for (int i = 0; i < n; i++) {
    call->out[i].shape = common(&call->in[i].shape, output_shape(body, i));
    call->out[i].shape = common(&call->out[i].shape, &body->shapes[i]);
  }
  call->out[n].shape = SITU_SCALAR;
  return NULL;
}

/* The number of list inputs of WhileGrad besides the tape; the number of its list outputs. */
static int n_given(const struct call *call) { return (int)call_integer(call, "n_given"); }

static int n_collected(const struct call *call) {
  return (call->n_out - 1) - (call->n_in - 1 - n_given(call));
}

static situ_status while_grad_shape(struct call *call) {
  const struct function *body = function_of(call, "body");
  const int n = call->n_out - 1, given = n_given(call), collected = n_collected(call);
  if (given < 0 || given > call->n_in - 1 || collected < 0)
    return INVALID("n_given is %d, which the inputs and outputs do not match", given);
  TRY(check_function(body, call->in + 1, call->n_in - 1, n));
  TRY(check_results(body, call->out, collected, n));
  for (int i = 0; i < collected; i++) call->out[i].shape = SITU_SCALAR;
  for (int i = collected; i < n; i++)
    call->out[i].shape = common(&call->in[1 + given + i - collected].shape, output_shape(body, i));
  call->out[n].shape = SITU_SCALAR;
  return NULL;
}

static void release_all(situ_tensor **tensors, int n) {
  for (int i = 0; i < n; i++) {
    situ_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

/* The state of a loop: the loop variables, the results of the iteration that runs (`next`), and the
 * tapes of earlier iterations. */
struct loop {
  const struct compute *compute;
  const struct function *cond, *body;
  int n;
  situ_tensor **values, **next;
  bool taped;
  situ_tensor **tapes;
  int n_tapes, capacity;
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

/* Returns an error if the run is cancelled or interrupted. */
static situ_status check_cancelled(const struct compute *compute) {
  const struct services *services = compute->services;
  if (services->cancelled && *services->cancelled)
    return situ_status_create(SITU_CANCELLED, "While loop was cancelled");
  return services->ask ? services->ask() : NULL;
}

static situ_status run_loop(struct loop *loop) {
  for (;;) {
    bool go_on = false;
    situ_tensor *tape = NULL;
    TRY(ask_condition(loop, &go_on));
    if (!go_on) return NULL;
    TRY(run(loop->compute, loop->body, loop->values, loop->next, loop->taped ? &tape : NULL));
    step(loop);
    if (tape) TRY(tensor_list_grow(&loop->tapes, &loop->n_tapes, &loop->capacity, tape));
    TRY(check_cancelled(loop->compute));
  }
}

/* Makes a list of the tapes. */
static situ_status give_list(situ_tensor *const *items, int count, situ_tensor **out) {
  struct tensor_list *list = NULL;
  TRY(tensor_list_create(count, &list));
  for (int i = 0; i < count; i++) list->items[i] = situ_tensor_retain(items[i]);
  return tensor_list_tensor(list, out);
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
  if (!status) status = run_loop(&loop);
  if (!status && loop.taped) status = give_list(loop.tapes, loop.n_tapes, &compute->out[n]);
  if (loop.next) release_all(loop.next, n);
  release_all(loop.tapes, loop.n_tapes);
  free(loop.tapes);
  arena_free(&arena);
  return status;
}

/* The state of WhileGrad: `values` are the list elements of this iteration, then the loop
 * variables; `next` are the results of an iteration: the collected values, then the loop variables.
 * */
struct backward_loop {
  const struct compute *compute;
  struct tensor_list *tapes;
  int n_given, n_collected, n;
  situ_tensor **values, **next;
  situ_tensor **collected; /* of iteration r: r * n_collected ... */
  situ_tensor **own;       /* tapes of the iterations; NULL: not needed */
};

/* Reads the list elements of an iteration; empty lists where there are none. */
static situ_status read_lists(const struct backward_loop *loop, int round) {
  release_all(loop->values, loop->n_given);
  for (int i = 0; i < loop->n_given; i++) {
    struct tensor_list *list = NULL, *empty = NULL;
    TRY(tensor_list_of(loop->compute->in[1 + i], &list));
    if (round < list->count && list->items[round]) {
      loop->values[i] = situ_tensor_retain(list->items[round]);
      continue;
    }
    TRY(tensor_list_create(0, &empty));
    TRY(tensor_list_tensor(empty, &loop->values[i]));
  }
  return NULL;
}

/* Runs the gradient of the body for each iteration, the last one first. */
static situ_status run_backward(const struct backward_loop *loop) {
  const struct function *body = function_of(loop->compute->call, "body");
  situ_tensor **going = loop->values + loop->n_given;
  for (int k = loop->tapes->count - 1, r = 0; k >= 0; k--, r++) {
    TRY(read_lists(loop, k));
    TRY(run_gradient(loop->compute, body, loop->tapes->items[k], loop->values, loop->next,
                     loop->own ? &loop->own[r] : NULL));
    release_all(going, loop->n);
    memcpy(loop->collected + r * loop->n_collected, loop->next,
           sizeof *loop->next * (size_t)loop->n_collected);
    memcpy(going, loop->next + loop->n_collected, sizeof *loop->next * (size_t)loop->n);
    memset(loop->next, 0, sizeof *loop->next * (size_t)(loop->n_collected + loop->n));
    TRY(check_cancelled(loop->compute));
  }
  return NULL;
}

/* Sets the outputs: lists of the collected values, the loop variables, the tape. */
static situ_status set_outputs(const struct backward_loop *loop, struct arena *arena) {
  const int rounds = loop->tapes->count;
  situ_tensor **out = loop->compute->out;
  situ_tensor **column = ARENA_ARRAY(arena, situ_tensor *, rounds + 1);
  if (!column) return NO_MEMORY();
  for (int c = 0; c < loop->n_collected; c++) {
    for (int r = 0; r < rounds; r++) column[r] = loop->collected[r * loop->n_collected + c];
    TRY(give_list(column, rounds, &out[c]));
  }
  for (int i = 0; i < loop->n; i++)
    out[loop->n_collected + i] = situ_tensor_retain(loop->values[loop->n_given + i]);
  return loop->own ? give_list(loop->own, rounds, &out[loop->n_collected + loop->n]) : NULL;
}

static situ_status compute_while_grad(struct compute *compute) {
  const struct call *call = compute->call;
  struct arena arena = {0};
  struct backward_loop loop = {.compute = compute,
                               .n_given = n_given(call),
                               .n_collected = n_collected(call),
                               .n = call->n_in - 1 - n_given(call)};
  TRY(tensor_list_of(compute->in[0], &loop.tapes));
  const int rounds = loop.tapes->count;
  loop.values = ARENA_ARRAY(&arena, situ_tensor *, loop.n_given + loop.n + 1);
  loop.next = ARENA_ARRAY(&arena, situ_tensor *, loop.n_collected + loop.n + 1);
  loop.collected = ARENA_ARRAY(&arena, situ_tensor *, rounds * loop.n_collected + 1);
  if (is_taped(compute)) loop.own = ARENA_ARRAY(&arena, situ_tensor *, rounds + 1);
  situ_status status = arena.failed ? NO_MEMORY() : NULL;
  for (int i = 0; i < loop.n && !status; i++)
    status = compute_keep(compute, 1 + loop.n_given + i, &loop.values[loop.n_given + i]);
  if (!status) status = run_backward(&loop);
  if (!status) status = set_outputs(&loop, &arena);
  if (loop.values) release_all(loop.values, loop.n_given + loop.n);
  if (loop.next) release_all(loop.next, loop.n_collected + loop.n);
  if (loop.collected) release_all(loop.collected, rounds * loop.n_collected);
  if (loop.own) release_all(loop.own, rounds);
  arena_free(&arena);
  return status;
}

/* Rows */

#define LAZY (OP_DEVICE_INPUTS | OP_LAZY)
#define IF(op, kinds)                                                                              \
  {                                                                                                \
    .name = op, .inputs = "cond:Tcond input:Tin", .outputs = "output:Tout tape:variant",           \
    .attrs =                                                                                       \
        "Tcond:type Tin:list(type) Tout:list(type) then_branch:func else_branch:func "             \
        "output_shapes:list(shape)=[]",                                                            \
    .python = "", .doc = "Runs one of two functions.",                                             \
    .args =                                                                                        \
        "cond: Condition, a scalar; a number counts as true if it is not 0.\ninput: Arguments of " \
        "the function.\nthen_branch: Function to run if the condition is true.\nelse_branch: "     \
        "Function to run if the condition is false.",                                              \
    .devices = EVERYWHERE, .flags = LAZY | (kinds), .shape = if_shape, .grad = if_while_if_grad,   \
    .compute = compute_if                                                                          \
  }
#define WHILE(op, kinds)                                                                           \
  {                                                                                                \
    .name = op, .inputs = "input:T", .outputs = "output:T tape:variant",                           \
    .attrs =                                                                                       \
        "T:list(type) cond:func body:func output_shapes:list(shape)=[] "                           \
        "parallel_iterations:int=10",                                                              \
    .python = "", .doc = "Runs a function on its own results while a condition holds.",            \
    .args =                                                                                        \
        "input: Initial values of the loop variables.\ncond: Function of the loop variables that " \
        "returns a scalar, true to continue.\nbody: Function from the loop variables to their "    \
        "next values.\nparallel_iterations: Accepted and ignored; iterations run one by one.",     \
    .devices = EVERYWHERE, .flags = LAZY | (kinds), .shape = while_shape,                          \
    .grad = if_while_while_grad, .compute = compute_while                                          \
  }

static const struct op_def op_defs[] = {
    {.name = "ToBool",
     .inputs = "input:T",
     .outputs = "output:bool",
     .attrs = "T:type",
     .python = "",
     .doc = "Whether a scalar is not 0 or not empty, or another tensor has elements.",
     .args = "input: Tensor of any type.",
     .devices = "CPU",
     .flags = OP_NO_GRADIENT,
     .shape = op_scalar_shape,
     .compute = compute_to_bool},
    IF("If", OP_STATEFUL),
    IF("StatelessIf", 0),
    WHILE("While", OP_STATEFUL),
    WHILE("StatelessWhile", 0),
    {.name = "IfGrad",
     .inputs = "cond:Tcond tape:variant input:Tin",
     .outputs = "output:Tout tape:variant",
     .attrs = "Tcond:type Tin:list(type) Tout:list(type) then_branch:func else_branch:func",
     .python = "",
     .doc = "The gradient of If: runs the gradient of the branch that was taken.",
     .args = "cond: Condition of If.\n"
             "tape: Forward values that If saved.\n"
             "input: Gradients of the outputs and captured values.\n"
             "then_branch: Gradient function of the true branch.\n"
             "else_branch: Gradient function of the false branch.",
     .devices = EVERYWHERE,
     .flags = LAZY | OP_STATEFUL,
     .shape = if_grad_shape,
     .grad = if_while_if_grad_grad,
     .compute = compute_if_grad},
    {.name = "WhileGrad",
     .inputs = "tape:variant input:Tin",
     .outputs = "output:Tout tape:variant",
     .attrs = "Tin:list(type) Tout:list(type) n_given:int32=0 body:func",
     .python = "",
     .doc = "The gradient of While: runs the gradient of the body for each iteration, the last one "
            "first.",
     .args = "tape: Forward values that While saved.\n"
             "input: Lists with an element per iteration, then the initial gradients of the loop "
             "variables.\n"
             "n_given: Number of lists in front of the input.\n"
             "body: Gradient function of the body.",
     .devices = EVERYWHERE,
     .flags = LAZY | OP_STATEFUL,
     .shape = while_grad_shape,
     .grad = if_while_while_grad_grad,
     .compute = compute_while_grad},
};

OP_FAMILY(if_while, op_defs);
