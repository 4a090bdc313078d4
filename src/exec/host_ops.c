/* SPDX-License-Identifier: Apache-2.0
 * host_ops.c: runs host ops: calls op_def.compute with the input tensors and stores the tensors
 * that it returns in the frame. */
#include <stdlib.h>
#include <string.h>

#include "exec/host_op_call.h"
#include "exec/store.h"
#include "exec/cancellation.h"
#include "graph/eval.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Whether a slot has the same memory in all runs of a frame. */
static bool is_fixed(const struct slot *slot) {
  return slot->kind == SLOT_BLOCK || slot->kind == SLOT_STATE;
}

static situ_status create_view(struct frame *frame, const struct host_op *op, int32_t input,
                               situ_tensor **out) {
  const int32_t number = op->in[input];
  const struct slot *slot = &frame->program->slots[number];
  if (!is_fixed(slot)) return NULL;
  struct device *device = frame->program->devices->devices[slot->device];
  struct buffer *buffer = NULL;
  TRY(buffer_lend(device, frame->slots[number], slot->bytes, &buffer));
  return tensor_from_buffer(op->types[input], op->shapes[input], buffer, out);
}

situ_status host_ops_prepare(struct frame *frame) {
  const struct program *program = frame->program;
  frame->input_views = ARENA_ARRAY(&frame->arena, situ_tensor *, program->n_views + 1);
  frame->host_outputs = ARENA_ARRAY(&frame->arena, situ_tensor *, program->n_slots + 1);
  if (frame->arena.failed) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_host_ops; i++) {
    const struct host_op *op = &program->host_ops[i];
    for (int32_t k = 0; k < op->n_in; k++)
      TRY(create_view(frame, op, k, &frame->input_views[op->first_view + k]));
  }
  return NULL;
}

/* The tensor of a slot whose memory changes from run to run. */
static situ_tensor *tensor_of(const struct frame *frame, int32_t number) {
  const struct slot *slot = &frame->program->slots[number];
  if (slot->kind == SLOT_HOST_OUTPUT) return frame->host_outputs[number];
  if (slot->kind == SLOT_FEED) return frame->feeds[slot->index];
  if (slot->kind == SLOT_RESULT) return frame->results[slot->index];
  return (situ_tensor *)slot->constant;
}

static situ_status get_inputs(const struct frame *frame, struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  for (int32_t i = 0; i < op->n_in; i++) {
    situ_tensor *tensor = frame->input_views[op->first_view + i];
    if (!tensor) tensor = tensor_of(frame, op->in[i]);
    const situ_shape *shape = &op->shapes[i];
    if (shape_is_known(shape) && !shape_equal(shape, &tensor->shape))
      TRY(tensor_reshape(tensor, *shape, &call_data->tensors[i]));
    else
      call_data->tensors[i] = situ_tensor_retain(tensor);
    tensor = call_data->tensors[i];
    call_data->operands[i] =
        (struct operand){.type = tensor->type, .slot = -1, .shape = tensor->shape, .value = tensor};
  }
  return NULL;
}

/* Runs the kernels of an op without `compute` on strings. Kernels copy pointers, so the strings
 * they point to are duplicated afterwards. */
static situ_status run_string_kernels(struct call *call, situ_tensor **out) {
  TRY(eval_call(call, out));
  situ_status status = NULL;
  for (int i = 0; i < call->n_out && !status; i++) {
    if (out[i]->type != SITU_STRING) continue;
    situ_tensor *copy = NULL;
    status = tensor_copy_strings(out[i], &copy);
    situ_tensor_release(out[i]);
    out[i] = copy;
  }
  return status;
}

/* The entry of an input that is a variable of the session and passed to a function, or NULL. */
static situ_status find_passed(const struct frame *frame, const struct host_op *op, int32_t input,
                               struct state_entry **out) {
  const struct slot *slot = &frame->program->slots[op->in[input]];
  *out = NULL;
  if (op->passed[input] == PASSED_VALUE || slot->kind != SLOT_STATE) return NULL;
  return state_find(frame->state, frame->program, slot, out);
}

