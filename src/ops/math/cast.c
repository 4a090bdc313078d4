/* SPDX-License-Identifier: Apache-2.0
 * cast.c: Cast. */
#include "ops/math/cast.h"

#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/type.h"

#define KERNELS "ops/math/cast.cl"
#include "kernel/types.h"

KERNEL_TABLE(cast_float, ANY);
KERNEL_TABLE(cast_double, ANY);
KERNEL_TABLE(cast_half, ANY);
KERNEL_TABLE(cast_int32, ANY);
KERNEL_TABLE(cast_int64, ANY);
KERNEL_TABLE(cast_int8, ANY);
KERNEL_TABLE(cast_uint8, ANY);
KERNEL_TABLE(cast_int16, ANY);
KERNEL_TABLE(cast_uint16, ANY);
KERNEL_TABLE(cast_uint32, ANY);
KERNEL_TABLE(cast_uint64, ANY);
KERNEL_TABLE(cast_truth, ANY);

static const struct kernel widen_kernel = {
    .name = "widen_bfloat16", .file = types_file, .host = {[SITU_FLOAT] = widen_bfloat16_float}};
static const struct kernel narrow_kernel = {
    .name = "narrow_bfloat16", .file = types_file, .host = {[SITU_FLOAT] = narrow_bfloat16_float}};
static const struct kernel widen_float8_kernel = {
    .name = "widen_float8", .file = types_file, .host = {[SITU_FLOAT] = widen_float8_float}};
static const struct kernel narrow_float8_kernel = {
    .name = "narrow_float8", .file = types_file, .host = {[SITU_FLOAT] = narrow_float8_float}};
static const struct kernel wrap_int4_kernel = {
    .name = "wrap_int4",
    .file = types_file,
    .host = {[SITU_INT8] = wrap_int4_int8, [SITU_UINT8] = wrap_int4_uint8}};
static const struct kernel from_real_kernel = {
    .name = "complex_from_real",
    .file = types_file,
    .host = {[SITU_FLOAT] = complex_from_real_float, [SITU_DOUBLE] = complex_from_real_double}};
static const struct kernel part_kernel = {
    .name = "part_of_complex",
    .file = types_file,
    .host = {[SITU_FLOAT] = part_of_complex_float, [SITU_DOUBLE] = part_of_complex_double}};

/* By the type of the result. */
static const struct kernel *const kernels[MAX_TYPES] = {
#define TO(name, TYPE, suffix) [SITU_##TYPE] = &name##_##suffix##_kernel,
    TYPES_ANY(TO, cast)
#undef TO
};

/* A conversion that is one kernel. */
static situ_status cast_once(struct call *call, const struct kernel *kernel, situ_type type,
                             int32_t from, int32_t to, int64_t n) {
  return LAUNCH(call, kernel, type, n, GRAIN, (double)n, ARG_AT(from), ARG_AT(to), ARG_INT(n));
}

situ_status cast_record_part(struct call *call, situ_type real, int32_t from, int part, int32_t to,
                             int64_t n) {
  return LAUNCH(call, &part_kernel, real, n, GRAIN, 0, ARG_AT(from), ARG_AT(to), ARG_INT(part),
                ARG_INT(n));
}

/* The number of bits of the fraction of an 8-bit type. */
static int fraction_bits(situ_type type) { return type == SITU_FLOAT8_E5M2 ? 2 : 3; }

/* Converts between a type that is only stored and its wider type in kernels. */
static situ_status widen(struct call *call, situ_type type, int32_t from, int32_t to, int64_t n) {
  const situ_type wide = type_wide(type);
  if (type_is_int4(type)) return cast_once(call, kernels[wide], wide, from, to, n);
  if (!type_is_float8(type)) return cast_once(call, &widen_kernel, SITU_FLOAT, from, to, n);
  return LAUNCH(call, &widen_float8_kernel, SITU_FLOAT, n, GRAIN, (double)n, ARG_AT(from),
                ARG_AT(to), ARG_INT(fraction_bits(type)), ARG_INT(n));
}

static situ_status narrow(struct call *call, int32_t from, situ_type type, int32_t to, int64_t n) {
  if (type_is_int4(type)) return cast_once(call, &wrap_int4_kernel, type_wide(type), from, to, n);
  if (!type_is_float8(type)) return cast_once(call, &narrow_kernel, SITU_FLOAT, from, to, n);
  return LAUNCH(call, &narrow_float8_kernel, SITU_FLOAT, n, GRAIN, (double)n, ARG_AT(from),
                ARG_AT(to), ARG_INT(fraction_bits(type)), ARG_INT(n));
}

