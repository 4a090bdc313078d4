/* SPDX-License-Identifier: Apache-2.0
 * elementwise.c: element-wise ops: kernels, gradients and op definitions of elementwise.def. */
#include "ops/array/scatter.h"
#include "ops/broadcast.h"
#include "ops/ops.h"
#include "ops/string/string_elements.h"
#include "ops/derivative.h"
#include "ops/math/cast.h"
#include "ops/math/elementwise.h"
#include "tensor/shape.h"
#include "tensor/type.h"

#define KERNELS "ops/math/elementwise.cl"
#include "kernel/types.h"
#define KERNELS "ops/math/complex.cl"
#include "kernel/complex_types.h"

situ_status elementwise_record_unary(struct call *call, const struct kernel *kernel, double cost) {
  const int64_t n = situ_shape_count(call->in[0].shape);
  return LAUNCH(call, kernel, call->in[0].type, n, (int64_t)(GRAIN / cost), (double)n * cost,
                ARG_IN(call, 0), ARG_OUT(call, 0), ARG_INT(n));
}

situ_status elementwise_record_binary(struct call *call, const struct kernel *flat,
                                      const struct kernel *wide, double cost) {
  const struct operand *x = &call->in[0], *y = &call->in[1], *z = &call->out[0];
  return broadcast_record(call, (const struct kernel *[]){flat, wide}, x->type, cost,
                          (struct broadcast_operand){x->slot, &x->shape},
                          (struct broadcast_operand){y->slot, &y->shape},
                          (struct broadcast_operand){z->slot, &z->shape});
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
  return elementwise_record_binary(call, flat, wide, cost);
}

/* Kernels and their recording. */
#define UNARY(name, class, cost, ...)                            \
  KERNEL_TABLE(name, class);                                     \
  static situ_status name##_record(struct call *call) {          \
    return elementwise_record_unary(call, &name##_kernel, cost); \
  }
