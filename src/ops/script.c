/* SPDX-License-Identifier: Apache-2.0
 * script.c: calls of functions: of the program that runs the graph (PyFunc), and of the graph (If,
 * While). */
#include <stdatomic.h>
#include <string.h>

#include "ops/ops.h"
#include "schema/function.h"
#include "schema/schema.h"
#include "situ/session.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

static _Atomic(situ_callback) callback;

void situ_callback_set(situ_callback function) { atomic_store(&callback, function); }

static situ_status any_shape(struct call *call) {
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = SITU_ANY_SHAPE;
  return NULL;
}

static situ_status compute_function(struct compute *compute) {
  const situ_callback function = atomic_load(&callback);
  const struct call *call = compute->call;
  if (!function)
    return situ_status_create(SITU_FAILED_PRECONDITION,
                              "There is nobody to call functions: situ_callback_set.");
  return function(call_text(call, "token"), compute->in, call->n_in, compute->out, call->n_out);
}

/* Functions of the graph */

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

/* A function must take and give what the call says. */
static situ_status check_function(const struct function *function, const struct operand *in,
                                  int n_in, int n_out) {
  if (function->n_inputs != n_in || function->n_outputs != n_out)
    return INVALID("Function '%s' has %d inputs and %d outputs; %d and %d are wanted",
                   function->name, function->n_inputs, function->n_outputs, n_in, n_out);
  for (int i = 0; i < n_in; i++)
    if (function->types[i] != in[i].type)
      return INVALID("Input %d of function '%s' is of type %s, not %s", i, function->name,
                     situ_type_name(function->types[i]), situ_type_name(in[i].type));
  return NULL;
}

/* If */

static situ_status if_shape(struct call *call) {
  const struct function *branches[] = {function_of(call, "then_branch"),
                                       function_of(call, "else_branch")};
  for (int b = 0; b < 2; b++)
    TRY(check_function(branches[b], call->in + 1, call->n_in - 1, call->n_out));
  for (int i = 0; i < call->n_out; i++)
    call->out[i].shape = common(&branches[0]->shapes[branches[0]->n_inputs + i],
                                &branches[1]->shapes[branches[1]->n_inputs + i]);
  return NULL;
}

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

static situ_status run(const struct compute *compute, const struct function *function,
                       situ_tensor *const *in, situ_tensor **out) {
  const struct services *services = compute->services;
  if (!services->run)
    return situ_status_create(SITU_UNIMPLEMENTED, "Functions of a graph run in sessions only.");
  return services->run(services->context, function, in, out);
}

static situ_status compute_if(struct compute *compute) {
  bool truth = false;
  TRY(is_true(compute->in[0], &truth));
  return run(compute, function_of(compute->call, truth ? "then_branch" : "else_branch"),
             compute->in + 1, compute->out);
}

/* While */

static situ_status while_shape(struct call *call) {
  const struct function *cond = function_of(call, "cond"), *body = function_of(call, "body");
  TRY(check_function(cond, call->in, call->n_in, 1));
  TRY(check_function(body, call->in, call->n_in, call->n_out));
  for (int i = 0; i < call->n_out; i++)
    call->out[i].shape = common(&call->in[i].shape, &body->shapes[body->n_inputs + i]);
  return NULL;
}

static void release_all(situ_tensor **tensors, int n) {
  for (int i = 0; i < n; i++) {
    situ_tensor_release(tensors[i]);
    tensors[i] = NULL;
  }
}

static situ_status ask_condition(const struct compute *compute, situ_tensor *const *values,
                                 bool *go_on) {
  situ_tensor *result = NULL;
  TRY(run(compute, function_of(compute->call, "cond"), values, &result));
  const situ_status status = is_true(result, go_on);
  situ_tensor_release(result);
  return status;
}

/* `values` holds what goes round, `next` has room for what comes. */
static situ_status loop(const struct compute *compute, situ_tensor **values, situ_tensor **next) {
  const int n = compute->call->n_in;
  for (;;) {
    bool go_on = false;
    TRY(ask_condition(compute, values, &go_on));
    if (!go_on) return NULL;
    TRY(run(compute, function_of(compute->call, "body"), values, next));
    release_all(values, n);
    memcpy(values, next, sizeof *values * (size_t)n);
    memset(next, 0, sizeof *next * (size_t)n);
    if (compute->services->cancelled && *compute->services->cancelled)
      return situ_status_create(SITU_CANCELLED, "While loop was cancelled");
    if (compute->services->ask) TRY(compute->services->ask());
  }
}

static situ_status compute_while(struct compute *compute) {
  const int n = compute->call->n_in;
  struct arena arena = {0};
  situ_tensor **next = ARENA_ARRAY(&arena, situ_tensor *, n + 1);
  if (!next) return NO_MEMORY();
  for (int i = 0; i < n; i++) compute->out[i] = situ_tensor_retain(compute->in[i]);
  const situ_status status = loop(compute, compute->out, next);
  release_all(next, n);
  arena_free(&arena);
  return status;
}

#define IF(op, kinds)                                                                      \
  {.name = op,                                                                             \
   .inputs = "cond:Tcond input:Tin",                                                       \
   .outputs = "output:Tout",                                                               \
   .attrs = "Tcond:type Tin:list(type) Tout:list(type) then_branch:func else_branch:func " \
            "output_shapes:list(shape)=[]",                                                \
   .python = "",                                                                           \
   .doc = "Runs one of two functions: `then_branch` where the condition is true.",         \
   .devices = EVERYWHERE,                                                                  \
   .flags = OP_ANYWHERE | OP_NO_GRADIENT | (kinds),                                        \
   .shape = if_shape,                                                                      \
   .compute = compute_if}
#define WHILE(op, kinds)                                                       \
  {.name = op,                                                                 \
   .inputs = "input:T",                                                        \
   .outputs = "output:T",                                                      \
   .attrs = "T:list(type) cond:func body:func output_shapes:list(shape)=[] "   \
            "parallel_iterations:int=10",                                      \
   .python = "",                                                               \
   .doc = "Runs `body` on its own results as long as `cond` of them is true.", \
   .devices = EVERYWHERE,                                                      \
   .flags = OP_ANYWHERE | OP_NO_GRADIENT | (kinds),                            \
   .shape = while_shape,                                                       \
   .compute = compute_while}

#define ROW(op, kinds, text)                                                                 \
  {                                                                                          \
    .name = op, .inputs = "input:Tin", .outputs = "output:Tout",                             \
    .attrs = "token:string Tin:list(type)=[] Tout:list(type)=[]", .python = "", .doc = text, \
    .devices = "CPU", .flags = OP_NO_GRADIENT | (kinds), .shape = any_shape,                 \
    .compute = compute_function                                                              \
  }

static const struct op rows[] = {
    ROW("PyFunc", OP_STATEFUL, "Calls a function of the program that runs the graph."),
    ROW("PyFuncStateless", 0, "The same, of a function that only depends on its inputs."),
    IF("If", OP_STATEFUL),
    IF("StatelessIf", 0),
    WHILE("While", OP_STATEFUL),
    WHILE("StatelessWhile", 0),
};

OP_FAMILY(script, rows);
