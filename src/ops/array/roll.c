/* SPDX-License-Identifier: Apache-2.0
 * roll.c: Roll: moves elements along axes, around their ends. */
#include "ops/gradient.h"
#include "ops/ops.h"
#include "tensor/shape.h"

#define KERNELS "ops/array/roll.cl"
#include "kernel/sizes.h"

KERNEL_TABLE(roll, BITS);

/* Fails unless an input may be a scalar or a vector. */
static situ_status need_vector(const struct call *call, int input, const char *what) {
  const situ_shape *shape = &call->in[input].shape;
  char text[SHAPE_STRING_SIZE];
  if (shape->rank <= 1) return NULL;
  if (call->building) return INVALID("Shape must be at most rank 1 but is rank %d", shape->rank);
  return INVALID("%s must be a scalar or a 1-D vector. Found: %s", what, shape_print(shape, text));
}

static situ_status check_operands(const struct call *call) {
  const situ_shape *shift = &call->in[1].shape, *axis = &call->in[2].shape;
  if (!call->in[0].shape.rank)
    return call->building ? INVALID("Shape must be at least rank 1 but is rank 0")
                          : INVALID("input must be 1-D or higher");
  TRY(need_vector(call, 1, "shift"));
  TRY(need_vector(call, 2, "axis"));
  if (shape_compatible(shift, axis)) return NULL;
  char a[SHAPE_STRING_SIZE], b[SHAPE_STRING_SIZE];
  if (!call->building) return INVALID("shift and axis must have the same size");
  return INVALID(
      "shift and axis must have the same size: both shapes must be equal, but are %s "
      "and %s",
      shape_print(shift, a), shape_print(axis, b));
}

static int64_t modulo(int64_t value, int64_t size) {
  const int64_t rest = size > 0 ? value % size : 0;
  return rest < 0 ? rest + size : rest;
}

/* How far each dimension is rolled, from 0 to before its size; the last dimension is the last. */
static situ_status read_shifts(const struct call *call, int64_t shifts[SITU_MAX_RANK]) {
  const situ_shape *x = &call->in[0].shape;
  const int64_t n = situ_shape_count(call->in[2].shape);
  for (int d = 0; d < SITU_MAX_RANK; d++) shifts[d] = 0;
  for (int64_t i = 0; i < n; i++) {
    const int64_t given = call_element(call, 2, i), axis = given < 0 ? given + x->rank : given;
    if (axis < 0 || axis >= x->rank) return INVALID("axis %lld is out of range", (long long)given);
    int64_t *shift = &shifts[SITU_MAX_RANK - x->rank + axis];
    *shift = modulo(*shift + modulo(call_element(call, 1, i), x->dim[axis]), x->dim[axis]);
  }
  return NULL;
}

static situ_status roll_shape(struct call *call) {
  call->out[0].shape = call->in[0].shape;
  return check_operands(call);
}

static situ_status record_roll(struct call *call) {
  const situ_shape *x = &call->in[0].shape;
  const int64_t n = situ_shape_count(*x);
  int64_t dim[SITU_MAX_RANK], shift[SITU_MAX_RANK];
  TRY(read_shifts(call, shift));
  for (int d = 0; d < SITU_MAX_RANK; d++) {
    const int own = d - (SITU_MAX_RANK - x->rank);
    dim[d] = own < 0 ? 1 : x->dim[own];
  }
  return LAUNCH(call, &roll_kernel, call->in[0].type, n, GRAIN, 0, ARG_IN(call, 0),
                ARG_OUT(call, 0), ARG_INTS(dim), ARG_INTS(shift), ARG_INT(n));
}

static void roll_grad(struct gradient *g) {
  g->dx[0] = OP(g, "Roll", g->dy[0], OP(g, "Neg", g->in[1]), g->in[2]);
}

static const struct op_def op_defs[] = {
    {.name = "Roll",
     .inputs = "input:T shift:Tshift axis:Taxis",
     .outputs = "output:T",
     .attrs = "T:{" ALL_TYPES "} Tshift:{int32 int64} Taxis:{int32 int64}",
     .python = "roll manip.roll",
     .doc = "Moves elements along axes; those that leave one end enter at the other.",
     .args = "input: Input tensor.\n"
             "shift: By how many positions, towards larger indices; one per axis.\n"
             "axis: Axis or axes; shifts of an axis that is given several times add up.",
     .samples = "Tshift=int32 Taxis=int32 [5] []=2 []=0; "
                "Tshift=int64 Taxis=int32 [3,4] [2]=-1,7 [2]=0,-1; "
                "Tshift=int32 Taxis=int64 [2,3,4] [3]=1,1,1 [3]=1,2,1; "
                "Tshift=int32 Taxis=int32 [0,3] []=2 []=0",
     .host = "shift axis",
     .devices = MOVABLE,
     .shape = roll_shape,
     .record = record_roll,
     .grad = roll_grad},
};

OP_FAMILY(roll, op_defs);
