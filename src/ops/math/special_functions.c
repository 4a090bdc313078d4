/* SPDX-License-Identifier: Apache-2.0
 * special_functions.c: Bessel functions, incomplete gamma and beta functions, integrals: kernels,
 * gradients and op definitions of special_functions.def. */
#include <string.h>

#include "ops/broadcast.h"
#include "ops/derivative.h"
#include "ops/math/elementwise.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/math/special_functions.cl"
#include "kernel/types.h"

/* Kernels and their recording. */
#define UNARY(name, class, cost, ...)                            \
  KERNEL_TABLE(name, class);                                     \
  static situ_status name##_record(struct call *call) {          \
    return elementwise_record_unary(call, &name##_kernel, cost); \
  }
#define BINARY(name, class, cost, ...)                                                 \
  KERNEL_TABLE(name, class);                                                           \
  KERNEL_TABLE(name##_wide, class);                                                    \
  static situ_status name##_record(struct call *call) {                                \
    return elementwise_record_binary(call, &name##_kernel, &name##_wide_kernel, cost); \
  }
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define FLOAT_BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#include "ops/math/special_functions.def"
#undef UNARY
#undef BINARY
#undef BINARY_OF
#undef FLOAT_BINARY_OF

/* Gradients. "missing": TensorFlow has one, situ does not. */
static void binary_grad(struct gradient *g, const char *dx, const char *dy) {
  if (strcmp(dx, "missing"))
    derivative_binary(g, dx, dy);
  else
    gradient_missing(g);
}

#define UNARY(name, class, cost, f, dx, ...) \
  static void name##_grad(struct gradient *g) { derivative_unary(g, dx); }
#define BINARY(name, class, cost, f, guard, dx, dy, ...) \
  static void name##_grad(struct gradient *g) { binary_grad(g, dx, dy); }
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define FLOAT_BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#include "ops/math/special_functions.def"
#undef UNARY
#undef BINARY
#undef BINARY_OF
#undef FLOAT_BINARY_OF

/* The incomplete beta function: operands of one shape, or scalars. */

KERNEL_TABLE(Betainc, REAL);

static situ_status betainc_shape(struct call *call) {
  static const char *const names[] = {"a", "b", "x"};
  int shaped = -1;
  for (int i = 0; i < 3; i++) {
    const situ_shape *shape = &call->in[i].shape;
    if (shape->rank == 0) continue;
    if (shaped >= 0 && !shape_compatible(&call->in[shaped].shape, shape)) {
      char left[256], right[256];
      return INVALID("Shapes of %s and %s are inconsistent: %s vs. %s", names[shaped], names[i],
                     shape_print(&call->in[shaped].shape, left), shape_print(shape, right));
    }
    if (shaped < 0 || call->in[shaped].shape.rank < 0) shaped = i;
  }
  call->out[0].shape = shaped < 0 ? SITU_SCALAR : call->in[shaped].shape;
  for (int i = 0; shaped >= 0 && i < 3; i++) /* an operand of unknown rank may be a scalar */
    if (call->in[i].shape.rank > 0 && shape_is_known(&call->in[i].shape))
      call->out[0].shape = call->in[i].shape;
  return NULL;
}

static situ_status betainc_record(struct call *call) {
  const int64_t n = situ_shape_count(call->out[0].shape);
  int64_t stride[3];
  for (int i = 0; i < 3; i++) stride[i] = call->in[i].shape.rank > 0;
  return LAUNCH(call, &Betainc_kernel, call->in[0].type, n, GRAIN / 128, (double)n * 128,
                ARG_IN(call, 0), ARG_IN(call, 1), ARG_IN(call, 2), ARG_OUT(call, 0),
                ARG_INT(stride[0]), ARG_INT(stride[1]), ARG_INT(stride[2]), ARG_INT(n));
}

static void betainc_grad(struct gradient *g) {
  const struct term dx = derivative_eval(
      g,
      "dz * exp(xlog1py(y - 1, -w) + xlogy(x - 1, w) - (lgamma(x) + lgamma(y) - lgamma(x + y)))");
  g->dx[2] = gradient_sum_to(g, dx, g->in[2], g->out[0]);
}

/* Op definitions */
#define UNARY(name, class, cost, f, dx, domain, python, doc) \
  UNARY_OP_DEF(name, class, "x", "y:T", GRAD_FLAG(dx), name##_grad, domain, python, doc)
#define BINARY(name, class, cost, f, guard, gx, gy, dx, dy, python, doc)                         \
  BINARY_OP_DEF(name, "x:T y:T", XY_ARGS, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, \
                dx, dy, python, doc)
#define BINARY_OF(ports, args, name, class, cost, f, guard, gx, gy, dx, dy, python, doc)          \
  BINARY_OP_DEF(name, ports, args, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, dx, dy, \
                python, doc)
#define TYPE_NAMES_FLOAT "float double"
#define FLOAT_BINARY_OF(ports, args, name, class, cost, f, guard, gx, gy, dx, dy, python, doc)    \
  BINARY_OP_DEF(name, ports, args, FLOAT, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, dx, dy, \
                python, doc)

static const struct op_def op_defs[] = {
#include "ops/math/special_functions.def"
    {.name = "Betainc",
     .inputs = "a:T b:T x:T",
     .outputs = "z:T",
     .attrs = "T:{float double}",
     .python = "math.betainc betainc",
     .doc = "The regularized incomplete beta function; NaN unless a and b are positive and "
            "0 <= x <= 1. Operands have one shape, or are scalars.",
     .args = "a: First parameter.\nb: Second parameter.\nx: Limit of the integral.",
     .samples = "[3,4]:pos [3,4]:pos [3,4]:probability; [3,4]:pos []:pos [3,4]:probability; "
                "[]:pos []:pos [5]:probability; []:pos []:pos []:probability",
     .devices = EVERYWHERE,
     .shape = betainc_shape,
     .record = betainc_record,
     .grad = betainc_grad},
};

OP_FAMILY(special_functions, op_defs);
