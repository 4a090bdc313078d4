/* SPDX-License-Identifier: Apache-2.0
 * host_ops.c: runs host ops: hands their row tensors, and takes over those that it makes. */
#include <stdlib.h>
#include <string.h>

#include "exec/frame.h"
#include "exec/store.h"
#include "exec/cancellation.h"
#include "graph/eval.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* Whether the memory of a slot is the program's from beginning to end. */
static bool is_fixed(const struct slot *slot) {
  return slot->kind == SLOT_BLOCK || slot->kind == SLOT_STATE;
}

static situ_status make_view(struct frame *frame, const struct host_op *op, int32_t input,
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
  frame->views = ARENA_ARRAY(&frame->arena, situ_tensor *, program->n_views + 1);
  frame->made = ARENA_ARRAY(&frame->arena, situ_tensor *, program->n_slots + 1);
  if (frame->arena.failed) return NO_MEMORY();
  for (int32_t i = 0; i < program->n_host_ops; i++) {
    const struct host_op *op = &program->host_ops[i];
    for (int32_t k = 0; k < op->n_in; k++)
      TRY(make_view(frame, op, k, &frame->views[op->first_view + k]));
  }
  return NULL;
}

/* The tensor behind a slot that moves from run to run. */
static situ_tensor *tensor_of(const struct frame *frame, int32_t number) {
  const struct slot *slot = &frame->program->slots[number];
  if (slot->kind == SLOT_MADE) return frame->made[number];
  if (slot->kind == SLOT_FEED) return frame->fed[slot->index];
  if (slot->kind == SLOT_RESULT) return frame->results[slot->index];
  return (situ_tensor *)slot->constant;
}

/* A call of a host op while it runs. */
struct hosting {
  const struct host_op *op;
  const struct node *node;
  struct operand *operands;
  situ_tensor **tensors; /* inputs with a reference each, then outputs */
};

static situ_status take_inputs(const struct frame *frame, struct hosting *hosting) {
  const struct host_op *op = hosting->op;
  for (int32_t i = 0; i < op->n_in; i++) {
    situ_tensor *tensor = frame->views[op->first_view + i];
    if (!tensor) tensor = tensor_of(frame, op->in[i]);
    const situ_shape *shape = &op->shapes[i];
    if (shape_is_known(shape) && !shape_equal(shape, &tensor->shape))
      TRY(tensor_reshape(tensor, *shape, &hosting->tensors[i]));
    else
      hosting->tensors[i] = situ_tensor_retain(tensor);
    tensor = hosting->tensors[i];
    hosting->operands[i] =
        (struct operand){.type = tensor->type, .slot = -1, .shape = tensor->shape, .value = tensor};
  }
  return NULL;
}

/* Rows without `compute` that move strings: their kernels move pointers, so the texts are copied
 * behind them. */
