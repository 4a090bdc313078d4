/* SPDX-License-Identifier: Apache-2.0
 * optimizer_ops.c: optimizer updates: each op updates a variable and its slots in one kernel. */
#include <string.h>

#include "ops/ops.h"
#include "ops/array/scatter.h"
#include "ops/array/strided_copy.h"
#include "schema/schema.h"
#include "tensor/shape.h"

#define KERNELS "ops/state/optimizer_ops.cl"
#include "kernel/types.h"

enum { MOST_ARGS = 20 };

/* All updates: X(op, kernel, flag of the op or "", flops per element, inputs, new values,
 * attributes, samples, formula). The first inputs S(name) are updated. G(name) is the gradient; M,
 * V and E are samples of it for a matrix of 3 rows, for 5 elements and for none. */
#define N(name) "new_" name ":T "
#define UPDATES(X, S, G, M, V, E)                                                                  \
  X(GradientDescent, apply_gradient_descent, "", 2, S("var") "alpha:T[] " G("delta"), N("var"),    \
    "", "[3,4] []=0.5 " M "; [0] []=0.5 " E, "var -= alpha * delta.")                              \
  X(Momentum, apply_momentum, "use_nesterov", 4,                                                   \
    S("var") S("accum") "lr:T[] " G("grad") "momentum:T[]", N("var") N("accum"),                   \
    " use_nesterov:bool=false",                                                                    \
    "[3,4] [3,4] []=0.5 " M " []=0.75; use_nesterov=true [5] [5] []=0.5 " V " []=0.75",            \
    "accum = momentum * accum + grad; var -= lr * accum. With use_nesterov: var -= "               \
    "lr * (grad + momentum * accum).")                                                             \
  X(KerasMomentum, apply_keras_momentum, "use_nesterov", 4,                                        \
    S("var") S("accum") "lr:T[] " G("grad") "momentum:T[]", N("var") N("accum"),                   \
    " use_nesterov:bool=false",                                                                    \
    "[3,4] [3,4] []=0.5 " M " []=0.75; use_nesterov=true [5] [5] []=0.5 " V " []=0.75",            \
    "accum = momentum * accum - lr * grad; var += accum. With use_nesterov: var += "               \
    "momentum * accum - lr * grad.")                                                               \
  X(Adagrad, apply_adagrad, "update_slots", 8, S("var") S("accum") "lr:T[] " G("grad"),            \
    N("var") N("accum"), " update_slots:bool=true",                                                \
    "[3,4] [3,4]:pos []=0.5 " M "; update_slots=false [5] [5]:pos []=0.5 " V,                      \
    "accum += grad^2; var -= lr * grad / sqrt(accum).")                                            \
  X(AdagradV2, apply_adagrad_v2, "update_slots", 8,                                                \
    S("var") S("accum") "lr:T[] epsilon:T[] " G("grad"), N("var") N("accum"),                      \
    " update_slots:bool=true", "[3,4] [3,4]:pos []=0.5 []=0.25 " M,                                \
    "accum += grad^2; var -= lr * grad / (sqrt(accum) + epsilon).")                                \
  X(Adadelta, apply_adadelta, "", 16,                                                              \
    S("var") S("accum") S("accum_update") "lr:T[] rho:T[] epsilon:T[] " G("grad"),                 \
    N("var") N("accum") N("accum_update"), "",                                                     \
    "[3,4] [3,4]:pos [3,4]:pos []=0.5 []=0.75 []=0.25 " M,                                         \
    "Adadelta; accum and accum_update are moving averages of squared gradients and steps; "        \
    "a step is grad * sqrt(accum_update + epsilon) / sqrt(accum + epsilon), times lr.")            \
  X(RMSProp, apply_rms_prop, "", 16,                                                               \
    S("var") S("ms") S("mom") "lr:T[] rho:T[] momentum:T[] epsilon:T[] " G("grad"),                \
    N("var") N("ms") N("mom"), "", "[3,4] [3,4]:pos [3,4] []=0.5 []=0.75 []=0.5 []=0.25 " M,       \
    "ms is the moving average of grad^2; mom = momentum * mom + lr * grad / sqrt(ms + "            \
    "epsilon); var -= mom.")                                                                       \
  X(CenteredRMSProp, apply_centered_rms_prop, "", 20,                                              \
    S("var") S("mg") S("ms") S("mom") "lr:T[] rho:T[] momentum:T[] epsilon:T[] " G("grad"),        \
    N("var") N("mg") N("ms") N("mom"), "",                                                         \
    "[3,4] [3,4]:unit [3,4]:above1 [3,4] []=0.5 []=0.75 []=0.5 []=0.25 " M,                        \
    "As RMSProp, with the variance of gradients (ms - mg^2) in place of their mean "               \
    "square.")                                                                                     \
  X(Adam, apply_adam, "use_nesterov", 20,                                                          \
    S("var") S("m") S(                                                                             \
        "v") "beta1_power:T[] beta2_power:T[] lr:T[] beta1:T[] beta2:T[] epsilon:T[] " G("grad"),  \
    N("var") N("m") N("v"), " use_nesterov:bool=false",                                            \
    "[3,4] [3,4] [3,4]:pos []=0.5 []=0.75 []=0.5 []=0.75 []=0.875 []=0.25 " M                      \
    "; use_nesterov=true [5] [5] [5]:pos []=0.5 []=0.75 []=0.5 []=0.75 []=0.875 []=0.25 " V,       \
    "m and v are moving averages of gradients and their squares; var -= lr * sqrt(1 - "            \
    "beta2_power) / (1 - beta1_power) * m / (sqrt(v) + epsilon).")                                 \
  X(AdaMax, apply_ada_max, "", 12,                                                                 \
    S("var") S("m") S("v") "beta1_power:T[] lr:T[] beta1:T[] beta2:T[] epsilon:T[] " G("grad"),    \
    N("var") N("m") N("v"), "", "[3,4] [3,4] [3,4]:pos []=0.5 []=0.5 []=0.75 []=0.875 []=0.25 " M, \
    "m is the moving average of gradients, v = max(beta2 * v, |grad|); var -= lr / (1 - "          \
    "beta1_power) * m / (v + epsilon).")                                                           \
  X(Ftrl, apply_ftrl, "multiply_linear_by_lr", 30,                                                 \
    S("var") S("accum") S("linear") G("grad") "lr:T[] l1:T[] l2:T[] lr_power:T[]",                 \
    N("var") N("accum") N("linear"), " multiply_linear_by_lr:bool=false",                          \
    "[3,4] [3,4]:pos [3,4] " M " []=0.5 []=0.25 []=0.5 []=-0.5; [5] [5]:pos [5] " V                \
    " []=0.5 []=0.25 []=0.5 []=-0.75; multiply_linear_by_lr=true [5] [5]:pos [5] " V               \
    " []=0.5 []=0.25 []=0.5 []=-0.5",                                                              \
    "Follow the regularized leader (FTRL-Proximal) with L1 and L2 regularization.")                \
  X(FtrlV2, apply_ftrl_v2, "multiply_linear_by_lr", 32,                                            \
    S("var") S("accum") S("linear")                                                                \
        G("grad") "lr:T[] l1:T[] l2:T[] l2_shrinkage:T[] lr_power:T[]",                            \
    N("var") N("accum") N("linear"), " multiply_linear_by_lr:bool=false",                          \
    "[3,4] [3,4]:pos [3,4] " M                                                                     \
    " []=0.5 []=0.25 []=0.5 []=0.25 []=-0.5; "                                                     \
    "multiply_linear_by_lr=true [5] [5]:pos [5] " V " []=0.5 []=0.25 []=0.5 []=0.25 []=-0.75",     \
    "As Ftrl, with L2 shrinkage, a penalty on the loss.")                                          \
  X(ProximalGradientDescent, apply_proximal_gradient_descent, "", 8,                               \
    S("var") "alpha:T[] l1:T[] l2:T[] " G("delta"), N("var"), "",                                  \
    "[3,4] []=0.5 []=0.25 []=0.5 " M "; [5] []=0.5 []=0 []=0.5 " V,                                \
    "Gradient descent with L1 and L2 regularization by a proximal step.")                          \
  X(ProximalAdagrad, apply_proximal_adagrad, "", 16,                                               \
    S("var") S("accum") "lr:T[] l1:T[] l2:T[] " G("grad"), N("var") N("accum"), "",                \
    "[3,4] [3,4]:pos []=0.5 []=0.25 []=0.5 " M,                                                    \
    "Adagrad with L1 and L2 regularization by a proximal step.")

