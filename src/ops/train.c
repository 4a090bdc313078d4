/* SPDX-License-Identifier: Apache-2.0
 * train.c: the updates of optimizers: each reads and writes a variable and its slots in one
 * kernel. */
#include <string.h>

#include "ops/ops.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/train.cl"
#include "kernel/types.h"

enum { MOST_ARGS = 16 };

/* Every update once: X(op, kernel, flag of the op or "", flops of an element, inputs, new values,
 * attributes, samples, what it does). Inputs begin with what gets new values: S(name). */
#define N(name) "new_" name ":T "
#define UPDATES(X, S)                                                                              \
  X(GradientDescent, apply_gradient_descent, "", 2, S("var") "alpha:T delta:T", N("var"), "",      \
    "[3,4] []=0.5 [3,4]; [0] []=0.5 [0]", "var -= alpha * delta.")                                 \
  X(Momentum, apply_momentum, "use_nesterov", 4, S("var") S("accum") "lr:T grad:T momentum:T",     \
    N("var") N("accum"), " use_nesterov:bool=false",                                               \
    "[3,4] [3,4] []=0.5 [3,4] []=0.75; use_nesterov=true [5] [5] []=0.5 [5] []=0.75",              \
    "accum = momentum * accum + grad; var -= lr * accum. With use_nesterov the step "              \
    "looks one step ahead: var -= lr * (grad + momentum * accum).")                                \
  X(KerasMomentum, apply_keras_momentum, "use_nesterov", 4,                                        \
    S("var") S("accum") "lr:T grad:T momentum:T", N("var") N("accum"), " use_nesterov:bool=false", \
    "[3,4] [3,4] []=0.5 [3,4] []=0.75; use_nesterov=true [5] [5] []=0.5 [5] []=0.75",              \
    "accum = momentum * accum - lr * grad; var += accum. With use_nesterov: var += "               \
    "momentum * accum - lr * grad.")                                                               \
  X(Adagrad, apply_adagrad, "update_slots", 8, S("var") S("accum") "lr:T grad:T",                  \
    N("var") N("accum"), " update_slots:bool=true",                                                \
    "[3,4] [3,4]:pos []=0.5 [3,4]; update_slots=false [5] [5]:pos []=0.5 [5]",                     \
    "accum += grad^2; var -= lr * grad / sqrt(accum).")                                            \
  X(AdagradV2, apply_adagrad_v2, "update_slots", 8, S("var") S("accum") "lr:T epsilon:T grad:T",   \
    N("var") N("accum"), " update_slots:bool=true", "[3,4] [3,4]:pos []=0.5 []=0.25 [3,4]",        \
    "accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon).")                                \
  X(Adadelta, apply_adadelta, "", 16,                                                              \
    S("var") S("accum") S("accum_update") "lr:T rho:T epsilon:T grad:T",                           \
    N("var") N("accum") N("accum_update"), "",                                                     \
    "[3,4] [3,4]:pos [3,4]:pos []=0.5 []=0.75 []=0.25 [3,4]",                                      \
    "accum and accum_update are the averages of the squares of gradients and of steps; "           \
    "a step is grad * sqrt(accum_update + epsilon) / sqrt(accum + epsilon), times lr.")            \
  X(RMSProp, apply_rms_prop, "", 16,                                                               \
    S("var") S("ms") S("mom") "lr:T rho:T momentum:T epsilon:T grad:T", N("var") N("ms") N("mom"), \
    "", "[3,4] [3,4]:pos [3,4] []=0.5 []=0.75 []=0.5 []=0.25 [3,4]",                               \
    "ms is the average of grad^2; mom = momentum * mom + lr * grad / sqrt(ms + "                   \
    "epsilon); var -= mom.")                                                                       \
  X(CenteredRMSProp, apply_centered_rms_prop, "", 20,                                              \
    S("var") S("mg") S("ms") S("mom") "lr:T rho:T momentum:T epsilon:T grad:T",                    \
    N("var") N("mg") N("ms") N("mom"), "",                                                         \
    "[3,4] [3,4]:unit [3,4]:above1 [3,4] []=0.5 []=0.75 []=0.5 []=0.25 [3,4]",                     \
    "As RMSProp, with the variance of gradients (ms - mg^2) in place of the mean of "              \
    "squares.")                                                                                    \
  X(Adam, apply_adam, "use_nesterov", 20,                                                          \
    S("var") S("m") S("v") "beta1_power:T beta2_power:T lr:T beta1:T beta2:T epsilon:T grad:T",    \
    N("var") N("m") N("v"), " use_nesterov:bool=false",                                            \
    "[3,4] [3,4] [3,4]:pos []=0.5 []=0.75 []=0.5 []=0.75 []=0.875 []=0.25 [3,4]; "                 \
    "use_nesterov=true [5] [5] [5]:pos []=0.5 []=0.75 []=0.5 []=0.75 []=0.875 []=0.25 "            \
    "[5]",                                                                                         \
    "m and v are the averages of gradients and of their squares; var -= lr * sqrt(1 - "            \
    "beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).")                                 \
  X(AdaMax, apply_ada_max, "", 12,                                                                 \
    S("var") S("m") S("v") "beta1_power:T lr:T beta1:T beta2:T epsilon:T grad:T",                  \
    N("var") N("m") N("v"), "",                                                                    \
    "[3,4] [3,4] [3,4]:pos []=0.5 []=0.5 []=0.75 []=0.875 []=0.25 [3,4]",                          \
    "m is the average of gradients, v = max(beta2 * v, |grad|); var -= lr / (1 - "                 \
    "beta1_power) * m / (v + epsilon).")                                                           \
  X(Ftrl, apply_ftrl, "", 30, S("var") S("accum") S("linear") "grad:T lr:T l1:T l2:T lr_power:T",  \
    N("var") N("accum") N("linear"), " multiply_linear_by_lr:bool=false",                          \
    "[3,4] [3,4]:pos [3,4] [3,4] []=0.5 []=0.25 []=0.5 []=-0.5; [5] [5]:pos [5] [5] "              \
    "[]=0.5 []=0.25 []=0.5 []=-0.75",                                                              \
    "Follow the regularised leader: l1 sets small elements to 0, l2 makes all smaller.")           \
  X(FtrlV2, apply_ftrl_v2, "", 32,                                                                 \
    S("var") S("accum") S("linear") "grad:T lr:T l1:T l2:T l2_shrinkage:T lr_power:T",             \
    N("var") N("accum") N("linear"), " multiply_linear_by_lr:bool=false",                          \
    "[3,4] [3,4]:pos [3,4] [3,4] []=0.5 []=0.25 []=0.5 []=0.25 []=-0.5",                           \
    "As Ftrl, with l2_shrinkage, which makes elements smaller as a penalty on the loss "           \
    "does.")                                                                                       \
  X(ProximalGradientDescent, apply_proximal_gradient_descent, "", 8,                               \
    S("var") "alpha:T l1:T l2:T delta:T", N("var"), "",                                            \
    "[3,4] []=0.5 []=0.25 []=0.5 [3,4]; [5] []=0.5 []=0 []=0.5 [5]",                               \
    "A step of gradient descent, then elements go towards 0 by alpha * l1 and shrink by"           \
    " l2.")                                                                                        \
  X(ProximalAdagrad, apply_proximal_adagrad, "", 16, S("var") S("accum") "lr:T l1:T l2:T grad:T",  \
    N("var") N("accum"), "", "[3,4] [3,4]:pos []=0.5 []=0.25 []=0.5 [3,4]",                        \
    "A step of Adagrad, then elements go towards 0 by l1 and shrink by l2.")