#define ACTIVATION UNARY
#define PREDICATE UNARY
#define BINARY(name, class, cost, ...)                                                 \
  KERNEL_TABLE(name, class);                                                           \
  KERNEL_TABLE(name##_wide, class);                                                    \
  static situ_status name##_record(struct call *call) {                                \
    return elementwise_record_binary(call, &name##_kernel, &name##_wide_kernel, cost); \
  }
#define BINARY_OF(ports, args, ...) BINARY(__VA_ARGS__)
#define BINARY_STRINGS(function, ...) BINARY(__VA_ARGS__)
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
#undef BINARY_STRINGS
#undef GRADIENT
#undef COMPARE
#undef EQUALITY

/* Complex numbers */

KERNEL_TABLE(Complex, COMPLEX);
KERNEL_TABLE(Complex_wide, COMPLEX);
KERNEL_TABLE(Conj, COMPLEX);
KERNEL_TABLE(ComplexAbs, COMPLEX);
KERNEL_TABLE(Angle, COMPLEX);
KERNEL_TABLE(join_products, COMPLEX);
const struct kernel *const complex_join_products = &join_products_kernel;

/* Complex types have parts of one type. */
static situ_status check_parts(situ_type whole, situ_type part) {
  if (type_real(whole) == part) return NULL;
  return INVALID("The parts of %s are %s, not %s", situ_type_name(whole),
                 situ_type_name(type_real(whole)), situ_type_name(part));
}

static situ_status complex_shape(struct call *call) {
  TRY(check_parts(call->out[0].type, call->in[0].type));
  return broadcast_shape(call);
}

static situ_status part_shape(struct call *call) {
  TRY(check_parts(call->in[0].type, call->out[0].type));
  return op_same_shape(call);
}

static situ_status record_complex(struct call *call) {
  const struct operand *x = &call->in[0], *y = &call->in[1], *z = &call->out[0];
  return broadcast_record(call, (const struct kernel *[]){&Complex_kernel, &Complex_wide_kernel},
                          z->type, 1, (struct broadcast_operand){x->slot, &x->shape},
                          (struct broadcast_operand){y->slot, &y->shape},
                          (struct broadcast_operand){z->slot, &z->shape});
}

static situ_status record_part(struct call *call, int part) {
  return cast_record_part(call, call->out[0].type, call->in[0].slot, part, call->out[0].slot,
                          situ_shape_count(call->in[0].shape));
}

static situ_status record_real(struct call *call) { return record_part(call, 0); }
static situ_status record_imag(struct call *call) { return record_part(call, 1); }
static situ_status record_conj(struct call *call) {
  return elementwise_record_unary(call, &Conj_kernel, 1);
}
static situ_status record_complex_abs(struct call *call) {
  return elementwise_record_unary(call, &ComplexAbs_kernel, 4);
}
static situ_status record_angle(struct call *call) {
  return elementwise_record_unary(call, &Angle_kernel, 24);
}

static struct term emit_complex(struct gradient *g, struct term real, struct term imag) {
  const bool is_double = gradient_type(g, real) == SITU_DOUBLE;
  return gradient_emit(g, "Complex", TERMS(real, imag),
                       ATTRS(situ_attr_type("Tout", is_double ? SITU_COMPLEX128 : SITU_COMPLEX64)));
}

static struct term emit_part(struct gradient *g, const char *op, struct term term) {
  const situ_type real = type_real(gradient_type(g, term));
  return gradient_emit(g, op, TERMS(term), ATTRS(situ_attr_type("Tout", real)));
}

static struct term as_complex(struct gradient *g, struct term real) {
  return emit_complex(g, real, gradient_number(g, gradient_type(g, real), 0));
}

static void complex_grad(struct gradient *g) {
  gradient_broadcast(g, emit_part(g, "Real", g->dy[0]), emit_part(g, "Imag", g->dy[0]));
}

static void real_grad(struct gradient *g) { g->dx[0] = as_complex(g, g->dy[0]); }

static void imag_grad(struct gradient *g) {
  const struct term zero = gradient_number(g, gradient_type(g, g->dy[0]), 0);
  g->dx[0] = emit_complex(g, zero, g->dy[0]);
}

static void conj_grad(struct gradient *g) { g->dx[0] = OP(g, "Conj", g->dy[0]); }

static void complex_abs_grad(struct gradient *g) {
  const struct term unit = OP(g, "DivNoNan", as_complex(g, g->dy[0]), as_complex(g, g->out[0]));
  g->dx[0] = OP(g, "Mul", unit, g->in[0]);
}

static void angle_grad(struct gradient *g) {
  const struct term turned =
      emit_complex(g, emit_part(g, "Imag", g->in[0]), emit_part(g, "Real", g->in[0]));
  const struct term inverse = OP(g, "Reciprocal", turned);
  g->dx[0] = OP(g, "Mul", OP(g, "Neg", as_complex(g, g->dy[0])), inverse);
}

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
#define BINARY_STRINGS(function, ...) BINARY(__VA_ARGS__)
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
#undef BINARY_STRINGS
#undef GRADIENT
#undef COMPARE
#undef EQUALITY

/* Op definitions. An empty derivative means that there is none. */
#define UNARY(name, class, cost, f, dx, domain, python, doc) \
  UNARY_OP_DEF(name, class, "x", "y:T", GRAD_FLAG(dx), name##_grad, domain, python, doc)
#define ACTIVATION(name, class, cost, f, dx, domain, python, doc)                            \
  UNARY_OP_DEF(name, class, "features", "activations:T", GRAD_FLAG(dx), name##_grad, domain, \
               python, doc)
#define PREDICATE(name, class, cost, f, domain, python, doc) \
  UNARY_OP_DEF(name, class, "x", "y:bool", 0, NULL, domain, python, doc)
#define BINARY(name, class, cost, f, guard, gx, gy, dx, dy, python, doc)                         \
  BINARY_OP_DEF(name, "x:T y:T", XY_ARGS, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, \
                dx, dy, python, doc)
#define BINARY_OF(ports, args, name, class, cost, f, guard, gx, gy, dx, dy, python, doc)          \
  BINARY_OP_DEF(name, ports, args, class, "z:T", OP_INPLACE | GRAD_FLAG(gx), name##_grad, dx, dy, \
                python, doc)
#define BINARY_STRINGS(function, name_, class, cost, f, guard, gx, gy, dx, dy, python_, doc_) \
  {.name = #name_,                                                                            \
   .inputs = "x:T y:T",                                                                       \
   .outputs = "z:T",                                                                          \
   .attrs = "T:{" TYPE_NAMES_##class " string}",                                              \
   .python = python_,                                                                         \
   .doc = doc_,                                                                               \
   .args = XY_ARGS,                                                                           \
   .samples = BINARY_SAMPLES(dx, dy),                                                         \
   .devices = MOVABLE,                                                                        \
   .flags = OP_INPLACE | GRAD_FLAG(gx),                                                       \
   .shape = broadcast_shape,                                                                  \
   .record = name_##_record,                                                                  \
   .grad = name_##_grad,                                                                      \
   .compute_strings = function},
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
/* The element size differs from that of the inputs: never in place, because a shorter input may
 * have as many bytes. */
#define COMPARE(name, class, cost, f, python, doc) \
  BINARY_OP_DEF(name, "x:T y:T", XY_ARGS, class, "z:bool", 0, NULL, "", "", python, doc)

#define EQUALITY(name_, class, cost, f, misfit, python_, doc_) \
  {.name = #name_,                                                                               \
   .inputs = "x:T y:T",                                                                          \
   .outputs = "z:bool",                                                                          \
   .attrs = "T:{" TYPE_NAMES_##class " string} incompatible_shape_error:bool=true",               \
   .python = python_,                                                                            \
   .doc = doc_,                                                                                  \
   .args = XY_ARGS "\nincompatible_shape_error: Fail if the shapes cannot be broadcast; else "    \
                   "they are unequal, and the result is a scalar.",                              \
   .samples = BINARY_SAMPLES("", "") "; incompatible_shape_error=false [3] [2]; "                \
                                     "incompatible_shape_error=false [3,4] [4]",                 \
   .devices = MOVABLE,                                                                           \
   .shape = equality_shape,                                                                      \
   .record = name_##_record,                                                                     \
   .compute_strings = name_##_strings},
#define Equal_strings string_elements_equal
#define NotEqual_strings string_elements_not_equal

/* An op that computes real numbers of complex ones, from port in_ to port out_. */
#define PART_OP_DEF(name_, in_, out_, doc_, record_, grad_)                                      \
  {                                                                                              \
    .name = #name_, .inputs = in_ ":T", .outputs = out_ ":Tout",                                 \
    .attrs = "T:{complex64 complex128}=complex64 Tout:{float double}=float", .doc = doc_,        \
    .args = in_ ": Tensor of complex numbers.\nTout: Type of the parts: double for complex128.", \
    .samples = "T=complex64 Tout=float [3,5]; T=complex128 Tout=double [3,5]",                   \
    .devices = EVERYWHERE, .shape = part_shape, .record = record_, .grad = grad_                 \
  }

static const struct op_def op_defs[] = {
#include "ops/math/elementwise.def"
    PART_OP_DEF(Real, "input", "output", "The real part.", record_real, real_grad),
    PART_OP_DEF(Imag, "input", "output", "The imaginary part.", record_imag, imag_grad),
    PART_OP_DEF(Angle, "input", "output", "The argument in radians: atan2(imag, real).",
                record_angle, angle_grad),
    PART_OP_DEF(ComplexAbs, "x", "y", "The absolute value of complex numbers.", record_complex_abs,
                complex_abs_grad),
    {.name = "Complex",
     .inputs = "real:T imag:T",
     .outputs = "out:Tout",
     .attrs = "T:{float double}=float Tout:{complex64 complex128}=complex64",
     .doc = "Complex numbers of their parts.",
     .args =
         "real: Real part.\nimag: Imaginary part, broadcast with it.\nTout: Type of the result: "
         "complex128 for parts of type double.",
     .samples = "T=float Tout=complex64 [3,4] [3,4]; T=double Tout=complex128 [3,1] [4]",
     .devices = EVERYWHERE,
     .shape = complex_shape,
     .record = record_complex,
     .grad = complex_grad},
    {.name = "Conj",
     .inputs = "input:T",
     .outputs = "output:T",
     .attrs = "T:{complex64 complex128}=complex64",
     .doc = "The complex conjugate.",
     .args = "input: Tensor of complex numbers.",
     .samples = "[3,5]; []; [2,0]",
     .devices = EVERYWHERE,
     .flags = OP_INPLACE,
     .shape = op_same_shape,
     .record = record_conj,
     .grad = conj_grad},
};

OP_FAMILY(elementwise, op_defs);
