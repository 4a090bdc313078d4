/* SPDX-License-Identifier: Apache-2.0
 * variable_ops.c: variable ops. The value of a variable persists between the runs of a session. */
#include <stdatomic.h>

#include "ops/broadcast.h"
#include "ops/gradient.h"
#include "ops/ops.h"
#include "ops/state/variable_ops.h"
#include "ops/array/strided_copy.h"
#include "schema/schema.h"
#include "tensor/shape.h"

static situ_status variable_shape(struct call *call) {
  call->out[0].shape = *call_attr(call, "shape")->shape;
  if (!shape_is_known(&call->out[0].shape))
    return INVALID("A variable needs a shape of which every dimension is known");
  return shape_check(&call->out[0].shape);
}

static situ_status handle_shape(struct call *call) {
  TRY(variable_shape(call));
  return op_scalar_shape(call);
}

/* The new value must have the variable's shape. */
static situ_status update_shape(struct call *call) {
  const situ_shape *have = &call->in[0].shape, *want = &call->in[1].shape;
  char a[256], b[256];
  if (!shape_compatible(have, want))
    return INVALID("%s requires shapes of both tensors to match. lhs shape= %s rhs shape= %s",
                   call->schema->op->name, shape_print(have, a), shape_print(want, b));
  if (call->n_out) call->out[0].shape = shape_merge(have, want);
  return NULL;
}

/* Without validate_shape, the graph accepts a new shape, but running it is an error: see below. */
static situ_status assign_shape(struct call *call) {
  if (call_bool(call, "validate_shape")) return update_shape(call);
  if (call->n_out) call->out[0].shape = call->in[1].shape;
  return NULL;
}

static situ_status record_assign(struct call *call) {
  char a[256], b[256];
  if (!shape_equal(&call->in[0].shape, &call->in[1].shape))
    return situ_status_create(SITU_UNIMPLEMENTED,
                              "%s would change the shape of a variable from %s to %s: a variable "
                              "of situ keeps its shape. "
                              "Make another variable of the new shape.",
                              call->node, shape_print(&call->in[0].shape, a),
                              shape_print(&call->in[1].shape, b));
  const struct view all = strided_view(&call->in[1].shape);
  return strided_copy(call, call->in[1].type, call->in[1].slot, &all, call->in[0].slot);
}

static situ_status record_update(struct call *call, const struct kernel *const kernels[2]) {
  const struct operand *ref = &call->in[0], *value = &call->in[1];
  const struct broadcast_operand state = {ref->slot, &ref->shape};
  return broadcast_record(call, kernels, ref->type, 1, state,
                          (struct broadcast_operand){value->slot, &value->shape}, state);
}

static situ_status record_assign_add(struct call *call) {
  return record_update(call, elementwise_add);
}

static situ_status record_assign_sub(struct call *call) {
  return record_update(call, elementwise_subtract);
}

/* The variable is incremented in place. */
static situ_status compute_count(struct compute *compute) {
  const situ_tensor *ref = compute->in[0];
  const int64_t limit = call_integer(compute->call, "limit");
  void *state = (void *)(uintptr_t)situ_tensor_data(ref), *data = NULL;
  const bool is_int = situ_tensor_type(ref) == SITU_INT32;
  const int64_t value = is_int ? *(int32_t *)state : *(int64_t *)state;
  if (value >= limit)
    return situ_status_create(SITU_OUT_OF_RANGE, "Reached limit of %lld", (long long)limit);
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  if (is_int)
    *(int32_t *)data = __atomic_fetch_add((int32_t *)state, 1, __ATOMIC_ACQ_REL);
  else
    *(int64_t *)data = __atomic_fetch_add((int64_t *)state, 1, __ATOMIC_ACQ_REL);
  return NULL;
}

static situ_status count_shape(struct call *call) {
  TRY(op_need_rank(call, 0, 0, "ref"));
  return op_scalar_shape(call);
}

/* Handles */

static situ_status compute_is_set(struct compute *compute) {
  void *data = NULL;
  TRY(compute_output(compute, 0, SITU_SCALAR, &data));
  *(bool *)data = *compute->ready;
  return NULL;
}

static situ_status compute_destroy(struct compute *compute) {
  const bool ready = atomic_exchange(compute->ready, false);
  if (ready || call_bool(compute->call, "ignore_lookup_error")) return NULL;
  return situ_status_create(SITU_NOT_FOUND, "The variable that %s is to destroy has no value.",
                            compute->call->node);
}

static void read_grad(struct gradient *g) { g->dx[0] = g->dy[0]; }

/* As in TensorFlow, GPUs hold no int32 variables, such as step counters, and reference variables of
 * a few types only. */
#define REFERENCE_DEVICES \
  "CPU GPU(bfloat16 half float double int64 bool uint32 complex64 complex128)"
#define HANDLE_DEVICES                                                                             \
  "CPU GPU(bfloat16 half float double int64 bool int8 uint8 int16 uint16 uint32 uint64 complex64 " \
  "complex128)"

#define NAMED "container:string='' shared_name:string=''"

#define COUNT(NAME, input)                                                                      \
  {                                                                                             \
    .name = NAME, .inputs = input, .outputs = "output:T", .attrs = "limit:int T:{int32 int64}", \
    .python = "",                                                                               \
    .doc = "Increments a variable and returns its previous value; OutOfRange at the limit.",    \
    .args = "limit: Value at which the op fails.", .devices = "CPU",                            \
    .flags = OP_STATEFUL | OP_NO_GRADIENT, .shape = count_shape, .compute = compute_count       \
  }