/* Says in the buffers of the variables that an op passes to functions which of them have values. */
static situ_status lend_variables(const struct frame *frame, const struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  for (int32_t i = 0; i < op->n_in && op->passed; i++) {
    struct buffer *buffer = call_data->tensors[i]->buffer;
    struct state_entry *entry = NULL;
    TRY(find_passed(frame, op, i, &entry));
    if (entry) {
      buffer->is_variable = true;
      buffer->is_assigned = entry->ready;
    }
    if (op->passed[i] == PASSED_ASSIGNED) buffer->is_assigned = true;
  }
  return NULL;
}

/* Notes which of those variables have values after the call. */
static situ_status return_variables(const struct frame *frame,
                                    const struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  for (int32_t i = 0; i < op->n_in && op->passed; i++) {
    const struct buffer *buffer = call_data->tensors[i]->buffer;
    struct state_entry *entry = NULL;
    TRY(find_passed(frame, op, i, &entry));
    if (!entry || entry->ready == buffer->is_assigned) continue;
    if (buffer->is_assigned)
      state_set(frame->state, entry);
    else
      entry->ready = false;
  }
  return NULL;
}

static situ_status check_output(const struct host_op_call *call_data, int32_t index) {
  const struct host_op *op = call_data->op;
  const situ_tensor *tensor = call_data->tensors[op->n_in + index];
  const struct output *output = &call_data->node->outputs[index];
  if (!tensor)
    return INTERNAL("%s did not return output %d.", call_data->node->schema->op->name, index);
  char expected[SHAPE_STRING_SIZE], actual[SHAPE_STRING_SIZE];
  if (tensor->type != output->type)
    return INTERNAL("%s returned output %d with type %s instead of %s.",
                    call_data->node->schema->op->name, index, situ_type_name(tensor->type),
                    situ_type_name(output->type));
  const situ_shape *shape = &op->shapes[op->n_in + index];
  if (shape_compatible(shape, &tensor->shape)) return NULL;
  return INVALID("%s returned output %d with shape %s, but the graph declares shape %s.",
                 call_data->node->schema->op->name, index, shape_print(&tensor->shape, actual),
                 shape_print(shape, expected));
}

/* Copies a tensor to the device of its slot. */
static situ_status copy_to_device(const struct frame *frame, const struct slot *slot,
                                  situ_tensor **tensor) {
  struct device *device = frame->program->devices->devices[slot->device];
  const struct device *target = device->backend->is_host ? NULL : device;
  if ((*tensor)->buffer->device == target) return NULL;
  situ_tensor *copy = NULL;
  TRY(tensor_copy(*tensor, device, frame->program->graph->nodes[slot->node]->name, &copy));
  situ_tensor_release(*tensor);
  *tensor = copy;
  return NULL;
}

/* Fails if an output contains NaN or infinities. Ops with OP_DEVICE_INPUTS only forward values. */
static situ_status check_numerics(const struct frame *frame, const struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  if (call_data->node->schema->op->flags & OP_DEVICE_INPUTS) return NULL;
  situ_tensor *const *outputs = call_data->tensors + op->n_in;
  for (int32_t i = 0; i < op->n_out; i++)
    if (outputs[i]) call_data->operands[op->n_in + i].shape = outputs[i]->shape;
  return numerics_check_outputs(frame, call_data->node, call_data->operands, outputs);
}

/* Stores the outputs in the frame, which releases them at the end of the run. */
situ_status host_op_call_store(struct frame *frame, const struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  if (frame->program->check_numerics) TRY(check_numerics(frame, call_data));
  for (int32_t i = 0; i < op->n_out; i++) {
    const int32_t slot = op->out[i];
    situ_tensor **tensor = &call_data->tensors[op->n_in + i];
    if (op->unused && op->unused[i]) continue;
    TRY(check_output(call_data, i));
    TRY(tensor_own(tensor));
    TRY(copy_to_device(frame, &frame->program->slots[slot], tensor));
    situ_tensor_release(frame->host_outputs[slot]);
    frame->host_outputs[slot] = *tensor;
    *tensor = NULL;
    TRY(frame_rebind(frame, slot, frame->host_outputs[slot]->buffer->span));
  }
  return NULL;
}

