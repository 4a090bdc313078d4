/* SPDX-License-Identifier: Apache-2.0
 * elementwise.c: element-wise ops: kernels, gradients and op definitions of elementwise.def. */
#include "ops/array/scatter.h"
#include "ops/broadcast.h"
#include "ops/ops.h"
#include "ops/derivative.h"
#include "tensor/shape.h"

#define KERNELS "ops/math/elementwise.cl"
#include "kernel/types.h"

static situ_status record_unary(struct call *call, const struct kernel *kernel, double cost) {
  const int64_t n = situ_shape_count(call->in[0].shape);
  return LAUNCH(call, kernel, call->in[0].type, n, (int64_t)(GRAIN / cost), (double)n * cost,
                ARG_IN(call, 0), ARG_OUT(call, 0), ARG_INT(n));
}

static situ_status record_binary(struct call *call, const struct kernel *flat,
                                 const struct kernel *wide, double cost) {
  const struct operand *x = &call->in[0], *y = &call->in[1], *z = &call->out[0];
  return broadcast_record(call, (const struct kernel *[]){flat, wide}, x->type, cost,
                          (struct side){x->slot, &x->shape}, (struct side){y->slot, &y->shape},
                          (struct side){z->slot, &z->shape});
}

/* Equal and NotEqual: with incompatible_shape_error = false, shapes that cannot be broadcast are
 * unequal. */

static situ_status equality_shape(struct call *call) {
  const situ_shape *x = &call->in[0].shape, *y = &call->in[1].shape;
  situ_shape all;
  if (call_bool(call, "incompatible_shape_error")) return broadcast_shape(call);
  if (!shape_broadcast(x, y, &all))
    all = SITU_SCALAR;
  else if (!shape_is_known(x) || !shape_is_known(y))
    all = SITU_ANY_SHAPE;
  call->out[0].shape = all;
  return NULL;
}

static situ_status record_equality(struct call *call, const struct kernel *flat,
                                   const struct kernel *wide, double cost,
                                   enum scatter_identity misfit) {
  situ_shape all;
  if (!shape_broadcast(&call->in[0].shape, &call->in[1].shape, &all))
    return scatter_clear(call, SITU_BOOL, call->out[0].slot, misfit, 1);
  return record_binary(call, flat, wide, cost);
}

/* Kernels and their recording. */
#define UNARY(name, class, cost, ...)                   \
  KERNEL_TABLE(name, class);                            \
  static situ_status name##_record(struct call *call) { \
    return record_unary(call, &name##_kernel, cost);    \
  }
