/* SPDX-License-Identifier: Apache-2.0
 * ops.h: op families and the helpers that they share. */
#ifndef SITU_OPS_OPS_H
#define SITU_OPS_OPS_H

#include "schema/op_def.h"

/* Defines a family from its op definitions: OP_FAMILY(array, op_defs). */
#define OP_FAMILY(name, op_defs)               \
  extern const struct op_family name##_family; \
  const struct op_family name##_family = {#name, op_defs, (int)COUNT_OF(op_defs)}

/* The devices of most ops: all types but strings. A host op on a GPU has its tensors in host
 * memory. */
#define EVERYWHERE "CPU GPU"
#define EVERYWHERE_PREFER_CPU "CPU* GPU"
#define NUMERIC                                                                             \
  "bfloat16 half float double int32 int64 int8 uint8 int16 uint16 uint32 uint64 complex64 " \
  "complex128 bool float8_e5m2 float8_e4m3fn int4 uint4"
#define ALL_TYPES NUMERIC " string"
/* Ops for which TensorFlow has GPU kernels for fewer types than CPU kernels. */
#define GPU_TYPES(types) "CPU GPU(" types ")"
#define GPU_FLOATING GPU_TYPES("half bfloat16 float double")
#define GPU_FLOATING_COMPLEX GPU_TYPES("half bfloat16 float double complex64 complex128")
#define MOVABLE "CPU GPU(" NUMERIC ")" /* of ops that move elements of ALL_TYPES */

/* Minimum number of elements per thread of an element-wise kernel. */
enum { GRAIN = 32768 };

/* GPU lanes (kernel/lanes.h) for a line of `length` elements; at most `length`. */
int64_t op_lanes(int64_t length);

/* As op_lanes, for elements with stride `inner`: adjacent work items are adjacent lines. */
int64_t op_lanes_across(int64_t length, int64_t inner);

/* Shape functions: output 0 has the shape of input 0; every output is a scalar; no outputs. */
situ_status op_same_shape(struct call *call) SITU_MUST_USE;
situ_status op_scalar_shape(struct call *call) SITU_MUST_USE;
situ_status op_no_shape(struct call *call) SITU_MUST_USE;

/* Fails unless input `i` may have this rank; `what` names it in the error. */
situ_status op_need_rank(const struct call *call, int i, int rank, const char *what) SITU_MUST_USE;

/* Output 0 has the common shape of all inputs. */
situ_status op_equal_shapes(struct call *call) SITU_MUST_USE;

/* Fails unless inputs `first` ... `first` + 2 may be the indices, values and dense shape of one
 * sparse tensor; `what` names it in the error. */
situ_status op_need_sparse(const struct call *call, int first, const char *what) SITU_MUST_USE;

/* Reads an integer scalar input; *known is false if its value is unknown. */
situ_status op_host_scalar(const struct call *call, int input, int64_t *value,
                           bool *known) SITU_MUST_USE;

/* Reads a numeric scalar input of any type; *known is false if its value is unknown. */
situ_status op_host_number(const struct call *call, int input, double *value,
                           bool *known) SITU_MUST_USE;

/* Reads a shape from an integer input; an unknown dimension or rank is SITU_ANY. A dimension of -1
 * is accepted if `open`. */
situ_status op_host_shape(const struct call *call, int input, bool open,
                          situ_shape *out) SITU_MUST_USE;

/* Converts -rank <= axis < rank to a non-negative axis; the error is TensorFlow's. */
situ_status op_wrap_axis(int64_t axis, int rank, int *out) SITU_MUST_USE;

#endif