/* Finds the `ready` flag of the variable that a host op tests (OP_PROBES). */
static situ_status find_ready(const struct frame *frame, const struct host_op *op,
                              _Atomic bool **ready) {
  const struct slot *slot = &frame->program->slots[op->in[0]];
  struct state_entry *entry = NULL;
  if (slot->kind == SLOT_FEED && frame->feeds[slot->index]->buffer->is_variable) {
    *ready = &frame->feeds[slot->index]->buffer->is_assigned;
    if (op->is_set) **ready = true;
  }
  if (slot->kind != SLOT_STATE) return NULL;
  TRY(state_find(frame->state, frame->program, slot, &entry));
  if (op->is_set) state_set(frame->state, entry);
  *ready = &state_current(entry)->ready;
  return NULL;
}

situ_status host_op_call_compute(const struct frame *frame, struct host_op_call *call_data) {
  const struct host_op *op = call_data->op;
  const struct node *node = call_data->node;
  struct call call = {.schema = node->schema,
                      .attrs = node->attrs,
                      .node = node->name,
                      .n_in = op->n_in,
                      .n_out = op->n_out,
                      .in = call_data->operands,
                      .out = call_data->operands + op->n_in};
  for (int32_t i = 0; i < op->n_out; i++)
    call.out[i] =
        (struct operand){.type = node->outputs[i].type, .slot = -1, .shape = SITU_ANY_SHAPE};
  situ_tensor **out = call_data->tensors + op->n_in;
  const bool of_strings = schema_computes_strings(node->schema, node->attrs);
  if (!node->schema->op->compute && !of_strings) return run_string_kernels(&call, out);
  TRY(call_infer_shapes(&call));
  struct compute compute = {.call = &call,
                            .in = call_data->tensors,
                            .out = out,
                            .unused = op->unused,
                            .services = frame->state->services,
                            .wait_limit = frame->wait_limit};
  char task[NAME_SIZE];
  if (frame->state->store)
    compute.task = store_task(frame->program->graph, node, frame->state->task, task);
  _Atomic bool is_ready = true; /* a variable that is fed is initialized */
  compute.ready = &is_ready;
  if (node->schema->op->flags & OP_PROBES) TRY(find_ready(frame, op, &compute.ready));
  TRY(lend_variables(frame, call_data));
  TRY(of_strings ? node->schema->op->compute_strings(&compute)
                 : node->schema->op->compute(&compute));
  return return_variables(frame, call_data);
}

situ_status host_op_call_begin(const struct frame *frame, int32_t index,
                               struct host_op_call *call) {
  const struct host_op *op = &frame->program->host_ops[index];
  const size_t n = (size_t)op->n_in + (size_t)op->n_out;
  call->op = op;
  call->node = frame->program->graph->nodes[op->node];
  call->arena = (struct arena){0};
  call->operands = call->inline_operands;
  call->tensors = call->inline_tensors;
  memset(call->inline_tensors, 0, sizeof call->inline_tensors);
  if (n > INLINE_OPERANDS) {
    call->operands = ARENA_ARRAY(&call->arena, struct operand, n);
    call->tensors = ARENA_ARRAY(&call->arena, situ_tensor *, n);
  }
  return call->arena.failed ? NO_MEMORY() : get_inputs(frame, call);
}

void host_op_call_end(struct host_op_call *call) {
  const size_t n = (size_t)call->op->n_in + (size_t)call->op->n_out;
  for (size_t i = 0; i < n && call->tensors; i++) situ_tensor_release(call->tensors[i]);
  arena_free(&call->arena);
}

situ_status host_ops_run(struct frame *frame, int32_t index) {
  struct host_op_call call;
  situ_status status = host_op_call_begin(frame, index, &call);
  if (!status) status = host_op_call_compute(frame, &call);
  const bool would_block = frame->wait_limit && frame->wait_limit->would_block;
  if (!status && !would_block) status = host_op_call_store(frame, &call);
  if (would_block) {
    situ_status_release(status);
    status = NULL;
  }
  host_op_call_end(&call);
  return status;
}

situ_status host_ops_check_cancellation(void) {
  return cancellation_current ? cancellation_check(cancellation_current) : NULL;
}

void host_ops_release_outputs(struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_host_ops; i++) {
    const struct host_op *op = &frame->program->host_ops[i];
    for (int32_t k = 0; k < op->n_out; k++) {
      situ_tensor_release(frame->host_outputs[op->out[k]]);
      frame->host_outputs[op->out[k]] = NULL;
    }
  }
}