#define ACTIVATION UNARY
#define PREDICATE UNARY
#define BINARY(name, class, cost, ...)                                     \
  KERNEL_TABLE(name, class);                                               \
  KERNEL_TABLE(name##_wide, class);                                        \
  static situ_status name##_record(struct call *call) {                    \
    return record_binary(call, &name##_kernel, &name##_wide_kernel, cost); \
  }
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define GRADIENT BINARY
#define COMPARE BINARY
#define EQUALITY(name, class, cost, f, misfit, ...)                                  \
  KERNEL_TABLE(name, class);                                                         \
  KERNEL_TABLE(name##_wide, class);                                                  \
  static situ_status name##_record(struct call *call) {                              \
    return record_equality(call, &name##_kernel, &name##_wide_kernel, cost, misfit); \
  }
#include "ops/math/elementwise.def"
#undef UNARY
#undef ACTIVATION
#undef PREDICATE
#undef BINARY
#undef BINARY_OF
#undef GRADIENT
#undef COMPARE
#undef EQUALITY

const struct kernel *const elementwise_add[2] = {&Add_kernel, &Add_wide_kernel};
const struct kernel *const elementwise_subtract[2] = {&Sub_kernel, &Sub_wide_kernel};
const struct kernel *const elementwise_least[2] = {&Minimum_kernel, &Minimum_wide_kernel};
const struct kernel *const elementwise_greatest[2] = {&Maximum_kernel, &Maximum_wide_kernel};

/* Gradients: derivatives of reals only. */
#define UNARY(name, class, cost, f, dx, ...) \
  static void name##_grad(struct gradient *g) { derivative_unary(g, dx); }
#define ACTIVATION UNARY
#define PREDICATE(...)
#define BINARY(name, class, cost, f, guard, dx, dy, ...) \
  static void name##_grad(struct gradient *g) { derivative_binary(g, dx, dy); }
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define GRADIENT(name, class, cost, f, dx, dy, ...) \
  static void name##_grad(struct gradient *g) { derivative_binary(g, dx, dy); }
#define COMPARE(...)
#define EQUALITY(...)
#include "ops/math/elementwise.def"
#undef UNARY
#undef ACTIVATION
#undef PREDICATE
#undef BINARY
#undef BINARY_OF
#undef GRADIENT
#undef COMPARE
#undef EQUALITY

/* Op definitions. An empty derivative means that there is none. */
#define XY_ARGS "x: First operand.\ny: Second operand, broadcast with x."
#define GRAD_FLAG(text) (sizeof(text) == 1 ? OP_NO_GRADIENT : 0)
#define UNARY_OP_DEF(name_, class, in_, out_, flags_, grad_, domain, python_, doc_) \
  {.name = #name_,                                                                  \
   .inputs = in_ ":T",                                                              \
   .outputs = out_,                                                                 \
   .attrs = "T:{" TYPE_NAMES_##class "}",                                           \
   .python = python_,                                                               \
   .doc = doc_,                                                                     \
   .args = in_ ": Input tensor.",                                                   \
   .samples = "[3,5]" domain "; []" domain "; [2,0]" domain,                        \
   .devices = EVERYWHERE,                                                           \
   .flags = OP_INPLACE | (flags_),                                                  \
   .shape = op_same_shape,                                                          \
   .record = name_##_record,                                                        \
   .grad = grad_},
#define UNARY(name, class, cost, f, dx, domain, python, doc) \
  UNARY_OP_DEF(name, class, "x", "y:T", GRAD_FLAG(dx), name##_grad, domain, python, doc)
#define ACTIVATION(name, class, cost, f, dx, domain, python, doc)                            \
  UNARY_OP_DEF(name, class, "features", "activations:T", GRAD_FLAG(dx), name##_grad, domain, \
               python, doc)
#define PREDICATE(name, class, cost, f, domain, python, doc) \
  UNARY_OP_DEF(name, class, "x", "y:bool", 0, NULL, domain, python, doc)
#define BINARY_SAMPLES(dx, dy)                                                              \
  "[3,4]" dx " [3,4]" dy "; [3,4]" dx " []" dy "; []" dx " [4]" dy "; [3,1]" dx " [1,4]" dy \
  "; [2,3,4]" dx " [4]" dy "; [2,1,4]" dx " [3,1]" dy "; [0,3]" dx " [3]" dy
#define BINARY_OP_DEF(name_, ports, args_, class, out_, flags_, grad_, dx, dy, python_, doc_) \
  {.name = #name_,                                                                            \
   .inputs = ports,                                                                           \
   .outputs = out_,                                                                           \
   .attrs = "T:{" TYPE_NAMES_##class "}",                                                     \
   .python = python_,                                                                         \
   .doc = doc_,                                                                               \
   .args = args_,                                                                             \
   .samples = BINARY_SAMPLES(dx, dy),                                                         \
   .devices = EVERYWHERE,                                                                     \
   .flags = flags_,                                                                           \
   .shape = broadcast_shape,                                                                  \
   .record = name_##_record,                                                                  \
   .grad = grad_},
#define BINARY(name, class, cost, f, guard, gx, gy, dx, dy, python, doc)                         \
  BINARY_OP_DEF(name, "x:T y:T", XY_ARGS, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, \
                dx, dy, python, doc)
#define BINARY_OF(ports, args, name, class, cost, f, guard, gx, gy, dx, dy, python, doc)          \
  BINARY_OP_DEF(name, ports, args, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, dx, dy, \
                python, doc)
#define GRADIENT(name_, class, cost, f, gx, gy, dx, ports, doc_)   \
  {.name = #name_,                                                 \
   .inputs = ports,                                                \
   .outputs = "z:T",                                               \
   .attrs = "T:{" TYPE_NAMES_##class "}",                          \
   .doc = doc_,                                                    \
   .samples = "[3,5]" dx " [3,5]; []" dx " []; [2,0]" dx " [2,0]", \
   .devices = EVERYWHERE,                                          \
   .flags = OP_INPLACE,                                            \
   .shape = op_equal_shapes,                                       \
   .record = name_##_record,                                       \
   .grad = name_##_grad},
/* Elements of another size than the inputs': never in place, a short input might be as large. */
#define COMPARE(name, class, cost, f, python, doc) \
  BINARY_OP_DEF(name, "x:T y:T", XY_ARGS, class, "z:bool", 0, NULL, "", "", python, doc)

#define EQUALITY(name_, class, cost, f, misfit, python_, doc_) \
  {.name = #name_,                                                                               \
   .inputs = "x:T y:T",                                                                          \
   .outputs = "z:bool",                                                                          \
   .attrs = "T:{" TYPE_NAMES_##class "} incompatible_shape_error:bool=true",                     \
   .python = python_,                                                                            \
   .doc = doc_,                                                                                  \
   .args = XY_ARGS "\nincompatible_shape_error: Fail if the shapes cannot be broadcast; else "    \
                   "they are unequal, and the result is a scalar.",                              \
   .samples = BINARY_SAMPLES("", "") "; incompatible_shape_error=false [3] [2]; "                \
                                     "incompatible_shape_error=false [3,4] [4]",                 \
   .devices = EVERYWHERE,                                                                        \
   .shape = equality_shape,                                                                      \
   .record = name_##_record},

static const struct op_def op_defs[] = {
#include "ops/math/elementwise.def"
};

OP_FAMILY(elementwise, op_defs);