/* From types that are only stored through wider ones, from complex numbers through their real
 * parts. */
static situ_status cast_from(struct call *call, situ_type from_type, int32_t from,
                             situ_type to_type, int32_t to, int64_t n) {
  const situ_type middle = type_is_storage(from_type) ? type_wide(from_type) : type_real(from_type);
  int32_t between = to;
  if (middle != to_type) TRY(call_scratch(call, (size_t)n * situ_type_size(middle), &between));
  if (type_is_storage(from_type))
    TRY(widen(call, from_type, from, between, n));
  else
    TRY(cast_record_part(call, middle, from, 0, between, n));
  return middle == to_type ? NULL : cast_record(call, middle, between, to_type, to, n);
}

/* To types that are only stored through wider ones, to complex numbers through their real parts. */
static situ_status cast_to(struct call *call, situ_type from_type, int32_t from, situ_type to_type,
                           int32_t to, int64_t n) {
  const situ_type middle = type_is_storage(to_type) ? type_wide(to_type) : type_real(to_type);
  int32_t between = from;
  if (middle != from_type) {
    TRY(call_scratch(call, (size_t)n * situ_type_size(middle), &between));
    TRY(cast_record(call, from_type, from, middle, between, n));
  }
  if (type_is_storage(to_type)) return narrow(call, between, to_type, to, n);
  return cast_once(call, &from_real_kernel, middle, between, to, n);
}

situ_status cast_record(struct call *call, situ_type from_type, int32_t from, situ_type to_type,
                        int32_t to, int64_t n) {
  if (type_is_complex(from_type) && type_is_complex(to_type))
    return cast_once(call, kernels[type_real(to_type)], type_real(from_type), from, to, 2 * n);
  if (type_is_complex(from_type) || type_is_storage(from_type))
    return cast_from(call, from_type, from, to_type, to, n);
  if (type_is_complex(to_type) || type_is_storage(to_type))
    return cast_to(call, from_type, from, to_type, to, n);
  return cast_once(call, kernels[to_type], from_type, from, to, n);
}

static situ_status record(struct call *call) {
  const struct operand *x = &call->in[0], *y = &call->out[0];
  return cast_record(call, x->type, x->slot, y->type, y->slot, situ_shape_count(x->shape));
}

/* Kernels round reals to the nearest value; those that truncate are missing. */
static situ_status cast_shape(struct call *call) {
  const situ_type from = call->in[0].type, to = call->out[0].type;
  if (call_bool(call, "Truncate") && gradient_is_real(from) && gradient_is_real(to) &&
      situ_type_size(to) < situ_type_size(from))
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "Cast from %s to %s with Truncate=true is not supported yet.",
                              situ_type_name(from), situ_type_name(to));
  return op_same_shape(call);
}

static void cast_grad(struct gradient *g) {
  if (!gradient_is_real(gradient_type(g, g->in[0]))) return;
  g->dx[0] = gradient_emit(g, "Cast", TERMS(g->dy[0]), ATTRS(gradient_keep_as(g, "SrcT", "DstT")));
}

static const struct op_def op_defs[] = {
    {.name = "Cast",
     .inputs = "x:SrcT",
     .outputs = "y:DstT",
     .attrs = "SrcT:{" NUMERIC "} DstT:{" NUMERIC "} Truncate:bool=false",
     .python = "cast dtypes.cast",
     .doc = "Converts the elements to another type; reals become integers by truncation towards 0.",
     .args = "x: Tensor of numbers or booleans.\n"
             "DstT: Element type of the result.\n"
             "Truncate: Must be false for reals of a smaller type: they are rounded to the nearest "
             "value.",
     .samples = "DstT=float [3,4]; DstT=double [3,4]; DstT=half [3,4]; DstT=int32 [3,4]; "
                "DstT=int64 [5]; DstT=int8 [3,4]; DstT=uint8 [3,4]:pos; DstT=int16 [3,4]; "
                "DstT=uint16 [3,4]:pos; DstT=uint32 [3,4]:pos; DstT=uint64 [3,4]:pos; "
                "DstT=bfloat16 [3,4]; DstT=float8_e5m2 [3,4]; DstT=float8_e4m3fn [3,4]; "
                "DstT=complex64 [3,4]; DstT=complex128 [3,4]; DstT=bool [3,4]; "
                "DstT=int32 []; DstT=float [0,2]",
     .devices = EVERYWHERE,
     .shape = cast_shape,
     .record = record,
     .grad = cast_grad},
};

OP_FAMILY(cast, op_defs);