/* Two rows of a change: of a reference, which the op then is, and of a handle. */
#define UPDATE(NAME, record_, flags_, shape_, attrs_, text)                               \
  {.name = #NAME,                                                                         \
   .inputs = "ref:&T value:T",                                                            \
   .outputs = "output_ref:&T",                                                            \
   .attrs = "T:{" NUMERIC "} " attrs_,                                                    \
   .python = "",                                                                          \
   .doc = text " a variable and returns the variable.",                                   \
   .devices = REFERENCE_DEVICES,                                                          \
   .flags = OP_NO_GRADIENT | OP_STATEFUL | OP_UPDATES | (flags_),                         \
   .shape = shape_,                                                                       \
   .record = record_},                                                                    \
  {                                                                                       \
    .name = #NAME "VariableOp", .inputs = "resource:@dtype value:dtype",                  \
    .attrs = "dtype:{" NUMERIC "} validate_shape:bool=false", .python = "",               \
    .doc = text " a variable.", .devices = HANDLE_DEVICES,                                \
    .flags = OP_NO_GRADIENT | OP_STATEFUL | OP_UPDATES | (flags_), .shape = update_shape, \
    .record = record_                                                                     \
  }

situ_value variable_read(situ_graph *graph, situ_value variable, situ_type type, const char *name) {
  const situ_attr dtype = situ_attr_type("dtype", type);
  if (situ_value_type(variable) != SITU_RESOURCE) return variable;
  return situ_emit(graph, "ReadVariableOp", name, &variable, 1, &dtype, 1);
}

situ_value variable_assign(situ_graph *graph, situ_value variable, situ_value value,
                           const char *name) {
  const bool is_handle = situ_value_type(variable) == SITU_RESOURCE;
  const situ_value both[] = {variable, value};
  return situ_emit(graph, is_handle ? "AssignVariableOp" : "Assign", name, both, 2, NULL, 0);
}

static const struct op_def op_defs[] = {
    COUNT("CountUpTo", "ref:&T"),
    COUNT("ResourceCountUpTo", "resource:@T"),
    {.name = "VarHandleOp",
     .inputs = "",
     .outputs = "resource:@dtype",
     .attrs = NAMED " dtype:{" NUMERIC "} shape:shape debug_name:string=''",
     .python = "",
     .doc = "The handle of a variable, which keeps its value between runs of a session.",
     .args = "shape: Shape of the variable; unknown dimensions accept any size.\n"
             "debug_name: Accepted and ignored; a name for messages of TensorFlow.",
     .devices = HANDLE_DEVICES,
     .flags = OP_STATEFUL | OP_VARIABLE,
     .shape = handle_shape},
    {.name = "ReadVariableOp",
     .inputs = "resource:@dtype",
     .outputs = "value:dtype",
     .attrs = "dtype:{" NUMERIC "}",
     .python = "",
     .doc = "The value of a variable; later assignments do not change the result.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_ALIAS | OP_READS,
     .shape = op_same_shape,
     .grad = read_grad},
    {.name = "VarIsInitializedOp",
     .inputs = "resource:@resource",
     .outputs = "is_initialized:bool",
     .attrs = "",
     .python = "",
     .doc = "Whether a variable has a value.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_PROBES,
     .shape = op_scalar_shape,
     .compute = compute_is_set},
    {.name = "IsVariableInitialized",
     .inputs = "ref:&dtype",
     .outputs = "is_initialized:bool",
     .attrs = "dtype:{" NUMERIC "}",
     .python = "",
     .doc = "Whether a variable has a value.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_PROBES,
     .shape = op_scalar_shape,
     .compute = compute_is_set},
    {.name = "DestroyResourceOp",
     .inputs = "resource:@resource",
     .attrs = "ignore_lookup_error:bool=true",
     .python = "",
     .doc = "Releases the value of a variable; it must be assigned before it is read again.",
     .args = "ignore_lookup_error: Succeed if the variable has no value.",
     .devices = EVERYWHERE,
     .flags = OP_STATEFUL | OP_NO_GRADIENT | OP_PROBES,
     .shape = op_no_shape,
     .compute = compute_destroy},
    {.name = "VariableV2",
     .inputs = "",
     .outputs = "ref:&dtype",
     .attrs = "shape:shape dtype:{" NUMERIC "} " NAMED,
     .python = "",
     .doc = "A reference variable, which keeps its value between runs of a session.",
     .args = "shape: Shape of the variable; unknown dimensions accept any size.",
     .devices = REFERENCE_DEVICES,
     .flags = OP_STATEFUL | OP_VARIABLE,
     .shape = variable_shape},
    UPDATE(Assign, record_assign, OP_SETS, assign_shape,
           "validate_shape:bool=true use_locking:bool=true", "Assigns a value to"),
    UPDATE(AssignAdd, record_assign_add, 0, update_shape, "use_locking:bool=false",
           "Adds a value to"),
    UPDATE(AssignSub, record_assign_sub, 0, update_shape, "use_locking:bool=false",
           "Subtracts a value from"),
};

OP_FAMILY(variable_ops, op_defs);