#define NO_STATE(name)
#define DENSE(name) name ":T[...s] "
#define ROWS(name) name ":T[k,...r] indices:Tindices[k] "
#define DENSE_SAMPLES "[3,4]", "[5]", "[0]"
#define ROW_SAMPLES "[4,4] [4]=2,0,2,1", "[3] [3]=4,0,4", "[0] [0]="
#define ALL_UPDATES(X, S, G, ...) UPDATES(X, S, G, __VA_ARGS__)

#define KERNELS_OF(op, kernel, ...) \
  KERNEL_TABLE(kernel, REAL);       \
  KERNEL_TABLE(sparse_##kernel, REAL);
ALL_UPDATES(KERNELS_OF, NO_STATE, DENSE, DENSE_SAMPLES)
#undef KERNELS_OF

/* Inputs */

static bool is_named(const struct call *call, int i, const char *name) {
  return !strcmp(call->schema->inputs[i].name, name);
}

static bool is_state(const struct call *call, int i) {
  return call->schema->inputs[0].is_ref ? call->schema->inputs[i].is_ref : i < call->n_out;
}

static bool is_gradient(const struct call *call, int i) {
  return is_named(call, i, "grad") || is_named(call, i, "delta");
}

/* The input that says which rows the gradient is of; -1: of all. */
static int find_indices(const struct call *call) {
  int i = call->n_in - 1;
  while (i >= 0 && !is_named(call, i, "indices")) i--;
  return i;
}

/* Shapes */

/* The shape of a gradient of the rows of a variable that input `at` names. */
static situ_status rows_shape(const struct call *call, int at, situ_shape *shape) {
  TRY(op_need_rank(call, at, 1, "indices"));
  if (shape->rank == 0) return INVALID("var must be at least 1 dimensional");
  if (shape->rank > 0)
    shape->dim[0] = call->in[at].shape.rank == 1 ? call->in[at].shape.dim[0] : SITU_ANY;
  return NULL;
}

/* Slots and gradient are as large as the variable; all else is one number. */
static situ_status update_shape(struct call *call) {
  situ_shape shape = call->in[0].shape;
  const int at = find_indices(call);
  char a[256], b[256];
  for (int i = 1; i < call->n_in; i++) {
    const situ_shape *in = &call->in[i].shape;
    situ_shape want = shape;
    const bool rows = at >= 0 && is_gradient(call, i);
    if (i == at) continue;
    if (!is_state(call, i) && !is_gradient(call, i)) {
      if (in->rank != SITU_ANY && in->rank)
        return INVALID("%s is not a scalar: %s", call->schema->inputs[i].name, shape_print(in, a));
      continue;
    }
    if (rows) TRY(rows_shape(call, at, &want));
    if (!shape_compatible(&want, in))
      return INVALID("var and %s do not have the same shape%s %s", call->schema->inputs[i].name,
                     shape_print(rows ? &want : &call->in[0].shape, a), shape_print(in, b));
    if (!rows) shape = shape_merge(&shape, in);
  }
  for (int i = 0; i < call->n_out; i++) call->out[i].shape = shape;
  return NULL;
}

/* Kernels */

/* The memory of the new value of input `i`: its own, or an output. */
static struct launch_arg target(const struct call *call, int i) {
  return call->schema->inputs[0].is_ref ? ARG_IN(call, i) : ARG_OUT(call, i);
}

/* The arguments that dense and sparse updates have in common. Sparse ones read states where they
 * write them, and say otherwise which rows they mean. */
static int32_t add_args(const struct call *call, const char *flag, bool sparse,
                        struct launch_arg *args) {
  int32_t count = 0;
  for (int i = 0; i < call->n_in; i++) {
    if (sparse && is_named(call, i, "indices")) continue;
    args[count++] = sparse && is_state(call, i) ? target(call, i) : ARG_IN(call, i);
  }
  for (int i = 0; is_state(call, i); i++) args[count++] = target(call, i);
  args[count++] = ARG_INT(*flag ? call_bool(call, flag) : 0);
  return count;
}

static situ_status launch_update(struct call *call, const struct kernel *kernel, double flops,
                                 struct launch_arg *args, int32_t count, uint32_t each, int64_t n) {
  const struct launch launch = {.kernel = kernel,
                                .type = call->in[0].type,
                                .items = n,
                                .grain = max_i64(1, (int64_t)(GRAIN / (flops / 2))),
                                .flops = flops * (double)n,
                                .elementwise = each,
                                .args = args,
                                .n_args = count};
  return call_launch(call, &launch);
}

static situ_status record_dense(struct call *call, const struct kernel *kernel, const char *flag,
                                double flops) {
  struct launch_arg args[MOST_ARGS];
  const int64_t n = situ_shape_count(call->in[0].shape);
  int32_t count = add_args(call, flag, false, args);
  uint32_t each = 0;
  for (int i = 0; i < call->n_in; i++) {
    if (is_state(call, i) || is_gradient(call, i)) each |= 1U << i;
    if (is_state(call, i)) each |= 1U << (call->n_in + i); /* where its new value goes */
  }
  args[count++] = ARG_INT(n);
  return launch_update(call, kernel, flops, args, count, each, n);
}

/* Copies the old values to outputs: only some rows change. */
static situ_status copy_states(struct call *call) {
  for (int i = 0; is_state(call, i); i++) {
    const struct view all = strided_view(&call->in[i].shape);
    if (call->schema->inputs[i].is_ref || call->in[i].slot == call->out[i].slot) continue;
    TRY(strided_copy(call, call->in[i].type, call->in[i].slot, &all, call->out[i].slot));
  }
  return NULL;
}

static situ_status record_sparse(struct call *call, const struct kernel *kernel, const char *flag,
                                 double flops) {
  struct launch_arg args[MOST_ARGS];
  const situ_shape *var = &call->in[0].shape;
  const int at = find_indices(call);
  const int64_t picks = situ_shape_count(call->in[at].shape);
  const int64_t inner = situ_shape_count(*var) / max_i64(1, var->dim[0]);
  int32_t rows, seen, next, count = add_args(call, flag, true, args);
  TRY(copy_states(call));
  if (!picks || !inner) return NULL;
  TRY(scatter_number(call, at, var, 1, SCATTER_STRICT, &rows));
  TRY(scatter_chain(call, rows, picks, var->dim[0], &seen, &next));
  args[count++] = ARG_AT(rows);
  args[count++] = ARG_AT(seen);
  args[count++] = ARG_AT(next);
  args[count++] = ARG_INT(inner);
  args[count++] = ARG_INT(picks * inner);
  return launch_update(call, kernel, flops, args, count, 0, picks * inner);
}

#define RECORDS_OF(op, kernel, flag, flops, ...)                        \
  static situ_status record_##op(struct call *call) {                   \
    return record_dense(call, &kernel##_kernel, flag, flops);           \
  }                                                                     \
  static situ_status record_sparse_##op(struct call *call) {            \
    return record_sparse(call, &sparse_##kernel##_kernel, flag, flops); \
  }
ALL_UPDATES(RECORDS_OF, NO_STATE, DENSE, DENSE_SAMPLES)
#undef RECORDS_OF

/* The rows of an update: on variables by reference and by handle, and on values; by all of a
 * gradient, and by some rows. */
#define REF(name) name ":&T[...s] "
#define HANDLE(name) name ":@T[...s] "
#define VALUE(name) name ":T[...s] "
#define ROWS_REF(name) name ":&T[n,...r] "
#define ROWS_HANDLE(name) name ":@T[n,...r] "
#define ROWS_VALUE(name) name ":T[n,...r] "
#define ON_VARIABLES(name_, function, types, in, out, more, text) \
  {.name = name_,                                                 \
   .inputs = in,                                                  \
   .outputs = out,                                                \
   .attrs = types " use_locking:bool=false" more,                 \
   .python = "",                                                  \
   .doc = text,                                                   \
   .devices = EVERYWHERE,                                         \
   .flags = OP_STATEFUL | OP_UPDATES,                             \
   .shape = update_shape,                                         \
   .record = function},
#define ON_VALUES(name_, of, function, types, in, out, more, samples_, text)           \
  {.name = name_,                                                                      \
   .inputs = in,                                                                       \
   .outputs = out,                                                                     \
   .attrs = types " use_locking:bool=false" more,                                      \
   .python = "",                                                                       \
   .doc = "The new values of a variable and its slots as " of " computes them: " text, \
   .samples = samples_,                                                                \
   .devices = EVERYWHERE,                                                              \
   .flags = OP_NO_GRADIENT,                                                            \
   .shape = update_shape,                                                              \
   .record = function},
#define TYPES "T:{" TYPE_NAMES_REAL "}"
#define ROW_TYPES TYPES " Tindices:{int32 int64}=int32"
#define ROWS_ALONE \
  "Updates only the slices at the indices; gradients of equal indices are added first: "
#define APPLY(op, kernel, flag, flops, in, out, more, samples, text) \
  ON_VARIABLES("Apply" #op, record_##op, TYPES, in, "out:&T", more, text)
#define RESOURCE_APPLY(op, kernel, flag, flops, in, out, more, samples, text) \
  ON_VARIABLES("ResourceApply" #op, record_##op, TYPES, in, "", more, text)
#define STEP(op, kernel, flag, flops, in, out, more, samples, text) \
  ON_VALUES("Step" #op, "Apply" #op, record_##op, TYPES, in, out, more, samples, text)
#define SPARSE_APPLY(op, kernel, flag, flops, in, out, more, samples, text)          \
  ON_VARIABLES("SparseApply" #op, record_sparse_##op, ROW_TYPES, in, "out:&T", more, \
               ROWS_ALONE text)
#define RESOURCE_SPARSE_APPLY(op, kernel, flag, flops, in, out, more, samples, text)   \
  ON_VARIABLES("ResourceSparseApply" #op, record_sparse_##op, ROW_TYPES, in, "", more, \
               ROWS_ALONE text)
#define SPARSE_STEP(op, kernel, flag, flops, in, out, more, samples, text)                     \
  ON_VALUES("StepSparse" #op, "SparseApply" #op, record_sparse_##op, ROW_TYPES, in, out, more, \
            samples, ROWS_ALONE text)

/* clang-format off */
static const struct op_def op_defs[] = {
    ALL_UPDATES(APPLY, REF, DENSE, DENSE_SAMPLES)
    ALL_UPDATES(RESOURCE_APPLY, HANDLE, DENSE, DENSE_SAMPLES)
    ALL_UPDATES(STEP, VALUE, DENSE, DENSE_SAMPLES)
    ALL_UPDATES(SPARSE_APPLY, ROWS_REF, ROWS, ROW_SAMPLES)
    ALL_UPDATES(RESOURCE_SPARSE_APPLY, ROWS_HANDLE, ROWS, ROW_SAMPLES)
    ALL_UPDATES(SPARSE_STEP, ROWS_VALUE, ROWS, ROW_SAMPLES)};
/* clang-format on */

OP_FAMILY(optimizer_ops, op_defs);
