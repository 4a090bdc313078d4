/* SPDX-License-Identifier: Apache-2.0
 * record.c: records the kernel launches of nodes (op_def.record). Slots are numbered within the
 * node (inputs, outputs, scratch), so a recording is reused for the next node of the same op with
 * equal attributes, types and shapes: copying a recording is cheaper than recording again. */
#include <string.h>

#include "ops/record.h"
#include "plan/builder.h"
#include "tensor/shape.h"

static bool same_type_and_shape(const struct builder *builder, struct edge a, struct edge b) {
  const struct value *x = builder_value(builder, a), *y = builder_value(builder, b);
  return x->type == y->type && (x->shape == y->shape || shape_equal(x->shape, y->shape));
}

/* Whether a recording is valid for a node. The graph interns attributes, so pointers compare. */
static bool is_reusable(const struct builder *builder, const struct recording *recording,
                        const struct node *node, int32_t device) {
  const struct node *other = recording->node;
  if (!other || recording->device != device || other->attrs != node->attrs ||
      other->n_inputs != node->n_inputs || other->n_outputs != node->n_outputs)
    return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!same_type_and_shape(builder, node->inputs[i], other->inputs[i])) return false;
  for (int32_t i = 0; i < node->n_outputs; i++)
    if (!same_type_and_shape(builder, (struct edge){node->id, i}, (struct edge){other->id, i}))
      return false;
  return true;
}

/* InvalidArgument if the number of elements overflows, as in TensorFlow. */
static situ_status check_count(const situ_shape *shape) {
  int64_t count = 1, next;
  for (int d = 0; d < shape->rank; d++) {
    if (__builtin_mul_overflow(count, shape->dim[d], &next))
      return INVALID("Encountered overflow when multiplying %lld with %lld, result: -1",
                     (long long)count, (long long)shape->dim[d]);
    count = next;
  }
  return NULL;
}

static situ_status count_bytes(const struct operand *operand, size_t *bytes) {
  if (shape_bytes(operand->type, &operand->shape, bytes)) return NULL;
  TRY(check_count(&operand->shape));
  char shape[256];
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "OOM when allocating tensor with shape%s and type %s: more bytes than "
                            "a machine can address.",
                            shape_print(&operand->shape, shape), situ_type_name(operand->type));
}

/* Whether a recording depends on shapes and attributes only. */
static bool depends_on_shapes_only(const struct recording *recording, const struct op_def *op) {
  return !(op->flags & OP_STATEFUL) && !(op->host && *op->host) && !recording->recorder.n_scratch;
}

/* Whether the node saves a result for another node or reads a saved one. */
static bool uses_saved_results(const struct builder *builder, const struct node *node) {
  return builder->saved_results &&
         (builder->saved_results[node->id].requested || builder->saved_results[node->id].producer);
}

static situ_status record(struct builder *builder, const struct node *node, int32_t device,
                          struct recording *recording) {
  const int32_t n = node->n_inputs + node->n_outputs;
  struct operand inline_buffer[8], *operands = inline_buffer;
  if (n > 8) operands = ARENA_ARRAY(&builder->scratch, struct operand, n);
  recording->output_bytes = ARENA_ARRAY(&builder->scratch, size_t, node->n_outputs);
  if (builder->scratch.failed) return NO_MEMORY();
  struct call call = values_make_call(builder, node, operands, operands + node->n_inputs);
  for (int32_t i = 0; i < n; i++) operands[i].slot = i;
  struct saved_result saved;
  const struct saved_result *saved_for_node = saved_results_get(builder, node);
  call.saves_result = builder->saved_results && builder->saved_results[node->id].requested;
  if (saved_for_node) { /* its slot within the node follows inputs and outputs */
    saved = *saved_for_node;
    saved.slot = n;
    call.saved = &saved;
  }
  for (int32_t i = 0; i < node->n_outputs; i++)
    TRY(count_bytes(&operands[node->n_inputs + i], &recording->output_bytes[i]));
  struct recorder *recorder = &recording->recorder;
  recorder->arena = &builder->scratch;
  recorder->device = &builder->request->devices->devices[device]->info;
  recorder->n_launches = recorder->n_scratch = 0;
  recorder->next_slot = n + (call.saved != NULL);
  call.to = recorder;
  return call_describe_error(&call, op_record(&call));
}

situ_status record_node(struct builder *builder, const struct node *node, int32_t device,
                        const struct recording **out) {
  struct recording *recording = &builder->recordings[node->schema->id];
  *out = recording;
  const bool uses_saved = uses_saved_results(builder, node);
  if (!uses_saved && is_reusable(builder, recording, node, device)) return NULL;
  recording->node = NULL;
  TRY(record(builder, node, device, recording));
  recording->device = device;
  if (!uses_saved && depends_on_shapes_only(recording, node->schema->op)) recording->node = node;
  return NULL;
}

situ_status record_launch(struct builder *builder, const struct launch *from,
                          const struct node *node, const int32_t *slots, int32_t *number) {
  struct program *program = builder->program;
  struct launch *to = builder_add_launch(builder);
  const size_t n = (size_t)from->n_args;
  struct launch_arg *args = to ? arena_alloc(&program->arena, sizeof *args * n) : NULL;
  if (!args) return NO_MEMORY();
  *to = *from;
  to->args = args;
  to->node = node->name;
  for (size_t i = 0; i < n; i++) {
    args[i] = from->args[i];
    if (args[i].kind == ARG_SLOT) args[i].slot = slots[args[i].slot];
  }
  *number = program->n_launches - 1;
  return NULL;
}
