/* SPDX-License-Identifier: Apache-2.0
 * cast.c: Cast. */
#include "ops/math/cast.h"

#include "ops/gradient.h"
#include "ops/ops.h"

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
KERNEL_TABLE(cast_truth, ANY);

/* By the type of the result. */
static const struct kernel *const kernels[MAX_TYPES] = {
#define TO(name, TYPE, word) [SITU_##TYPE] = &name##_##word##_kernel,
    TYPES_ANY(TO, cast)
#undef TO
};

situ_status cast_record(struct call *call, situ_type from_type, int32_t from, situ_type to_type,
                        int32_t to, int64_t n) {
  return LAUNCH(call, kernels[to_type], from_type, n, GRAIN, (double)n, ARG_AT(from), ARG_AT(to),
                ARG_INT(n));
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
                "DstT=uint16 [3,4]:pos; DstT=bool [3,4]; "
                "DstT=int32 []; DstT=float [0,2]",
     .devices = EVERYWHERE,
     .shape = cast_shape,
     .record = record,
     .grad = cast_grad},
};

OP_FAMILY(cast, op_defs);