static situ_status move_texts(struct call *call, situ_tensor **out) {
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

static situ_status check_output(const struct hosting *hosting, int32_t index) {
  const struct host_op *op = hosting->op;
  const situ_tensor *tensor = hosting->tensors[op->n_in + index];
  const struct output *output = &hosting->node->outputs[index];
  if (!tensor) return INTERNAL("%s made no output %d.", hosting->node->schema->op->name, index);
  char want[SHAPE_STRING_SIZE], have[SHAPE_STRING_SIZE];
  if (tensor->type != output->type)
    return INTERNAL("%s made output %d of type %s, not %s.", hosting->node->schema->op->name, index,
                    situ_type_name(tensor->type), situ_type_name(output->type));
  const situ_shape *shape = &op->shapes[op->n_in + index];
  if (shape_compatible(shape, &tensor->shape)) return NULL;
  return INVALID("%s made output %d of shape %s, but the graph says %s.",
                 hosting->node->schema->op->name, index, shape_print(&tensor->shape, have),
                 shape_print(shape, want));
}

/* A tensor on the device that the plan says. */
static situ_status bring(const struct frame *frame, const struct slot *slot, situ_tensor **tensor) {
  struct device *device = frame->program->devices->devices[slot->device];
  const struct device *wanted = device->backend->is_host ? NULL : device;
  if ((*tensor)->buffer->device == wanted) return NULL;
  situ_tensor *there = NULL;
  TRY(tensor_copy(*tensor, device, frame->program->graph->nodes[slot->node]->name, &there));
  situ_tensor_release(*tensor);
  *tensor = there;
  return NULL;
}

/* Fails where the op made NaN or infinities. What takes its inputs where they are only hands on. */
static situ_status check_numerics(const struct frame *frame, const struct hosting *hosting) {
  const struct host_op *op = hosting->op;
  if (hosting->node->schema->op->flags & OP_ANYWHERE) return NULL;
  situ_tensor *const *outputs = hosting->tensors + op->n_in;
  for (int32_t i = 0; i < op->n_out; i++)
    if (outputs[i]) hosting->operands[op->n_in + i].shape = outputs[i]->shape;
  return numerics_counts_failure(frame, hosting->node, hosting->operands, outputs);
}

/* The outputs go to their slots: the frame has them until the run is over. */
static situ_status give_outputs(struct frame *frame, const struct hosting *hosting) {
  const struct host_op *op = hosting->op;
  if (frame->program->checked) TRY(check_numerics(frame, hosting));
  for (int32_t i = 0; i < op->n_out; i++) {
    const int32_t slot = op->out[i];
    situ_tensor **tensor = &hosting->tensors[op->n_in + i];
    if (op->unused && op->unused[i]) continue;
    TRY(check_output(hosting, i));
    TRY(tensor_own(tensor));
    TRY(bring(frame, &frame->program->slots[slot], tensor));
    situ_tensor_release(frame->made[slot]);
    frame->made[slot] = *tensor;
    *tensor = NULL;
    TRY(frame_move(frame, slot, frame->made[slot]->buffer->span));
  }
  return NULL;
}

/* Whether the variable that a host op asks about has a value at this point of the run. */
static situ_status find_ready(const struct frame *frame, const struct host_op *op,
                              _Atomic bool **ready) {
  const struct slot *slot = &frame->program->slots[op->in[0]];
  struct state_entry *entry = NULL;
  if (slot->kind != SLOT_STATE) return NULL;
  TRY(state_find(frame->state, frame->program, slot, &entry));
  if (op->is_set) state_set(frame->state, entry);
  *ready = &state_holder(entry)->ready;
  return NULL;
}

static situ_status call_row(const struct frame *frame, struct hosting *hosting) {
  const struct host_op *op = hosting->op;
  const struct node *node = hosting->node;
  struct call call = {.schema = node->schema,
                      .attrs = node->attrs,
                      .node = node->name,
                      .n_in = op->n_in,
                      .n_out = op->n_out,
                      .in = hosting->operands,
                      .out = hosting->operands + op->n_in};
  for (int32_t i = 0; i < op->n_out; i++)
    call.out[i] =
        (struct operand){.type = node->outputs[i].type, .slot = -1, .shape = SITU_ANY_SHAPE};
  situ_tensor **out = hosting->tensors + op->n_in;
  if (!node->schema->op->compute) return move_texts(&call, out);
  TRY(node->schema->op->shape(&call));
  struct compute compute = {.call = &call,
                            .in = hosting->tensors,
                            .out = out,
                            .unused = op->unused,
                            .services = frame->state->services,
                            .patience = frame->patience};
  char task[NAME_SIZE];
  if (frame->state->store)
    compute.task = store_task(frame->program->graph, node, frame->state->task, task);
  _Atomic bool is_there = true; /* a variable that a function was given has a value */
  compute.ready = &is_there;
  if (node->schema->op->flags & OP_PROBES) TRY(find_ready(frame, op, &compute.ready));
  return node->schema->op->compute(&compute);
}

situ_status host_ops_run(struct frame *frame, int32_t index) {
  enum { FEW = 12 };
  const struct host_op *op = &frame->program->host_ops[index];
  const size_t n = (size_t)op->n_in + (size_t)op->n_out;
  struct operand few_operands[FEW], *operands = few_operands;
  situ_tensor *few_tensors[FEW], **tensors = few_tensors;
  struct arena arena = {0};
  if (n > FEW) {
    operands = ARENA_ARRAY(&arena, struct operand, n);
    tensors = ARENA_ARRAY(&arena, situ_tensor *, n);
    if (arena.failed) {
      arena_free(&arena);
      return NO_MEMORY();
    }
  } else {
    memset(few_tensors, 0, sizeof few_tensors);
  }
  struct hosting hosting = {op, frame->program->graph->nodes[op->node], operands, tensors};
  situ_status status = take_inputs(frame, &hosting);
  if (!status) status = call_row(frame, &hosting);
  const bool turned_away = frame->patience && frame->patience->turned_away;
  if (!status && !turned_away) status = give_outputs(frame, &hosting);
  if (turned_away) {
    situ_status_release(status);
    status = NULL;
  }
  for (size_t i = 0; i < n; i++) situ_tensor_release(tensors[i]);
  arena_free(&arena);
  return status;
}

situ_status host_ops_ask(void) {
  return cancellation_current ? cancellation_check(cancellation_current) : NULL;
}

void host_ops_end(struct frame *frame) {
  for (int32_t i = 0; i < frame->program->n_host_ops; i++) {
    const struct host_op *op = &frame->program->host_ops[i];
    for (int32_t k = 0; k < op->n_out; k++) {
      situ_tensor_release(frame->made[op->out[k]]);
      frame->made[op->out[k]] = NULL;
    }
  }
}