#define NO_STATE(name)
#define KERNEL_OF(op, kernel, ...) KERNEL_TABLE(kernel, REAL);
UPDATES(KERNEL_OF, NO_STATE)
#undef KERNEL_OF

/* Slots and gradient are as large as the variable; all else is one number. */
static bool is_large(const struct call *call, int i) {
  const char *name = call->schema->inputs[i].name;
  const int n_states = call->schema->inputs[0].is_ref ? 0 : call->n_out;
  return i < n_states || call->schema->inputs[i].is_ref || !strcmp(name, "grad") ||
         !strcmp(name, "delta");
}

static situ_status update_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  char a[256], b[256];
  for (int i = 1; i < call->n_in; i++) {
    const char *name = call->schema->inputs[i].name;
    const situ_shape *in = &call->in[i].shape;
    if (!is_large(call, i)) {
      if (in->rank != SITU_ANY && in->rank)
        return INVALID("%s is not a scalar: %s", name, shape_print(in, a));
      continue;
    }
    if (!shape_compatible(&shape, in))
      return INVALID("var and %s do not have the same shape%s %s", name,
                     shape_print(&call->in[0].shape, a), shape_print(in, b));
    shape = shape_merge(&shape, in);
  }
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = shape;
  return NULL;
}

/* Where the new value of input `i` goes: in its own memory, or to an output. */
static struct launch_arg target(const struct call *call, int i) {
  return call->schema->inputs[0].is_ref ? ARG_IN(call, i) : ARG_OUT(call, i);
}

