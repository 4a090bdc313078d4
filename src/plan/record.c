/* SPDX-License-Identifier: Apache-2.0
 * record.c: what the rows record. Operands and scratch are numbered from 0 within a node (inputs,
 * outputs, scratch), so that one recording serves all nodes that are alike: graphs repeat
 * themselves, and asking a row costs more than a copy.
 */
#include <string.h>

#include "plan/builder.h"
#include "tensor/shape.h"

static bool same_value(const struct builder *builder, struct edge a, struct edge b) {
  const struct value *x = builder_value(builder, a), *y = builder_value(builder, b);
  return x->type == y->type && (x->shape == y->shape || shape_equal(x->shape, y->shape));
}

/* Whether a row would say the same of a node: equal attributes are shared by their graph. */
static bool is_alike(const struct builder *builder, const struct recording *recording,
                     const struct node *node, int32_t device) {
  const struct node *other = recording->node;
  if (!other || recording->device != device || other->attrs != node->attrs ||
      other->n_inputs != node->n_inputs || other->n_outputs != node->n_outputs)
    return false;
  for (int32_t i = 0; i < node->n_inputs; i++)
    if (!same_value(builder, node->inputs[i], other->inputs[i])) return false;
  for (int32_t i = 0; i < node->n_outputs; i++)
    if (!same_value(builder, (struct edge){node->id, i}, (struct edge){other->id, i})) return false;
  return true;
}

static situ_status count_bytes(const struct operand *operand, size_t *bytes) {
  if (shape_bytes(operand->type, &operand->shape, bytes)) return NULL;
  char shape[256];
  return situ_status_create(SITU_RESOURCE_EXHAUSTED,
                            "OOM when allocating tensor with shape%s and type %s: more bytes than "
                            "a machine can address.",
                            shape_print(&operand->shape, shape), situ_type_name(operand->type));
}

/* What depends on more than shapes and attributes is asked anew for every node. */
static bool may_repeat(const struct recording *recording, const struct op_def *op) {
  return !(op->flags & OP_STATEFUL) && !(op->host && *op->host) && !recording->recorder.n_scratch;
}

/* Whether the node keeps something for another one, or another one did for it. */
static bool is_special(const struct builder *builder, const struct node *node) {
  return builder->saved_results &&
         (builder->saved_results[node->id].awaited || builder->saved_results[node->id].maker);
}

static situ_status ask(struct builder *builder, const struct node *node, int32_t device,
                       struct recording *recording) {
  const struct op_def *op = node->schema->op;
  const int32_t n = node->n_inputs + node->n_outputs;
  struct operand few[8], *operands = few;
  if (n > 8) operands = ARENA_ARRAY(&builder->scratch, struct operand, n);
  recording->output_bytes = ARENA_ARRAY(&builder->scratch, size_t, node->n_outputs);
  if (builder->scratch.failed) return NO_MEMORY();
  struct call call = values_call(builder, node, operands, operands + node->n_inputs);
  for (int32_t i = 0; i < n; i++) operands[i].slot = i;
  struct saved_result saved;
  const struct saved_result *kept = saved_results_find(builder, node);
  call.awaited = builder->saved_results && builder->saved_results[node->id].awaited;
  if (kept) { /* its slot here is behind inputs and outputs */
    saved = *kept;
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
  return op->record ? call_describe_error(&call, op->record(&call)) : NULL;
}

situ_status record_node(struct builder *builder, const struct node *node, int32_t device,
                        const struct recording **out) {
  struct recording *recording = &builder->recordings[node->schema->id];
  *out = recording;
  const bool special = is_special(builder, node);
  if (!special && is_alike(builder, recording, node, device)) return NULL;
  recording->node = NULL;
  TRY(ask(builder, node, device, recording));
  recording->device = device;
  if (!special && may_repeat(recording, node->schema->op)) recording->node = node;
  return NULL;
}

situ_status record_launch(struct builder *builder, const struct launch *from,
                          const struct node *node, const int32_t *slots, int32_t *number) {
  struct program *program = builder->program;
  struct launch *to = builder_launch(builder);
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
