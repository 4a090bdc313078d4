/* SPDX-License-Identifier: Apache-2.0
 * numerics.c: reads the counters of numeric checks (plan/numerics.h) and fails the run if one is
 * not zero. */
#include "exec/frame.h"
#include "ops/math/check_numerics.h"
#include "plan/numerics.h"
#include "schema/call.h"
#include "tensor/tensor.h"

/* Reads bytes [begin, end) of the counters of a device into host memory. */
static situ_status read_counters(struct frame *frame, int32_t number, size_t begin, size_t end,
                                 const int32_t **out) {
  const struct slot *slot = &frame->program->slots[number];
  struct device *device = frame->program->devices->devices[slot->device];
  struct span span = frame->slots[number];
  span.offset += begin;
  *out = (const int32_t *)(const void *)((const char *)span.region + span.offset);
  if (device->backend->is_host) return NULL;
  *out = frame->counters;
  uint64_t mark = 0;
  TRY(device->backend->read(device->handle, QUEUE_OUT, frame->counters, span, end - begin));
  TRY(device->backend->mark(device->handle, QUEUE_OUT, &mark));
  return device->backend->sync(device->handle, QUEUE_OUT, mark);
}

/* Finds the first check with nonzero counters in one slot among those of a command, if it precedes
 * *found (-1: none yet). */
static situ_status find_failed(struct frame *frame, const struct plan_command *command,
                               int32_t slot, int32_t *found, struct numerics_counts *totals) {
  const struct check *checks = frame->program->checks, *first = NULL, *last = NULL;
  for (int32_t i = command->from; i < command->to; i++) {
    if (checks[i].slot != slot) continue;
    if (!first) first = &checks[i];
    last = &checks[i];
  }
  if (!first) return NULL;
  const int32_t *counts = NULL;
  TRY(read_counters(frame, slot, sizeof *counts * (size_t)first->first,
                    sizeof *counts * (size_t)(last->first + 3 * last->pieces), &counts));
  for (const struct check *check = first; check <= last; check++) {
    if (check->slot != slot || (*found >= 0 && check - checks > *found)) continue;
    const struct numerics_counts sum =
        check_numerics_sum(counts + (check->first - first->first), check->pieces);
    if (!check_numerics_is_odd(&sum)) continue;
    *totals = sum;
    *found = (int32_t)(check - checks);
    return NULL;
  }
  return NULL;
}

situ_status numerics_prepare_counts(struct frame *frame) {
  const struct program *program = frame->program;
  size_t max_bytes = 0;
  for (int32_t i = 0; i < program->n_checks; i++) {
    const size_t bytes = program->slots[program->checks[i].slot].bytes;
    if (bytes > max_bytes) max_bytes = bytes;
  }
  frame->counters = arena_alloc(&frame->arena, max_bytes);
  return frame->counters ? NULL : NO_MEMORY();
}

situ_status numerics_check_counts(struct frame *frame, const struct plan_command *command) {
  const struct program *program = frame->program;
  struct numerics_counts totals = {0};
  int32_t found = -1;
  for (int32_t i = command->from; i < command->to; i++) {
    bool is_new = true; /* the first check of this slot */
    for (int32_t k = command->from; k < i && is_new; k++)
      is_new = program->checks[k].slot != program->checks[i].slot;
    if (is_new) TRY(find_failed(frame, command, program->checks[i].slot, &found, &totals));
  }
  if (found < 0) return NULL;
  const struct check *check = &program->checks[found];
  const struct node *node = program->graph->nodes[check->node];
  return numerics_failure(program->graph, node, check->output, check->operands,
                          &check->operands[node->n_inputs + check->output], &totals);
}

situ_status numerics_check_outputs(const struct frame *frame, const struct node *node,
                                   const struct operand *operands, situ_tensor *const *outputs) {
  for (int32_t i = 0; i < node->n_outputs; i++) {
    const situ_tensor *tensor = outputs[i];
    if (!tensor || tensor->buffer->device || !check_numerics_concerns(tensor->type)) continue;
    const struct numerics_counts totals = check_numerics_count(tensor);
    if (check_numerics_is_odd(&totals))
      return numerics_failure(frame->program->graph, node, i, operands,
                              &operands[node->n_inputs + i], &totals);
  }
  return NULL;
}