static bool is_state(const struct call *call, int i) {
  return call->schema->inputs[0].is_ref ? call->schema->inputs[i].is_ref : i < call->n_out;
}

static situ_status record_update(struct call *call, const struct kernel *kernel, const char *flag,
                                 double flops) {
  struct launch_arg args[MOST_ARGS];
  const int64_t n = situ_shape_count(call->in[0].shape);
  int32_t count = 0;
  for (int i = 0; i < call->n_in; i++) args[count++] = ARG_IN(call, i);
  for (int i = 0; is_state(call, i); i++) args[count++] = target(call, i);
  args[count++] = ARG_INT(*flag ? call_bool(call, flag) : 0);
  args[count++] = ARG_INT(n);
  const struct launch launch = {.kernel = kernel,
                                .type = call->in[0].type,
                                .items = n,
                                .grain = max_i64(1, (int64_t)(GRAIN / (flops / 2))),
                                .flops = flops * (double)n,
                                .args = args,
                                .n_args = count};
  return call_launch(call, &launch);
}

#define RECORD_OF(op, kernel, flag, flops, ...)                \
  static situ_status record_##op(struct call *call) {          \
    return record_update(call, &kernel##_kernel, flag, flops); \
  }
UPDATES(RECORD_OF, NO_STATE)
#undef RECORD_OF

/* Two rows of an update: on variables, and on values. */
#define REF(name) name ":&T "
#define VALUE(name) name ":T "
#define ON_VARIABLES(op, kernel, flag, flops, in, out, more, samples_, text) \
  {.name = "Apply" #op,                                                      \
   .inputs = in,                                                             \
   .outputs = "out:&T",                                                      \
   .attrs = "T:{" WORDS_REAL "} use_locking:bool=false" more,                \
   .python = "",                                                             \
   .doc = text,                                                              \
   .devices = EVERYWHERE,                                                    \
   .flags = OP_STATEFUL | OP_UPDATES,                                        \
   .shape = update_shape,                                                    \
   .record = record_##op},
#define ON_VALUES(op, kernel, flag, flops, in, out, more, samples_, text)                \
  {.name = "Step" #op,                                                                   \
   .inputs = in,                                                                         \
   .outputs = out,                                                                       \
   .attrs = "T:{" WORDS_REAL "} use_locking:bool=false" more,                            \
   .python = "",                                                                         \
   .doc = "The new values of a variable and its slots, as Apply" #op " has them: " text, \
   .samples = samples_,                                                                  \
   .devices = EVERYWHERE,                                                                \
   .flags = OP_NO_GRADIENT,                                                              \
   .shape = update_shape,                                                                \
   .record = record_##op},

static const struct op rows[] = {UPDATES(ON_VARIABLES, REF) UPDATES(ON_VALUES, VALUE)};

OP_FAMILY(train, rows);
